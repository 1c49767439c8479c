"""The classifier: every variant of attention, every way of counting positions."""

import copy
import itertools
import json
import pickle

import pytest
import torch
from other_values import OF_LAYERS
from refusals import check_refused
from wrapped import wrap

from attention import SentimentClassifier
from attention.layers.pooling import Pooling
from attention.layers.variants import VARIANTS
from attention.sentiment.config import TrainConfig
from attention.sentiment.model import build_model
from attention.sentiment.tokenizer import SEP_ID

POSITIONS = ("end", "start", "none")
VALUES = {
    **OF_LAYERS,
    "positions": "none",
    "bigram_buckets": 13,
    "segments": True,
    "mask_padding": False,
    "dropout": 0.3,
}
every_variant = pytest.mark.parametrize("attention", VARIANTS)


def readable(attention, values):
    """Leave out the options that only other layers read."""
    reads = VARIANTS[attention].options
    return {k: v for k, v in values.items() if k in reads or k not in OF_LAYERS}


def build(attention, **more):
    sizes = readable(attention, {"key_dim": 3, "num_heads": 2})
    fields = {"embed_dim": 8, "max_length": 19, **sizes, **more}
    return SentimentClassifier(23, attention=attention, **fields).eval()


def batch():
    """Three reviews of 7, 4 and 1 words; 0 is the padding."""
    lengths = torch.tensor([7, 4, 1])
    ids = torch.randint(3, 23, (3, 7))
    return ids.masked_fill(torch.arange(7) >= lengths[:, None], 0), lengths


@every_variant
def test_every_option_reaches_its_layer(attention):
    for name in VARIANTS[attention].options:
        ours = build(attention, **{name: OF_LAYERS[name]}).attention
        sizes = readable(attention, {"key_dim": 3, "num_heads": 2}) | {name: OF_LAYERS[name]}
        assert repr(ours) == repr(VARIANTS[attention].build(8, **sizes))


@every_variant
def test_a_review_gets_its_logit_alone_and_in_any_batch(attention, subtests):
    options = readable(attention, VALUES).items()
    for pair in map(dict, itertools.combinations(options, 2)):
        with subtests.test(**pair):
            check_padding(attention, pair)


def check_padding(attention, options):
    model, (ids, lengths) = build(attention, **options), batch()
    if model.segment is not None:
        torch.nn.init.normal_(model.segment)
        ids[0, 2] = SEP_ID
    logits, weights = model(ids, lengths, need_weights=True)
    torch.testing.assert_close(model(ids, lengths), logits)
    # Alone, without padding.
    for review, length, logit, weight in zip(ids, lengths, logits, weights, strict=True):
        alone, own = model(review[None, :length], need_weights=True)
        torch.testing.assert_close(alone, logit[None])
        if model.config.mask_padding:
            inside = weight[:length, :length] if weight.dim() == 2 else weight[:length]
            torch.testing.assert_close(inside, own[0])
            torch.testing.assert_close(inside.sum(-1), torch.ones(inside.shape[:-1]))
            assert not weight[..., length:].any()
            assert options or (inside > 0).all()
    # With more padding.
    padded = torch.nn.functional.pad(ids, (0, 6))
    torch.testing.assert_close(model(padded, lengths), logits)
    if model.config.mask_padding:
        # One row per query, or where there are pairs, their mean.
        is_row = issubclass(VARIANTS[attention].layer, Pooling) or model.bigrams is not None
        assert weights.shape == ((3, 7) if is_row else (3, 7, 7))
        # With words and separators where the padding was, and large vectors for the padding.
        others = torch.where(ids == 0, torch.randint(2, 5, ids.shape), ids)
        torch.testing.assert_close(model(others, lengths), logits)
        with torch.no_grad():
            model.embedding.weight[0] = 1e4
        torch.testing.assert_close(model(ids, lengths), logits)
        # Real words do count.
        ids[1, 2] = ids[1, 2] % 20 + 3
        assert not torch.allclose(model(ids, lengths)[1], logits[1], atol=1e-6)


@pytest.mark.parametrize("attention", ["multihead", "transformer"])
def test_a_window_goes_by_words(attention):
    more = {"num_layers": 1} if attention == "transformer" else {}
    model = build(attention, window=1, bigram_buckets=13, positions="none", **more)
    ids = torch.tensor([[5, 8, 13, 9]])
    others = torch.tensor([[5, 8, 13, 21]])
    seen = []
    model.attention.register_forward_hook(lambda layer, arguments, output: seen.append(output))
    model(ids), model(others)
    same = torch.isclose(seen[0], seen[1], atol=1e-6).all(-1)[0]
    # A word and the pair that ends with it see each other alone; there is no pair at 0.
    assert same[:4].tolist() == [True, True, True, False]
    assert same[5:].tolist() == [True, True, False]


def test_mean_of_plain_vectors_is_the_bag_of_words():
    model, (ids, lengths) = build("mean", positions="none"), batch()
    bag = torch.stack([model.embedding(r[:n]).mean(0) for r, n in zip(ids, lengths, strict=True)])
    expected = bag @ model.classifier.weight[0] + model.classifier.bias
    torch.testing.assert_close(model(ids, lengths), expected)
    assert torch.equal(model(ids, lengths), model(ids.int(), lengths.int()))


def test_contexts_of_heads_are_averaged_over_the_words():
    model, (ids, lengths) = build("multihead", positions="none"), batch()
    logits, weights = model(ids, lengths, need_weights=True)
    for review, n, logit, weight in zip(ids, lengths.tolist(), logits, weights, strict=True):
        x = model.embedding(review[:n])
        context, each = model.attention(x, need_weights=True)
        torch.testing.assert_close(model.classifier(context.mean(0))[0], logit)
        assert each.shape == (2, n, n)
        torch.testing.assert_close((each[0] + each[1]) / 2, weight[:n, :n])


@pytest.mark.parametrize("attention", ["energy", "qk"])
@pytest.mark.parametrize("positions", POSITIONS)
def test_pairs_are_attended_to_beside_words_and_shown_half_at_each(attention, positions):
    model = build(attention, positions=positions, bigram_buckets=13, segments=True)
    torch.nn.init.normal_(model.segment)
    review, n = torch.tensor([5, 11, 2, 7, 11, 3, 1, 19]), 8
    ends = [1, 4, 5]  # of the pairs; neither separator nor unknown word is in one
    place = (torch.arange(n) <= 2)[:, None] * model.segment
    if model.positions:
        counted = torch.arange(n) if positions == "start" else torch.arange(n).flip(0)
        place = model.positions(place, counted)
    x = torch.cat([model.embedding(review) + place, (model.bigrams(review) + place)[ends]])
    layer = model.attention
    if attention == "energy":
        weights = (x @ layer.energy.weight[0]).softmax(-1)
        context = weights @ x
    else:
        attends = (layer.W_query(x) @ layer.W_key(x).T / 3**0.5).softmax(-1)
        context, weights = (attends @ x).mean(0), attends.mean(0)
    shown = weights[..., :n].clone()
    for end, pair in zip(ends, weights[..., n:].unbind(-1), strict=True):
        shown[..., end - 1] += pair / 2
        shown[..., end] += pair / 2
    padded = torch.nn.functional.pad(review, (0, 3))
    logits, weights_of_words = model(padded[None], torch.tensor([n]), need_weights=True)
    torch.testing.assert_close(logits, model.classifier(context))
    torch.testing.assert_close(weights_of_words[0, :n], shown)


def test_words_and_pairs_start_with_the_spread_that_is_configured():
    model = SentimentClassifier(1_009, embed_dim=31, bigram_buckets=997, embedding_std=0.1)
    assert not model.embedding.weight[0].any()
    for table in (model.embedding.weight[1:], model.bigrams.table.weight):
        assert table.std().item() == pytest.approx(0.1, rel=0.03)


def test_word_dropout_makes_words_unknown_and_nothing_else():
    model = build("mean", bigram_buckets=97, word_dropout=0.3)
    inputs = {}
    for part in (model.embedding, model.bigrams):
        part.register_forward_pre_hook(lambda part, arguments: inputs.update({part: arguments[0]}))
    ids = torch.randint(0, 23, (503, 19))
    model(ids)
    assert all(torch.equal(each, ids) for each in inputs.values())
    model.train()(ids)
    after_dropout = inputs[model.embedding]
    assert torch.equal(inputs[model.bigrams], after_dropout)
    changed = after_dropout != ids
    assert (after_dropout[changed] == 1).all()
    assert (ids[changed] > 2).all()
    assert changed[ids > 2].float().mean().item() == pytest.approx(0.3, abs=0.02)


def test_dropout_falls_on_each_word_and_on_the_context():
    model, (ids, lengths) = build("mean", dropout=0.3).train(), batch()
    shapes = []
    model.dropout.register_forward_hook(lambda _, arguments, output: shapes.append(output.shape))
    model(ids, lengths)
    assert (model.dropout.p, shapes) == (0.3, [(3, 7, 8), (3, 8)])


@every_variant
def test_word_order_counts_only_with_positions(attention):
    ids = torch.tensor([[5, 8, 13, 21, 9]])
    without, with_ = build(attention, positions="none"), build(attention, positions="end")
    torch.testing.assert_close(without(ids.flip(-1)), without(ids))
    if attention != "mean":  # the mean of the positions is the same in any order
        assert not torch.allclose(with_(ids.flip(-1)), with_(ids), atol=1e-6)


@every_variant
def test_empty_reviews_and_batches(attention):
    model = build(attention)
    ids = torch.randint(3, 23, (2, 7))
    empty = model(ids, torch.tensor([0, 7]))[0]
    assert empty.item() == model.classifier.bias.item()
    assert model(torch.zeros(2, 0, dtype=torch.long)).tolist() == [empty.item()] * 2
    assert model(torch.zeros(0, 7, dtype=torch.long)).shape == (0,)
    model.train()(ids, torch.tensor([0, 7])).sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@every_variant
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_dtypes(attention, dtype):
    model, (ids, lengths) = build(attention), batch()
    expected = model(ids, lengths)
    logits = copy.deepcopy(model).to(dtype)(ids, lengths)
    assert logits.dtype == dtype
    torch.testing.assert_close(logits.float(), expected, rtol=0.05, atol=0.05)


@every_variant
def test_autocast(attention):
    model, (ids, lengths) = build(attention), batch()
    expected = model(ids, lengths)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model.train()(ids, lengths)
    torch.testing.assert_close(logits.float(), expected, rtol=0.05, atol=0.05)
    logits.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@every_variant
@pytest.mark.parametrize("mask_padding", [True, False])
def test_gradients_reach_the_padding_only_where_it_is_attended_to(attention, mask_padding):
    model, (ids, lengths) = build(attention, mask_padding=mask_padding), batch()
    model(ids, lengths).pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.any(), name
    assert model.embedding.weight[0].any() != mask_padding
    assert model.embedding.weight.grad[0].any() != mask_padding


@every_variant
def test_model_comes_back_from_its_folder(attention, tmp_path, subtests):
    for i, more in enumerate([{}, readable(attention, VALUES)]):
        with subtests.test(more=more):
            check_folder(attention, more, tmp_path / str(i))


def check_folder(attention, more, tmp_path):
    model, (ids, lengths) = build(attention, **{"positions": "start"} | more), batch()
    model.save_pretrained(tmp_path / "deep" / "run")
    loaded = SentimentClassifier.from_pretrained(tmp_path / "deep" / "run")
    assert not loaded.training
    assert loaded.config == model.config
    assert loaded.state_dict().keys() == model.state_dict().keys()
    assert torch.equal(loaded(ids, lengths), model(ids, lengths))
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(twin(ids, lengths), model(ids, lengths))


def test_bad_arguments_are_named():
    # The ranges of the configuration's fields are those of test_config.
    check_refused(SentimentClassifier, [(9.0, "vocab_size: expected .*int.* float")], TypeError)
    check_refused(SentimentClassifier, [(0, "vocab_size: expected at least 1")])


@every_variant
def test_bad_input_is_named(attention):
    good = torch.ones(2, 7, dtype=torch.long)
    model = build(attention)
    wrong_types = [
        ([[1, 2]], None, ["ids: expected", "list", "tensor"]),
        (good, torch.tensor([7.0, 4.0]), ["lengths: expected", "float32", "integers"]),
    ]
    out_of_range = [
        (torch.tensor(3), None, ["ids: expected", "()", "(..., n)"]),
        (good * 23, None, ["ids: expected", "23 to 23", "vocab_size - 1 = 22"]),
        (-good, None, ["ids: expected", "-1 to -1", "0 to"]),
        (torch.ones(2, 20).long(), None, ["ids: expected", "20", "max_length = 19"]),
        (good, torch.tensor([7, 4, 1]), ["lengths: expected", "(3,)", "(2,)"]),
        (good, torch.tensor([7, 8]), ["lengths: expected", "7 to 8", "n = 7"]),
        (good, torch.tensor([7, -1]), ["lengths: expected", "-1 to 7", "n = 7"]),
    ]
    check_refused(model, wrong_types, TypeError)
    check_refused(model, out_of_range)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_model_comes_back_in_its_dtype(dtype, tmp_path):
    model, (ids, lengths) = build("qk", bigram_buckets=11).to(getattr(torch, dtype)), batch()
    model.save_pretrained(tmp_path)
    loaded = SentimentClassifier.from_pretrained(tmp_path)
    assert loaded.config.dtype == dtype
    weights, saved = loaded.state_dict(), model.state_dict()
    assert weights.keys() == saved.keys()
    for name, tensor in saved.items():
        assert weights[name].dtype == tensor.dtype == getattr(torch, dtype)
        assert torch.equal(weights[name], tensor)
    assert torch.equal(loaded(ids, lengths), model(ids, lengths))
    # And once more: what was loaded can be saved.
    loaded.save_pretrained(tmp_path / "again")
    assert SentimentClassifier.from_pretrained(tmp_path / "again").config == loaded.config


def test_making_and_loading_draw_nothing_from_the_caller_s_generator(tmp_path):
    build("qkv").save_pretrained(tmp_path)
    for act in (
        lambda: SentimentClassifier.from_pretrained(tmp_path),
        lambda: build_model(TrainConfig(seed=3), 23),
    ):
        before = torch.random.get_rng_state()
        act()
        assert torch.equal(torch.random.get_rng_state(), before)


@every_variant
def test_parts_may_be_replaced_by_what_computes_the_same(attention, tmp_path):
    model = build(attention, bigram_buckets=7)
    wrapped, (ids, lengths) = wrap(model), batch()
    torch.testing.assert_close(wrapped(ids, lengths), model(ids, lengths))
    wrapped.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model"]["dtype"] == "float32"


def test_compiles_into_one_graph():
    # Looking at the lengths or ids, to check them, would break the graph.
    model, (ids, lengths) = build("qkv"), batch()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(ids, lengths), model(ids, lengths))
