"""Evaluation mode for a while leaves every module in the mode in which it was."""

import pytest
from torch import nn

from attention._evaluating import evaluating


def test_a_frozen_part_of_a_model_in_training_stays_in_its_mode():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(), nn.Linear(2, 2)))
    model.train()
    model[1][0].eval()
    before = [module.training for module in model.modules()]
    assert before == [True, True, True, False, True]
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == before
    with pytest.raises(RuntimeError, match="stop"), evaluating(model):
        raise RuntimeError("stop")
    assert [module.training for module in model.modules()] == before
