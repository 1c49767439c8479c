"""Fill "About this page": version, what it was made from, a form for what is wrong, how to cite it.

The first two need the address of the repository (``REPOSITORY_URL``), on GitHub. The entry of a
bibliography is written from ``CITATION.cff``. The latest release is the first heading of
``CHANGELOG.md`` with a date.
"""

import datetime
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml
from gallery_pages import plain
from sphinx.application import Sphinx

# "main" is the branch that .github/workflows/ci.yml publishes. GitHub fills in the fields of a form
# in .github/ISSUE_TEMPLATE by their names.
EDIT = "edit/main/{source}"
REPORT = "issues/new?template=wrong_statement.yml&title={title}&page={address}"


def source_of(page: str, root: Path) -> str:
    """Name the file that a page was made from; empty for what Sphinx makes by itself."""
    if page == "gallery/index":
        return "gallery/GALLERY_HEADER.rst"
    candidates = [f"docs/{page}.md", f"{page}.py"]  # a page; a lesson, which is a script
    return next((name for name in candidates if (root / name).is_file()), "")


def links(repository: str, source: str, title: str, address: str) -> dict[str, str]:
    """Write the addresses that a page leads to; none where it is not on GitHub."""
    found = re.fullmatch(r"(https://github\.com/.+?)(\.git)?/?", repository)
    if not found:
        return {}
    filled_in = REPORT.format(title=quote(f"{title}: "), address=quote(address, safe=""))
    edit = source and f"{found[1]}/{EDIT.format(source=source)}"
    return {"report_link": f"{found[1]}/{filled_in}", "edit_link": edit}


ROOT = Path(__file__).parents[2]
CITATION = ROOT / "CITATION.cff"
CHANGELOG = ROOT / "CHANGELOG.md"
RELEASE = re.compile(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", re.MULTILINE)
# What TeX without Unicode fonts can't print, in the titles of our lessons.
AS_TEX = {
    "√k": r"$\sqrt{k}$",
    "√": r"$\surd$",
    "QKᵀ": r"$QK^\top$",
    "ᵀ": r"$^\top$",
    "…": r"\dots{}",
}
SPECIAL = re.compile(r"[&%#_]")


def as_tex(text: str) -> str:
    """Write plain text so that TeX prints it as it is."""
    text = SPECIAL.sub(lambda found: "\\" + found[0], text)
    for letters, tex in AS_TEX.items():
        text = text.replace(letters, tex)
    return text


def name_of(author: dict[str, str]) -> str:
    """Write an author as BibTeX reads one: a body's name is in braces, which keep it whole."""
    if "name" in author:
        return f"{{{author['name']}}}"
    return f"{author['family-names']}, {author['given-names']}"


def bibtex(page: str, title: str, address: str, citation: dict[str, Any], today: str) -> str:
    """Write a page's entry from ``CITATION.cff``, dated today if the version has no date."""
    key = "-".join(["attention", *re.split(r"[/_]+", page.removesuffix("/index"))])
    fields = {
        "author": " and ".join(map(name_of, citation["authors"])),
        "title": f"{{{as_tex(title)}}}",
        "howpublished": f"{as_tex(citation['title'])}, version {citation['version']}",
        "year": str(citation.get("date-released", today))[:4],
    }
    if "doi" in citation:
        fields["doi"] = citation["doi"]
    if address:
        fields["url"] = address
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{{key},\n{lines}}}\n"


def fill_in(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Give links and entry to the page's template; who wants to cite what Sphinx made by itself?"""
    is_written = page in app.env.titles
    title = plain(app.env.titles[page]) if is_written else context.get("title", page)
    source = source_of(page, Path(app.srcdir).parent)
    baseurl, name = app.config.html_baseurl, app.builder.get_target_uri(page)
    released = RELEASE.search(CHANGELOG.read_text(encoding="utf-8"))
    context["latest_release"] = released[1] if released else ""
    context.update(links(app.config.repository_url, source, title, baseurl + name))
    if is_written:
        citation = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
        today = datetime.date.today().isoformat()
        context["citation"] = bibtex(page, title, baseurl and baseurl + name, citation, today)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("repository_url", os.environ.get("REPOSITORY_URL", ""), "env", str)
    app.connect("html-page-context", fill_in)
    return {"parallel_read_safe": True}
