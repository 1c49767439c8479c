"""What all tests share: a seed, a finished run, and how many examples hypothesis tries."""

import shutil

import pytest
import small_run
import torch
from hypothesis import settings

# Derandomised, so that a run that passes today passes tomorrow. More examples on request:
# pytest --hypothesis-profile=thorough
settings.register_profile("quick", max_examples=60, derandomize=True, deadline=None, database=None)
settings.register_profile("thorough", max_examples=2_500, deadline=None, print_blob=True)
settings.load_profile("quick")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A run whose training is done: for reading only."""
    return small_run.train(tmp_path_factory.mktemp("finished") / "run", "--epochs", "1")


@pytest.fixture
def run(finished, tmp_path):
    """A copy of it that a test may change."""
    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture
def page(request):
    """The names of the file's LESSON, whose shape comments and figures are checked."""
    from run_pages import check_lesson

    return check_lesson(request.module.LESSON).names
