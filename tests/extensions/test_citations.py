import re

import citations
import pytest
import yaml
from pybtex.database import parse_string

CITATION = {
    "title": "attention: a tutorial",
    "version": "1.2",
    "authors": [{"name": "The attention tutorial authors"}],
}


def entry(page="speed", title="Speed", address="", today="2026-11-22", **more):
    text = citations.bibtex(page, title, address, CITATION | more, today)
    ((key, parsed),) = parse_string(text, "bibtex").entries.items()
    return key, parsed


def test_an_entry_names_page_site_version_and_year():
    key, parsed = entry("gallery/core/plot_4_masks", "Masks")
    assert key == "attention-gallery-core-plot-4-masks"
    assert parsed.type == "misc"
    assert parsed.fields["title"] == "{Masks}"
    assert parsed.fields["howpublished"] == "attention: a tutorial, version 1.2"
    assert parsed.fields["year"] == "2026"
    assert [str(person) for person in parsed.persons["author"]] == [
        "{The attention tutorial authors}"
    ]


def test_an_address_and_a_doi_are_there_where_they_are_known():
    _, without = entry()
    assert not {"url", "doi"} & set(without.fields)
    _, parsed = entry(address="https://example.org/a_b.html", doi="10.5281/zenodo.1")
    assert parsed.fields["url"] == "https://example.org/a_b.html"
    assert parsed.fields["doi"] == "10.5281/zenodo.1"


def test_a_released_version_is_of_the_year_of_its_release():
    released = yaml.safe_load("date-released: 2025-03-04")
    assert entry(**released)[1].fields["year"] == "2025"


def test_persons_are_written_as_bibtex_sorts_them():
    authors = [
        {"family-names": "Curie", "given-names": "Marie"},
        {"family-names": "Noether", "given-names": "Emmy"},
    ]
    _, parsed = entry(authors=authors)
    assert [person.last_names for person in parsed.persons["author"]] == [["Curie"], ["Noether"]]


@pytest.mark.parametrize(
    ("title", "tex"),
    [
        ("divided by √k", r"divided by $\sqrt{k}$"),
        ("QKᵀ in a real model", r"$QK^\top$ in a real model"),
        ("Questions & answers: 100 %, a_b #1", r"Questions \& answers: 100 \%, a\_b \#1"),
    ],
)
def test_a_title_is_printed_by_a_tex_without_unicode_fonts(title, tex):
    written = citations.as_tex(title)
    assert written == tex
    assert written.isascii()


def test_the_citation_file_is_whole():
    citation = yaml.safe_load(citations.CITATION.read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "abstract", "authors", "keywords"} <= set(citation)
    assert {"license", "type", "version"} <= set(citation)


def test_a_page_that_sphinx_makes_is_not_cited():
    context = {}
    citations.add_citation(None, "genindex", "", context, None)
    assert context == {}


def test_a_page_gives_its_entry_to_its_template(site):
    app = site("Text.")
    context = {}
    app.build()
    citations.add_citation(app, "index", "", context, app.env.get_doctree("index"))
    assert re.search(r"title = \{\{Page\}\}", context["citation"])
