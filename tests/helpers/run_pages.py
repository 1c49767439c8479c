"""Run a gallery script as its reader would, and hold its shape comments to the shapes they name.

``weights = …  # (6, 6)`` promises a shape. Every assignment to a name is followed, when the script
runs, by a look at what was assigned. The comment is Python: ``(1000, k)`` takes k from the script.
"""

import ast
import functools
import io
import re
import tokenize
import types
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch

GALLERY = Path(__file__).parents[1] / "gallery"
WATCH = "_watch"
SHAPE = r"\([\w +*]*,[\w +*,]*\)"
SHAPES = re.compile(rf"# ({SHAPE}(, {SHAPE})*)")


@dataclass
class Page:
    """What running a script left behind."""

    names: dict[str, object] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)  # lines whose comment was compared
    problems: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # alternative texts


def shape_comments(source: str) -> dict[int, str]:
    """Find the comments that start with tuples, by line; words may follow."""
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        alone = token.line.lstrip().startswith("#")
        if token.type == tokenize.COMMENT and not alone and (found := SHAPES.match(token.string)):
            comments[token.start[0]] = found[1]
    return comments


class _Watcher(ast.NodeTransformer):
    """Let every assigned and every returned value pass by ``_watch`` on its way."""

    def __init__(self, comments: dict[int, str]) -> None:
        self.comments = comments
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        # What a caller hands in may have any shape, so inside, comments are held but not demanded.
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        (target,) = node.targets
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if not any(isinstance(name, ast.Starred) for name in names):
            node.value = self.watched(node, [ast.unparse(name) for name in names])
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        if node.end_lineno in self.comments:
            several = isinstance(node.value, ast.Tuple)
            names = ["a returned value"] * (len(node.value.elts) if several else 1)
            node.value = self.watched(node, names)
        return node

    def watched(self, node: ast.Assign | ast.Return, names: list[str]) -> ast.expr:
        # A comment belongs to the line on which its statement ends. Its sizes, and the names that
        # the value was made from, are looked up where the statement stands.
        promised = f"({self.comments.get(node.end_lineno, '')},)".replace("(,)", "()")
        reads = sorted({n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)})
        made_from = f"list(map({{**globals(), **locals()}}.get, {reads}))"
        arguments = f"{names}, None, lambda: {promised}, {made_from}, {self.depth == 0}"
        call = f"{WATCH}({node.end_lineno}, {arguments})"
        expression = ast.parse(call, mode="eval").body
        expression.args[2] = node.value
        return ast.copy_location(expression, node.value)


@functools.cache
def run(path: Path, smaller: tuple[tuple[str, str], ...] = ()) -> Page:
    """Run a script once, headless, in a clean state; return its names and broken promises.

    A page that trains is run with smaller numbers: each pair is a pattern and what replaces it.
    """
    source = path.read_text(encoding="utf-8")
    for pattern, number in smaller:
        source, count = re.subn(pattern, number, source)
        assert count == 1, f"{path.name}: {pattern} stands there {count} times"
    comments = shape_comments(source)
    page = Page()

    def watch(line, names, value, promised, made_from, demanded):
        if len(names) > 1:
            value = tuple(value)  # a generator can be unpacked only once
        values = value if len(names) > 1 else (value,)
        tensors = [(n, tuple(v.shape)) for n, v in zip(names, values, strict=True) if _shaped(v)]
        if line in comments:
            page.held.add(line)
            try:
                shapes = list(promised())
            except NameError as error:
                page.problems.append(f"{path.name}:{line}: {comments[line]}: {error}")
                return value
            found = [shape for _, shape in tensors]
            # What is thrown away, as ``_``, needs no shape, but may have one.
            if shapes not in (found, [shape for name, shape in tensors if name != "_"]):
                page.problems.append(f"{path.name}:{line}: says {comments[line]}, is {found}")
            return value
        if not demanded:
            return value
        known = {tuple(v.shape) for v in made_from if _shaped(v)}
        page.problems += [
            f"{path.name}:{line}: {name} has a new shape {shape} and no comment"
            for name, shape in tensors
            if name.isidentifier() and shape and shape not in known
        ]
        return value

    tree = ast.fix_missing_locations(_Watcher(comments).visit(ast.parse(source)))
    module = types.ModuleType("__main__")
    module.__dict__[WATCH] = watch
    torch.manual_seed(0)
    dtype = torch.get_default_dtype()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.use("Agg")
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        plt.close("all")
        try:
            exec(compile(tree, str(path), "exec"), module.__dict__)
        finally:  # a page may choose other ones, for itself alone
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(True)
            torch.set_printoptions(profile="default")
        page.figures = [plt.figure(number).get_label() for number in plt.get_fignums()]
        plt.close("all")
    unread = comments.keys() - page.held
    page.problems += [f"{path.name}:{line}: {comments[line]} was never reached" for line in unread]
    page.names = module.__dict__
    page.problems = sorted(set(page.problems))  # a loop repeats its own
    return page


def _shaped(value: object) -> bool:
    return isinstance(value, torch.Tensor)
