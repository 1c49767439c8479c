"""The lessons in their order, and what each says of itself: all that lists lessons reads this.

A script begins with its header, a directive that prints nothing:

.. code-block:: rst

    .. lesson:: Attention masks
       :minutes: 40
       :extra: plot
       :needs: core/plot_2 core/plot_3
       :exercises: masks
       :tasks: causal-by-hand blind-row
       :search: padding mask; causal mask

It holds the title for narrow places, the minutes that reading takes, the extra that the script
needs, the lessons that its reader needs, its page in ``docs/exercises/``, the exercises that belong
to it, and what leads to it in the site's search. All but the first three may be missing. Its
picture lies in ``_static/thumbnails`` under the lesson's name.
"""

import re
from collections.abc import Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.directives.other import TocTree
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri
from sphinx.util.template import FileRenderer

GALLERY = Path(__file__).parents[2] / "gallery"
THUMBNAILS = Path(__file__).parents[1] / "_static" / "thumbnails"
TEMPLATES = Path(__file__).parents[1] / "_templates"
render = FileRenderer(TEMPLATES).render
STOP = (0.5, 0.16)  # where in its cell a station lies
HEIGHTS = (1, 0.6, 0.6)  # of the rows: a branch shows no pictures, so its row is lower
PARTS = {"core": "Core lessons", "deeper": "Going deeper", "cases": "Case studies"}
# The lines of the map in the order of reading: the scripts of each, which are read as their names
# sort, what is said of it, and the cell of the first. A branch leaves behind the last lesson that
# its first one needs, and goes down between the cells. The map has eleven columns and three rows.
LINES = {
    "Core lessons": ("core/plot_*.py", "minutes of a first reading", (0, 0)),
    "Rank": ("deeper/plot_[1-5]_*.py", "what can QKᵀ hold?", (2, 1)),
    "Real models": ("deeper/plot_[6-8]_*.py", "what do trained models do?", (7, 1)),
    "Attention today": ("deeper/plot_9?_*.py", "what do models change?", (4, 2)),
    "Case studies": ("cases/plot_*.py", "", (9, 0)),
}
HEADER = re.compile(
    r'r?"""\n\.\. lesson:: (?P<short_title>.+)\n(?P<fields>( +.+\n)+)\n(?P<title>.+)\n=+\n'
)
FIELD = re.compile(r"^ +:(\w+): (.+(?:\n +[^\s:].*)*)", re.MULTILINE)


class Lesson(NamedTuple):
    """What a lesson says of itself."""

    title: str
    short_title: str
    minutes: int
    extra: str
    needs: list[str]
    exercises: str
    tasks: list[str]
    search: list[str]
    first_minutes: int  # of a first reading, which is all where there are no closer looks

    @property
    def subtitle(self) -> str:
        """What the title says beyond the name: behind a colon, or behind the name itself."""
        _, _, behind = self.title.partition(": ")
        return behind or self.title.removeprefix(self.short_title).lstrip(", ")


FIELDS = Lesson._fields[2:-1]
FIRST = re.compile(r"^The first reading takes (\w+) minutes", re.MULTILINE)
NUMBERS = ["five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def read(script: Path) -> Lesson:
    """Read the header of a lesson.

    Raises:
        ExtensionError: If there is none, or one with other fields.
    """
    text = script.read_text(encoding="utf-8")
    found, first = HEADER.match(text), FIRST.search(text)
    said = dict(FIELD.findall(found["fields"])) if found else {}
    if not {"minutes", "extra"} <= said.keys() <= set(FIELDS):
        raise ExtensionError(f"{script}: a lesson begins as docs/_ext/lessons.py says")
    return Lesson(
        title=found["title"],
        short_title=found["short_title"],
        minutes=int(said["minutes"]),
        extra=said["extra"],
        needs=said.get("needs", "").split(),
        exercises=said.get("exercises", ""),
        tasks=said.get("tasks", "").split(),
        search=[words for words in re.split(r";\s+", said.get("search", "")) if words],
        first_minutes=5 + NUMBERS.index(first[1]) if first else int(said["minutes"]),
    )


def pages_of(line: str) -> list[str]:
    """List the pages of a line's lessons."""
    scripts = sorted(GALLERY.glob(LINES[line][0]))
    return [f"gallery/{path.parent.name}/{path.stem}" for path in scripts]


@cache
def lessons() -> dict[str, Lesson]:
    """Map the name of each lesson's page to what the lesson says, in the order of reading.

    Raises:
        ExtensionError: If a lesson needs one that does not come before it, so that none needs
            itself by way of others.
    """
    found: dict[str, Lesson] = {}
    for name in chain.from_iterable(map(pages_of, LINES)):
        lesson = read(GALLERY.parent / f"{name}.py")
        needs = [
            page for page in found for need in lesson.needs if page.startswith(f"gallery/{need}_")
        ]
        if len(needs) != len(lesson.needs):
            raise ExtensionError(
                f"{name} needs {lesson.needs}, of which only {needs} come before it"
            )
        found[name] = lesson._replace(needs=needs)
    return found


def last_first(file: str) -> int:
    """Execute the last lessons first: their models take longest, and no core waits at the end."""
    return -next(i for i, page in enumerate(lessons()) if page.endswith(f"/{Path(file).stem}"))


def short_title(app: Sphinx, page: str) -> str:
    """Name a page where there is little room: a lesson by its header, else up to a colon."""
    lesson = lessons().get(page)
    return lesson.short_title if lesson else app.env.titles[page].astext().partition(": ")[0]


class Header(SphinxDirective):
    """The header of a lesson, which is read from its script."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = dict.fromkeys(FIELDS, directives.unchanged)

    def run(self) -> list[nodes.Node]:
        return []


class Tree(TocTree):
    """The lessons of a part for the sidebar, under their short titles, and what follows them."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        part = self.arguments[0]
        self.options["caption"] = PARTS[part]
        entries = [
            f"{lesson.short_title} </{page}>"
            for page, lesson in lessons().items()
            if page.startswith(f"gallery/{part}/")
        ]
        self.content = StringList([*entries, *self.content], source="")
        return super().run()


class Table(SphinxDirective):
    """The lessons that have exercises, as a table on a page that is in Markdown."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(render("lesson-table.md", {"lessons": lessons()}))


def lines_of_the_map() -> Iterator[dict[str, Any]]:
    """Lay out the lines: the cell and the pages of each, and its path in eleven by 2.2."""
    stops: dict[str, tuple[float, float]] = {}
    for title, (_, about, (column, row)) in LINES.items():
        x, y = column + STOP[0], sum(HEIGHTS[:row]) + STOP[1]
        pages = pages_of(title)
        needs = lessons()[pages[0]].needs
        path = f"M{x:.2f} {y:.2f}"
        if needs:
            behind, above = stops[needs[-1]][0] + 0.5, stops[needs[-1]][1]
            path = f"M{behind:.2f} {above:.2f}V{y:.2f}"
        path += f"H{x + len(pages) - 1:.2f}"
        stops |= {page: (x + i, y) for i, page in enumerate(pages)}
        after = lessons()[needs[-1]].short_title if needs else ""
        stop = f"{STOP[1] / HEIGHTS[row]:.2%}"  # of the height of a row
        place = {"column": column, "row": row, "stop": stop, "path": path}
        yield {"title": title, "about": about, "after": after, "pages": pages, **place}


def thumbnail(page: str) -> str:
    """Write a lesson's picture as the end of an address, for which a browser asks nobody."""
    picture = THUMBNAILS / f"{page.removeprefix('gallery/')}.svg"
    return quote(picture.read_text(encoding="utf-8").replace('"', "'"), safe=" '/:=;,()")


class Map(SphinxDirective):
    """The map: lists of links, which a style sheet lays out over its lines.

    With ``:folded: always`` it begins with the core lessons, and a press shows the others; with
    ``:folded: narrow`` a phone's does.
    """

    option_spec = dict.fromkeys(
        ["folded"], lambda when: directives.choice(when, ("always", "narrow"))
    )

    def run(self) -> list[nodes.Node]:
        for page in lessons():
            self.env.note_dependency(str(GALLERY.parent / f"{page}.py"))
        written = render(
            "lesson-map.html",
            {
                "folded": self.options.get("folded"),
                "lines": list(lines_of_the_map()),
                "lessons": lessons(),
                "pathto": lambda page: relative_uri(f"{self.env.docname}.html", f"{page}.html"),
                "thumbnail": thumbnail,
            },
        )
        return [nodes.raw("", written, format="html")]


def add_place(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Say above a lesson in which part it stands, at what place, and how long it takes."""
    if page == app.config.root_doc:  # where the sidebar begins with how to install
        first, lesson = next(iter(lessons().items()))
        address = app.builder.get_relative_uri(page, first)
        context["next"] = {"link": address, "title": lesson.title}
    if page in lessons() and "body" in context:
        part = page.split("/")[1]
        pages = [name for name in lessons() if name.startswith(f"gallery/{part}/")]
        of_lesson = {"lessons": lessons(), "page": page, "pages": pages, "part": PARTS[part]}
        of_lesson["pathto"] = partial(app.builder.get_relative_uri, page)
        line = render("lesson-place.html", of_lesson)
        context["body"] = f"{line}\n{context['body']}"


def set_subtitle(app: Sphinx, doctree: nodes.document) -> None:
    """Mark what a title says behind its colon as the subtitle, on the home page and in lessons."""
    title = next(doctree.findall(nodes.title), None)
    named = {app.config.root_doc, *lessons()}
    if app.env.docname in named and title and ": " in title[-1].astext():
        name, _, subtitle = title[-1].astext().partition(": ")
        colon = nodes.inline("", ": ", classes=["colon"])
        title[-1:] = [nodes.Text(name), colon, nodes.inline("", subtitle, classes=["subtitle"])]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("lesson", Header)
    app.add_directive("lessons", Tree)
    app.add_directive("lesson-map", Map)
    app.add_directive("lesson-table", Table)
    app.add_css_file("lesson-map.css")
    app.connect("html-page-context", add_place, priority=600)
    app.connect("doctree-read", set_subtitle, priority=900)  # 500 lists the titles
    return {"parallel_read_safe": True}
