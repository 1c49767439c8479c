"""Each promise of the page on reliability names tests that try to break it, and that exist."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs/reliability.md").read_text()
NAMED = re.findall(r"`((?:\w+/)*test_\w+\.py)::(test_\w+)`", PAGE)


def test_each_test_named_on_the_page_exists():
    assert len(NAMED) > 30
    for file, test in NAMED:
        assert re.search(rf"^def {test}\(", (TESTS / file).read_text(), re.MULTILINE), (file, test)


def test_each_promise_has_a_test():
    sections = PAGE.split("\n## ")[1:-3]
    promises = [part for text in sections for part in re.split(r"\n\n(?=\*\w)", text)[1:]]
    assert len(promises) >= 15
    for promise in promises:
        assert "::test_" in promise, promise


def test_the_page_ends_with_its_takeaways():
    assert PAGE.rindex("## Takeaways") > PAGE.rindex("::test_")
