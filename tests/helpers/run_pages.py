"""Run a lesson's script as a reader would, and compare its shape comments with the tensors.

``weights = …  # (6, 6)`` states a shape. When the script runs, every value that is assigned to a
name is compared with the comment on its line. The comment is Python, so that ``(1000, k)`` takes k
from the script.
"""

import ast
import contextlib
import functools
import io
import re
import sys
import tokenize
import types
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from hypothesis import settings
from torch import is_tensor

import attention

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "gallery"
PACKAGE = Path(attention.__file__).parent  # where it is installed, which may be elsewhere
# The code of a cell of a page, without its options
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)?(.*?)^```", re.DOTALL | re.MULTILINE)
CHECK = "_check_shape"
QUICK = "QUICK"
SHAPE = r"\([\w +*]*,[\w +*,]*\)"
SHAPES = re.compile(rf"# ({SHAPE}(, {SHAPE})*)")


@dataclass
class Page:
    names: dict[str, object] = field(default_factory=dict)
    checked: set[int] = field(default_factory=set)  # lines whose comment was compared
    problems: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # alternative texts
    printed: str = ""


def shape_comments(source: str) -> dict[int, str]:
    """Find the comments that start with tuples, by line; words may follow."""
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        alone = token.line.lstrip().startswith("#")
        if token.type == tokenize.COMMENT and not alone and (match := SHAPES.match(token.string)):
            comments[token.start[0]] = match[1]
    return comments


class _ShapeChecks(ast.NodeTransformer):
    """Pass every assigned and every returned value through ``_check_shape``."""

    def __init__(self, comments: dict[int, str]) -> None:
        self.comments = comments
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        # An argument may have any shape, so inside a function comments are checked, not required.
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        (target,) = node.targets
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if not any(isinstance(name, ast.Starred) for name in names):
            node.value = self.checked(node, [ast.unparse(name) for name in names])
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.end_lineno in self.comments:
            several = isinstance(node.value, ast.Tuple)
            names = ["a returned value"] * (len(node.value.elts) if several else 1)
            node.value = self.checked(node, names)
        return node

    def checked(self, node: ast.Assign | ast.Return, names: list[str]) -> ast.expr:
        # A comment belongs to the line on which its statement ends. Its sizes, and the names from
        # which the value was computed, are looked up in the scope of the statement.
        stated = f"({self.comments.get(node.end_lineno, '')},)".replace("(,)", "()")
        reads = sorted({n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)})
        made_from = f"list(map({{**globals(), **locals()}}.get, {reads}))"
        arguments = f"{names}, None, lambda: {stated}, {made_from}, {self.depth == 0}"
        call = f"{CHECK}({node.end_lineno}, {arguments})"
        expression = ast.parse(call, mode="eval").body
        expression.args[2] = node.value
        return ast.copy_location(expression, node.value)


def set_quick(tree: ast.Module) -> None:
    """Set a lesson's constant QUICK, so that what trains for minutes takes a few steps.

    Raises:
        AssertionError: If it would have no effect: it has to be set once, and then read.
    """
    uses = [type(n.ctx) for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == QUICK]
    if not uses:
        return
    assert uses.count(ast.Store) == 1, f"{QUICK} is set {uses.count(ast.Store)} times"
    assert uses.count(ast.Load) > 0, f"{QUICK} is never read"
    (line,) = [
        n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == QUICK
    ]
    assert ast.unparse(line.value) == "False", f"{QUICK} is not False for the reader"
    line.value = ast.copy_location(ast.Constant(True), line.value)


@functools.cache
def run(path: Path) -> Page:
    """Run a script once, headless, in a clean state; return its names and wrong comments.

    It takes the few steps of its constant QUICK, if it has one, and all with hypothesis's profile
    ``thorough``.
    """
    source = path.read_text(encoding="utf-8")
    comments = shape_comments(source)
    page = Page()

    def check_shape(line, names, value, stated, made_from, is_required):
        if len(names) > 1:
            value = tuple(value)  # a generator can be unpacked only once
        values = value if len(names) > 1 else (value,)
        tensors = [(n, tuple(v.shape)) for n, v in zip(names, values, strict=True) if is_tensor(v)]
        if line in comments:
            page.checked.add(line)
            try:
                shapes = list(stated())
            except NameError as error:
                page.problems.append(f"{path.name}:{line}: {comments[line]}: {error}")
                return value
            actual = [shape for _, shape in tensors]
            # A value that is discarded as ``_`` needs no shape comment, but may have one.
            if shapes not in (actual, [shape for name, shape in tensors if name != "_"]):
                page.problems.append(f"{path.name}:{line}: says {comments[line]}, is {actual}")
            return value
        if not is_required:
            return value
        known = {tuple(v.shape) for v in made_from if is_tensor(v)}
        page.problems += [
            f"{path.name}:{line}: {name} has a new shape {shape} and no comment"
            for name, shape in tensors
            if name.isidentifier() and shape and shape not in known
        ]
        return value

    tree = ast.parse(source)
    if settings.get_current_profile_name() != "thorough":
        set_quick(tree)
    tree = ast.fix_missing_locations(_ShapeChecks(comments).visit(tree))
    module = types.ModuleType("__main__")
    module.__dict__[CHECK] = check_shape
    torch.manual_seed(0)
    dtype = torch.get_default_dtype()
    printed = io.StringIO()
    main, sys.modules["__main__"] = sys.modules["__main__"], module  # where torch's compiler looks
    with mpl.rc_context(), warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        mpl.use("Agg")
        # A script ends with plt.show(), and a test has no window.
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        plt.close("all")
        try:
            exec(compile(tree, str(path), "exec"), module.__dict__)
            page.figures = [plt.figure(number).get_label() for number in plt.get_fignums()]
        finally:  # a page's settings and figures must not reach the next, even if it fails
            sys.modules["__main__"] = main
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(True)
            torch.set_printoptions(profile="default")
            plt.close("all")
    unreached = comments.keys() - page.checked
    page.problems += [
        f"{path.name}:{line}: {comments[line]} was never reached" for line in unreached
    ]
    page.names, page.printed = module.__dict__, printed.getvalue()
    page.problems = sorted(set(page.problems))  # a loop repeats its problems
    return page


def check_lesson(name: str) -> Page:
    """Run a lesson of the gallery: every shape comment is true, every figure has its own text."""
    page = run(GALLERY / f"{name}.py")
    assert page.problems == []
    assert len(page.checked) >= 3
    assert all(len(text) > 40 for text in page.figures)
    assert len(set(page.figures)) == len(page.figures)
    return page
