"""Put what several run folders measured into one results file, with what each was asked.

Run as ``python docs/results/collect.py RUN [RUN ...] > docs/results/NAME.json``.
"""

import datetime
import json
import sys
from pathlib import Path


def collect(folder: Path) -> dict:
    """Take the configuration and the last epoch's figures of one run, and nothing of its data."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    asked = {k: v for k, v in config["train"].items() if k not in ("data", "out")}
    return {
        "train": asked,
        "fingerprints": config["data"],
        "environment": config["environment"],
        **{name: summary[name] for name in ("seconds", "parameters", "last")},
    }


if __name__ == "__main__":
    found = {
        "command": "python -m attention.train --data FOLDER --out RUN, with the options in train",
        "collected": datetime.date.today().isoformat(),
        "runs": {Path(folder).name: collect(Path(folder)) for folder in sys.argv[1:]},
    }
    print(json.dumps(found, indent=1))
