"""A page of questions: all titles at a glance, an address for each, and words that lead to it.

``titles`` lists the sections of its page as links. A short name before a heading, ``(name)=``, is
the address of its section; the longer one that Sphinx makes of the title leads there as well.
``search`` prints nothing: it says below a heading how people ask for what the section answers, one
phrase after another with a semicolon between them, as ``:search:`` does in the header of a lesson.
The search page gets these phrases from ``descriptions.py``.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FIELD = "search_phrases"  # of a page's metadata


class phrases(nodes.Element):
    """What people type who look for a section."""


class titles(nodes.Element):
    """The place of the list."""


class Search(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return [phrases(found_by=[phrase.strip() for phrase in self.arguments[0].split(";")])]


class Titles(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [titles()]


def sections(parent: nodes.Element) -> list[nodes.section]:
    return [node for node in parent.children if isinstance(node, nodes.section)]


def link(section: nodes.section) -> nodes.paragraph:
    """Link to a section by its title."""
    words = [node.deepcopy() for node in section[0].children]
    reference = nodes.reference("", "", *words, internal=True, refid=section["ids"][0])
    return nodes.paragraph("", "", reference)


def finish(app: Sphinx, doctree: nodes.document) -> None:
    """Do all that needs the addresses of sections, which names before headings have reached."""
    for place in list(doctree.findall(titles)):
        page = place.parent
        listed = nodes.container(classes=["titles"])
        for part in sections(page):
            questions = (nodes.list_item("", link(one)) for one in sections(part))
            listed += nodes.container("", link(part), nodes.bullet_list("", *questions))
        place.replace_self(listed)
    for node in list(doctree.findall(phrases)):
        found_by = app.env.metadata[app.env.docname].setdefault(FIELD, {})
        found_by[node.parent["ids"][0]] = node["found_by"]
        node.parent.remove(node)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("search", Search)
    app.add_directive("titles", Titles)
    app.connect("doctree-read", finish, priority=400)  # at 500, Sphinx collects what it says
    return {"parallel_read_safe": True}
