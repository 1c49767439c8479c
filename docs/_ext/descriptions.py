"""Say in a sentence or two what each page is and what each term means, and list all pages.

A page is described by its own first sentences. ``sphinxext.opengraph`` would begin with whatever
stands first, which on every lesson is how to download it (a paragraph with a class of its own), and
would cut in the middle of a word. It takes what a page's metadata say instead.

``llms.txt`` is for language models, ``sitemap.xml`` for search engines: ``sphinx-llms-txt`` lists
copies of the sources, of which this site publishes none, and the sitemap of ``sphinx-sitemap``
holds what a build has written, so that a second build leaves most pages out.

What the terms of the glossary mean is for the cards that ``terms.js`` opens. All are in one script,
which a page loads when a term is first pointed at: a definition that changes is then new
everywhere, and no page that links to it has to be written again.
"""

import html
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from docutils import nodes
from gallery_pages import plain, without_tex
from lessons import render
from questions import FIELD as PHRASES
from sphinx import addnodes
from sphinx.application import Sphinx

LENGTH = 200  # about what a search engine shows
FIELD = "og:description"
GLOSSARY, CARDS = "glossary", "_static/term-cards.js"
CITED = re.compile(r"\b[a-z]+\d{4}\w+")  # a reference, which has no number yet
IN_BRACKETS = re.compile(rf" \([^()]*{CITED.pattern}[^()]*\)")
FORMULA = re.compile(r"[\\{}^]")
SENTENCE_ENDS = re.compile(r"(?<=[.?!])\s+(?=[A-Z“])")


def opening(page: nodes.document) -> str:
    """Join the paragraphs between a page's title and its next heading.

    What names another page by the other's own title is not known while this page is read, so the
    opening ends before it.
    """
    texts: list[str] = []
    titles = 0
    for node in page.findall():
        titles += isinstance(node, nodes.title)
        if titles > 1:
            break
        in_prose = isinstance(node.parent, nodes.section | nodes.container)
        if isinstance(node, nodes.paragraph) and in_prose and not node["classes"]:
            text = ""
            for part in node.findall():
                if isinstance(part, addnodes.pending_xref) and not part.get("refexplicit"):
                    return " ".join([*texts, text])
                if isinstance(part, nodes.Text) and not isinstance(part.parent, nodes.raw):
                    text += without_tex(part) if isinstance(part.parent, nodes.math) else part
            texts.append(text)
    return " ".join(texts)


def first_sentences(text: str) -> str:
    """Return the first sentences of a text, as many as fit, or the beginning of a longer one."""
    text = " ".join(text.split())
    fitting = ""
    for sentence in SENTENCE_ENDS.split(text):
        longer = f"{fitting} {sentence}".strip()
        if len(longer) > LENGTH or not sentence.endswith((".", "?", "!")):
            break
        fitting = longer
    return fitting or textwrap.shorten(text, LENGTH, placeholder=" …")


def keep_description(app: Sphinx, page: nodes.document) -> None:
    """Write the description where Sphinx keeps what a page says of itself."""
    if text := first_sentences(opening(page)):
        app.env.metadata[app.env.docname].setdefault(FIELD, html.escape(text))


def texts(app: Sphinx) -> dict[str, str]:
    """Map each page, in the order of reading, to its description."""
    pages, metadata = app.env.collect_relations(), app.env.metadata
    return {page: html.unescape(metadata[page].get(FIELD, "")) for page in pages}


def add_texts(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Write a page's description into its head, and those of all into the search page."""
    if text := (context.get("meta") or {}).get(FIELD):
        context["metatags"] += f'<meta name="description" content="{text}">\n'
    if page == "search":
        context["search_pages"] = texts(app)
        context["search_phrases"] = {
            name: said[PHRASES] for name, said in app.env.metadata.items() if PHRASES in said
        }


def cards(glossary: nodes.document) -> dict[str, list[str]]:
    """Map the address of each term to the term and the first sentences of its definition."""
    found = {}
    for item in glossary.findall(nodes.definition_list_item):
        terms = [node for node in item.children if isinstance(node, nodes.term)]
        text = IN_BRACKETS.sub("", plain(next(item.findall(nodes.paragraph))))
        marked = f"{CITED.pattern}|{FORMULA.pattern}"
        said = [one for one in SENTENCE_ENDS.split(text) if not re.search(marked, one)]
        meaning = first_sentences(" ".join(said))
        found |= {node["ids"][0]: [node.astext(), meaning] for node in terms}
    return found


def write_lists(app: Sphinx, exception: Exception | None) -> None:
    """List all pages; search engines take whole addresses only, language models any."""
    if exception or app.builder.name != "html":
        return
    env, base, home = app.env, app.config.html_baseurl, app.config.root_doc
    context = {
        "home": home,
        "trees": list(env.get_doctree(home).findall(addnodes.toctree)),
        "below": env.toctree_includes,
        "addresses": {page: base + app.builder.get_target_uri(page) for page in env.found_docs},
        "titles": {page: plain(env.titles[page]) for page in env.found_docs},
        "texts": texts(app),
    }
    for name in ("llms.txt", "sitemap.xml") if base else ("llms.txt",):
        Path(app.outdir, name).write_text(render(name, context), encoding="utf-8")
    if GLOSSARY in env.found_docs:
        terms = json.dumps(cards(env.get_doctree(GLOSSARY)), ensure_ascii=False)
        Path(app.outdir, CARDS).write_text(f"receiveTerms({terms});\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", keep_description)
    # At 500, opengraph sees that there is a description.
    app.connect("html-page-context", add_texts, priority=400)
    app.connect("build-finished", write_lists)
    return {"parallel_read_safe": True}
