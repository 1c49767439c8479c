"""The committed numbers of 72 heads say where they come from; one head measured again agrees."""

import copy
import itertools
import json

import pytest
import torch

from attention.analysis import bilinear_form, effective_rank
from attention.pretrained import MINILM_SHA256, load_encoder
from experiments.real_model import __main__ as experiment
from experiments.real_model import heads as tools

RESULTS = json.loads(experiment.OUT.read_text(encoding="utf-8"))
HEADS = RESULTS["heads"]


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("minilm")[0]


def test_the_record_is_whole_and_of_todays_settings():
    origin = RESULTS["origin"]
    assert origin["model"]["sha256"] == MINILM_SHA256["model.safetensors"]
    assert origin["config"] == experiment.CONFIG
    # Every head and every truncation is there once.
    heads = [(head["layer"], head["head"]) for head in HEADS]
    assert heads == list(itertools.product(range(6), range(12)))
    rows = [(row["kind"], row["rank"]) for row in RESULTS["truncation"]]
    ranks = experiment.CONFIG["encoder_ranks"].items()
    assert rows == [*((kind, r) for kind, each in ranks for r in each), ("whole", 32)]


def test_spectra_are_ordered_and_fit_their_summaries():
    for part in (head[name] for head in HEADS for name in ("QK", "OV", "weighted")):
        sigma = torch.tensor(part["spectrum"], dtype=torch.float64)
        assert len(sigma) == 32
        assert (sigma.diff() <= 0).all()
        assert (sigma >= 0).all()
        assert part["effective_rank"] == pytest.approx(tools.effective_rank(sigma), rel=1e-3)
        assert 1 <= part["effective_rank"] <= 32
        assert part["directions_90"] == tools.directions(sigma)


def test_a_head_measured_again_and_gaussian_pairs_drawn_again_agree(encoder):
    layer, head = 5, 11
    attention = tools.attentions(encoder)[layer]
    again = experiment.rounded(experiment.of_the_weights(tools.heads_of(attention)[head]))
    recorded = HEADS[12 * layer + head]
    for part, numbers in again.items():
        for name, value in numbers.items():
            assert recorded[part][name] == pytest.approx(value, rel=1e-4), (part, name)
    whole = bilinear_form(attention)[head].double()
    assert effective_rank(whole).item() == pytest.approx(recorded["QK"]["effective_rank"], rel=1e-3)
    recorded = RESULTS["gaussian"]
    again = experiment.gaussian_pairs(recorded["d"], recorded["k"], recorded["draws"])
    assert recorded["effective_rank"] == pytest.approx(again["effective_rank"], rel=1e-4)


def test_truncation_by_covariances_is_nearest_in_the_scores():
    d, k, r = 9, 5, 2
    stretch = torch.logspace(0.5, -1, d, dtype=torch.float64)
    x = torch.randn(400, d, dtype=torch.float64) @ torch.randn(d, d, dtype=torch.float64) * stretch
    x = x - x.mean(0)
    W_query, W_key = torch.randn(2, d, k, dtype=torch.float64)
    C = x.T @ x / len(x)
    half = tools.root(C)
    sigma = torch.linalg.svdvals(half @ W_query @ W_key.T @ half)
    covariances = W_query.T @ C @ W_query, W_key.T @ C @ W_key
    torch.testing.assert_close(tools.weighted_spectrum(*covariances), sigma[:k])
    A, B = tools.truncation(*covariances, r)
    lost = x @ (W_query @ W_key.T - W_query @ A @ (W_key @ B).T) @ x.T
    assert lost.square().mean().item() == pytest.approx(sigma[r:].square().sum().item(), rel=1e-6)


@pytest.mark.parametrize("r", [0, 5, 32])
def test_truncation_keeps_the_scores_of_one_query_whole(encoder, r):
    x = torch.randn(1, 7, 384)
    whole = tools.attentions(encoder)[1]
    layer = copy.deepcopy(whole)
    expected = []
    for h, head in enumerate(tools.heads_of(whole)):
        query = head.query_bias + torch.randn(32)
        grams = head.query.T @ head.query, head.key.T @ head.key
        tools.replace_head(layer, h, tools.truncated_pair(head, *grams, query, r))
        U, sigma, Vh = torch.linalg.svd(head.query @ head.key.T)
        near = U[:, :r] * sigma[:r] @ Vh[:r]
        # What is cut are the scores of the other queries' difference from this one.
        shift = torch.linalg.lstsq(head.query.T, head.query_bias - query).solution
        centred = x[0].double() + shift
        constant = x[0].double() @ head.key @ query
        scores = centred @ near @ x[0].double().T + constant
        expected.append((scores / 32**0.5).softmax(-1))
    weights = layer(x, need_weights=True)[1][0]
    torch.testing.assert_close(weights.double(), torch.stack(expected), rtol=1e-3, atol=1e-5)
    rows_agree = torch.allclose(weights, weights[:, :1].expand_as(weights), atol=1e-6)
    assert rows_agree is (r == 0)


def test_moments_of_two_batches_are_those_of_all_texts():
    queries, keys = torch.randn(2, 6, 2, 9, 3, dtype=torch.float64) + 1  # (B, h, n, k) each
    moments = experiment.Moments()
    for part in range(2):
        moments.add(queries[3 * part :][:3], keys[3 * part :][:3])
    for h in range(2):
        flat = queries[:, h].flatten(0, 1)
        torch.testing.assert_close(moments.queries()[h], flat.T.cov(correction=0))
        within = torch.stack([text.T.cov(correction=0) for text in keys[:, h]]).mean(0)
        torch.testing.assert_close(moments.mean("within")[h], within)


def test_the_probe_takes_the_penalty_that_predicts_left_out_rows_best(monkeypatch):
    x, labels = torch.randn(12, 4, dtype=torch.float64), torch.arange(12) % 2
    x[:, 0] += labels
    errors = {}
    for penalty in (0.01, 1.0, 100.0):
        monkeypatch.setitem(experiment.CONFIG, "ridge", [penalty])
        errors[penalty] = 0.0
        for i in range(12):
            rest = torch.arange(12) != i
            weights, _ = experiment.probe(x[rest], labels[rest])
            errors[penalty] += (x[i] @ weights[:-1] + weights[-1] - (2 * labels[i] - 1)).item() ** 2
    monkeypatch.setitem(experiment.CONFIG, "ridge", list(errors))
    assert experiment.probe(x, labels)[1] == min(errors, key=errors.get)
