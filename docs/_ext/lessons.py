"""The lessons in their order, and what each says of itself: all that lists lessons reads this.

A script begins with its header, a directive that prints nothing:

.. code-block:: rst

    .. lesson:: Attention masks
       :minutes: 40
       :extra: plot
       :exercises: masks
       :search: padding mask; causal mask

It holds the title for narrow places, the minutes that reading takes, the extra that the script
needs, its page in ``docs/exercises/``, and what leads to it in the site's search. The last two may
be missing. The picture on its card lies in ``_static/thumbnails`` under the lesson's name.
"""

import re
from functools import cache
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.directives.other import TocTree
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

GALLERY = Path(__file__).parents[2] / "gallery"
PARTS = {"core": "Core lessons", "deeper": "Going deeper", "cases": "Case studies"}
NAMES = [
    "core/plot_1_qkv_derivation",
    "core/plot_2_attention_layer",
    "core/plot_3_scaling_variance",
    "core/plot_4_masks",
    "core/plot_5_multi_head",
    "core/plot_6_positions",
    "core/plot_7_transformer_block",
    "core/plot_8_sentiment_training",
    "core/plot_9_reading_attention",
    "deeper/plot_1_low_rank_qk",
    "deeper/plot_2_gauge_and_biases",
    "deeper/plot_3_values_fold",
    "deeper/plot_4_rank_on_reviews",
    "deeper/plot_5_cost_of_the_product",
    "deeper/plot_6_real_model",
    "deeper/plot_7_qk_of_a_real_model",
    "deeper/plot_8_multi_head_bottleneck",
    "deeper/plot_9a_rotary",
    "deeper/plot_9b_grouped_and_latent",
    "deeper/plot_9c_cache",
    "deeper/plot_9d_fused_kernel",
    "deeper/plot_9e_scale_in_training",
    "deeper/plot_9f_writing",
    "cases/plot_1_ten_pitfalls",
]
HEADER = re.compile(
    r'r?"""\n\.\. lesson:: (?P<short_title>.+)\n +:minutes: (?P<minutes>\d+)\n'
    r" +:extra: (?P<extra>.+)\n( +:exercises: (?P<exercises>.+)\n)?"
    r"( +:search: (?P<search>.+(\n +.+)*)\n)?\n(?P<title>.+)\n=+\n"
)


class Lesson(NamedTuple):
    """What a lesson says of itself."""

    title: str
    short_title: str
    minutes: int
    extra: str
    exercises: str
    search: list[str]


def read(script: Path) -> Lesson:
    """Read the header of a lesson.

    Raises:
        ExtensionError: If there is none, or one with other fields.
    """
    found = HEADER.match(script.read_text(encoding="utf-8"))
    if not found:
        raise ExtensionError(f"{script}: a lesson begins as docs/_ext/lessons.py says")
    said = found.groupdict("")
    search = [words for words in re.split(r";\s+", said["search"]) if words]
    return Lesson(**said | {"minutes": int(said["minutes"]), "search": search})


@cache
def lessons() -> dict[str, Lesson]:
    """Map the name of each lesson's page to what the lesson says, in the order of reading."""
    return {f"gallery/{name}": read(GALLERY / f"{name}.py") for name in NAMES}


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
    option_spec = dict.fromkeys(("minutes", "extra", "exercises", "search"), directives.unchanged)

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


def add_place(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Say above a lesson in which part it stands, at what place, and how long it takes."""
    lesson = lessons().get(page)
    if lesson is None or "body" not in context:
        return
    part = page.split("/")[1]
    pages = [name for name in NAMES if name.startswith(f"{part}/")]
    place = f" · {pages.index(page.removeprefix('gallery/')) + 1} of {len(pages)}"
    anchor = PARTS[part].lower().replace(" ", "-")
    address = app.builder.get_relative_uri(page, "gallery/index")
    context["body"] = (
        f'<p class="chapter"><a href="{address}#{anchor}">{PARTS[part]}</a>'
        f"{place if len(pages) > 1 else ''} · {lesson.minutes} minutes</p>\n{context['body']}"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("lesson", Header)
    app.add_directive("lessons", Tree)
    app.add_directive("lesson-table", Table)
    app.connect("config-inited", miss_nothing)
    app.connect("html-page-context", add_place, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
