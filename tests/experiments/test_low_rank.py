"""The committed results say where they come from, and fit the script that makes them."""

import json

import pytest
import torch

from attention.sentiment.config import TrainConfig
from attention.sentiment.reviews import fingerprint
from attention.sentiment.sources import load_reviews
from experiments.comparison.statistics import correct
from experiments.low_rank import __main__ as low_rank

LESSON = "deeper/plot_4_rank_on_reviews"
RESULTS = json.loads(low_rank.OUT.read_text(encoding="utf-8"))
ORIGIN = RESULTS["origin"]


def test_the_configuration_is_the_scripts_and_every_model_is_there_once():
    # All that is read of it; the file also records what nothing read.
    options = low_rank.CONFIG.options() | {"limit": None}
    before = TrainConfig().options()  # what came after the file was recorded, unused
    assert {name: ORIGIN["config"].get(name, before[name]) for name in options} == options
    assert ORIGIN["settings"] == low_rank.SETTINGS
    assert ORIGIN["lrs"] == list(low_rank.LRS)
    widths = [("mean", None), *((kind, k) for kind in ("qk", "qkv") for k in low_rank.KEY_DIMS)]
    models = [(run["kind"], run["key_dim"], run["seed"]) for run in RESULTS["runs"]]
    assert len(set(models)) == len(models)
    assert set(models) == {(*each, seed) for each in widths for seed in ORIGIN["seeds"]}
    keys = ("settings", "lr", "kind", "key_dim", "seed")
    conditions = [tuple(run[key] for key in keys) for run in RESULTS["conditions"]]
    assert len(set(conditions)) == len(conditions)
    assert set(conditions) == {
        (settings, lr, *model, seed)
        for settings in low_rank.SETTINGS
        for lr in low_rank.LRS
        for model in low_rank.MODELS
        for seed in ORIGIN["seeds"]
    }


def test_models_were_compared_on_todays_validation_reviews_alone():
    reviews = load_reviews("imdb")
    today = {name: fingerprint(reviews[name]) for name in ("train", "validation")}
    assert ORIGIN["sha256"] == today
    for run_ in [*RESULTS["runs"], *RESULTS["conditions"]]:
        assert not any("test" in name for name in run_)
        measured = run_["validation"]
        assert correct(measured).mean() == pytest.approx(measured["accuracy"])


def test_the_mean_is_ahead_where_nothing_regularises_and_less_so_elsewhere(page):
    for model in page["MODELS"][1:]:
        plain, regularised = (page["ahead"][each, model][0] for each in ("plain", "regularised"))
        assert plain > max(regularised, 0)


def test_the_interval_of_a_difference_covers_seeds_and_reviews(page, monkeypatch):
    """Simulate models of equal skill whose seeds and reviews vary; count how often 0 is inside."""
    generator = torch.Generator().manual_seed(0)
    covered = 0
    for _ in range(400):
        ease = torch.rand(300, generator=generator)
        skill = 0.03 * torch.randn(2, 5, 1, generator=generator)
        drawn = (torch.rand(2, 5, 300, generator=generator) < ease + skill).double()
        monkeypatch.setitem(page, "answers", lambda model, drawn=drawn: drawn[model])
        _, low, high = page["gain"](0, 1)
        covered += low <= 0 <= high
    assert covered > 0.92 * 400
