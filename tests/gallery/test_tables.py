"""Every column of a table is named, because a screen reader says the name before each cell."""

import re

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from run_pages import GALLERY, ROOT
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

DOCS = ROOT / "docs"
LESSONS = [*GALLERY.rglob("plot_*.py"), *GALLERY.rglob("*.rst")]
PAGES = [*DOCS.glob("*.md"), *DOCS.glob("exercises/*.md"), *DOCS.glob("api/*.md")]
HEADER = re.compile(r"^ *\|(.*)\|\n *\|[-:| ]+\|$", re.MULTILINE)
# Sphinx knows roles and directives that docutils does not; their tables are read all the same.
QUIET = {"report_level": 5, "halt_level": 5}


def headers(path) -> list[list[str]]:
    """List the header cells of each table of a page, or of a lesson's text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [re.split(r"(?<!\\)\|", row) for row in HEADER.findall(text)]
    if path.suffix == ".py":
        blocks = split_code_and_text_blocks(path)[1]
        text = "\n".join(block.content for block in blocks if block.type == "text")
    rows = publish_doctree(text, settings_overrides=QUIET).findall(nodes.thead)
    return [[cell.astext() for cell in row.findall(nodes.entry)] for row in rows]


def unnamed(path) -> list[list[str]]:
    return [row for row in headers(path) if not all(cell.strip() for cell in row)]


@pytest.mark.parametrize(
    "path", LESSONS + PAGES, ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_every_column_is_named(path):
    assert unnamed(path) == []


def test_tables_are_read():
    assert sum(len(headers(path)) for path in PAGES) > 10
    assert sum(len(headers(path)) for path in LESSONS) > 1


LESSON = '"""\nTitle\n=====\n"""\n# %%\n# See :term:`query`:\n#\n'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "Text.\n\n| {} | right |\n| --- | --: |\n| a | b |\n"),
        ("page.rst", "===== =====\n{:5} right\n===== =====\na     b\n===== =====\n"),
        (
            "plot_a.py",
            LESSON + "# .. list-table::\n#    :header-rows: 1\n#\n#    * - {}\n#      - right\n"
            "#    * - a\n#      - b\n",
        ),
    ],
)
def test_a_column_without_a_name_is_found(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text.format("left"))
    assert headers(path)
    assert unnamed(path) == []
    path.write_text(text.format(""))
    assert len(unnamed(path)) == 1
