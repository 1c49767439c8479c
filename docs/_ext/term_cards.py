"""Write what each term of the glossary means, in a sentence, for the cards that ``terms.js`` opens.

One script for all pages, which a page loads when a term is first pointed at: a definition that
changes is then new everywhere, and no page that links to it has to be written again.
"""

import json
from pathlib import Path

from descriptions import first_sentences
from docutils import nodes
from gallery_pages import plain
from sphinx.application import Sphinx

CARDS = "_static/term-cards.js"


def cards(glossary: nodes.document) -> dict[str, list[str]]:
    """Map the address of each term to the term and the first sentences of its definition."""
    found = {}
    for item in glossary.findall(nodes.definition_list_item):
        terms = [node for node in item.children if isinstance(node, nodes.term)]
        paragraph = next(item.findall(nodes.paragraph))
        meaning = first_sentences(plain(paragraph))
        found |= {node["ids"][0]: [node.astext(), meaning] for node in terms}
    return found


def write_cards(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    found = cards(app.env.get_doctree("glossary"))
    script = f"receiveTerms({json.dumps(found, ensure_ascii=False)});\n"
    Path(app.outdir, CARDS).write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
