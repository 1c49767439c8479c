"""Count what a first reading of the core lessons takes: ``python docs/first_reading.py``.

Words are those of the text outside closer looks, where a formula within a line is one word and a
formula of its own none. Lines are those of code that a reader sees without unfolding anything,
without empty lines and comments.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

from sphinx_gallery.py_source_parser import remove_ignore_blocks, split_code_and_text_blocks

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from closer_looks import PREFIX  # noqa: E402 — after the path
from figures import folded_as  # noqa: E402 — after the path

MOST_WORDS, MOST_WORDS_IN_ALL, MOST_LINES_IN_ALL = 1200, 8500, 450

# A directive with its options, the name alone of one whose content is read, and a formula
HEADERS = re.compile(r"^\.\. (lesson|rubric|seealso)::.*\n( +:.*\n(  +[^:\s].*\n)*)*", re.MULTILINE)
FORMULAS = re.compile(r"^\.\. (math|code-block|image|raw)::.*\n(\n|[ ]+.*\n)*", re.MULTILINE)
DIRECTIVES = re.compile(r"^ *(\.\. [\w-]+::|:[\w-]+:)", re.MULTILINE)
FORMULA = re.compile(r":math:`[^`]*`")
UNDERLINES = re.compile(r"^([=\-~^\"])\1{3,}$")


class Size(NamedTuple):
    """What a first reading of one lesson takes."""

    words: int
    lines: int


def words_of(text: str) -> int:
    """Count the words of a text in reStructuredText."""
    text = DIRECTIVES.sub("", FORMULAS.sub("", HEADERS.sub("", text + "\n")))
    text = FORMULA.sub("formula", text)
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def lines_of(code: str) -> int:
    """Count the lines of code, without empty ones and comments."""
    lines = (line.strip() for line in code.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def first_reading(script: Path) -> Size:
    """Count the words and the visible lines of code of a lesson's main line."""
    _, blocks = split_code_and_text_blocks(str(script))
    words = lines = cells = 0
    marks: list[str] = []  # the characters that underline headings, the highest level first
    depth: int | None = None  # the level of the closer look that one is in
    for kind, content, _ in blocks:
        if kind == "code":
            code = remove_ignore_blocks(content).strip()
            if code:
                cells += 1
            if code and depth is None and not folded_as(code, is_first=cells == 1):
                lines += lines_of(code)
            continue
        kept = []
        texts = content.splitlines()
        for text, below in zip(texts, [*texts[1:], ""], strict=True):
            if (found := UNDERLINES.match(below)) and text and len(below) >= len(text):
                if found[1] not in marks:
                    marks.append(found[1])
                level = marks.index(found[1])
                if depth is None or level <= depth:
                    depth = level if text.startswith(PREFIX) else None
            if depth is None and not UNDERLINES.match(text):
                kept.append(text)
        words += words_of("\n".join(kept))
    return Size(words, lines)


def core_lessons() -> list[Path]:
    """List the scripts of the core lessons in their order."""
    return sorted((HERE.parent / "gallery/core").glob("plot_*.py"))


if __name__ == "__main__":
    sizes = {script.stem: first_reading(script) for script in core_lessons()}
    for name, size in sizes.items():
        print(f"{name:32}{size.words:6} words{size.lines:5} lines")
    words, lines = map(sum, zip(*sizes.values(), strict=True))
    print(f"{'in all':32}{words:6} words{lines:5} lines")
