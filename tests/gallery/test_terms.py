"""Pages, code and messages use the field's terms, and none of the words that only we ever used."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = tomllib.loads(Path(__file__).with_name("terms.toml").read_text(encoding="utf-8"))
# A sentence may go on in the next line, of a comment too.
TERMS = [
    (re.compile(term["of"].replace(" ", r"(?:\s+#?\s*)"), re.IGNORECASE), term["write"])
    for term in LIST["instead"]
]
FOLDERS = {"attention": "**/*.py", "docs": "**/*.md", "gallery": "**/*.*"}
BUILT = [ROOT / "docs/_build", ROOT / "docs/gallery"]
TEXTS = sorted(
    path
    for folder, pattern in FOLDERS.items()
    for path in (ROOT / folder).glob(pattern)
    if path.suffix in (".md", ".py", ".rst")
    and "runs" not in path.parts
    and not any(path.is_relative_to(built) for built in BUILT)
)


def private_words(text: str) -> list[str]:
    """List the words that stand for a term of the field, each with its line and the term."""
    return [
        f"line {text.count(chr(10), 0, found.start()) + 1}: {found[0]!r}: write {term}"
        for pattern, term in TERMS
        for found in pattern.finditer(text)
    ]


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *TEXTS], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_the_fields_terms_are_used(path):
    assert private_words(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "is_private"),
    [
        ("The keys are laid end to end.", True),
        ("# guessed right by luck\n", True),
        ("two numbers a word", True),
        ("a batch is filled\n# up with padding", True),
        ("Films\nas a film, word by word", True),
        ("# The sink is merely the\n# token that is always there.", True),
        ("words that stand in a sentence", False),
        ("a film review", False),
        ("two numbers per word", False),
        ("padded", False),
    ],
)
def test_a_private_word_is_found_and_the_fields_own_are_not(text, is_private):
    assert bool(private_words(text)) is is_private
