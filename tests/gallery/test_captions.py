"""Every figure of a lesson has a caption and a number, and no text is lost beside a marker."""

import ast
import re
from string import ascii_lowercase

import pytest
from run_pages import GALLERY
from sphinx_gallery.py_source_parser import remove_ignore_blocks, split_code_and_text_blocks

LESSONS = sorted(path.relative_to(GALLERY).as_posix() for path in GALLERY.rglob("plot_*.py"))


HEADING = re.compile(r"^(.+)\n[-~]{4,}$", re.MULTILINE)


def draws(code: str) -> bool:
    """Tell a cell that leaves a figure: each has an alternative text."""
    return ".set_label(" in remove_ignore_blocks(code)


def shows(code: str) -> bool:
    """Tell a cell that ends with an object which may draw itself, as the atlas of heads does."""
    statements = ast.parse(code).body
    return bool(statements) and isinstance(statements[-1], ast.Expr)


def right_numbers(in_closer_looks: list[bool]) -> list[str]:
    """Number the figures of a lesson, such as 1, 2, 2a, 2b, 3."""
    numbers, number, letters = [], 0, 0
    for is_inside in in_closer_looks:
        number, letters = (number, letters + 1) if is_inside else (number + 1, 0)
        numbers.append(f"{number}{ascii_lowercase[letters - 1] if letters else ''}")
    return numbers


def problems(path) -> list[str]:
    blocks = split_code_and_text_blocks(path)[1]
    found, numbers, in_closer_looks = [], [], []
    title = ""
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        is_code = block.type == "code"
        if block.type == "text" and (titles := HEADING.findall(block.content)):
            title = titles[-1]
        text = after.content.lstrip() if after and after.type == "text" else ""
        caption = re.match(r"\*Figure (\w+)\.", text)
        if is_code and draws(block.content) and not caption:
            found.append(f"line {block.lineno}: a figure without a caption")
        if caption:
            numbers.append(caption[1])
            in_closer_looks.append(title.startswith("Closer look: "))
            if not (is_code and (draws(block.content) or shows(block.content))):
                found.append(f"line {after.lineno}: a caption without a figure")
    if numbers != right_numbers(in_closer_looks):
        found.append(f"figures are numbered {numbers}")
    # sphinx-gallery drops text on the line of a cell's marker without a word.
    lost = re.findall(r"^# *%% *\S.*$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [*found, *(f"{line}: text beside a marker" for line in lost)]


@pytest.mark.parametrize("name", LESSONS)
def test_every_figure_is_captioned_and_numbered(name):
    assert problems(GALLERY / name) == []


CELL = 'fig, ax = plt.subplots()\nfig.set_label("a bar")\n'


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (f"{CELL}\n# %%\n# *Figure 1.* A bar.\n", []),
        ("x = 1\n\n# %%\n# Text.\n", []),
        ("x = 1\n\n# %% Text.\n", ["# %% Text.: text beside a marker"]),
        (f"{CELL}\n# %%\n# A bar.\n", ["line 5: a figure without a caption"]),
        (f"{CELL}\n# %%\n# *Figure 2.* A bar.\n", ["figures are numbered ['2']"]),
        ("x = 1\n\n# %%\n# *Figure 1.* A bar.\n", ["line 8: a caption without a figure"]),
        (
            f"{CELL}\n# %%\n# *Figure 1.* A bar.\n#\n# Closer look: b\n# ----\n# More.\n\n"
            f"{CELL}\n# %%\n# *Figure 1b.* A bar.\n",
            ["figures are numbered ['1', '1b']"],
        ),
        (
            "# sphinx_gallery_start_ignore\nfig.set_label()\n# sphinx_gallery_end_ignore\nx = 1\n",
            [],
        ),
    ],
)
def test_what_is_missing_is_found(tmp_path, script, found):
    path = tmp_path / "plot_a.py"
    path.write_text(f'"""\nTitle\n=====\n"""\n{script}')
    assert problems(path) == found


def test_a_figure_of_a_core_lesson_that_a_page_names_is_there():
    pages = [path.read_text(encoding="utf-8") for path in (GALLERY.parent / "docs").glob("*.md")]
    named = [
        (lesson, figure)
        for page in pages
        for lesson, figures in re.findall(
            r"lesson (\d+), Figures? (\d+[a-z]?(?: and \d+[a-z]?)?)", page
        )
        for figure in figures.split(" and ")
    ]
    assert len(named) > 2
    for lesson, figure in named:
        (path,) = GALLERY.glob(f"core/plot_{lesson}_*.py")
        assert f"*Figure {figure}.*" in path.read_text(encoding="utf-8"), (lesson, figure)
