from types import SimpleNamespace

import closer_looks
import pytest
from docutils import nodes
from sphinx.errors import ExtensionError


def section(title, *inside):
    return nodes.section("", nodes.title("", title), *inside)


def folded(lesson):
    page = nodes.document(None, None)
    page += lesson
    html = SimpleNamespace(builder=SimpleNamespace(name="html"))
    closer_looks.fold_closer_looks(html, page, "gallery/core/plot_1_lesson")
    return page


def test_a_closer_look_is_folded_under_its_heading():
    look = section("Closer look: why", nodes.paragraph("", "inside"))
    page = folded(section("A lesson", section("The line"), look))
    assert [node.astext() for node in page[0][-1]] == [
        '<details class="closer-look" open><summary>',
        "Closer look: why",
        "</summary>",
        "inside",
        "</details>",
    ]


def test_a_closer_look_never_folds_a_section_of_the_line():
    look = section("Closer look: why", section("The line"))
    with pytest.raises(ExtensionError, match=r"“Closer look: why” would fold .* “The line”"):
        folded(section("A lesson", look))
