"""What one experiment of the ladder is, and how the list of them is read."""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention.sentiment.config import PRESETS, TrainConfig
from attention.sentiment.run_folder import config_json


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
    """Which number is chosen on the validation reviews: a field, or C for tfidf."""
    values: tuple[float, ...] = ()
    choice_of: str = ""
    """The cell whose choice is taken over."""
    pairs: bool = True
    """Whether tfidf trains on pairs, too."""
    mistakes: int = 0
    """How many of its most confident mistakes the first seed's run keeps."""
    private: bool = False
    """Whether the reviews may not be passed on."""

    def asked(self) -> dict[str, Any]:
        """Say in JSON what shapes the numbers, apart from the seed and what is chosen."""
        left_out = {"seed", "out", "device", "limit", "lab_sample"}
        if self.choose or self.choice_of:
            left_out.add("lr")  # what was chosen stands beside
        config = {k: v for k, v in config_json(self.config).items() if k not in left_out}
        if self.config.data not in ("imdb", "yelp"):
            config["data"] = "a folder of Yelp reviews"
        return {**config, "reviews": self.reviews, "pairs": self.pairs, "values": [*self.values]}


def read_cells(spec: Path, data: str | None) -> tuple[list[Cell], list[str]]:
    """Read the list of experiments, and the names of those that CI trains again.

    Args:
        spec: A TOML file; each group has the settings its cells share, and the cells.
        data: Where the reviews of groups without data of their own are; without it those
            groups are left out.
    """
    with spec.open("rb") as file:
        listed = tomllib.load(file)
    cells = []
    for group, settings in listed["groups"].items():
        if settings.get("needs_data") and data is None:
            continue
        shared = listed["shared"] | settings.get("shared", {})
        if settings.get("needs_data"):
            shared |= {"data": data, "private": data != "yelp"}
        every = {name: shared | own for name, own in settings.get("cells", {}).items()}
        if other := settings.get("cells_of"):
            every = _taken_over(listed["groups"][other], other, shared) | every
        cells += [_cell(f"{group}/{name}", group, asked) for name, asked in every.items()]
    return cells, listed["check"]


def _taken_over(settings: dict[str, Any], group: str, shared: dict[str, Any]) -> dict[str, Any]:
    """Ask for another group's cells on other reviews: what they chose is not chosen again."""
    cells = {}
    for name, own in settings["cells"].items():
        asked = shared | settings["shared"] | own | {"mistakes": 0}
        if asked["choose"]:
            asked |= {"choose": "", "values": [], "choice_of": f"{group}/{name}"}
        cells[name] = asked
    return cells


def _cell(name: str, group: str, asked: dict[str, Any]) -> Cell:
    asked = {k: tuple(v) if isinstance(v, list) else v for k, v in asked.items()}
    preset = asked.pop("preset", None)
    about = {f.name for f in dataclasses.fields(Cell)} & asked.keys()
    fields = {k: v for k, v in asked.items() if k not in about}
    if preset:  # of what the cells share it takes the reviews alone
        own = {"data"} & fields.keys()
        config = dataclasses.replace(PRESETS[preset], **{k: fields[k] for k in own})
    else:
        config = TrainConfig(**fields)
    return Cell(name, group, config, **{k: asked[k] for k in about})
