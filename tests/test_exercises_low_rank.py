"""Each checker takes the right answer and refuses the likely wrong ones, saying why."""

import pytest
import torch
from torch import nn

from attention.exercises_low_rank import (
    check_change_of_gauge,
    check_drop_dead_bias,
    check_energy,
    check_largest_key_dim,
)


def zeroed(*names):
    def answer(layer):
        for name in names:
            nn.init.zeros_(layer.get_parameter(name))
        return layer

    return answer


RIGHT = [
    (check_largest_key_dim, 31),
    (check_energy, lambda W, q: W @ q),
    (check_energy, lambda W, q: (W * q).sum(-1)),
    (check_drop_dead_bias, zeroed("W_key.bias")),
    (check_change_of_gauge, lambda Q, K, R: (Q @ R, torch.linalg.solve(R, K.T).T)),
]
WRONG = [
    (check_largest_key_dim, 32, "equal"),
    (check_largest_key_dim, 64, "8192 numbers, a free matrix only 4096"),
    (check_largest_key_dim, 30, "k = 31 does too"),
    (check_largest_key_dim, 0, "1 or more"),
    (check_largest_key_dim, 31.5, "1 or more"),
    (check_energy, lambda W, q: W.T @ q, r"W_key is \(d, k\) = \(7, 3\)"),
    (check_energy, lambda W, q: W.sum(1), "weights of five words differ"),
    (check_energy, lambda W, q: W @ q / 3**0.5, "weights of five words differ"),
    (check_energy, lambda W, q: W @ q[:, None], r"one number for each .* \(7, 1\)"),
    (check_energy, lambda W, q: W.T, r"one number for each .* \(3, 7\)"),
    (check_drop_dead_bias, lambda layer: layer, "still there"),
    (check_drop_dead_bias, zeroed("W_query.bias"), "something that was removed was alive"),
    (check_drop_dead_bias, zeroed("W_query.bias", "W_key.bias"), "was alive"),
    (check_drop_dead_bias, lambda layer: None, "expected the layer back, got NoneType"),
    (check_change_of_gauge, lambda Q, K, R: (Q @ R, K @ R), "a diagonal R, another R"),
    (
        check_change_of_gauge,
        lambda Q, K, R: (Q @ R, K @ torch.linalg.inv(R)),
        "with a rotation, another R: write down",
    ),
    (check_change_of_gauge, lambda Q, K, R: (Q, K), "should become W_query R"),
]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_takes_the_right_answer(check, answer, seed, capsys):
    torch.manual_seed(seed)
    check(answer)
    assert capsys.readouterr().out.startswith("Right")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("check", "answer", "message"), WRONG)
def test_says_what_is_wrong(check, answer, message, seed):
    torch.manual_seed(seed)
    with pytest.raises(AssertionError, match=message):
        check(answer)
