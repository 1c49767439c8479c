"""Run a gallery script as its reader would, and hold its shape comments to the shapes they name.

``weights = …  # (6, 6)`` promises a shape. Every assignment to a name is followed, when the script
runs, by a look at what was assigned. The comment is Python: ``(1000, k)`` takes k from the script.
"""

import ast
import functools
import io
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


@dataclass
class Page:
    """What running a script left behind."""

    names: dict[str, object] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)  # lines whose comment was compared
    problems: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # alternative texts


def shape_comments(source: str) -> dict[int, str]:
    """Find the comments that start with a tuple, by line."""
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip()[0] != "#":
            text = token.string[1:].strip()
            if text.startswith("("):
                comments[token.start[0]] = text
    return comments


class _Watcher(ast.NodeTransformer):
    """Put a look at what was assigned behind every assignment."""

    def __init__(self, comments: dict[int, str]) -> None:
        self.comments = comments

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        (target,) = node.targets
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if not all(isinstance(name, ast.Name) for name in names):
            return [node]
        # A comment belongs to the line on which its statement ends.
        comment = self.comments.get(node.end_lineno)
        promised = f"({comment},)" if comment else "()"
        reads = sorted({n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)})
        bound = ", ".join(f"{name!r}: locals().get({name!r})" for name in reads)
        assigned = ", ".join(f"({name.id!r}, {name.id})" for name in names)
        look = f"{WATCH}({node.end_lineno}, [{assigned}], lambda: {promised}, _before)"
        return [
            # Taken before, because ``x = x.T`` forgets what it had.
            *ast.parse(f"_before = {{{bound}}}").body,
            node,
            *ast.parse(look).body,
        ]


@functools.cache
def run(path: Path) -> Page:
    """Run a script once, headless, in a clean state; return its names and broken promises."""
    source = path.read_text(encoding="utf-8")
    comments = shape_comments(source)
    page = Page()

    def watch(line: int, assigned: list, promised, before: dict[str, object]) -> None:
        tensors = [(name, t) for name, t in assigned if isinstance(t, torch.Tensor)]
        known = {t.shape for t in before.values() if isinstance(t, torch.Tensor)}
        if line not in comments:
            page.problems += [
                f"{path.name}:{line}: {name} has a new shape {tuple(t.shape)} and no comment"
                for name, t in tensors
                if t.dim() and t.shape not in known
            ]
            return
        page.held.add(line)
        try:
            shapes = promised()
        except NameError as error:
            page.problems.append(f"{path.name}:{line}: {comments[line]}: {error}")
            return
        found = [tuple(value.shape) for name, value in assigned if name != "_"]
        shapes = [s for s, (name, _) in zip(shapes, assigned, strict=False) if name != "_"]
        if found != shapes:
            page.problems.append(f"{path.name}:{line}: says {comments[line]}, is {found}")

    tree = ast.fix_missing_locations(_Watcher(comments).visit(ast.parse(source)))
    module = types.ModuleType("__main__")
    module.__dict__[WATCH] = watch
    torch.manual_seed(0)
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.use("Agg")
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        plt.close("all")
        exec(compile(tree, str(path), "exec"), module.__dict__)
        page.figures = [plt.figure(number).get_label() for number in plt.get_fignums()]
        plt.close("all")
    unread = comments.keys() - page.held
    page.problems += [f"{path.name}:{line}: {comments[line]} was never reached" for line in unread]
    page.names = module.__dict__
    page.problems = sorted(set(page.problems))  # a loop repeats its own
    return page
