"""Checkers of the exercises on data, training and what a trained model looks at."""

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.judging import Checker, judge_function, judge_number


def keep_the_end(answer: object) -> str:
    """Judge a function that puts a distractor before a review and cuts the pair to a length."""
    slips = {
        "You kept the head, so words of the review are lost, but the label is the review's: keep "
        "the tail.": lambda front, review, most: (front + review)[:most],
        "The distractor is behind the review, and should be in front of it.": (
            lambda front, review, most: (review + front)[-most:]
        ),
        "You truncated the review before the distractor came in front: the pair is too long.": (
            lambda front, review, most: front + review[-most:]
        ),
        "The distractor is lost even where there is room for it.": (
            lambda front, review, most: review[-most:]
        ),
        "You kept one word too few.": lambda front, review, most: (front + review)[-most + 1 :],
    }
    cases = [
        (list(range(10, 10 + a)), list(range(100, 100 + b)), most)
        for a, b, most in ((3, 5, 11), (5, 7, 11), (5, 13, 11), (2, 3, 5))
    ]
    judge_function(answer, lambda front, review, most: (front + review)[-most:], cases, slips)
    return "Only words of the distractor are lost, or of the review where it is too long by itself."


def bug_vocabulary(answer: object) -> str:
    """Judge a repaired function from clean reviews to a vocabulary."""

    def counted(
        reviews: list[list[str]], least: int, *, times: int = 1, holes: bool = False, start: int = 2
    ) -> dict[str, int]:
        counts = Counter(word for words in reviews * times for word in words)
        kept = [word for word in counts if holes or counts[word] >= least]
        return {word: i for i, word in enumerate(kept, start) if not holes or counts[word] >= least}

    slips = {
        "Every review is still counted twice, so no word is rare.": (
            lambda reviews, least: counted(reviews, least, times=2)
        ),
        "The ids have gaps where rare words were left out: number only the words that stay.": (
            lambda reviews, least: counted(reviews, least, holes=True)
        ),
        "Both mistakes are still there: reviews are counted twice, and rare words get numbers.": (
            lambda reviews, least: counted(reviews, least, times=2, holes=True)
        ),
        "Ids 0 and 1 belong to padding and to the unknown word: begin with 2.": (
            lambda reviews, least: counted(reviews, least, start=0)
        ),
        "A word that occurs exactly min_frequency times should stay.": (
            lambda reviews, least: counted(reviews, least + 1)
        ),
        "A word that occurs twice in one review counts twice.": (
            lambda reviews, least: counted([list(dict.fromkeys(r)) for r in reviews], least)
        ),
    }
    reviews = [text.split() for text in ("a fine soup fine", "the soup was cold", "was it a soup")]
    cases = [(reviews, 2), (reviews, 3), (reviews * 2 + [["new"]], 2), (reviews, 1)]
    judge_function(answer, counted, cases, slips)
    return "Rare words share the id of the unknown word, and the ids have no gap."


def deletion(answer: object) -> str:
    """Judge a function that measures what each word does to a logit by leaving it out."""

    def logit(ids: Tensor) -> Tensor:
        # A small attention, so that what a word does depends on the others.
        table = torch.linspace(-2, 2, 23, dtype=torch.float64)[ids]  # (n,)
        return torch.softmax((3 * table).sin(), dim=-1) @ table + 0.1 * len(ids)

    def effects(
        logit: Callable[[Tensor], Tensor], ids: Tensor, without: Callable[[Tensor, int], Tensor]
    ) -> Tensor:
        return torch.stack([logit(ids) - logit(without(ids, i)) for i in range(len(ids))])

    def left_out(ids: Tensor, i: int) -> Tensor:
        return torch.cat([ids[:i], ids[i + 1 :]])

    def right(logit: Callable[[Tensor], Tensor], ids: Tensor) -> Tensor:
        return effects(logit, ids, left_out)

    slips = {
        "The sign is wrong: a word that made the logit larger should get a positive number.": (
            lambda logit, ids: -right(logit, ids)
        ),
        "You wrote 0 in place of the word, which puts padding in the text. Leave the word out.": (
            lambda logit, ids: effects(
                logit, ids, lambda ids, i: torch.where(torch.arange(len(ids)) == i, 0, ids)
            )
        ),
        "Where a word occurs twice you left out both: go by its position.": (
            lambda logit, ids: effects(logit, ids, lambda ids, i: ids[ids != ids[i]])
        ),
        "Those are the logits without each word: subtract them from that of the whole text.": (
            lambda logit, ids: torch.stack([logit(left_out(ids, i)) for i in range(len(ids))])
        ),
        "Those are the logits of each word by itself: leave it out of the whole text instead.": (
            lambda logit, ids: torch.stack([logit(ids[i : i + 1]) for i in range(len(ids))])
        ),
    }
    cases = [(logit, torch.tensor(ids)) for ids in ([3, 11, 7, 19, 2], [5, 22, 5, 13, 1, 8, 22])]
    judge_function(answer, right, cases, slips)
    return "That is what each word did, whatever its weight was."


def margin(answer: object) -> str:
    """Judge the half width of a 95 % interval for an accuracy of 0.9 on 2,500 reviews."""
    error = (0.9 * 0.1 / 2500) ** 0.5
    slips = {
        "That is one standard error, and a 95 % interval takes 1.96 of them.": error,
        "That is the full width, and the margin is half of it.": 2 * 1.96 * error,
        "The root is missing: what you multiplied by 1.96 is the variance.": 1.96 * error**2,
        "That is the standard deviation of one result: for a mean of n, divide it by √n.": 0.3,
        "That is 1.96 times the standard deviation of one result: divide by √n.": 1.96 * 0.3,
        "The variance of one result is p (1 − p), and not p.": 1.96 * (0.9 / 2500) ** 0.5,
        "That is right in percent: give it as a share between 0 and 1.": 196 * error,
    }
    judge_number(answer, 1.96 * error, slips, tolerance=5e-5)
    return (
        "That is the margin of one accuracy. The margin of the difference of two accuracies is √2 "
        "times as wide if they come from separate reviews. It is usually narrower than that if "
        "they come from the same reviews, so compare review by review."
    )


CHECKERS: dict[str, Checker] = {
    "keep-the-end": keep_the_end,
    "bug-vocabulary": bug_vocabulary,
    "deletion": deletion,
    "margin": margin,
}
