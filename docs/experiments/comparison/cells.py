"""What one experiment of the comparison is, and how the list of them is read."""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention.sentiment.config import PRESETS, TrainConfig

# They do not shape the numbers, or are recorded beside the configuration.
_LEFT_OUT = {"seed", "out", "device", "limit", "lab_sample"}


@dataclass(frozen=True)
class Cell:
    """One experiment: a configuration, trained once for each seed."""

    name: str
    group: str
    config: TrainConfig
    method: str = "attention"
    """attention, tfidf or majority."""
    seeds: tuple[int, ...] = (0,)
    reviews: int | None = None
    """Train on this many; validation keeps its size."""
    choose: str = ""
    """Which number is chosen on the validation reviews: an option, or C for tfidf."""
    values: tuple[float, ...] = ()
    choice_of: str = ""
    """The cell whose choice is taken over."""
    pairs: bool = True
    """Whether tfidf trains on pairs, too."""
    mistakes: int = 0
    """How many of its most confident mistakes the first seed's run keeps."""
    private: bool = False
    """Whether the reviews may not be passed on."""

    def requested(self) -> dict[str, Any]:
        """List in JSON what shapes the numbers, apart from the seed and what is chosen."""
        chosen = {"lr"} if self.choose or self.choice_of else set()
        left_out = _LEFT_OUT | chosen
        config = {k: v for k, v in self.config.options().items() if k not in left_out}
        if self.config.data not in ("imdb", "yelp"):
            config["data"] = "a folder of Yelp reviews"
        return {**config, "reviews": self.reviews, "pairs": self.pairs, "values": [*self.values]}


def with_defaults(recorded: dict[str, Any]) -> dict[str, Any]:
    """Add the options that came after a configuration was recorded, as they were before: unused.

    An option's default is what versions without it did. The learning rate is never added: where
    it is not recorded, it was chosen.
    """
    options = TrainConfig().options()
    return {k: v for k, v in options.items() if k not in _LEFT_OUT | {"lr"}} | recorded


def read_cells(table: Path, data: str | None) -> tuple[list[Cell], list[str]]:
    """Read the list of experiments, and the names of those that CI trains again.

    Args:
        table: A TOML file; each group has the settings its cells share, and the cells.
        data: Where the reviews of groups without data of their own are; without it those
            groups are left out.
    """
    with table.open("rb") as file:
        content = tomllib.load(file)
    cells = []
    for group, settings in content["groups"].items():
        if settings.get("needs_data") and data is None:
            continue
        shared = content["shared"] | settings.get("shared", {})
        if settings.get("needs_data"):
            shared |= {"data": data, "private": data != "yelp"}
        every = {name: shared | own for name, own in settings.get("cells", {}).items()}
        if other := settings.get("cells_of"):
            every = _cells_of(content["groups"][other], other, shared) | every
        cells += [_cell(f"{group}/{name}", group, own) for name, own in every.items()]
    return cells, content["check"]


def _cells_of(settings: dict[str, Any], group: str, shared: dict[str, Any]) -> dict[str, Any]:
    """Take over another group's cells for other reviews: what they chose is not chosen again."""
    cells = {}
    for name, own in settings["cells"].items():
        cell = shared | settings["shared"] | own | {"mistakes": 0}
        if cell["choose"]:
            cell |= {"choose": "", "values": [], "choice_of": f"{group}/{name}"}
        cells[name] = cell
    return cells


def _cell(name: str, group: str, settings: dict[str, Any]) -> Cell:
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    preset = settings.pop("preset", None)
    of_cell = {field.name for field in dataclasses.fields(Cell)} & settings.keys()
    options = {k: v for k, v in settings.items() if k not in of_cell}
    if preset:  # of what the cells share it takes the reviews alone
        config = PRESETS[preset].with_options(**{k: options[k] for k in {"data"} & options.keys()})
    else:
        config = TrainConfig().with_options(**options)
    return Cell(name, group, config, **{k: settings[k] for k in of_cell})
