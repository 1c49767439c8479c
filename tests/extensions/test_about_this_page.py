import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import about_this_page
import pytest
import yaml
from pybtex.database import parse_string

ROOT = Path(__file__).parents[2]
HUB = "https://github.com/someone/attention"


@pytest.mark.parametrize(
    ("page", "source"),
    [
        ("index", "docs/index.md"),
        ("api/core", "docs/api/core.md"),
        ("gallery/index", "gallery/GALLERY_HEADER.rst"),
        ("gallery/core/plot_4_masks", "gallery/core/plot_4_masks.py"),
        ("_modules/attention/functional", "attention/functional.py"),
        ("_modules/attention/layers", "attention/layers/__init__.py"),
        ("_modules/index", ""),
        ("genindex", ""),
        ("404", ""),
    ],
)
def test_a_page_leads_to_what_it_was_made_from(tmp_path, page, source):
    # Not in our own folders: where a release is tested, no package lies beside the tests.
    if source:
        path = tmp_path / source
        path.parent.mkdir(parents=True)
        path.touch()
    assert about_this_page.source_of(page, tmp_path) == source


@pytest.mark.parametrize("repository", [HUB, f"{HUB}/", f"{HUB}.git"])
def test_a_page_is_edited_and_reported_where_the_repository_is(repository):
    both = about_this_page.links(repository, "docs/a.md", "Q & A", "https://example.org/a.html")
    assert both["edit_link"] == f"{HUB}/edit/main/docs/a.md"
    report = urlsplit(both["report_link"])
    assert report.path == "/someone/attention/issues/new"
    form = {"template": ["wrong_statement.yml"], "title": ["Q & A: "]}
    assert parse_qs(report.query) == form | {"page": ["https://example.org/a.html"]}
    assert (ROOT / ".github/ISSUE_TEMPLATE/wrong_statement.yml").exists()


@pytest.mark.parametrize("repository", ["", "https://codeberg.org/a/b", "git@github.com:a/b.git"])
def test_nothing_is_invented(repository):
    assert about_this_page.links(repository, "docs/a.md", "A", "a.html") == {}


def test_what_has_no_source_can_be_reported_only():
    assert set(about_this_page.links(HUB, "", "Index", "genindex.html")) == {"report_link"}


CITATION = {
    "title": "attention: a tutorial",
    "version": "1.2",
    "authors": [{"name": "The attention tutorial authors"}],
}


def entry(page="speed", title="Speed", address="", today="2026-11-22", **more):
    text = about_this_page.bibtex(page, title, address, CITATION | more, today)
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


def test_a_title_is_printed_by_a_tex_without_unicode_fonts():
    written = about_this_page.as_tex("QKᵀ by √k & more: 100 %, a_b #1")
    assert written == r"$QK^\top$ by $\sqrt{k}$ \& more: 100 \%, a\_b \#1"


def test_the_citation_file_is_whole():
    citation = yaml.safe_load(about_this_page.CITATION.read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "abstract", "authors", "keywords"} <= set(citation)
    assert {"license", "type", "version"} <= set(citation)


def test_a_page_is_named_by_its_title_and_cited_unless_sphinx_made_it(site):
    app = site("Text.", repository_url=HUB, html_baseurl="https://example.org/")
    found = {}
    app.setup_extension("about_this_page")
    app.connect("html-page-context", lambda *a: found.update({a[1]: dict(a[3])}), priority=900)
    app.build()
    form = {name: parse_qs(urlsplit(page["report_link"]).query) for name, page in found.items()}
    for name, title in {"index": "Page: ", "genindex": "genindex: "}.items():
        said = (form[name]["title"], form[name]["page"])
        assert said == ([title], [f"https://example.org/{name}.html"])
    assert re.search(r"title = \{\{Page\}\}", found["index"]["citation"])
    assert "citation" not in found["genindex"]
