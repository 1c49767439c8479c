import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import about_this_page
import pytest
import yaml
from pybtex.database import parse_string

ROOT = Path(__file__).parents[2]
HUB = "https://github.com/someone/attention"
SOURCES = {
    "index": "docs/index.md",
    "api/core": "docs/api/core.md",
    "gallery/index": "gallery/GALLERY_HEADER.rst",
    "gallery/core/plot_4_masks": "gallery/core/plot_4_masks.py",
    "_modules/index": "",
    "genindex": "",
}


def test_a_page_leads_to_what_it_was_made_from(tmp_path):
    # Not in our own folders: where a release is tested, no package lies beside the tests.
    for source in filter(None, SOURCES.values()):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / source).touch()
    assert {page: about_this_page.source_of(page, tmp_path) for page in SOURCES} == SOURCES


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


CITATION = {
    "title": "attention: a tutorial",
    "version": "1.2",
    "authors": [{"name": "The attention tutorial authors"}],
}
PERSONS = [
    {"family-names": "Curie", "given-names": "Marie"},
    {"family-names": "Noether", "given-names": "Emmy"},
]


def entry(page="speed", title="Speed", address="", **more):
    text = about_this_page.bibtex(page, title, address, CITATION | more, "2026-11-22")
    ((key, parsed),) = parse_string(text, "bibtex").entries.items()
    return key, parsed.type, dict(parsed.fields), list(map(str, parsed.persons["author"]))


def test_an_entry_names_page_site_version_and_year():
    assert entry("gallery/core/plot_4_masks", "Masks") == (
        "attention-gallery-core-plot-4-masks",
        "misc",
        {
            "title": "{Masks}",
            "howpublished": "attention: a tutorial, version 1.2",
            "year": "2026",
        },
        ["{The attention tutorial authors}"],
    )


def test_an_entry_has_what_is_known_of_a_release_its_persons_as_bibtex_sorts_them():
    known = {"doi": "10.5281/zenodo.1", "authors": PERSONS}
    known |= yaml.safe_load("date-released: 2025-03-04")
    _, _, fields, persons = entry(address="https://example.org/a_b.html", **known)
    assert (fields["url"], fields["doi"]) == ("https://example.org/a_b.html", "10.5281/zenodo.1")
    assert fields["year"] == "2025"
    assert persons == ["Curie, Marie", "Noether, Emmy"]


def test_a_title_is_printed_by_a_tex_without_unicode_fonts():
    written = about_this_page.as_tex("QKᵀ by √k & more: 100 %, a_b #1")
    assert written == r"$QK^\top$ by $\sqrt{k}$ \& more: 100 \%, a\_b \#1"


def test_the_citation_file_is_whole():
    citation = yaml.safe_load(about_this_page.CITATION.read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "abstract", "authors", "keywords"} <= set(citation)
    assert {"license", "type", "version"} <= set(citation)


def test_a_page_is_named_by_its_title_and_what_sphinx_made_can_be_reported_only(site):
    app = site("Text.", repository_url=HUB, html_baseurl="https://example.org/")
    found = {}
    app.setup_extension("about_this_page")
    app.connect("html-page-context", lambda *a: found.update({a[1]: dict(a[3])}), priority=900)
    app.build()
    for name, title in {"index": "Page: ", "genindex": "genindex: "}.items():
        form = parse_qs(urlsplit(found[name]["report_link"]).query)
        assert (form["title"], form["page"]) == ([title], [f"https://example.org/{name}.html"])
    assert "title = {{Page}}" in found["index"]["citation"]
    assert "citation" not in found["genindex"]
    assert not found["genindex"]["edit_link"]


LATER = "## 1.1.0 (unreleased)\n\n- Later.\n\n"
RELEASED = "## 1.0.0 (2026-11-22)\n\n- New.\n\n## 0.9.0 (2026-10-01)\n"
TEMPLATE = (ROOT / "docs" / "_templates" / "page.html").read_text("utf-8")
LINE = "In development: version 1.1.0"


@pytest.mark.parametrize(
    ("version", "changelog", "address", "said"),
    [
        ("1.0.0", RELEASED, "https://a.org/", ""),
        (
            "1.1.0",
            LATER + RELEASED,
            "https://a.org/b/latest/",
            LINE + ' · latest release: <a href="https://a.org/b/">1.0.0</a>',
        ),
        ("1.1.0", LATER + RELEASED, "https://a.org/b/", LINE + " · latest release: 1.0.0"),
        ("1.1.0", LATER, "", ""),
    ],
)
def test_a_page_says_its_version_and_that_it_is_no_release(
    version, changelog, address, said, site, tmp_path, monkeypatch
):
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n" + changelog, "utf-8")
    monkeypatch.setattr(about_this_page, "CHANGELOG", tmp_path / "CHANGELOG.md")
    page = (
        site(
            "Text.",
            "about_this_page",
            html_theme="furo",
            release=version,
            html_baseurl=address,
            html_context={"html_baseurl": address},
            templates_path=["."],
            pages={"page.html": TEMPLATE},
            repository_url="",
        )
        .build()
        .page()
    )
    line = re.search('<aside class="in-development"[^>]*>(.*?)</aside>', page, re.DOTALL)
    assert (" ".join(line[1].split()) if line else "") == said
    ending = "" if version == "1.0.0" else ", in development"
    assert f"<span>Version {version}{ending}</span>" in page
