"""A solution of each puzzle, as short as any that we know. No page of the site has them."""

ZEROS = [0.0, 0.0]
BACK = {  # the largest score is that with the word before
    "W_query": [[20, 0], [0, 20], ZEROS, ZEROS],
    "W_key": [[1, 3], [-3, 0], ZEROS, ZEROS],
}
TURNED = {  # each query is the key of the word before: turned back by 60°, and long enough
    "W_query": [[8, -13.856], [13.856, 8], ZEROS, ZEROS],
    "W_key": [[1, 0], [0, 1], ZEROS, ZEROS],
}
SOLUTIONS = {
    "every-word-alike": {"W_query": [ZEROS] * 3, "W_key": [ZEROS] * 3},
    "one-takes-all": {"temperature": 0.1},
    "average-of-the-past": {"mask": "causal", "W_query": [ZEROS] * 3, "W_key": [ZEROS] * 3},
    "first-word": {"W_query": [[0], [0], [0], [1]], "W_key": [[0], [0], [-5], [0]]},
    "previous-word": BACK,
    "same-word-elsewhere": {
        "W_query": [[9, 0], [0, 9]],
        "W_key": [[1, 0], [0, 1]],
        "mask": "not itself",
    },
    "ignore-padding": {"W_query": [[0], [0], [0], [1]], "W_key": [[0], [0], [-10], [0]]},
    "other-matrices": {"W_key": [[0.5, 1.5], [0, 1], [1, -1]]},
    "width-one": {"impossible": 1},
    "two-heads": {
        "W_query_1": [[0], [0], [1]],
        "W_key_1": [[0], [-5], [0]],
        "W_value_1": [[1], [0], [0]],
        "W_query_2": [[0], [0], [1]],
        "W_key_2": [[0], [5], [0]],
        "W_value_2": [[1], [0], [0]],
    },
    "one-head": {"impossible": 2},
    "wanted-context": {"impossible": 0},
    "key-bias": {"impossible": 1},
    "only-distance": {"W_query": [[-20, 0]], "W_key": [[1, 0]], "angle": 90},
    "not-good": BACK | {"W_value": [[0], [0], [0], [-2]]},
}
# What else solves a puzzle
MORE = [
    ("previous-word", TURNED),
    ("not-good", TURNED | {"W_value": [[0], [0], [0], [-2]]}),
    ("first-word", {"W_query": [[0], [0], [0], [1]], "W_key": [[0], [0], [-3], [0]]}),
    ("only-distance", {"W_query": [[9, 0]], "W_key": [[0, 9]], "angle": 45}),
]
# What readers try, and the reason that they are given
WRONG = [
    ("first-word", {"W_query": [[1], [0], [0], [0]], "W_key": [[9], [0], [0], [0]]}, "here"),
    ("first-word", {"W_query": [[0], [0], [0], [1]], "W_key": [[20], [0], [0], [0]]}, "word"),
    ("previous-word", {"W_query": [[8, 0], [0, 8], ZEROS, ZEROS]}, "here"),
    ("same-word-elsewhere", {"W_query": [[9, 0], [0, 9]], "W_key": [[1, 0], [0, 1]]}, "here"),
    ("same-word-elsewhere", {"W_query": [[9, 0], ZEROS], "W_key": [[1, 0], ZEROS]}, "here"),
    ("average-of-the-past", {"mask": "causal"}, "here"),
    ("one-takes-all", {"temperature": 0.28}, "elsewhere"),
    (
        "ignore-padding",
        {"W_query": [[0], [0], [0], [1]], "W_key": [[0], [0], [-5], [0]]},
        "elsewhere",
    ),
    ("ignore-padding", {"impossible": 0}, "possible"),
    ("first-word", {"impossible": 0}, "possible"),
    ("width-one", {"impossible": 0}, "claim"),
    ("only-distance", {"W_query": [[-20, 0]], "angle": 90.0, "W_key": [[0, 1]]}, "here"),
    ("not-good", BACK | {"W_value": [[0], [0], [-2], [0]]}, "here"),
    # A large value makes a threshold of a small weight, wherever the word stands.
    (
        "not-good",
        {
            "W_query": [[5, 0], ZEROS, ZEROS, ZEROS],
            "W_key": [[2, 0], ZEROS, ZEROS, ZEROS],
            "W_value": [[0], [0], [0], [-99]],
        },
        "elsewhere",
    ),
    (
        "ignore-padding",
        {"W_query": [[0], [0], [0], [1]], "W_key": [[9], [0], [0], [0]]},
        "elsewhere",
    ),
]


def count_numbers(puzzle: dict, state: dict) -> int:
    """Count what is set: numbers that are not 0, and what is not as it would be without setting."""
    plain = {"temperature": 1, "mask": "none"}
    count = 0
    for name in puzzle["settable"]:
        if name == "mask":
            count += state[name] != plain[name]
        else:
            count += int((state[name] != plain.get(name, 0)).sum())
    return count
