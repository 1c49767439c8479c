"""The names of the lesson that a file tests."""

import pytest
from run_pages import check_lesson


@pytest.fixture
def page(request):
    """Run the file's LESSON, check its shape comments and figures, and return its names."""
    return check_lesson(request.module.LESSON).names
