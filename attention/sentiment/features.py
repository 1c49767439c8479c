"""The output of a frozen encoder for each example, computed once and kept in a file."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import numpy as np
import torch

from attention._evaluating import evaluating
from attention.sentiment.batches import EncodedExamples, Examples, plan_batches
from attention.sentiment.evaluation import cut, read_lengths
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.precision import Precision, autocast

_EXAMPLES_AT_ONCE = 64


@torch.no_grad()
def encode_examples(
    model: SentimentClassifier,
    examples: Examples,
    path: Path,
    *,
    precision: Precision,
    after_batch: Callable[[int], None] = lambda count: None,
) -> EncodedExamples:
    """Compute the features of all examples that a file does not hold yet.

    Examples of similar length go through the encoder together, and the output is appended to the
    file, so that a run that is stopped keeps what it has computed.

    Args:
        model: A model with a frozen encoder.
        examples: The examples to encode.
        path: The file, which must have been written for the same model and examples if it exists.
        precision: The precision of the encoder's products.
        after_batch: Called with the number of examples that have just been encoded; the first
            call gives the number that the file already held.

    Returns:
        The features of all examples.

    Raises:
        OSError: If the file can't be read or written.
    """
    device = next(model.parameters()).device
    lengths = read_lengths(examples, model.config)  # (E,)
    plan = plan_batches(lengths, _EXAMPLES_AT_ONCE, shuffle=False)
    row_bytes = 4 * model.classifier.in_features
    with path.open("ab") as file, evaluating(model):
        ends = [0, *accumulate(len(rows) for rows in plan)]  # rows, after each batch
        done = bisect_right(ends, file.tell() // row_bytes) - 1
        file.truncate(ends[done] * row_bytes)  # a killed run may leave part of a batch
        after_batch(ends[done])
        for rows in plan[done:]:
            batch = cut(examples, rows, model.config, device)
            with autocast(device, precision, is_pretrained=True):
                features = model.features(batch.ids, batch.lengths)  # (B, d)
            file.write(features.float().cpu().numpy().tobytes())
            after_batch(len(rows))
    stored = torch.from_numpy(np.fromfile(path, np.float32)).view(len(examples), -1)  # (E, d)
    features = torch.empty_like(stored)
    features[torch.cat(plan)] = stored
    return EncodedExamples(features, lengths, examples.labels[examples.review.long()])
