"""From raw reviews to the examples that a model is trained and measured on."""

from dataclasses import dataclass

from tokenizers import Tokenizer

from attention.pretrained import load_encoder
from attention.sentiment.batches import Examples, make_examples
from attention.sentiment.config import TrainConfig
from attention.sentiment.sources import Reviews, fingerprint, load_reviews
from attention.sentiment.tokenizer import clean_tokenizer, encode_reviews, train_and_encode


@dataclass(frozen=True)
class Prepared:
    """What training needs of the data."""

    tokenizer: Tokenizer
    examples: Examples
    """The training reviews, each alone and, if the run has distractors, also behind one."""
    validation: dict[str, Examples]
    """The validation examples by name: ``clean``, and ``distractor`` if the run has any."""
    fingerprints: dict[str, str]
    """The SHA-256 of each split's texts and labels."""


def prepare(
    config: TrainConfig, reviews: dict[str, Reviews] | None = None, *, distractor_seed: int = 42
) -> Prepared:
    """Load the reviews, build the vocabulary from the training reviews, and encode all of them.

    A pretrained encoder has its own vocabulary, so none is built for it.

    Args:
        config: Determines the data, how texts become ids, and whether there are distractors.
        reviews: The splits, if they are already loaded.
        distractor_seed: The seed of the distractors, in training and in what is measured. It is 42,
            as in Lab 13, whatever the run's own seed, so that all runs read the same examples.

    Returns:
        The tokenizer and the examples.

    Raises:
        DataError: If the reviews can't be loaded or are not what they should be.
        ValueError: If the pretrained encoder's files can't be found or downloaded.

    Example:
        >>> from attention.sentiment.config import TrainConfig
        >>> from attention.sentiment.prepare import prepare
        >>> from attention.sentiment.sources import Reviews
        >>> splits = {"train": Reviews(["good food", "bad food"], [1, 0]),
        ...           "validation": Reviews(["good", "bad"], [1, 0])}
        >>> prepared = prepare(TrainConfig(min_frequency=1), splits)
        >>> len(prepared.examples), sorted(prepared.validation)
        (4, ['clean', 'distractor'])
    """
    if reviews is None:
        # Splits do not depend on the run's seed, or a test split could hold what was trained on.
        reviews = load_reviews(config.data, limit=config.limit)
    train = reviews["train"]
    if config.model.is_pretrained:
        tokenizer = clean_tokenizer(load_encoder("minilm")[1], config.clean_text)
        ids = encode_reviews(tokenizer, train.texts)
    else:
        tokenizer, ids = train_and_encode(
            train.texts, min_frequency=config.min_frequency, clean_text=config.clean_text
        )
    examples = make_examples(ids, train.labels, pairs=config.distractors, seed=distractor_seed)
    return Prepared(
        tokenizer,
        examples,
        measured_examples(
            tokenizer,
            reviews["validation"],
            distractors=config.distractors,
            distractor_seed=distractor_seed,
        ),
        {name: fingerprint(split) for name, split in reviews.items()},
    )


def measured_examples(
    tokenizer: Tokenizer,
    reviews: Reviews,
    *,
    distractors: bool = True,
    distractor_seed: int = 42,
) -> dict[str, Examples]:
    """Make examples to measure on: the reviews alone, and behind distractors.

    Args:
        tokenizer: The tokenizer of the model that will be measured.
        reviews: One split.
        distractors: Whether to measure also on reviews behind distractors.
        distractor_seed: The seed of the distractors. It is 42, as in Lab 13, whatever the seed of
            the training, so that all models are measured on the same examples.

    Returns:
        ``clean`` and, if requested, ``distractor``.

    Example:
        >>> from attention.sentiment.prepare import measured_examples
        >>> from attention.sentiment.sources import Reviews
        >>> from attention.sentiment.tokenizer import train_tokenizer
        >>> reviews = Reviews(["good food", "bad food"], [1, 0])
        >>> measured_examples(train_tokenizer(reviews.texts), reviews)["distractor"].review
        tensor([0, 1], dtype=torch.int32)
    """
    ids = encode_reviews(tokenizer, reviews.texts)
    examples = {"clean": make_examples(ids, reviews.labels)}
    if distractors:
        examples["distractor"] = make_examples(
            ids, reviews.labels, clean=False, pairs=True, seed=distractor_seed
        )
    return examples
