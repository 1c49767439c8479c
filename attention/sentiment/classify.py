"""Use a trained run: texts in, labels and probabilities out."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention._device import choose_device
from attention._precision import Precision
from attention.analysis.attribution import answer_logits, deletion_effects
from attention.sentiment.batches import make_examples, plan_batches
from attention.sentiment.evaluation import Answer, answer, run_batches
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.run_folder import load_run
from attention.sentiment.tokenizer import Ragged, encode_reviews, known_shares

BATCH_SIZE = 64
TEXTS_AT_ONCE = 4096  # are in memory together, and sorted by length, which avoids padding


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

    @property
    def labels(self) -> tuple[str, ...]:
        """What the answers are called."""
        return self.model.config.labels

    def __call__(self, texts: Iterable[str]) -> list[Answer]:
        """Classify texts.

        Returns:
            Of each text, the most probable ``label``, its ``probability``, and ``known``, the share
            of the text's words that the model knows. Where that is 0, there is an answer, too,
            which says nothing of the text.

        Raises:
            TypeError: If the texts are one string, or a table or dictionary, which are no texts.
        """
        return [*self.stream(texts)]

    def stream(self, texts: Iterable[str]) -> Iterator[Answer]:
        """Classify texts of any number, of which a few thousand are in memory together."""
        # A table of pandas would yield the names of its columns.
        if isinstance(texts, (str, Mapping)) or getattr(texts, "ndim", 1) != 1:
            raise TypeError(
                "texts: expected several texts, such as a list or one column of a table, got one "
                + type(texts).__name__
            )
        source = iter(texts)
        while some := [*islice(source, TEXTS_AT_ONCE)]:
            ids = encode_reviews(self.tokenizer, some)
            for logits, known in zip(
                self._logits(ids), known_shares(self.tokenizer, ids), strict=True
            ):
                yield answer(logits, self.labels, known)

    def explain(self, text: str) -> ExplainedAnswer:
        r"""Classify one text, and say what each of its words contributes.

        The contribution of a word is what the logit loses when the word is deleted, as in
        :func:`~attention.analysis.deletion_effects`. Above 0 it speaks for the second of two
        labels, such as "positive", or for the answer if there are more. The model reads one text
        per word, so a review of 500 words takes as long as 500 reviews.

        Raises:
            TypeError: If the text is no string.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: expected one string, got {type(text).__name__}")
        examples = make_examples(encode_reviews(self.tokenizer, [text]), [0])
        batch = examples.batch(torch.zeros(1, dtype=torch.int64), self.model.config.reading)
        ids = batch.ids[0, : int(batch.lengths[0])].to(next(self.model.parameters()).device)  # (n,)
        effects = []
        if len(ids) > 1:
            effects = deletion_effects(self.model, ids).tolist()
        elif len(ids) == 1:  # what is left without it is a text without a word
            whole, rest = answer_logits(
                self._logits(encode_reviews(self.tokenizer, [text, ""]))
            ).tolist()
            effects = [whole - rest]
        words = [self.tokenizer.id_to_token(i) or "" for i in ids.tolist()]
        return {**self([text])[0], "words": words, "contributions": effects}

    def _logits(self, ids: Ragged) -> Tensor:
        examples = make_examples(ids, [0] * len(ids))
        lengths = examples.lengths(self.model.config.reading)  # (E,)
        plan = plan_batches(lengths, BATCH_SIZE, shuffle=False)
        read = run_batches(self.model, examples, plan, precision=self.precision)
        found = torch.cat([logits.float().cpu() for _, logits in read])  # (E,) or (E, C)
        return found[torch.cat(plan).argsort()]


def load_classifier(
    run: str | Path, *, device: str = "auto", precision: Precision = "auto"
) -> Classifier:
    """Load a finished run as a function of texts.

    Args:
        run: The folder that training wrote.
        device: ``"cpu"``, ``"cuda"``, ``"cuda:1"`` …; ``"auto"`` takes a GPU if there is one.
        precision: As in :func:`~attention._precision.choose_precision`.

    Returns:
        A function of texts, whose answers :meth:`Classifier.__call__` describes; see also
        :meth:`Classifier.stream` and :meth:`Classifier.explain`.

    Raises:
        ValueError: If the folder holds no finished run that can be read, or there is no such
            device.
    """
    model, tokenizer, _ = load_run(Path(run), choose_device(device))
    return Classifier(model, tokenizer, precision)
