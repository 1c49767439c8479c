"""What several pages draw, in one palette: heatmaps, diagrams, curves, an atlas of heads, words.

A module is imported when one of its names is first used, so that colouring words for a terminal
does not import matplotlib.
"""

from typing import Any

from attention._extras import lazily, require
from attention.plotting.words import Html, words_as_ansi, words_as_html

__all__ = ["Html", "words_as_ansi", "words_as_html"]

_HOMES = {
    "AGAINST": "style",
    "BLACK": "style",
    "BLUE": "style",
    "DIVERGING": "style",
    "FOR": "style",
    "GREEN": "style",
    "KEY": "style",
    "ORANGE": "style",
    "PALETTE": "style",
    "PURPLE": "style",
    "QUERY": "style",
    "SKY": "style",
    "VALUE": "style",
    "WEIGHT": "style",
    "tint": "style",
    "use_style": "style",
    "draw_box": "diagrams",
    "draw_flow": "diagrams",
    "draw_matrices": "diagrams",
    "draw_weights": "heatmap",
    "confusion_heatmap": "confusion",
    "training_curves": "curves",
    "head_atlas": "atlas",
}
_load = lazily(__name__, {name: f"{__name__}.{module}" for name, module in _HOMES.items()})


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        require("plot", "matplotlib")
    return _load(name)


def __dir__() -> list[str]:
    return [*__all__, *_HOMES]
