"""Measure time and memory of preparing 10⁴ to 10⁶ reviews, each in its own process.

The larger sizes repeat real reviews, so that the vocabulary stops growing, and only what depends on
the number of reviews and tokens still grows. The results are printed as JSON.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from experiments.speed.processes import run_module

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def repeat(source: Path, target: Path, count: int) -> None:
    """Write ``count`` reviews, starting again at the first as often as needed."""
    table = pq.read_table(source)
    with pq.ParquetWriter(target, table.schema) as writer:
        while count:
            part = table.slice(0, count)
            writer.write_table(part, row_group_size=10_000)
            count -= len(part)


def main() -> None:
    """Prepare each size, and print its time and memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    points = []
    for count in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            repeat(args.data / "train.parquet", folder / "train.parquet", count)
            shutil.copy(args.data / "validation.parquet", folder)
            side = ("lab13-corrected", "--threads", "1", "--data", name)
            points.append(run_module("side", *side, lines="prepare\n"))
    keys = ("reviews", "tokens", "seconds", "cpu_seconds", "peak_mib", "peak_mib_of_torch")
    print(json.dumps([{key: point[key] for key in keys} for point in points]))


if __name__ == "__main__":
    main()
