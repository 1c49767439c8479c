"""What nox -s guards has written belongs to the guards and the tests that there are."""

import json
import re
import tomllib
from pathlib import Path

TESTS = Path(__file__).parent
GUARDS = tomllib.loads((TESTS / "faults/guards.toml").read_text())["guard"]
RESULTS = json.loads((TESTS.parent / "docs/results/guards.json").read_text())["guards"]


def test_each_guard_stands_where_it_was_taken_away():
    for guard in GUARDS:
        text = (TESTS.parent / guard["file"]).read_text()
        assert text.count(guard["old"]) == 1, f"{guard['what']}: not once in {guard['file']}"
    # Those found by running the table of bad input come after, and move with every line.
    assert [g["what"] for g in GUARDS] == [r["without"] for r in RESULTS[: len(GUARDS)]]


def test_each_test_that_tries_to_break_something_was_seen_failing():
    page = (TESTS.parent / "docs/promises.md").read_text()
    promised = re.findall(r"`((?:faults/)?test_\w+\.py::test_\w+)`", page)
    written = [
        f"faults/{path.name}::{test}"
        for path in TESTS.glob("faults/test_*.py")
        for test in re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE)
    ]
    missed = {test for result in RESULTS for test in result["tests"]}
    assert not {*promised, *written} - missed, "nox -s guards"
