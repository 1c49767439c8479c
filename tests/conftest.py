"""How many cases hypothesis tries: few and always the same here, many in the slow session."""

import pytest
import torch
from hypothesis import settings

# Derandomised, so that a run that passes today passes tomorrow. More cases on request:
# pytest --hypothesis-profile=thorough
settings.register_profile("quick", max_examples=100, derandomize=True, deadline=None, database=None)
settings.register_profile("thorough", max_examples=2_500, deadline=None, print_blob=True)
settings.load_profile("quick")


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
