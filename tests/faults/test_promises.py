"""Each promise of the page on reliability, and each guard, names tests, and they exist."""

import pkgutil
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs/reliability.md").read_text()
NAMED = re.findall(r"`((?:\w+/)*test_\w+\.py::test_\w+)`", PAGE)


def assert_exists(test):
    path, _, function = test.partition("::")
    text = (TESTS / path).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, re.MULTILINE), test


def test_each_promise_has_a_test_and_each_test_exists():
    sections = PAGE.split("\n## ")[1:-3]
    promises = [part for text in sections for part in re.split(r"\n\n(?=\*\w)", text)[1:]]
    assert len(promises) >= 15
    for promise in promises:
        assert "::test_" in promise, promise
    assert len(NAMED) > 30
    for test in NAMED:
        assert_exists(test)
    assert PAGE.rindex("## Takeaways") > PAGE.rindex("::test_")


def test_guards_and_their_tests_exist(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from guards import GUARDS

    assert 15 <= len(GUARDS) <= 30
    for name, guard in GUARDS.items():
        assert callable(pkgutil.resolve_name(name)), name
        for test in guard.tests:
            assert_exists(test)
