"""Collect what the reader writes in the lessons into one file, which the site offers.

A cell of a lesson whose first line is the comment ``# attention_from_scratch.py`` is a piece of
that file. Pieces come in the order of the lessons. Where a later lesson defines a name again, its
definition takes the place of the earlier one.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lessons import NAMES
from sphinx.application import Sphinx
from sphinx_gallery.py_source_parser import (
    remove_config_comments,
    remove_ignore_blocks,
    split_code_and_text_blocks,
)

TITLE = re.compile(r"^(.+)\n=+$", re.MULTILINE)
NAME = "attention_from_scratch.py"
DOCSTRING = '''"""Attention from scratch: what a reader of the lessons writes, collected in a file.

Above each group of definitions stands the lesson that explains them. To train a classifier on the
reviews of a CSV file with the columns label (0 or 1) and text:

    python attention_from_scratch.py reviews.csv
"""'''
# All that a piece may use beside other pieces.
IMPORTS = """import csv
import random
import re
import sys

import torch
from torch import nn
from torch.nn import functional as F"""
CALL_MAIN = 'if __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))'


class Piece(NamedTuple):
    """One definition of a lesson."""

    name: str
    source: str
    lesson: str
    """The lesson's title."""


def pieces_of(lesson: Path) -> Iterator[Piece]:
    """Read the pieces of one lesson.

    Raises:
        ValueError: If a cell of the file holds anything but definitions.
    """
    _, blocks = split_code_and_text_blocks(lesson)
    title = TITLE.search(blocks[0].content)[1]
    for block in blocks:
        if block.type != "code" or not block.content.lstrip().startswith(f"# {NAME}\n"):
            continue
        code = remove_config_comments(remove_ignore_blocks(block.content.lstrip()))
        lines = code.splitlines()
        end = 1  # the line that names the file
        for node in ast.parse(code).body:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)]):
                    pass
                case ast.Import() | ast.ImportFrom():
                    end = node.end_lineno  # what is needed is written at the head
                    continue
                case _:
                    raise ValueError(
                        f"{lesson.name}, cell at line {block.lineno}: a piece of {NAME} holds "
                        f"definitions only, got: {lines[node.lineno - 1]}"
                    )
            # From the end of the definition before, so that comments above this one come along.
            yield Piece(name, "\n".join(lines[end : node.end_lineno]).strip("\n"), title)
            end = node.end_lineno


def collect(lessons: Iterable[Path]) -> dict[str, Piece]:
    """Map each name to its last definition, at the place of its first one."""
    pieces: dict[str, Piece] = {}
    for lesson in lessons:
        for piece in pieces_of(lesson):
            pieces[piece.name] = piece
    return pieces


def lessons_in(root: Path) -> list[Path]:
    """List the core lessons in the order in which they are read."""
    return [root / "gallery" / f"{name}.py" for name in NAMES if name.startswith("core/")]


def from_scratch(root: Path) -> str:
    """Write the file: a docstring, imports, the pieces below their lessons, the call of main."""
    parts = [f"{DOCSTRING}\n\n{IMPORTS}"]
    pieces = collect(lessons_in(root)).values()
    for title, of_lesson in groupby(pieces, key=lambda piece: piece.lesson):
        first, *rest = (piece.source for piece in of_lesson)
        parts += [f'# From "{title}"\n{first}', *rest]
    return "\n\n\n".join([*parts, CALL_MAIN]) + "\n"


def write_file(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    Path(app.outdir, NAME).write_text(from_scratch(app.srcdir.parent), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_file)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
