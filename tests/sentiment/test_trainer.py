"""The loop: against one written out plainly, from any state on, and where the loss breaks."""

import itertools
import math
from collections import Counter
from pathlib import Path

import pytest
import torch
from processes import Interrupted
from torch.nn import functional as F

from attention import SentimentClassifier
from attention._distributed import on_all_processes
from attention.layers.variants import VARIANTS
from attention.sentiment import trainer
from attention.sentiment.batches import Examples, Reading, make_examples, plan_batches
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.tokenizer import Ragged
from attention.sentiment.trainer import Trainer, TrainingError, learning_rate

CONFIG = TrainConfig(
    model=ModelConfig(
        embed_dim=4,
        attention="energy",
        max_length=7,
        bigram_buckets=11,
        segments=True,
        separator=True,
        keep="tail",
    ),
    epochs=3,
    batch_size=5,
    lr=0.01,
    seed=7,
    schedule="linear",
)
BATCHES = 7  # of 34 examples
READING = Reading(7, "tail", 2)


def examples(empty=False):
    generator = torch.Generator().manual_seed(2)
    lengths = [
        0 if empty else int(torch.randint(0, 11, (), generator=generator)) for _ in range(17)
    ]
    texts = [torch.randint(3, 23, (n,), generator=generator).tolist() for n in lengths]
    return make_examples(Ragged.from_lists(texts), [i % 2 for i in range(17)], pairs=True)


def build(config=CONFIG, **fields):
    torch.manual_seed(3)
    return SentimentClassifier(23, config.model, **fields)


def train(config=CONFIG, **callbacks):
    finished = Trainer(build(config), examples(), {"clean": examples()}, config)
    finished.run(**callbacks)
    return finished


def have_equal_weights(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("schedule", ["linear", "constant"])
def test_a_plain_loop_trains_the_same_model(schedule):
    config = CONFIG.replace(schedule=schedule)
    model, pairs, losses, tokens = build(), examples(), [], 0
    optimizer = torch.optim.Adam(model.parameters(), lr=config.lr, fused=False)
    steps = itertools.count()
    lengths = pairs.lengths(READING)
    for epoch in range(3):
        losses.append(0.0)
        plan = plan_batches(lengths, 5, seed=7, epoch=epoch)
        assert len(plan) == BATCHES
        for rows in plan:
            step = next(steps)
            share = 1 - step / (3 * BATCHES) if schedule == "linear" else 1
            optimizer.param_groups[0]["lr"] = 0.01 * share
            batch = pairs.batch(rows, READING)
            loss = F.binary_cross_entropy_with_logits(model(*batch[:2]), batch.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1] += loss.item() * len(rows) / 34
    trained = train(config)
    for ours, plain in zip(trained.model.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-6)
    assert [line["train"]["loss"] for line in trained.state.metrics] == pytest.approx(
        losses, rel=1e-5
    )
    assert [line["epoch"] for line in trained.state.metrics] == [1, 2, 3]
    line = trained.state.metrics[0]
    assert line["train"]["n"] == line["clean"]["n"] == 34
    # Tokens read: after truncation, without padding.
    tokens = line["tokens_per_second"] * line["seconds"]
    assert tokens == pytest.approx(lengths.sum().item())


def test_accuracy_is_counted_while_training():
    training = Trainer(build(), examples(), {}, CONFIG.replace(epochs=1, lr=1e-12))
    line = training.run()[0]
    whole = examples().batch(torch.arange(34), READING)
    correct = (training.model(*whole[:2]) > 0) == (whole.labels > 0.5)
    assert line["train"]["accuracy"] == correct.sum().item() / 34


def test_seconds_are_of_training_alone(monkeypatch):
    now = [0.0]

    def tick():
        now[0] += 1.0
        return now[0]

    def slowly(trainer):
        now[0] += 1e6

    monkeypatch.setattr(trainer.time, "perf_counter", tick)
    monkeypatch.setattr(trainer, "measure", lambda *_, **__: slowly(None) or {"accuracy": 1.0})
    trained = train(after_batch=slowly, after_epoch=slowly)
    for line in trained.state.metrics:
        assert 0 < line["seconds"] < 100


@pytest.mark.parametrize("schedule", ["linear", "constant"])
@pytest.mark.parametrize("warmup", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("total", [1, 2, 21, 100])
def test_the_rate_rises_to_its_full_height_and_then_follows_the_schedule(total, warmup, schedule):
    config = TrainConfig(lr=0.7, warmup=warmup, schedule=schedule)
    rates = [learning_rate(step, total, config) / 0.7 for step in range(total)]
    assert max(rates) == pytest.approx(1.0)
    top = rates.index(max(rates))
    assert top == min(round(warmup * total), total - 1)
    rise = [(step + 1) / (top + 1) for step in range(top)]
    left = total - top
    after = [(left - i) / left if schedule == "linear" else 1.0 for i in range(left)]
    assert rates == pytest.approx(rise + after)


def test_the_steps_of_a_run_take_their_rates():
    config = CONFIG.with_options(warmup=0.25)
    rates = []
    train(config, after_batch=lambda trainer: rates.append(trainer.optimizer.param_groups[0]["lr"]))
    assert rates == [learning_rate(step, 3 * BATCHES, config) for step in range(3 * BATCHES)]


def test_training_leaves_the_caller_s_random_numbers_alone():
    model = build(WITH_DROPOUT)
    before = torch.random.get_rng_state()
    Trainer(model, examples(), {}, WITH_DROPOUT).run()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_training_ends_early_where_it_is_told_to():
    trained = train(after_epoch=lambda trainer: trainer.state.epoch == 2)
    assert len(trained.state.metrics) == 2 < CONFIG.epochs
    assert not trained.model.training


WITH_DROPOUT = CONFIG.with_options(dropout=0.3, word_dropout=0.2)


def test_dropout_follows_from_seed_and_step_alone():
    one = train(WITH_DROPOUT).model
    noisy = train(WITH_DROPOUT, after_batch=lambda trainer: torch.rand(3)).model
    assert have_equal_weights(one, noisy)
    assert not have_equal_weights(one, train(CONFIG).model)
    # A model that was loaded comes in evaluation mode.
    loaded = Trainer(build(WITH_DROPOUT).eval(), examples(), {}, WITH_DROPOUT)
    loaded.run()
    assert have_equal_weights(loaded.model, one)
    # Each step draws anew.
    first = Trainer(build(), examples(), {}, WITH_DROPOUT)
    other = Trainer(build(), examples(), {}, WITH_DROPOUT.replace(seed=8))
    draws = []
    for seeded in (first, other):
        for step in range(3):
            seeded._seed(step)
            draws.append(torch.rand(()).item())
    assert len(set(draws)) == 6


@pytest.mark.parametrize("optimizer", ["adam", "lazy-adam"])
@pytest.mark.parametrize("step", [1, BATCHES, BATCHES + 3])
def test_resuming_from_any_state_gives_the_same_weights(step, optimizer):
    config = WITH_DROPOUT.replace(optimizer=optimizer)
    whole = train(config)
    saved = {}

    def interrupt(trainer):
        if trainer.state.epoch * BATCHES + trainer.state.batch == step:
            saved["state"], saved["optimizer"] = trainer.state, trainer.optimizer.state_dict()
            saved["model"] = trainer.model
            raise Interrupted

    with pytest.raises(Interrupted):
        train(config, after_batch=interrupt)
    torch.rand(5)
    resumed = Trainer(saved["model"], examples(), {"clean": examples()}, config)
    resumed.optimizer.load_state_dict(saved["optimizer"])
    resumed.state = saved["state"]
    resumed.run()
    assert have_equal_weights(resumed.model, whole.model)
    for a, b in zip(resumed.state.metrics, whole.state.metrics, strict=True):
        assert (a["train"], a["clean"]) == (b["train"], b["clean"])


def test_lazy_adam_leaves_words_of_other_batches_alone_and_the_model_as_any_optimizer_takes_it():
    config = CONFIG.replace(optimizer="lazy-adam", epochs=1, batch_size=2)
    before = build().embedding.weight.detach()
    read = set()

    def after_batch(trainer):
        read.update(trainer.model.embedding.weight.ne(before).any(dim=-1).nonzero().flatten())
        if trainer.state.batch == 3:
            raise StopIteration

    trainer = Trainer(build(), examples(), {}, config)
    with pytest.raises(StopIteration):
        trainer.run(after_batch=after_batch)
    assert 0 < len({int(row) for row in read}) < 18
    assert not trainer.model.embedding.sparse  # also after an error
    model = train(config).model
    assert not model.embedding.sparse
    assert not model.bigrams.table.sparse


@pytest.mark.parametrize(
    ("checks_each_step", "every", "noticed"),
    [(True, 5, 3), (False, 5, 5), (False, 20, BATCHES)],  # on a GPU rarely, or as the epoch ends
)
def test_a_loss_that_is_not_a_number_stops_training_and_says_where(
    checks_each_step, every, noticed, monkeypatch
):
    monkeypatch.setattr(trainer, "CHECK_EVERY", every)
    training = Trainer(build(), examples(), {}, CONFIG)
    training.checks_each_step = checks_each_step

    def break_it(trainer):
        if trainer.state.epoch == 1 and trainer.state.batch == 2:
            with torch.no_grad():
                trainer.model.classifier.bias.fill_(math.nan)

    with pytest.raises(TrainingError, match="step 3 of epoch 2"):
        training.run(after_batch=break_it)
    assert (training.state.epoch, training.state.batch) == (1, noticed)


def test_weights_are_checked_on_request():
    training = Trainer(build(), examples(), {}, CONFIG)
    training.check(weights=True)
    with torch.no_grad():
        training.model.embedding.weight[5, 1] = math.inf
    training.check()
    training.state.batch = 4
    with pytest.raises(TrainingError, match="step 4 of epoch 1"):
        training.check(weights=True)


def test_a_learning_rate_beyond_all_bounds_is_noticed():
    with pytest.raises(TrainingError, match="--lr"):
        train(CONFIG.replace(lr=1e38))


@pytest.mark.parametrize("attention", VARIANTS)
def test_reviews_without_a_word(attention):
    nothing = examples(empty=True)
    training = Trainer(build(attention=attention), nothing, {"clean": nothing}, CONFIG)
    line = training.run()[-1]
    assert math.isfinite(line["clean"]["loss"])


def test_without_a_group_errors_pass_as_they_are():
    assert on_all_processes(lambda: None) is None
    with pytest.raises(FileNotFoundError):
        on_all_processes(Path("/no/such/file").read_text)


@pytest.mark.parametrize("attention", ["energy", "qkv"])
def test_a_batch_in_pieces_trains_the_same_model(attention, monkeypatch):
    config = CONFIG.replace(batch_size=19)
    whole = Trainer(build(attention=attention), examples(), {}, config)
    split = Trainer(build(attention=attention), examples(), {}, config)
    (line, *_) = whole.run()
    shapes = []
    monkeypatch.setattr(trainer, "TOKENS_AT_ONCE", 30)
    monkeypatch.setattr(trainer, "WIDTH_STEP", 2)
    split.model.register_forward_pre_hook(lambda _, inputs: shapes.append(inputs[0].shape))
    (line_of_split, *_) = split.run()
    # 19 rows of up to 7 ids are more than 30 numbers, and the last batch of 15, too.
    assert len(shapes) > 2 * config.epochs
    assert sum(rows for rows, _ in shapes) == 34 * config.epochs
    # Even widths, and the batch's own 7.
    assert {width for _, width in shapes} <= {2, 4, 6, 7}
    assert min(width for _, width in shapes) < max(width for _, width in shapes) == 7
    assert line_of_split["train"] == pytest.approx(line["train"], rel=1e-5)
    for a, b in zip(whole.model.parameters(), split.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_small_set_is_read_as_often_as_the_steps_need(monkeypatch):
    read = []

    def batch(self, rows, reading):
        read.extend(rows.tolist())
        return cut(self, rows, reading)

    cut = Examples.batch
    config = CONFIG.replace(min_steps=60)
    finished = Trainer(build(config), examples(), {}, config)
    monkeypatch.setattr(Examples, "batch", batch)
    finished.run()
    # Three epochs of 7 steps are 21, so each epoch reads the 34 examples three times.
    assert finished.batches_per_epoch == 21
    assert Counter(read) == dict.fromkeys(range(34), 9)
    assert [line["train"]["n"] for line in finished.state.metrics] == [3 * 34] * 3


@pytest.mark.parametrize("batch_size", [5, 30, 1_000])  # 34 examples
@pytest.mark.parametrize("min_steps", [1, 21, 60])
def test_a_run_takes_at_least_its_steps_and_no_pass_too_many(batch_size, min_steps):
    config = CONFIG.replace(batch_size=batch_size, min_steps=min_steps)
    trainer = Trainer(build(config), examples(), {}, config)
    steps = trainer.batches_per_epoch * config.epochs
    fewer = -(-(len(trainer.lengths) - 34) // trainer.batch_size) * config.epochs
    assert steps >= min_steps > fewer
    trainer.run()
    assert trainer.batches_done == steps
