"""The prediction of a trained model for a text, with its attention weights."""

import html
from collections.abc import Iterable
from typing import Literal, TypedDict

import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention._evaluating import evaluating
from attention.plotting.words import words_as_html
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.precision import Precision, autocast


class Prediction(TypedDict):
    """What :func:`predict` returns."""

    label: Literal["negative", "positive"]
    probability: float
    tokens: list[str]
    weights: list[float]


@torch.no_grad()
def predict(
    model: SentimentClassifier,
    tokenizer: Tokenizer,
    text: str,
    *,
    precision: Precision = "auto",
) -> Prediction:
    r"""Classify one review, and return the attention weight of each of its words.

    .. math:: \mathrm{probability} = \frac{1}{1 + e^{-\mathrm{logit}}}

    Args:
        model: Called in evaluation mode, and then put back into its previous mode.
        tokenizer: The tokenizer of the same run.
        text: The review. If it is too long, the model reads only its first or its last
            ``max_length`` words, as its configuration says and as in training.
        precision: The precision of the model's products, see
            :func:`~attention.sentiment.precision.choose_precision`.

    Returns:
        ``label``, ``probability``, ``tokens`` and ``weights``. The probability is that of a
        positive review, and the label is ``"positive"`` if it is above 0.5. There is one weight
        per token, which with self-attention is the mean over queries.

    Example:
        >>> from attention import SentimentClassifier
        >>> from attention.predict import predict
        >>> from attention.sentiment.tokenizer import train_tokenizer
        >>> tokenizer = train_tokenizer(["good food", "good wine"])
        >>> model = SentimentClassifier(4, embed_dim=2, attention="energy").eval()
        >>> predict(model, tokenizer, "Good beer")["tokens"]
        ['good', '<unk>']
    """
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    readable = text.encode("utf-8", "replace").decode()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a review is a word in brackets
    encoded = tokenizer.encode(readable, add_special_tokens=False)
    length = model.config.max_length
    end = slice(-length, None) if model.config.keep == "tail" else slice(length)
    ids, tokens = encoded.ids[end], encoded.tokens[end]
    device = next(model.parameters()).device
    # A text without a word is read as one padding token.
    batch = torch.tensor([ids or [0]], device=device)  # (1, n)
    lengths = torch.tensor([len(ids)], device=device)  # (1,)
    is_pretrained = model.config.is_pretrained
    with evaluating(model), autocast(device, precision, is_pretrained=is_pretrained):
        logits, weights = model(batch, lengths, need_weights=True)  # (1,), (1, n) or (1, n, n)
    probability = logits.float().sigmoid().item()
    return {
        "label": "positive" if probability > 0.5 else "negative",
        "probability": probability,
        "tokens": tokens,
        "weights": _one_per_token(weights[0])[: len(ids)].tolist(),
    }


def _one_per_token(weights: Tensor) -> Tensor:
    return weights.mean(dim=0) if weights.dim() == 2 else weights  # (n,)


def standalone_page(predictions: Iterable[Prediction]) -> str:
    """Draw predictions as one self-contained HTML page, which has a light and a dark theme."""
    figures = "\n".join(
        words_as_html(p["tokens"], p["weights"], f"{p['label']}, {p['probability']:.1%} positive")
        for p in predictions
    )
    title = html.escape("Attention weights")
    return (
        f'<!doctype html>\n<html lang="en-GB"><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        "<style>:root{color-scheme:light dark}body{font:1.1rem/1.8 system-ui;max-width:45rem;"
        "margin:2rem auto;padding:0 1rem}</style>\n"
        f"<h1>{title}</h1>\n{figures}\n</html>\n"
    )
