"""Collect what the reader writes in the lessons into one file, which the site offers.

A cell of a lesson whose first line is the comment ``# attention_from_scratch.py`` is a piece of
that file; above it may be a line "# Setup: …", which folds the cell. Pieces come in the order of
the lessons. Where a later lesson defines a name again, its definition takes the place of the
earlier one.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lessons import lessons, read, render
from sphinx.application import Sphinx
from sphinx_gallery.py_source_parser import (
    remove_config_comments,
    remove_ignore_blocks,
    split_code_and_text_blocks,
)

DEFINES = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
FOLDED = re.compile(r"\A# Setup: .*\n")
NAME = "attention_from_scratch.py"


class Piece(NamedTuple):
    """One definition, and the title of its lesson."""

    name: str
    source: str
    lesson: str


def pieces_of(lesson: Path) -> Iterator[Piece]:
    """Read the pieces of one lesson, between which the formatter leaves two lines empty.

    Raises:
        ValueError: If a cell of the file holds anything but functions and classes.
    """
    for block in split_code_and_text_blocks(lesson)[1]:
        code = remove_config_comments(remove_ignore_blocks(block.content.lstrip()))
        code = FOLDED.sub("", code)
        first, _, rest = code.partition("\n")
        if block.type == "code" and first == f"# {NAME}":
            for source in rest.strip("\n").split("\n\n\n"):
                if not (defined := DEFINES.search(source)):
                    where = f"{lesson.name}, cell at line {block.lineno}"
                    raise ValueError(f"{where}: no function and no class: {source}")
                yield Piece(defined[1], source, read(lesson).title)


def collect(scripts: Iterable[Path]) -> dict[str, Piece]:
    """Map each name to its last definition, at the place of its first one."""
    return {piece.name: piece for script in scripts for piece in pieces_of(script)}


def lessons_in(root: Path) -> list[Path]:
    """List the core lessons in the order in which they are read."""
    return [root / f"{page}.py" for page in lessons() if page.startswith("gallery/core/")]


def from_scratch(root: Path) -> str:
    """Write the file: what the pieces need, the pieces below their lessons, the call of main."""
    pieces = collect(lessons_in(root)).values()
    groups = groupby(pieces, key=lambda piece: piece.lesson)
    return render(f"{NAME}.jinja", {"groups": groups}) + "\n"


def write_file(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    Path(app.outdir, NAME).write_text(from_scratch(app.srcdir.parent), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_file)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
