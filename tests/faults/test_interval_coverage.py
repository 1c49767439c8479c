"""The comparison's intervals, simulated over a grid of conditions."""

import pytest
from simulated_answers import GRID, check_coverage


@pytest.mark.parametrize("condition", GRID, ids=str)
def test_intervals_cover_as_often_as_they_say(condition):
    check_coverage(condition, repeats=4_000)
