"""Use what was learnt: texts in, labels and probabilities out, one by one or from file to file."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tqdm import tqdm

from attention._console import shown
from attention._device import choose_device
from attention._precision import Precision
from attention.analysis.attribution import deletion_effects
from attention.sentiment.batches import make_examples, plan_batches
from attention.sentiment.evaluation import Answer, answer, run_batches
from attention.sentiment.files import check_text, read_rows
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.run_folder import load_run
from attention.sentiment.tokenizer import encode_reviews

BATCH_SIZE = 64
_TEXTS_AT_ONCE = 4096  # are in memory together, and sorted by length, which avoids padding
WRITTEN = ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"


class ExplainedAnswer(Answer):
    """An answer with the words that were read, and by how much the logit falls without each."""

    words: list[str]
    contributions: list[float]


class Classifier:
    """A trained model with its tokenizer: a function of texts."""

    def __init__(
        self, model: SentimentClassifier, tokenizer: Tokenizer, precision: Precision = "auto"
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.precision: Precision = precision

    def __call__(self, texts: Iterable[str]) -> list[Answer]:
        """Classify texts.

        Returns:
            Of each text, the more probable ``label`` and its ``probability``. A text without a word
            that the model knows has an answer, too, which says nothing of the text.

        Raises:
            TypeError: If the texts are one string.
        """
        return [*self.stream(texts)]

    def stream(self, texts: Iterable[str]) -> Iterator[Answer]:
        """Classify texts of any number, of which a few thousand are in memory together."""
        if isinstance(texts, str):
            raise TypeError("texts: expected several texts, such as a list, got one string")
        source = iter(texts)
        while some := [*islice(source, _TEXTS_AT_ONCE)]:
            examples = make_examples(encode_reviews(self.tokenizer, some), [0] * len(some))
            lengths = examples.lengths(self.model.config.reading)  # (E,)
            plan = plan_batches(lengths, BATCH_SIZE, shuffle=False)
            logits = torch.empty(len(some))  # (E,)
            read = run_batches(self.model, examples, plan, precision=self.precision)
            for rows, (_, found) in zip(plan, read, strict=True):
                logits[rows] = found.float().cpu()
            yield from map(answer, logits)

    def explain(self, text: str) -> ExplainedAnswer:
        r"""Classify one text, and say what each of its words contributes.

        The contribution of a word is what the logit loses when the word is deleted, as in
        :func:`~attention.analysis.deletion_effects`: above 0 it speaks for "positive". One model
        reads one text per word, so a review of 500 words takes as long as 500 reviews.
        """
        examples = make_examples(encode_reviews(self.tokenizer, [text]), [0])
        batch = examples.batch(torch.zeros(1, dtype=torch.int64), self.model.config.reading)
        ids = batch.ids[0, : int(batch.lengths[0])].to(next(self.model.parameters()).device)  # (n,)
        effects = []
        if len(ids) > 1:
            effects = deletion_effects(self.model, ids).tolist()
        elif len(ids) == 1:  # what is left without it is a text without a word
            logits = {each: self._logit(each) for each in (text, "")}
            effects = [logits[text] - logits[""]]
        words = [self.tokenizer.id_to_token(i) or "" for i in ids.tolist()]
        return {**self([text])[0], "words": words, "contributions": effects}

    def _logit(self, text: str) -> float:
        examples = make_examples(encode_reviews(self.tokenizer, [text]), [0])
        plan = [torch.zeros(1, dtype=torch.int64)]
        [(_, logits)] = run_batches(self.model, examples, plan, precision=self.precision)
        return float(logits[0])


def load_classifier(
    run: str | Path, *, device: str = "auto", precision: Precision = "auto"
) -> Classifier:
    """Load a finished run as a function of texts.

    Args:
        run: The folder that training wrote.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"`` …; ``"auto"`` takes a GPU if there is one.
        precision: As in :func:`~attention._precision.choose_precision`.

    Returns:
        A :class:`Classifier`: ``classify(["Good soup."])`` gives a label and its probability,
        ``classify.stream`` takes any number of texts, and ``classify.explain`` adds what each word
        contributes.

    Raises:
        ValueError: If the folder holds no finished run that can be read, or there is no such
            device.
    """
    model, tokenizer, _ = load_run(Path(run), choose_device(device))
    return Classifier(model, tokenizer, precision)


def classify_file(classify: Classifier, file: Path, out: Path, text_column: str) -> int:
    """Write the rows of a file with two more columns, the predicted label and its probability.

    Rows are read and written as they come, so a file of any size takes the same memory. The new
    file is written under another name, and takes its own once it is whole.

    Args:
        classify: The classifier.
        file: CSV, JSON lines or Parquet, which may be compressed.
        out: The file to write, whose ending says its kind; it may be of another kind.
        text_column: The column that holds the texts.

    Returns:
        The number of rows.

    Raises:
        ValueError: If a row can't be read or has no text, a column has the name of a new one, or
            ``out`` has no ending that is known.
    """
    if out.suffix not in WRITTEN:
        raise ValueError(
            f"--out: expected a file that ends in {', '.join(WRITTEN)}, got {shown(out)}"
        )
    rows = _with_text(file, text_column)
    beside, count = out.with_name(out.name + ".part"), 0
    try:
        with _writer(beside, out.suffix) as write, tqdm(unit="row", disable=None) as bar:
            while some := [*islice(rows, _TEXTS_AT_ONCE)]:
                answers = classify(row[text_column] for row in some)
                write(
                    [
                        {**row, "predicted": each["label"], "probability": each["probability"]}
                        for row, each in zip(some, answers, strict=True)
                    ]
                )
                count += len(some)
                bar.update(len(some))
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)
    return count


def _with_text(file: Path, text_column: str) -> Iterator[dict[str, Any]]:
    for i, row in enumerate(read_rows(file, [text_column], every=True), 1):
        check_text(file, i, text_column, row[text_column])
        if taken := {"predicted", "probability"} & row.keys():
            name = min(taken)
            raise ValueError(f"{shown(file)}: has a column {name}, which is that of the answer")
        yield row


@contextmanager
def _writer(path: Path, kind: str) -> Iterator[Callable[[list[dict[str, Any]]], Any]]:
    """Open a file to write rows to; the first ones decide which columns it has."""
    if kind == ".parquet":
        import pyarrow as pa  # 30 MB that other files do not need
        import pyarrow.parquet as pq

        with path.open("wb") as raw:
            table: list[pq.ParquetWriter] = []

            def write(rows: list[dict[str, Any]]) -> None:
                part = pa.Table.from_pylist(rows, table[0].schema if table else None)
                if not table:
                    table.append(pq.ParquetWriter(raw, part.schema))
                table[0].write_table(part)

            try:
                yield write
            finally:
                for each in table:
                    each.close()
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if kind in (".jsonl", ".ndjson"):
            yield lambda rows: file.writelines(
                json.dumps(row, ensure_ascii=False) + "\n" for row in rows
            )
            return
        lines: list[csv.DictWriter[str]] = []

        def write_csv(rows: list[dict[str, Any]]) -> None:
            if not lines:
                mark = "\t" if kind == ".tsv" else ","
                lines.append(csv.DictWriter(file, [*rows[0]], delimiter=mark))
                lines[0].writeheader()
            lines[0].writerows(rows)

        yield write_csv
