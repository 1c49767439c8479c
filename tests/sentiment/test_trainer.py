"""The loop: against one written out plainly, from any state on, and where the loss breaks."""

import dataclasses
import itertools
import math
from pathlib import Path

import pytest
import torch
from attention.sentiment.batches import Ragged, assemble, make_examples, plan_batches
from attention.sentiment.config import TrainConfig
from attention.sentiment.model import KINDS
from attention.sentiment.trainer import State, Trainer, TrainingError, together
from torch.nn import functional as F

from attention import SentimentClassifier, trainer

CONFIG = TrainConfig(
    epochs=3, batch_size=5, lr=0.01, max_length=7, separator=True, keep="tail", seed=7,
    dropout=0.0, word_dropout=0.0, schedule="linear",
)  # fmt: skip
BATCHES = 7  # of 34 examples


def examples(empty=False):
    generator = torch.Generator().manual_seed(2)
    lengths = [
        0 if empty else int(torch.randint(0, 11, (), generator=generator)) for _ in range(17)
    ]
    texts = [torch.randint(3, 23, (n,), generator=generator).tolist() for n in lengths]
    return make_examples(Ragged.from_lists(texts), [i % 2 for i in range(17)], pairs=True)


def build(config=CONFIG, kind="energy"):
    torch.manual_seed(3)
    return SentimentClassifier(
        23, embed_dim=4, attention=kind, key_dim=3, num_heads=2, max_length=7, bigram_buckets=11,
        segments=True, dropout=config.dropout, word_dropout=config.word_dropout,
    )  # fmt: skip


def train(config=CONFIG, **callbacks):
    made = Trainer(build(config), examples(), {"clean": examples()}, config)
    made.run(**callbacks)
    return made


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("schedule", ["linear", "constant"])
def test_a_plain_loop_trains_the_same_model(schedule):
    config = dataclasses.replace(CONFIG, schedule=schedule)
    model, pairs, losses, tokens = build(), examples(), [], 0
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, fused=False)
    steps = itertools.count()
    lengths = pairs.lengths(2).clamp(max=7)
    for epoch in range(3):
        losses.append(0.0)
        plan = plan_batches(lengths, 5, seed=7, epoch=epoch)
        assert len(plan) == BATCHES
        for rows in plan:
            step = next(steps)
            share = 1 - step / (3 * BATCHES) if schedule == "linear" else 1
            optimizer.param_groups[0]["lr"] = 0.01 * share
            batch = assemble(pairs, rows, max_length=7, keep="tail", separator_id=2)
            loss = F.binary_cross_entropy_with_logits(model(*batch[:2]), batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1] += loss.item() * len(rows) / 34
    made = train(config)
    for ours, plain in zip(made.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-6)
    assert [line["train"]["loss"] for line in made.state.metrics] == pytest.approx(losses, rel=1e-5)
    assert [line["epoch"] for line in made.state.metrics] == [1, 2, 3]
    line = made.state.metrics[0]
    assert line["train"]["n"] == line["clean"]["n"] == 34
    # Tokens read: after truncation, without padding.
    tokens = line["tokens_per_second"] * line["seconds"]
    assert tokens == pytest.approx(lengths.sum().item())


def test_accuracy_is_counted_while_training():
    made = Trainer(build(), examples(), {}, dataclasses.replace(CONFIG, epochs=1, lr=1e-12))
    line = made.run()[0]
    whole = assemble(examples(), torch.arange(34), max_length=7, separator_id=2)
    right = (made.model(*whole[:2]) > 0) == (whole.labels > 0.5)
    assert line["train"]["accuracy"] == right.sum().item() / 34


def test_seconds_are_of_training_alone(monkeypatch):
    now = [0.0]

    def tick():
        now[0] += 1.0
        return now[0]

    def slowly(trainer):
        now[0] += 1e6

    monkeypatch.setattr(trainer.time, "perf_counter", tick)
    monkeypatch.setattr(trainer, "measure", lambda *_: slowly(None) or {"accuracy": 1.0})
    made = train(after_batch=slowly, after_epoch=slowly)
    for line in made.state.metrics:
        assert 0 < line["seconds"] < 100


DROPPING = dataclasses.replace(CONFIG, dropout=0.3, word_dropout=0.2)


@pytest.mark.parametrize("off", ["dropout", "word_dropout"])
def test_either_dropout_follows_from_seed_and_step(off):
    config = dataclasses.replace(DROPPING, **{off: 0.0})
    noisy = train(config, after_batch=lambda trainer: torch.rand(3)).model
    assert same(train(config).model, noisy)


def test_dropout_follows_from_seed_and_step_alone():
    one = train(DROPPING).model
    noisy = train(DROPPING, after_batch=lambda trainer: torch.rand(3)).model
    assert same(one, noisy)
    assert not same(one, train(CONFIG).model)
    # A model that was loaded comes in evaluation mode.
    loaded = Trainer(build(DROPPING).eval(), examples(), {}, DROPPING)
    loaded.run()
    assert same(loaded.model, one)
    # Each step draws anew.
    made = Trainer(build(), examples(), {}, DROPPING)
    other = Trainer(build(), examples(), {}, dataclasses.replace(DROPPING, seed=8))
    draws = []
    for seeded in (made, other):
        for step in range(3):
            seeded._seed(step)
            draws.append(torch.rand(()).item())
    assert len(set(draws)) == 6


@pytest.mark.parametrize("step", [1, BATCHES, BATCHES + 3])
def test_going_on_from_any_state_gives_the_same_weights(step):
    whole = train(DROPPING)
    kept = {}

    class Enough(Exception):
        pass

    def keep(trainer):
        if trainer.state.epoch * BATCHES + trainer.state.batch == step:
            kept["state"], kept["slots"] = trainer.state, trainer.optimizer.state_dict()
            kept["model"] = trainer.model
            raise Enough

    with pytest.raises(Enough):
        train(DROPPING, after_batch=keep)
    torch.rand(5)
    rest = Trainer(kept["model"], examples(), {"clean": examples()}, DROPPING)
    rest.optimizer.load_state_dict(kept["slots"])
    rest.state = kept["state"]
    rest.run()
    assert same(rest.model, whole.model)
    for a, b in zip(rest.state.metrics, whole.state.metrics, strict=True):
        assert (a["train"], a["clean"]) == (b["train"], b["clean"])


def test_a_loss_that_is_no_number_stops_at_once_and_says_where():
    seen = []

    def break_it(trainer):
        seen.append(trainer.state.batch)
        if trainer.state.epoch == 1 and trainer.state.batch == 2:
            with torch.no_grad():
                trainer.model.classifier.bias.fill_(math.nan)

    with pytest.raises(TrainingError, match="step 3 of epoch 2"):
        train(after_batch=break_it)
    assert len(seen) == BATCHES + 2


@pytest.mark.parametrize(("every", "noticed"), [(5, 5), (20, BATCHES)])  # or as the epoch ends
def test_where_looking_is_dear_the_step_is_known_all_the_same(every, noticed, monkeypatch):
    monkeypatch.setattr(trainer, "CHECK_EVERY", every)
    made = Trainer(build(), examples(), {}, CONFIG)
    made.looks_often = False  # as on a GPU

    def break_it(trainer):
        if trainer.state.batch == 2:
            with torch.no_grad():
                trainer.model.classifier.bias.fill_(math.nan)

    with pytest.raises(TrainingError, match="step 3 of epoch 1"):
        made.run(after_batch=break_it)
    assert made.state.batch == noticed


def test_weights_are_looked_at_where_asked():
    made = Trainer(build(), examples(), {}, CONFIG)
    made.check(weights=True)
    with torch.no_grad():
        made.model.embedding.weight[5, 1] = math.inf
    made.check()
    made.state = State(batch=4)
    with pytest.raises(TrainingError, match="step 4 of epoch 1"):
        made.check(weights=True)


def test_a_learning_rate_beyond_all_bounds_is_noticed():
    with pytest.raises(TrainingError, match="--lr"):
        train(dataclasses.replace(CONFIG, lr=1e38))


@pytest.mark.parametrize("kind", KINDS)
def test_reviews_without_a_word(kind):
    nothing = examples(empty=True)
    made = Trainer(build(kind=kind), nothing, {"clean": nothing}, CONFIG)
    line = made.run()[-1]
    assert math.isfinite(line["clean"]["loss"])
    made.model.eval()
    alone = assemble(nothing, torch.arange(17), max_length=7)
    assert torch.equal(made.model(*alone[:2]), made.model.classifier.bias.expand(17))


def test_alone_errors_pass_as_they_are():
    assert together(lambda: None) is None
    with pytest.raises(FileNotFoundError):
        together(Path("/no/such/file").read_text)


@pytest.mark.parametrize("kind", ["energy", "qkv"])
def test_a_batch_in_pieces_trains_the_same_model(kind, monkeypatch):
    config = dataclasses.replace(CONFIG, batch_size=19)
    whole = Trainer(build(kind=kind), examples(), {}, config)
    cut = Trainer(build(kind=kind), examples(), {}, config)
    (line, *_) = whole.run()
    seen = []
    monkeypatch.setattr(trainer, "TOKENS_AT_ONCE", 30)
    monkeypatch.setattr(trainer, "WIDTH_STEP", 2)
    cut.model.register_forward_pre_hook(lambda _, read: seen.append(read[0].shape))
    (line_of_cut, *_) = cut.run()
    # 19 rows of up to 7 ids are more than 30 numbers, and the last batch of 15, too.
    assert len(seen) > 2 * config.epochs
    assert sum(rows for rows, _ in seen) == 34 * config.epochs
    # Even widths, and the batch's own 7.
    assert {width for _, width in seen} <= {2, 4, 6, 7}
    assert min(width for _, width in seen) < max(width for _, width in seen) == 7
    assert line_of_cut["train"] == pytest.approx(line["train"], rel=1e-5)
    for a, b in zip(whole.model.parameters(), cut.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
