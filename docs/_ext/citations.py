"""Write the entry under which each page goes into a bibliography, from ``CITATION.cff``."""

import datetime
import re
from pathlib import Path
from typing import Any

import yaml
from gallery_pages import title_of
from sphinx.application import Sphinx

CITATION = Path(__file__).parents[2] / "CITATION.cff"
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
    """Write a page's entry.

    Args:
        page: Its name on the site, from which the entry's key is made.
        title: As readers see it.
        address: Where the site is; if nobody knows, the entry has no address.
        citation: What ``CITATION.cff`` holds.
        today: The date of the build, for a version that has none of its own.
    """
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


def add_citation(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Give the entry to the template of a page that somebody wrote."""
    if doctree is None:
        return
    address = app.config.html_baseurl and app.config.html_baseurl + app.builder.get_target_uri(page)
    title = title_of(app, page)
    citation = yaml.safe_load(CITATION.read_text(encoding="utf-8"))
    today = datetime.date.today().isoformat()
    context["citation"] = bibtex(page, title, address, citation, today)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_citation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
