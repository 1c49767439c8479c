"""A pretrained encoder as a classifier: what it reads, what is trained, what a stop leaves."""

import os
import signal

import pytest
import small_encoder
import small_run
import torch
from processes import assert_nothing_was_lost, load_weights, read_metrics, signalled_at

from attention.evaluate import evaluate
from attention.pretrained import load_encoder
from attention.sentiment import evaluation, run_folder
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.evaluation import predict
from attention.sentiment.model import SentimentClassifier, build_model
from attention.sentiment.reviews import Reviews
from attention.sentiment.run_folder import load_run
from attention.sentiment.tokenizer import PIECE_CLS_ID, PIECE_SEP_ID
from attention.sentiment.training import prepare, train
from attention.train import main

VOCAB_SIZE = small_encoder.CONFIG.vocab_size
OPTIONS = [
    "--device=cpu",
    "--model=minilm",
    "--epochs=3",
    "--batch-size=5",
    "--lr=0.01",
    "--max-length=13",
    "--precision=float32",
]


@pytest.fixture(autouse=True)
def published(tmp_path, monkeypatch):
    folder = small_encoder.write(tmp_path / "published")
    small_encoder.stand_in(monkeypatch, folder)
    monkeypatch.setattr(evaluation, "_ENCODED_AT_ONCE", 4)


def run(out, *options):
    data = small_run.write_reviews(out.parent / "reviews")
    assert main(["--data", str(data), "--out", str(out), *OPTIONS, *options]) == 0
    return out


@pytest.mark.parametrize("fine_tune", [False, True])
def test_it_reads_special_ids_types_and_the_review_alone_is_pooled(fine_tune):
    model = build_model(
        TrainConfig(model=ModelConfig(attention="minilm", fine_tune=fine_tune)), VOCAB_SIZE
    ).eval()
    encoder, _ = load_encoder("minilm")
    ids = torch.tensor([[105, 106, PIECE_SEP_ID, 107, 108], [109, 110, 0, 0, 0]])
    logits, weights = model(ids, torch.tensor([5, 2]), need_weights=True)
    # The same by hand, a review at a time and without padding.
    pair = torch.tensor([[PIECE_CLS_ID, 105, 106, PIECE_SEP_ID, 107, 108, PIECE_SEP_ID]])
    alone = torch.tensor([[PIECE_CLS_ID, 109, 110, PIECE_SEP_ID]])
    types = torch.tensor([[0, 1, 1, 1, 0, 0, 0]])
    hidden = [encoder(pair, token_types=types)[0, 4:6], encoder(alone)[0, 1:3]]
    for row, (x, at) in enumerate(zip(hidden, [slice(3, 5), slice(0, 2)], strict=True)):
        energies = x @ model.attention.energy.weight[0] if fine_tune else torch.zeros(2)
        expected = energies.softmax(0)
        torch.testing.assert_close(weights[row, at], expected)
        torch.testing.assert_close(weights[row].sum(), torch.tensor(1.0))
        torch.testing.assert_close(logits[row], model.classifier(expected @ x)[0])
    pooled = model.features(ids, torch.tensor([5, 2]))
    torch.testing.assert_close(model.classify(pooled), logits)
    with pytest.raises(TypeError, match="ids"):  # features are no ids
        model(pooled, need_weights=True)


@pytest.mark.parametrize("options", [[], ["--fine-tune"]])
def test_a_run_predicts_and_is_measured_as_any_other(options, tmp_path):
    out = run(tmp_path / "run", *options)
    before, weights = load_encoder("minilm")[0].state_dict(), load_weights(out)
    same = [torch.equal(weights[f"encoder.pretrained.{name}"], before[name]) for name in before]
    assert all(same) != bool(options)  # only what is to be trained changes
    model, tokenizer, config = load_run(out, torch.device("cpu"))
    assert config.model.is_pretrained
    text = r"Good soups [SEP]\n<br>cold"
    prediction = predict(model, tokenizer, text, precision="float32")
    assert prediction["tokens"] == ["good", "soup", "##s", "[", "sep", "]", "cold"]
    assert sum(prediction["weights"]) == pytest.approx(1.0)
    assert predict(model, tokenizer, "")["tokens"] == []
    measured = evaluate(out, split="validation", precision="float32")
    recorded = read_metrics(out)[-1]
    for name in ("clean", "distractor"):
        assert measured[name]["loss"] == pytest.approx(recorded[name]["loss"], abs=1e-6)
    assert not list(out.glob("checkpoint/features*"))


def test_a_stop_while_encoding_keeps_what_was_encoded(tmp_path, monkeypatch, capsys):
    whole = run(tmp_path / "whole")
    out = tmp_path / "run"
    encoded, model_features = [], SentimentClassifier.features

    def count(model, ids, lengths):
        encoded.append(len(ids))
        if len(encoded) == 5:
            os.kill(os.getpid(), signal.SIGTERM)
        return model_features(model, ids, lengths)

    monkeypatch.setattr(SentimentClassifier, "features", count)
    data = str(tmp_path / "reviews")
    assert main(["--data", data, "--out", str(out), *OPTIONS]) == 128 + signal.SIGTERM
    assert "stopped by SIGTERM, saved" in capsys.readouterr().err
    # As if the machine had failed while it wrote.
    with run_folder.features_file(out, "train").open("ab") as file:
        file.write(b"half a row")
    encoded.clear()
    encoded += [0] * 5  # no further signal
    assert main(["--resume", str(out)]) == 0
    assert sum(encoded) == 46 + 2 * 11 - 5 * 4
    assert_nothing_was_lost(out, whole)


@pytest.mark.parametrize("options", [[], ["--fine-tune"]])
def test_a_stop_while_training_ends_bit_for_bit_as_one_never_stopped(
    options, tmp_path, monkeypatch
):
    whole, out = run(tmp_path / "whole", *options), tmp_path / "run"
    line = ["--data", str(tmp_path / "reviews"), "--out", str(out), *OPTIONS, *options]
    with signalled_at(1, 4, signal.SIGTERM):
        assert main(line) == 128 + signal.SIGTERM
    if not options:  # what nobody trains needs no saving
        assert (out / run_folder.CHECKPOINT).stat().st_size < 4_000
        monkeypatch.setattr(SentimentClassifier, "features", None)  # nor encoding again
    assert main(["--resume", str(out)]) == 0
    assert_nothing_was_lost(out, whole)


def test_features_of_another_run_are_not_taken(tmp_path, monkeypatch):
    whole, out = run(tmp_path / "whole"), tmp_path / "run"
    stale = run_folder.features_file(out, "train")
    stale.parent.mkdir(parents=True)
    stale.write_bytes(bytes(4 * 6 * 8))
    run(out)
    assert_nothing_was_lost(out, whole)


def test_several_processes_are_refused_where_one_encodes(tmp_path, monkeypatch):
    monkeypatch.setattr("attention.sentiment.training.dist.is_initialized", lambda: True)
    monkeypatch.setattr("attention.sentiment.training.on_all_processes", lambda action: action())
    config = TrainConfig(model=ModelConfig(attention="minilm"), out=tmp_path / "run", device="cpu")
    with pytest.raises(ValueError, match="--model minilm: expected one process, got several"):
        train(config)
    assert not (tmp_path / "run").exists()


def test_another_vocabulary_is_refused():
    other = VOCAB_SIZE + 1
    expected = f"^vocab_size: expected {VOCAB_SIZE}, the encoder's, got {other}"
    with pytest.raises(ValueError, match=expected):
        SentimentClassifier(other, attention="minilm")


def test_texts_are_cleaned_as_ours_are():
    reviews = Reviews([r"Good\nsoup<br />cold", "bad \ud800 [SEP] soup"], [1, 0])
    config = TrainConfig(model=ModelConfig(attention="minilm"))
    prepared = prepare(config, {"train": reviews, "validation": reviews})
    assert prepared.tokenizer.decode(prepared.examples.ids[0].tolist()) == "good soup cold"
    assert PIECE_SEP_ID not in prepared.examples.ids.flat
    as_written = TrainConfig(model=config.model, clean_text=False)
    prepared = prepare(as_written, {"train": reviews, "validation": reviews})
    assert "\\" in prepared.tokenizer.decode(prepared.examples.ids[0].tolist())


def test_reviews_without_a_piece_that_it_knows_are_refused_in_its_terms():
    splits = {"train": Reviews(["好吃", "👎"], [1, 0])}
    with pytest.raises(ValueError, match=r"it reads the word pieces of its pretrained encoder$"):
        prepare(TrainConfig(model=ModelConfig(attention="minilm")), splits)
