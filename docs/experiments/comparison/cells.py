"""What one experiment of the comparison is, and how the list of them is read."""

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from attention.sentiment.config import TrainConfig

TUNING_SEED = 100
"""Of all runs that choose settings; no cell reports it."""

# They do not shape the numbers, or are recorded beside the configuration.
_LEFT_OUT = {"seed", "out", "device", "limit", "labels"}


@dataclass(frozen=True)
class Cell:
    """One experiment: a configuration, tuned with one seed and trained once for each other seed.

    Raises:
        ValueError: If the tuning seed is to be reported.
    """

    name: str
    """Its group and its own name; a cell of the group ``models`` has its own name alone."""
    group: str
    config: TrainConfig
    method: Literal["attention", "tfidf", "majority"] = "attention"
    seeds: tuple[int, ...] = (0,)
    """Which are reported."""
    reviews: int | None = None
    """Train on this many at most."""
    tune: Mapping[str, Sequence[float]] = field(default_factory=dict, hash=False)
    """The values to try, by option: of attention.train, or ``C`` and ``ngrams`` of tfidf."""
    chosen_by: str = ""
    """The cell whose choice is taken over, of what is not tuned here."""
    takes: tuple[str, ...] = ()
    """Which options that is."""
    reads_front: bool = True
    """Whether tfidf reads what stands in front of a separator."""
    reported: Literal["test", "validation"] = "test"
    """Which split is reported. Where it is the validation reviews, a tenth of the training reviews
    takes their part."""
    private: bool = False
    """Whether the reviews may not be passed on."""

    def __post_init__(self) -> None:
        if TUNING_SEED in self.seeds:
            raise ValueError(f"{self.name}: seed {TUNING_SEED} tunes, so it can't be reported")

    def trials(self) -> list[dict[str, Any]]:
        """List what is to be tried: every combination of the values, or nothing."""
        combinations = product(*self.tune.values()) if self.tune else ()
        return [dict(zip(self.tune, values, strict=True)) for values in combinations]

    def requested(self) -> dict[str, Any]:
        """List in JSON all that shapes the numbers, apart from the seed and what is chosen."""
        left_out = _LEFT_OUT | self.tune.keys() | {*self.takes}
        every = what_is_read(self.config.options(), self.config.model.attention)
        options = {k: v for k, v in every.items() if k not in left_out}
        if "scale" in options:  # the records say whether scores are scaled
            options["scale"] = options["scale"] is None
        if self.config.data not in ("imdb", "yelp"):
            options["data"] = "a folder of Yelp reviews"
        names = ("reviews", "chosen_by", "reads_front", "reported")
        own = {name: getattr(self, name) for name in names}
        tune = {name: [*values] for name, values in self.tune.items()}
        return {**options, **own, "takes": [*self.takes], "tune": tune}

    @property
    def command(self) -> str:
        """What makes the cell's numbers again."""
        needs_data = {"imdb": "", "yelp": " --data yelp"}.get(self.config.data, " --data FOLDER")
        return f"nox -s experiments -- comparison --cell {self.name}{needs_data}"


def what_is_read(options: dict[str, Any], model: str) -> dict[str, Any]:
    """Leave out what a model does not read, which a table shares and a record lists."""
    config = TrainConfig().with_options(model=model)
    unread = config.unread() | config.model.unread()
    return {k: v for k, v in options.items() if k not in unread}


def with_defaults(recorded: dict[str, Any]) -> dict[str, Any]:
    """Add the options that came after a configuration was recorded, as they were before: unused."""
    options = TrainConfig().with_options(model=recorded["model"]).options()
    every = {k: v for k, v in options.items() if k not in _LEFT_OUT} | recorded
    return what_is_read(every, recorded["model"])


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
        every = {
            name: content["shared"] | settings.get("shared", {}) | own
            for name, own in settings.get("cells", {}).items()
        }
        if settings.get("needs_data"):
            if data is None:
                continue
            other = content["groups"][settings["cells_of"]]
            own = settings["shared"] | {"data": data, "private": data != "yelp"}
            every = _cells_of(content["shared"] | other["shared"], other["cells"], own)
        prefix = "" if group == "models" else f"{group}/"
        cells += [_cell(f"{prefix}{name}", group, own) for name, own in every.items()]
    tuned = {cell.name: cell.tune.keys() for cell in cells}
    for i, cell in enumerate(cells):
        if cell.chosen_by:
            takes = tuple(name for name in tuned[cell.chosen_by] if name not in cell.tune)
            cells[i] = dataclasses.replace(cell, takes=takes)
    return cells, content["check"]


def _cells_of(
    shared: dict[str, Any], cells: dict[str, dict[str, Any]], own: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Take over another group's cells for other reviews: what they chose is not chosen again."""
    taken = {}
    for name, settings in cells.items():
        settings = shared | settings | own
        chosen_by = name if settings["tune"] else ""
        taken[name] = settings | {"tune": {}, "chosen_by": chosen_by}
        # A cell that reads fewer reviews than its group does so here too.
        taken[name]["reviews"] = min(own["reviews"], (shared | cells[name])["reviews"])
    return taken


def _cell(name: str, group: str, settings: dict[str, Any]) -> Cell:
    settings = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    of_cell = {field.name for field in dataclasses.fields(Cell)} & settings.keys()
    options = {k: v for k, v in settings.items() if k not in of_cell}
    options = what_is_read(options, options.get("model", TrainConfig().model.attention))
    config = TrainConfig().with_options(**options)
    return Cell(name, group, config, **{k: settings[k] for k in of_cell})
