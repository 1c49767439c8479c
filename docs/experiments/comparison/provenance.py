"""What a record says about its origin: the date, the code, the versions and the machine."""

import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from attention.sentiment.run_folder import environment
from experiments.origin import commit, hardware

RESULTS = Path(__file__).with_name("results.json")


def provenance(method: str) -> dict[str, Any]:
    """Describe the run that has just ended."""
    versions = {k: v for k, v in environment().items() if k not in ("machine", "gpu")}
    if method == "tfidf":
        versions["scikit-learn"] = metadata.version("scikit-learn")
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(RESULTS),
        "versions": versions,
        "hardware": hardware(),
    }
