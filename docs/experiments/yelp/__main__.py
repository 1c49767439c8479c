"""Collect what run folders measured into one results file, with each run's options.

``nox -s experiments -- yelp RUN [RUN ...] > docs/experiments/yelp/NAME.json``
"""

import datetime
import json
import sys
from pathlib import Path
from typing import Any

from attention.sentiment.config import read_train_config


def collect(folder: Path) -> dict[str, Any]:
    """Take the options and the last epoch's figures of one run, and nothing of its data."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    options = read_train_config(folder).options()
    return {
        "train": {k: v for k, v in options.items() if k not in ("data", "out")},
        "fingerprints": config["data"],
        "environment": config["environment"],
        **{name: summary[name] for name in ("seconds", "parameters", "last")},
    }


def main(folders: list[str]) -> None:
    """Print the results of the runs in these folders."""
    results = {
        "command": "python -m attention.train --data FOLDER --out RUN, with the options in train",
        "collected": datetime.date.today().isoformat(),
        "runs": {Path(folder).name: collect(Path(folder)) for folder in folders},
    }
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
