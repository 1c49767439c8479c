"""A lesson's notebook holds its text as Markdown and its code as it was written."""

import json

from notebooks import Markdown, notebook

ADDRESS = "https://example.org/site/gallery/core/plot_a.html"
# What lessons use, and the Markdown that it becomes
MARKDOWN = {
    "*a* **b** ``c_d``": "*a* **b** `c_d`",
    "over\ntwo lines": "over two lines",
    ":math:`a_i \\le b`": "$a_i \\le b$",
    "2 \\* 3 costs $5 and W_query": "2 \\* 3 costs \\$5 and W_query",
    "`a page <https://a.b/c>`__": "[a page](https://a.b/c)",
    # A link within the site needs its address.
    ":ref:`what it says <here>`\n\n.. _here:\n\n.. rubric:: Here": "what it says\n\n**Here**",
    "* one\n* two": "- one\n- two",
    "1. one\n2. two": "1. one\n2. two",
    "term\n   Text.\nother\n   More.": "term\n\nText.\n\nother\n\nMore.",
    "* one\n\n  more\n* two": "- one\n\n  more\n- two",
    ".. math:: a = b": "$$\na = b\n$$",
    ".. math::\n\n   a &= b \\\\\n   c &= d": (
        "$$\n\\begin{aligned}a &= b \\\\\nc &= d\\end{aligned}\n$$"
    ),
    ".. code-block:: console\n\n   $ ls": "```console\n$ ls\n```",
    "So::\n\n   x = 1": "So:\n\n```default\nx = 1\n```",
    ".. admonition:: What went wrong\n\n   All.": "> **What went wrong**\n>\n> All.",
    ".. note:: Mind this.": "> **Note**\n>\n> Mind this.",
    "=  =\na  b\n=  =\n1  2\n=  =": "| a | b |\n| --- | --- |\n| 1 | 2 |",
    ".. list-table::\n\n   * - a\n     - b": "|  |  |\n| --- | --- |\n| a | b |",
    ".. rst-class:: run-it-yourself\n\n   Not this.\n\nThis.": "This.",
    ".. raw:: html\n\n   <b>Not this</b>\n\nThis.": "This.",
    "\\1. is no list, and neither is\n\n\\- this": "1\\. is no list, and neither is\n\n\\- this",
    "| A verse": "A verse",  # which no lesson uses
}


def test_what_lessons_use_becomes_markdown(for_a_notebook):
    page = for_a_notebook("\n\nX-X-X\n\n".join(["", *MARKDOWN]))
    written = Markdown().convert(page).split("\n\nX-X-X\n\n")
    assert written == ["# Page", *MARKDOWN.values()]


def test_a_link_within_the_site_starts_from_its_address():
    link = '<a class="reference" title="t" href="../../glossary.html#term-query">query</a>'
    text = Markdown(ADDRESS).convert(link)
    assert text == "[query](https://example.org/site/glossary.html#term-query)"


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


def test_text_and_code_take_turns_and_code_keeps_what_the_page_hides(for_a_notebook, tmp_path):
    path = tmp_path / "plot_a.py"
    path.write_text(SCRIPT)
    code = ".. code-block:: Python\n\n   {}\n\n"
    text = f"Text.\n\n{code.format('import torch')}Below\n-----\nMore.\n\n{code.format('x')}"
    cells = json.loads(notebook(for_a_notebook(text), path, "", "%pip install it"))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("code", "%pip install it"),
        ("markdown", "# Page\n\nText."),
        ("code", "import torch"),
        ("markdown", "## Below\n\nMore."),
        ("code", "def hidden():\n    return 1\n\n\nx = hidden()"),
    ]
