"""Collect what the reader writes in the lessons into files, which the site offers.

A cell of a lesson whose first line is the comment ``# attention_from_scratch.py`` is a piece of
that file; above it may be a line "# Setup: …", which folds the cell. Pieces come in the order of
the lessons. Where a later lesson defines a name again, its definition takes the place of the
earlier one. Each file grows in one folder of the gallery.
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
VARIANTS = "attention_variants.py"
FOLDERS = {NAME: "gallery/core/", VARIANTS: "gallery/deeper/"}


class Piece(NamedTuple):
    """One definition, and the title of its lesson."""

    name: str
    source: str
    lesson: str


def pieces_of(lesson: Path, name: str = NAME) -> Iterator[Piece]:
    """Read the pieces of a file in one lesson, between which the formatter leaves two lines empty.

    Raises:
        ValueError: If a cell of the file holds anything but functions and classes.
    """
    for block in split_code_and_text_blocks(lesson)[1]:
        code = remove_config_comments(remove_ignore_blocks(block.content.lstrip()))
        code = FOLDED.sub("", code)
        first, _, rest = code.partition("\n")
        if block.type == "code" and first == f"# {name}":
            for source in rest.strip("\n").split("\n\n\n"):
                if not (defined := DEFINES.search(source)):
                    where = f"{lesson.name}, cell at line {block.lineno}"
                    raise ValueError(f"{where}: no function and no class: {source}")
                yield Piece(defined[1], source, read(lesson).title)


def collect(scripts: Iterable[Path], name: str = NAME) -> dict[str, Piece]:
    """Map each name to its last definition, at the place of its first one."""
    return {piece.name: piece for script in scripts for piece in pieces_of(script, name)}


def lessons_in(root: Path, name: str = NAME) -> list[Path]:
    """List the lessons in which a file grows, in the order in which they are read."""
    return [root / f"{page}.py" for page in lessons() if page.startswith(FOLDERS[name])]


def from_scratch(root: Path, name: str = NAME) -> str:
    """Write a file: what the pieces need, the pieces below their lessons, what runs them."""
    pieces = collect(lessons_in(root, name), name).values()
    groups = groupby(pieces, key=lambda piece: piece.lesson)
    return render(f"{name}.jinja", {"groups": groups}).rstrip() + "\n"


def write_file(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    for name in FOLDERS:
        Path(app.outdir, name).write_text(from_scratch(app.srcdir.parent, name), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_file)
    return {"parallel_read_safe": True}
