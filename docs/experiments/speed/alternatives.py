"""Time what else one could use: ``nox -s experiments -- speed alternatives --data FOLDER``.

Each way starts in a process of its own, from the files to the accuracy on the validation reviews,
alone and behind a distractor. The ways that are requested take turns, once for each seed:

- ``counts`` and ``fasttext`` count words and pairs of words. They are fitted to the reviews alone;
  with ``-marked`` also to the reviews behind a distractor, whose words count as words of their own;
- ``default``, ``frozen`` and ``fine-tuned`` are trained by ``python -m attention.train``;
- ``before``, ``dropout`` and ``lazy`` lead to the default, one change after the other;
- ``products`` and ``kernel`` fine-tune the encoder on 2,000 reviews, with attention computed as it
  is and by torch's kernel alone.
"""

import argparse
import contextlib
import itertools
import json
import re
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

from experiments.speed.processes import origin, read, run_module, write

BEFORE = "--embed-dim 32 --bigram-buckets 262144 --epochs 6 --lr 0.003 --optimizer adam"
SHORT = "--model minilm --fine-tune --limit 2000"
OPTIONS = {
    "default": "",
    "frozen": "--model minilm",
    "fine-tuned": "--model minilm --fine-tune",
    "before": BEFORE,
    "dropout": BEFORE,
    "lazy": BEFORE.replace("--optimizer adam", "--optimizer lazy-adam"),
    "products": SHORT,
    "kernel": SHORT,
}
WAYS = ("counts", "counts-marked", "fasttext", "fasttext-marked", *OPTIONS)


def train(way: str, data: str, seed: int) -> dict[str, float]:
    """Train one of ours by its command."""
    from torch import nn

    from attention.train import main

    if way == "before":
        mock.patch("attention.sentiment.model.Dropout", nn.Dropout).start()
    if way == "kernel":
        mock.patch("attention.functional.MOST_SCORES", 0).start()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        line = ["--data", data, "--seed", str(seed), "--out", str(out), *OPTIONS[way].split()]
        if main(line):
            raise SystemExit(f"{way}: training failed")
        last = json.loads((out / "summary.json").read_text())["last"]
    return {kind: last[kind]["accuracy"] for kind in ("clean", "distractor")}


def read_words(data: str, *, marked: bool) -> dict[str, tuple[list[str], list[int]]]:
    """Read the reviews to fit and to measure, each as lower-case words between spaces."""
    from attention.sentiment.batches import distractor_indices
    from attention.sentiment.sources import load_reviews

    sets: dict[str, tuple[list[str], list[int]]] = {}
    for split, reviews in load_reviews(data).items():
        if split == "test":
            continue
        words = [re.findall("[a-z]+", text.replace("\\n", " ").lower()) for text in reviews.texts]
        alone = [" ".join(each) for each in words]
        fronts = [words[i] for i in distractor_indices(len(words)).tolist()]
        if marked:
            fronts = [[f"front_{word}" for word in front] for front in fronts]
        pairs = [" ".join([*front, text]) for front, text in zip(fronts, alone, strict=True)]
        labels = [int(label) for label in reviews.labels]
        if split == "validation":
            sets |= {"clean": (alone, labels), "distractor": (pairs, labels)}
        else:
            sets["train"] = (alone + pairs, labels * 2) if marked else (alone, labels)
    return sets


def count(data: str, *, marked: bool) -> dict[str, float]:
    """Fit a logistic regression to TF-IDF of words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    sets = read_words(data, marked=marked)
    model = make_pipeline(
        TfidfVectorizer(token_pattern=r"\S+", ngram_range=(1, 2), min_df=2, sublinear_tf=True),
        LogisticRegression(C=10, max_iter=1_000),
    )
    model.fit(*sets.pop("train"))
    return {kind: float(model.score(*reviews)) for kind, reviews in sets.items()}


def fit_fasttext(data: str, *, marked: bool, seed: int, threads: int) -> dict[str, float]:
    """Train fastText with the sizes of its paper: vectors of 10 numbers, pairs, 5 epochs."""
    import fasttext

    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, (texts, labels) in read_words(data, marked=marked).items():
            files[name] = Path(folder, name)
            lines = [f"__label__{k} {text}\n" for k, text in zip(labels, texts, strict=True)]
            files[name].write_text("".join(lines))
        options = {"dim": 10, "wordNgrams": 2, "epoch": 5, "lr": 0.5, "minCount": 2}
        model = fasttext.train_supervised(
            str(files.pop("train")), seed=seed, thread=threads, verbose=0, **options
        )
        # It leaves out lines without a word, which few reviews are.
        return {kind: model.test(str(path))[1] for kind, path in files.items()}


def measure(way: str, data: str, seed: int, threads: int) -> dict[str, float]:
    """Measure one way in this process."""
    name, _, marked = way.partition("-")
    if way in OPTIONS:
        return train(way, data, seed)
    if name == "counts":
        return count(data, marked=bool(marked))
    return fit_fasttext(data, marked=bool(marked), seed=seed, threads=threads)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this measurement."""
    parser.add_argument("--data", type=Path, required=True, help="folder with reviews")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=2)


def run(args: argparse.Namespace) -> None:
    """Measure the requested ways, and write each run as soon as it is known."""
    # All ways meet a busy hour alike.
    for seed, way in itertools.product(args.seeds, args.ways):
        started = time.perf_counter()
        numbers = [str(seed), str(args.threads)]
        data = str(args.data.resolve())
        answer = run_module("alternatives", way, data, *numbers, threads=args.threads)
        answer |= {"seed": seed, "seconds": time.perf_counter() - started}
        # Read again, since another part may have been written meanwhile.
        results = read(args.out)
        part = results.setdefault("alternatives", {"ways": {}})
        command = "alternatives --data FOLDER --ways … --seeds …"
        part["origin"] = origin(command, args.threads)
        runs = [each for each in part["ways"].get(way, []) if each["seed"] != seed]
        part["ways"][way] = sorted([*runs, answer], key=lambda each: each["seed"])
        write(args.out, results)


if __name__ == "__main__":
    way, data, seed, threads = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        answer = measure(way, data, int(seed), int(threads))
    print(json.dumps(answer | {"cpu_seconds": time.process_time()}))
