"""Each guard is where its name says, and so are the tests that must notice when it is out."""

import pkgutil
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture
def guards(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from guards import GUARDS

    return GUARDS


def test_guards_and_their_tests_exist(guards):
    assert 15 <= len(guards) <= 30
    for name, guard in guards.items():
        assert callable(pkgutil.resolve_name(name)), name
        for test in guard.tests:
            path, _, function = test.partition("::")
            text = (TESTS / path).read_text(encoding="utf-8")
            assert re.search(rf"^def {function}\(", text, re.MULTILINE), test
