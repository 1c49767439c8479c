"""Much to read: one review of a million words, a file of a million reviews. Memory is bounded.

Peaks are those of a process of its own, as the system counts them. Its bounds are generous: what
they guard against is memory that grows with what need not be held. FAULTS_RESULTS=FILE writes the
figures to a file, for the page that quotes them.
"""

import contextlib
import datetime
import json
import os
import platform
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
import small_run
import torch

from attention.predict import main
from experiments.speed import causal, processes

MANY = 1_000_000
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


# Between this process and the one that is measured: on Linux the peak of a child starts at what
# its parent holds, which is a few megabytes here.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def peak(*line, stdin=os.devnull):
    """Run a command; return its peak of memory in MB, and what it printed."""
    with open(stdin, "rb") as source:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, sys.executable, *map(str, line)],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            text=True,
        )
    assert done.returncode == 0, done.stdout[-2000:]
    output, _, figure = done.stdout.rstrip("\n").rpartition("\n")
    return int(figure) * UNIT / 1e6, output


def record(what, used, usual):
    print(f"{what}: {used:.0f} MB, and {usual:.0f} MB with next to nothing")
    if path := os.environ.get("FAULTS_RESULTS"):
        path = Path(path)
        results = json.loads(path.read_text()) if path.exists() else {"peak_mb": {}}
        results["peak_mb"][what] = {"peak": round(used), "with_next_to_nothing": round(usual)}
        results["how"] = {
            "command": "FAULTS_RESULTS=FILE nox -s faults -- tests/faults/test_load.py",
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "torch": torch.__version__,
            "date": datetime.date.today().isoformat(),
        }
        path.write_text(json.dumps(results, indent=2) + "\n")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run.train(
        tmp_path_factory.mktemp("load") / "run", "--model", "qkv", "--epochs", "1"
    )


def test_one_review_of_a_million_words_is_predicted(run, tmp_path):
    long, short = tmp_path / "long", tmp_path / "short"
    short.write_text("good soup")
    long.write_text("bad " * (MANY - 12) + "good soup " * 6)
    usual, _ = peak("-m", "attention.predict", run, "-", "--json", stdin=short)
    used, output = peak("-m", "attention.predict", run, "-", "--json", stdin=long)
    record("one review of a million words, predicted", used, usual)
    told, answer = output.splitlines()
    assert "reads the last 13" in told
    assert json.loads(answer)["tokens"] == ["bad", *["good", "soup"] * 6]
    assert used - usual < 800


def test_one_review_of_a_million_words_is_trained_on(tmp_path):
    data = small_run.write_reviews(tmp_path / "reviews")
    usual, _ = peak(*train_line(data, tmp_path / "usual"))
    with (data / "train.csv").open("a") as file:
        file.write("\n" + "soup " * MANY + ",1")
    used, _ = peak(*train_line(data, tmp_path / "run"))
    record("one review of a million words, trained on", used, usual)
    assert used - usual < 600  # the library holds some 450 bytes per word while it reads a text


def train_line(data, out, *options):
    return "-m", "attention.train", *small_run.line(out, "--epochs", "1", *options, data=data)


def test_a_file_of_a_million_reviews_is_trained_on(tmp_path):
    data = small_run.write_reviews(tmp_path / "reviews")
    options = ["--batch-size", "4096"]
    usual, _ = peak(*train_line(data, tmp_path / "usual", *options))
    generator = random.Random(0)
    with (data / "train.csv").open("w") as file:
        file.write("text,label\n")
        for i in range(MANY):
            words = [
                *generator.choices(small_run.OTHER, k=9),
                (small_run.BAD, small_run.GOOD)[i % 2][i % 6],
            ]
            file.write(f"{' '.join(words)},{i % 2}\n")
    used, _ = peak(*train_line(data, tmp_path / "run", *options))
    record("a file of a million reviews, trained on", used, usual)
    # Two examples per review: each a few indices, the ids of its words 4 bytes each.
    assert used - usual < 200
    last = json.loads((tmp_path / "run/metrics.jsonl").read_text())
    assert last["train"]["n"] == 2 * MANY
    assert last["train"]["accuracy"] > 0.6


def test_predicting_line_after_line_keeps_nothing(run, monkeypatch):
    held = []

    def lines():
        for i in range(2_001):
            if i in (1_000, 2_000):
                held.append(tracemalloc.get_traced_memory()[0])
            yield "the waiter came back to us again and again with cold soup, as ever\n"

    monkeypatch.setattr(sys, "stdin", lines())
    tracemalloc.start()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        assert main([str(run), "-", "--json"]) == 0
    tracemalloc.stop()
    assert held[1] - held[0] < 50_000  # kept, these thousand would take a million bytes and more


def test_causality_in_the_kernel_needs_no_mask(monkeypatch):
    """A mask takes a byte per score, and the kernel writes it out in four more."""
    monkeypatch.setenv("PYTHONPATH", str(processes.DOCS))
    lines = {way: ("-m", "experiments.speed.causal", way, 1) for way in causal.WAYS}
    mib = {way: json.loads(peak(*line)[1])["mib"] for way, line in lines.items()}
    assert mib["attn_mask"] - mib["is_causal"] > 0.8 * 5 * causal.SIZES["n"] ** 2 / 2**20
