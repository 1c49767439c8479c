"""What a first reading of the core lessons takes, and how it is counted."""

import pytest

from first_reading import (
    MOST_LINES_IN_ALL,
    MOST_WORDS,
    MOST_WORDS_IN_ALL,
    core_lessons,
    first_reading,
)

LESSON = '''"""
.. lesson:: A lesson
   :minutes: 1

A title
=======

How many words are here? See :doc:`three more words </a/b>`, and :math:`a + b`.
"""

import torch

# %%
# The line
# --------
# two words
#
# Closer look: what is not counted
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# not counted

x = torch.zeros(2)
print(x)

# %%
# Again
# -----
# .. math:: a = b
#
# one

# a comment
x = x + 1

print(x)

# %%

# Check: what is folded
assert x.sum() == 2
'''


def test_closer_looks_folds_and_formulas_are_not_counted(tmp_path):
    script = tmp_path / "plot_lesson.py"
    script.write_text(LESSON)
    # 2 of the title, 5, 5 with the page's address, and 2 with the formula; 2 + 2; 1 + 1
    assert first_reading(script) == (20, 2)


@pytest.mark.parametrize("script", core_lessons(), ids=lambda script: script.stem)
def test_a_first_reading_of_a_lesson_is_short(script):
    assert first_reading(script).words <= MOST_WORDS


def test_a_first_reading_of_all_lessons_takes_an_hour_and_a_half():
    words, lines = map(sum, zip(*map(first_reading, core_lessons()), strict=True))
    assert words <= MOST_WORDS_IN_ALL
    assert lines <= MOST_LINES_IN_ALL
