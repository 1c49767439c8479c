"""Let the site's own search lead to a lesson by the words that people search for.

``_static/search.js`` ranks what Sphinx has indexed. An entry of the index counts nearly as much as
a title; the glossary's terms and synonyms are such entries by themselves, and here each lesson gets
those of its header.

A second build writes only what has changed, and Sphinx then forgets the entries of all other pages
(its issue 12599), so these are read into the index again.
"""

from typing import Any

from docutils import nodes
from lessons import lessons
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

WORDS = {page: lesson.search for page, lesson in lessons().items()}
WORDS["training"] = ["training command", "training options", "CSV", "GPU", "my own data"]
WORDS["attention_in_100_lines"] = ["minimal", "single file", "tiny implementation", "nanoGPT"]
WORDS["sheet"] = ["cheat sheet", "summary", "poster", "handout", "print", "PDF"]


class AddEntries(SphinxTransform):
    """Give a page its entries before Sphinx collects those of all pages.

    They lead to the page's first section: the search quotes the place that an entry leads to, and
    the place that the directive makes is empty.
    """

    default_priority = 840  # the collection: 850

    def apply(self, **_: Any) -> None:
        words = WORDS.get(self.env.docname, [])
        for section in list(self.document.findall(nodes.section))[:1]:
            entries = [("single", word, section["ids"][0], "main", None) for word in words]
            section.insert(1, addnodes.index(entries=entries))


def index_others(app: Sphinx) -> list[tuple[str, dict[str, Any], str]]:
    """Index the pages that are not written this time; add no page to the site."""
    if app.builder.name == "html":
        for docname in sorted(app.env.found_docs - app.builder.indexer._index_entries.keys()):
            title = app.env.titles[docname].astext()
            app.builder.index_page(docname, app.env.get_doctree(docname), title)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(AddEntries)
    app.connect("html-collect-pages", index_others)
    return {"parallel_read_safe": True}
