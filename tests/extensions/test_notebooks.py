"""A lesson's notebook holds its text as Markdown and its code as it was written."""

import json

import pytest
from notebooks import Markdown, cells_of_code, notebook, quoted
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

ADDRESS = "https://example.org/site/gallery/core/plot_a.html"


@pytest.fixture
def read(site):
    """Read RST as Sphinx does."""

    def resolved(text: str):
        pages = {}
        app = site(text)
        app.connect("doctree-resolved", lambda app, page, name: pages.update({name: page}))
        app.build()
        return pages["index"]

    return resolved


@pytest.fixture
def write(read):
    """Read RST as Sphinx does, and write it as Markdown."""
    return lambda text: Markdown().blocks(read(text)[0]).partition("\n\n")[2]


@pytest.fixture(autouse=True)
def titles(monkeypatch):
    """Let a title of the page of one test count as a paragraph."""
    old = Markdown.block

    def block(self, node):
        return self.line(node) if node.tagname == "title" else old(self, node)

    monkeypatch.setattr(Markdown, "block", block)


@pytest.mark.parametrize(
    ("rst", "markdown"),
    [
        ("*a* **b** ``c_d``", "*a* **b** `c_d`"),
        ("over\ntwo lines", "over two lines"),
        (":math:`a_i \\le b`", "$a_i \\le b$"),
        ("2 \\* 3 costs $5 and W_query", "2 \\* 3 costs \\$5 and W_query"),
        ("`a page <https://a.b/c>`__", "[a page](https://a.b/c)"),
        ("* one\n* two", "- one\n- two"),
        ("1. one\n2. two", "1. one\n2. two"),
        ("* one\n\n  more\n* two", "- one\n\n  more\n\n- two"),
        (".. math:: a = b", "$$\na = b\n$$"),
        (
            ".. math::\n\n   a &= b \\\\\n   c &= d",
            "$$\n\\begin{aligned}a &= b \\\\\nc &= d\\end{aligned}\n$$",
        ),
        (".. code-block:: console\n\n   $ ls", "```console\n$ ls\n```"),
        ("So::\n\n   x = 1", "So:\n\n```default\nx = 1\n```"),
        (".. admonition:: What went wrong\n\n   All.", "> **What went wrong**\n>\n> All."),
        (".. note:: Mind this.", "> **Note**\n>\n> Mind this."),
        ("=  =\na  b\n=  =\n1  2\n=  =", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        (
            ".. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n   * - 1\n     - 2",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
        ),
        (".. rst-class:: run-it-yourself\n\n   Not this.\n\nThis.", "This."),
        (".. raw:: html\n\n   <b>Not this</b>\n\nThis.", "This."),
        (
            "\\1. is no list, and neither is\n\n\\- this",
            "1\\. is no list, and neither is\n\n\\- this",
        ),
    ],
)
def test_what_lessons_use_becomes_markdown(write, rst, markdown):
    assert write(rst) == markdown


def test_links_within_the_site_need_its_address(write):
    link = ":ref:`what it says <here>`\n\n.. _here:\n\n.. rubric:: Here"
    assert write(link).startswith("what it says\n")
    text = Markdown(ADDRESS).link({"refuri": "../../glossary.html#term-query"}, "query")
    assert text == "[query](https://example.org/site/glossary.html#term-query)"
    assert Markdown().link({"refuri": "../../glossary.html#term-query"}, "query") == "query"


SCRIPT = '''"""
Title
=====

Text.
"""

import torch

# %%
# Below
# -----
# More.

# sphinx_gallery_start_ignore


def hidden():
    return 1


# sphinx_gallery_end_ignore
x = hidden()
'''


def test_code_keeps_what_the_page_hides_and_loses_the_flags(tmp_path):
    path = tmp_path / "plot_a.py"
    path.write_text(SCRIPT)
    first, second = cells_of_code(split_code_and_text_blocks(path)[1])
    assert first == "import torch"
    assert second.startswith("def hidden():")
    assert second.endswith("x = hidden()")
    assert "sphinx_gallery" not in second


def test_text_and_code_take_turns(read, tmp_path):
    path = tmp_path / "plot_a.py"
    path.write_text(SCRIPT)
    code = ".. code-block:: Python\n\n   {}\n\n"
    page = read(f"Text.\n\n{code.format('import torch')}Below\n-----\nMore.\n\n{code.format('x')}")
    cells = json.loads(notebook(page, path, "", "%pip install it"))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"]).split("\n")[0]) for cell in cells] == [
        ("code", "%pip install it"),
        ("markdown", "# Page"),
        ("code", "import torch"),
        ("markdown", "## Below"),
        ("code", "def hidden():"),
    ]


def test_what_has_no_markdown_is_warned_of(write, logged_warnings):
    import notebooks

    collected = logged_warnings(notebooks)
    write(".. topic:: A topic\n\n   Text.")
    assert collected == ["notebook: no Markdown for topic"]


def test_a_quotation_has_no_trailing_spaces():
    assert quoted("a\n\nb") == "> a\n>\n> b"
