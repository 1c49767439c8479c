"""Simulated results of the comparison, in the format of the recorded ones."""

import json

import numpy as np
from simulated_answers import NORMAL, OF_REVIEWS

from experiments.comparison import __main__ as comparison
from experiments.comparison.cells import read_cells
from experiments.comparison.models import BINS
from experiments.comparison.statistics import pack

CELLS = {cell.name: cell for cell in read_cells(comparison.TABLE, data="a folder")[0]}
N = 900
SEED_SD = 0.003
SPLITS = ("train", "validation", "reported")
SHA256 = "0123456789abcdef" * 4


def write_results(path, accuracies, *, seeds=None):
    """Write a results file in which cells have answered with given accuracies.

    All models find the same reviews hard, and every seed is a little better or worse than another.

    Args:
        path: Where to write it.
        accuracies: For each cell, by name, its accuracy alone and behind a distractor.
        seeds: For some cells, by name, how many of their seeds have been run; for others, all have.
    """
    hard = np.random.default_rng(0).standard_normal((2, N))
    cells = {}
    for name, expected in accuracies.items():
        cell = CELLS[name]
        run = cell.seeds[: (seeds or {}).get(name)]
        cells[name] = {
            "group": cell.group,
            "method": cell.method,
            "command": cell.command,
            "config": cell.requested(),
            "seeds": list(cell.seeds),
            "data": {"name": "simulated reviews", "private": cell.private},
            "trials": [],
            "chosen": {},
            "runs": [_run(name, seed, expected, hard) for seed in run],
            "error": None,
        }
    start = comparison.load(path.with_name("none"))
    path.write_text(json.dumps(start | {"cells": cells}))


def _run(name, seed, expected, hard):
    generator = np.random.default_rng([seed, *name.encode()])  # independent of other cells
    measured = {}
    for of, share, of_reviews in zip(("clean", "distractor"), expected, hard, strict=True):
        own = generator.standard_normal(N)
        sums = OF_REVIEWS**0.5 * of_reviews + (1 - OF_REVIEWS) ** 0.5 * own  # (N,)
        right = sums < NORMAL.inv_cdf(share + SEED_SD * generator.standard_normal())  # (N,)
        bins = [
            [N // BINS, N // BINS * (i + 0.5) / BINS, i * N // BINS // BINS] for i in range(BINS)
        ]
        measured[of] = {
            "accuracy": round(float(right.mean()), 6),
            "loss": 0.3,
            "n": N,
            "correct": pack(right),
            "calibration": bins,
        }
    return {
        "seed": seed,
        "options": {"lr": 0.01, "dropout": 0.1},
        "best_epoch": 1,
        **measured,
        "data": {"train": 1_000, "sha256": dict.fromkeys(SPLITS, SHA256)},
        "cpu_seconds": 36.0,
        "date": "2026-01-02T03:04:05+00:00",
        "commit": {"sha": "0" * 40, "clean": True},
        "versions": dict.fromkeys(("python", "torch", "tokenizers", "attention-tutorial"), "1.0"),
        "hardware": "no machine",
    }
