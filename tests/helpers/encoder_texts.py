"""200 texts of ours, from one word to more than a hundred, with difficulties for tokenizers."""

import random

SUBJECTS = [
    "The river",
    "A bank",
    "My neighbour",
    "Nobody",
    "The old film",
    "Her café",
    "This review",
]
VERBS = ["carries", "refuses", "remembers", "re-opens", "overflows", "isn't worth", "explains"]
OBJECTS = ["the loan", "two boats", "its own banks", "naïve viewers", "£3.50", "unbelievability"]
ENDS = [".", "!", "?", " – again.", ", at 10:45.", " 🙂", " (see below)."]


def texts(count: int = 200) -> list[str]:
    draw = random.Random(42)
    made = ["", "a", "BANK", "don't", "日本", "12345678901234567890"]
    while len(made) < count:
        clauses = [
            " ".join(draw.choice(words) for words in (SUBJECTS, VERBS, OBJECTS)) + draw.choice(ENDS)
            for _ in range(draw.choice((1, 1, 2, 5, 15)))
        ]
        made.append(" ".join(clauses))
    return made
