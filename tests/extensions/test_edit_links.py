from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import edit_links
import pytest
from docutils import nodes

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
    assert edit_links.source_of(page, tmp_path) == source


def test_every_page_and_lesson_has_a_source():
    folders = ("", "api/", "exercises/")
    pages = [path for folder in folders for path in (ROOT / "docs").glob(f"{folder}*.md")]
    pages = [path.relative_to(ROOT / "docs") for path in pages]
    lessons = [path.relative_to(ROOT) for path in ROOT.glob("gallery/*/plot_*.py")]
    assert len(pages) > 10
    assert len(lessons) > 20
    for path in [*pages, *lessons]:
        assert edit_links.source_of(path.with_suffix("").as_posix(), ROOT).endswith(path.as_posix())


@pytest.mark.parametrize("repository", [HUB, f"{HUB}/", f"{HUB}.git"])
def test_a_page_is_edited_and_reported_where_the_repository_is(repository):
    both = edit_links.links(repository, "docs/a.md", "Q & A", "https://example.org/a.html")
    assert both["edit_link"] == f"{HUB}/edit/main/docs/a.md"
    report = urlsplit(both["report_link"])
    assert report.path == "/someone/attention/issues/new"
    form = {"template": ["wrong_statement.yml"], "title": ["Q & A: "]}
    assert parse_qs(report.query) == form | {"page": ["https://example.org/a.html"]}
    assert (ROOT / ".github/ISSUE_TEMPLATE/wrong_statement.yml").exists()


@pytest.mark.parametrize("repository", ["", "https://codeberg.org/a/b", "git@github.com:a/b.git"])
def test_nothing_is_invented(repository):
    assert edit_links.links(repository, "docs/a.md", "A", "a.html") == {}


def test_what_has_no_source_can_be_reported_only():
    assert set(edit_links.links(HUB, "", "Index", "genindex.html")) == {"report_link"}


def test_a_page_is_reported_by_its_title_as_it_is_read():
    app = SimpleNamespace(
        srcdir=ROOT / "docs",
        builder=SimpleNamespace(get_target_uri="{}.html".format),
        config=SimpleNamespace(repository_url=HUB, html_baseurl="https://example.org/"),
        env=SimpleNamespace(titles={"notation": nodes.title("", r"On \sqrt k")}),
    )
    for page, title in {"notation": "On √k: ", "genindex": "Index: "}.items():
        context = {"title": "Index" if page == "genindex" else "On <math>"}
        edit_links.add_links(app, page, "page.html", context, None)
        form = parse_qs(urlsplit(context["report_link"]).query)
        assert (form["title"], form["page"]) == ([title], [f"https://example.org/{page}.html"])
        assert ("edit_link" in context) == (page == "notation")
