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
from functools import cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.directives.other import TocTree
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

GALLERY = Path(__file__).parents[2] / "gallery"
THUMBNAILS = Path(__file__).parents[1] / "_static" / "thumbnails"
STOP = (0.08, 0.16)  # where in its cell a station lies
MAP = '<nav class="lesson-map" data-testid="lesson-map" aria-label="Map of the lessons">'
MAP += '<div><svg viewBox="0 0 9 3" preserveAspectRatio="none" aria-hidden="true">'
STATION = """<li data-needs="{needs}"><a href="{address}">
<img alt="" src="data:image/svg+xml,{picture}">
<span>{title}</span> <small data-minutes="{lesson.minutes}"></small></a></li>"""
PARTS = {"core": "Core lessons", "deeper": "Going deeper", "cases": "Case studies"}


# The lines of the map in the order of reading, and the cell of each one's first lesson. A branch
# leaves the last lesson that its first one needs.
LINES = {
    "Core lessons": [
        "core/plot_1_qkv_derivation",
        "core/plot_2_attention_layer",
        "core/plot_3_scaling_variance",
        "core/plot_4_masks",
        "core/plot_5_multi_head",
        "core/plot_6_positions",
        "core/plot_7_transformer_block",
        "core/plot_8_sentiment_training",
        "core/plot_9_reading_attention",
    ],
    "Rank": [
        "deeper/plot_1_low_rank_qk",
        "deeper/plot_2_gauge_and_biases",
        "deeper/plot_3_values_fold",
        "deeper/plot_4_rank_on_reviews",
        "deeper/plot_5_cost_of_the_product",
    ],
    "Real models": [
        "deeper/plot_6_real_model",
        "deeper/plot_7_qk_of_a_real_model",
        "deeper/plot_8_multi_head_bottleneck",
    ],
    "Attention today": [
        "deeper/plot_9a_rotary",
        "deeper/plot_9b_grouped_and_latent",
        "deeper/plot_9c_cache",
        "deeper/plot_9d_fused_kernel",
        "deeper/plot_9e_scale_in_training",
        "deeper/plot_9f_writing",
    ],
    "Case studies": ["cases/plot_1_ten_pitfalls"],
}
BEGINNINGS = [(0, 0), (1, 1), (6, 2), (0, 2), (7, 1)]
NAMES = [name for names in LINES.values() for name in names]
FIELDS = ("minutes", "extra", "needs", "exercises", "tasks", "search")
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


def read(script: Path) -> Lesson:
    """Read the header of a lesson.

    Raises:
        ExtensionError: If there is none, or one with other fields.
    """
    found = HEADER.match(script.read_text(encoding="utf-8"))
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
    )


@cache
def lessons() -> dict[str, Lesson]:
    """Map the name of each lesson's page to what the lesson says, in the order of reading.

    Raises:
        ExtensionError: If a lesson needs one that does not come before it, so that none needs
            itself by way of others.
    """
    found: dict[str, Lesson] = {}
    for name in NAMES:
        lesson = read(GALLERY / f"{name}.py")
        needs = [
            page for page in found for need in lesson.needs if page.startswith(f"gallery/{need}_")
        ]
        if len(needs) != len(lesson.needs):
            raise ExtensionError(
                f"{name} needs {lesson.needs}, of which only {needs} come before it"
            )
        found[f"gallery/{name}"] = lesson._replace(needs=needs)
    return found


def reading_order(path: str) -> int:
    """Sort lessons, or the folders of their parts, as they are to be read."""
    stem = PurePath(path).stem
    return next(i for i, name in enumerate(NAMES) if stem in name.split("/"))


def execution_order(path: str) -> int:
    """Begin with the last lessons, whose models take longest, so that no core waits at the end."""
    return -reading_order(path)


def short_title(app: Sphinx, page: str) -> str:
    """Name a page where there is little room: a lesson by its header, else up to a colon."""
    lesson = lessons().get(page)
    return lesson.short_title if lesson else app.env.titles[page].astext().partition(": ")[0]


def miss_nothing(app: Sphinx, config: Config) -> None:
    """Stop at a lesson that has no place in the order."""
    for path in sorted(GALLERY.glob("*/plot_*.py")):
        if path.relative_to(GALLERY).with_suffix("").as_posix() not in NAMES:
            raise ExtensionError(f"{path}: the lesson has no place in docs/_ext/lessons.py")


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


def table() -> str:
    """Write the lessons that have exercises, with their minutes, as a table in Markdown."""
    rows = ["| week | lesson | reading | exercises |", "| --- | --- | --- | --- |"]
    for page, lesson in lessons().items():
        if lesson.exercises:
            link = f"[{lesson.short_title}]({page}.rst)"
            practice = f"[](exercises/{lesson.exercises}.md)"
            rows.append(f"| {len(rows) - 1} | {link} | {lesson.minutes} min | {practice} |")
    return "\n".join(rows)


class Table(SphinxDirective):
    """The table of the lessons, on a page that is in Markdown."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(table())


class lesson_map(nodes.General, nodes.Element):
    """Where the map of the lessons stands."""


class Map(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [lesson_map()]


def rails() -> str:
    """Draw the map's lines as SVG's paths in a box of nine cells by three."""
    stops: dict[str, tuple[float, float]] = {}
    paths = []
    for names, (column, row) in zip(LINES.values(), BEGINNINGS, strict=True):
        x, y = column + STOP[0], row + STOP[1]
        pages = [f"gallery/{name}" for name in names]
        needs = lessons()[pages[0]].needs
        branch = "M{:.2f} {:.2f}V{:.2f}H".format(*stops[needs[-1]], row - 0.04) if needs else "M"
        path = f"{branch}{x:.2f}{'V' if needs else ' '}{y:.2f}H{x + len(names) - 1:.2f}"
        paths.append(f'<path d="{path}"/>')
        stops |= {page: (x + i, y) for i, page in enumerate(pages)}
    return "".join(paths)


def draw_map(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the map as lists of links, which a style sheet lays out over its lines.

    Each link holds its picture, because a browser would wait for two dozen files.
    """

    def station(name: str) -> str:
        page = f"gallery/{name}"
        lesson = lessons()[page]
        picture = (THUMBNAILS / f"{name}.svg").read_text(encoding="utf-8").replace('"', "'")
        return STATION.format(
            needs=" ".join(lesson.needs),
            address=app.builder.get_relative_uri(docname, page),
            picture=quote(picture, safe=" '/:=;,()"),
            title=re.sub(r"(?<=[a-z]{4})(?=[A-Z])", "<wbr>", lesson.short_title),
            lesson=lesson,
        )

    for node in list(doctree.findall(lesson_map)):
        parts = [MAP + rails() + "</svg>"]
        for (title, names), (column, row) in zip(LINES.items(), BEGINNINGS, strict=True):
            place = f"--column: {column + 1}; --row: {row + 1}; --stations: {len(names)}"
            parts += [f'<section style="{place}"><p>{title}</p><ol>', *map(station, names)]
            parts.append("</ol></section>")
        node.replace_self(nodes.raw("", "\n".join([*parts, "</div></nav>"]), format="html"))


def add_place(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Say above a lesson in which part it stands, at what place, and how long it takes."""
    if page == app.config.root_doc:  # where the sidebar begins with how to install
        first = f"gallery/{NAMES[0]}"
        address = app.builder.get_relative_uri(page, first)
        context["next"] = {"link": address, "title": lessons()[first].title}
    lesson = lessons().get(page)
    if lesson is None or "body" not in context:
        return
    part = page.split("/")[1]
    pages = [name for name in NAMES if name.startswith(f"{part}/")]
    own = page.removeprefix("gallery/")
    place = f" · {pages.index(own) + 1} of {len(pages)}" if len(pages) > 1 else ""
    anchor = PARTS[part].lower().replace(" ", "-")
    address = app.builder.get_relative_uri(page, "gallery/index")
    # The sidebar says the same to whoever can't see the bar.
    stops = [
        f'<span data-page="gallery/{name}" title="{lessons()[f"gallery/{name}"].short_title}"'
        f"{' class=here' if name == own else ''}></span>"
        for name in pages
    ]
    context["body"] = (
        f'<p class="chapter"><a href="{address}#{anchor}">{PARTS[part]}</a>{place}'
        f' · {lesson.minutes} minutes<span class="so-far"></span></p>\n'
        f'<div class="stops" aria-hidden="true">{"".join(stops)}</div>\n{context["body"]}'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("lesson", Header)
    app.add_directive("lessons", Tree)
    app.add_directive("lesson-map", Map)
    app.add_directive("lesson-table", Table)
    app.add_node(lesson_map)
    app.add_css_file("lesson-map.css")
    app.connect("doctree-resolved", draw_map)
    app.connect("config-inited", miss_nothing)
    app.connect("html-page-context", add_place, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
