"""The committed errors fit the code that makes them, and the bound that their lesson proves."""

import json

import numpy as np
import pytest
import torch

from experiments.bottleneck import __main__ as bottleneck

LESSON = "deeper/plot_8_multi_head_bottleneck"
RESULTS = json.loads(bottleneck.OUT.read_text(encoding="utf-8"))


def test_every_model_is_there_once_with_todays_settings_and_one_trained_again_agrees():
    assert RESULTS["origin"]["seeds"] == list(bottleneck.SEEDS)
    assert RESULTS["origin"]["config"] == bottleneck.CONFIG
    names = "comparisons", "num_heads", "head_dim", "seed"
    errors = {tuple(run[name] for name in names): run["error"] for run in RESULTS["runs"]}
    assert len(errors) == len(RESULTS["runs"])
    assert set(errors) == {(*cell, s) for cell in bottleneck.grid() for s in bottleneck.SEEDS}
    again = bottleneck.train(2, 2, 16, seed=0, steps=bottleneck.CONFIG["steps"])
    assert again == pytest.approx(errors[2, 2, 16, 0], abs=0.005)


def test_the_lesson_trains_as_the_experiment_does(page):
    for h, k in ((1, 16), (3, 2)):
        expected = bottleneck.train(1, h, k, seed=1, steps=4)
        assert page["train"](h, k, steps=4, seed=1) == pytest.approx(expected, rel=1e-5)


def test_the_answer_is_that_of_the_nearer_key_and_two_are_independent(monkeypatch):
    x, answers = bottleneck.sample(50, 1, torch.Generator().manual_seed(0))
    points = x[..., :15]
    nearer = torch.cdist(points[:, :8], points[:, 8:]).argmin(-1)
    assert torch.equal(x[:, 8:, -1].gather(1, nearer), answers[..., 0])
    assert (x[:, :8, -1] == 0).all()
    # Two answers are independent for every pair of keys.
    monkeypatch.setitem(bottleneck.CONFIG, "queries", 40_000)
    _, answers = bottleneck.sample(5, 2, torch.Generator().manual_seed(0))
    assert (answers.prod(-1).mean(-1).abs() < 0.02).all()


@pytest.mark.parametrize("r", [3, 15])
def test_shares_of_the_target_are_its_projections(page, r):
    # Averaged over z, the targets of two queries at the angle θ have the product 1 − 2θ/π, whose
    # coefficients at the Legendre polynomials of r dimensions are the shares.
    theta = np.linspace(0, np.pi, 100_001)
    density = np.sin(theta) ** (r - 2)
    before, legendre, t = np.ones_like(theta), np.cos(theta), np.cos(theta)
    listed = page["degrees"](r)
    for degree in range(1, 10):
        share = np.average((1 - 2 * theta / np.pi) * legendre, weights=density)
        if degree % 2:
            recorded_degree, recorded, size = listed[degree // 2]
            assert recorded_degree == degree
            assert recorded == pytest.approx(size * share, rel=1e-4)
        after = ((2 * degree + r - 2) * t * legendre - degree * before) / (degree + r - 2)
        before, legendre = legendre, after
    assert 0.99 < sum(share for _, share, _ in listed) < 1


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("degree", [1, 3, 5])
def test_a_head_reaches_as_many_directions_as_the_bound_says(page, k, degree, monkeypatch):
    # Functions of k of three coordinates, projected on one degree by an exact quadrature.
    height, gauss = np.polynomial.legendre.leggauss(12)
    turn = 2 * np.pi * np.arange(24) / 24
    z, phi = map(np.ravel, np.meshgrid(height, turn, indexing="ij"))
    flat = np.sqrt(1 - z**2)
    points = np.stack([flat * np.cos(phi), flat * np.sin(phi), z], axis=-1)
    weights = np.repeat(gauss, 24) / 48
    seen = points @ np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0][:, :k]
    powers = [[i, j] for i in range(8) for j in range(8 if k == 2 else 1)]
    functions = np.stack([np.prod(seen ** power[:k], axis=-1) for power in powers])
    legendre = np.polynomial.Legendre.basis(degree)(points @ points.T)
    parts = (functions * weights) @ legendre * (2 * degree + 1)
    assert np.linalg.matrix_rank(legendre, tol=1e-8) == 2 * degree + 1
    assert page["degrees"](3)[degree // 2][2] == 2 * degree + 1
    reached = np.linalg.matrix_rank(parts, tol=1e-8)
    monkeypatch.setitem(page, "r", 3)
    monkeypatch.setitem(page, "HARMONICS", [(degree, 1.0, 2 * degree + 1)])
    assert page["bound"](1, k) == pytest.approx(1 - reached / (2 * degree + 1))
    assert page["bound"](2, k) == pytest.approx(max(0, 1 - 2 * reached / (2 * degree + 1)))


def test_no_error_is_below_the_bound(page):
    for model in RESULTS["runs"]:
        least = page["bound"](model["num_heads"], model["head_dim"])
        # Of two answers, only the first has its keys evenly on the sphere.
        assert model["error"] > least / model["comparisons"] - 0.005
        if model["comparisons"] == 2 and model["num_heads"] == 1:
            assert model["error"] > 0.495


def test_weights_of_a_head_have_logarithms_of_rank_k(page):
    n, d, k = 7, 11, 3
    x = torch.randn(n, d, dtype=torch.float64)
    layer = page["MultiHeadAttention"](d, 1, head_dim=k).double()
    _, weights = layer(x, need_weights=True)
    L = page["log_weights"](weights[0].detach())
    assert torch.linalg.matrix_rank(L) == k
    plus = torch.linalg.pinv(x)
    U, sigma, Vh = torch.linalg.svd(plus @ L @ plus.T)
    for rank in (k, k - 1):
        near = x @ U[:, :rank] * sigma[:rank] @ Vh[:rank] @ x.T
        assert torch.allclose(near.softmax(-1), weights[0], atol=1e-10) is (rank == k)
