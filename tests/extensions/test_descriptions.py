import re

import pytest


def described(build, text: str) -> str:
    page, warnings = build(text, "descriptions")
    assert "WARNING" not in warnings
    found = re.search(r'<meta name="description" content="(.*?)">', page)
    return found[1] if found else ""


def test_a_page_is_described_by_its_first_sentences(build):
    text = "What is it? It is this, " + 20 * "and this, " + "and that.\n\nMore."
    assert described(build, f"One.\nTwo.\n\n{text}") == "One. Two. What is it?"


def test_what_is_about_the_page_does_not_describe_it(build):
    text = ".. note:: Old.\n\nFirst.\n\nPart\n----\n\nSecond."
    assert described(build, text) == "First."


def test_how_to_run_a_page_does_not_describe_it(build):
    text = ".. rst-class:: run-it-yourself\n\n    Download it.\n\nWhat is it?"
    assert described(build, text) == "What is it?"


def test_a_long_sentence_is_cut_between_words(build):
    text = described(build, 60 * "words " + "end.")
    assert text.endswith("words …")
    assert 190 < len(text) <= 200


def test_an_equation_is_described_by_letters(build):
    assert described(build, r"Divide by :math:`\sqrt{k}`.") == "Divide by √k."


def test_a_description_ends_before_a_title_that_is_not_known_yet(build):
    assert described(build, "First. See :doc:`index` here. Third.") == "First."


def test_marks_that_html_reads_are_written_for_it(build):
    assert described(build, 'Is ``"a" < b``?') == "Is &quot;a&quot; &lt; b?"


def test_a_page_without_text_has_no_description(build):
    assert described(build, ".. rubric:: Nothing") == ""


@pytest.mark.parametrize("name", ["genindex", "search"])
def test_what_sphinx_makes_has_no_description(site, name):
    app = site("Text.", "descriptions")
    app.build()
    assert 'name="description"' not in (app.outdir / f"{name}.html").read_text(encoding="utf-8")
