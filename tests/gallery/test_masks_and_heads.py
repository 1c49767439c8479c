"""The lessons on masks and heads: what they claim, and their layers under every kind of mask."""

import math

import from_scratch
import pytest
import torch
from run_pages import GALLERY, ROOT, run
from torch.testing import assert_close

import attention

MASKS, HEADS = GALLERY / "core/plot_4_masks.py", GALLERY / "core/plot_5_multi_head.py"


def pieces():
    """Run the file that the reader writes."""
    names = {"__name__": "attention_from_scratch"}
    exec(compile(from_scratch.from_scratch(ROOT), from_scratch.NAME, "exec"), names)
    return names


def masks(n):
    """Make masks of several shapes; the last lets a query attend to nothing."""
    padding = attention.padding_mask(torch.tensor([n, n - 3, 1]), n)
    blind = attention.causal_mask(n)
    blind[2] = False
    empty = attention.padding_mask(torch.tensor([n, 0, 2]), n)
    both = padding & attention.causal_mask(n)
    return {"none": None, "causal": blind | blind.mT, "blind": blind, "padding": padding} | {
        "both": both,
        "empty text": empty,
    }


def results(function, *inputs, parameters=()):
    """Return what a function returns, and the gradients of its inputs and parameters."""
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    context = function(*leaves)
    context = context[0] if isinstance(context, tuple) else context
    probe = torch.linspace(-1, 1, context.numel(), dtype=context.dtype).reshape(context.shape)
    return context, *torch.autograd.grad((context * probe).sum(), [*leaves, *parameters])


def assert_same(ours, packages):
    for own, other in zip(ours, packages, strict=True):
        assert own.isfinite().all()
        assert_close(own, other)


def test_the_function_takes_other_keys_than_queries():
    query, key = torch.randn(2, 3, 2), torch.randn(2, 5, 2)
    mask = attention.padding_mask(torch.tensor([5, 2]), 5)
    own = pieces()["scaled_dot_product_attention"](query, key, key, mask)
    assert own[1].shape == (2, 3, 5)
    assert_same(own, attention.scaled_dot_product_attention(query, key, key, mask))


LAYERS = {
    "causal": ("CausalSelfAttention", {"key_dim": 3, "value_dim": 4}),
    "causal, value as wide as a token": ("CausalSelfAttention", {"key_dim": 3}),
    "one head": ("MultiHeadAttention", {"num_heads": 1}),
    "three heads": ("MultiHeadAttention", {"num_heads": 3}),
    "three heads with biases": ("MultiHeadAttention", {"num_heads": 3, "bias": True}),
}


@pytest.mark.parametrize("kind", masks(5))
@pytest.mark.parametrize("name", LAYERS)
def test_the_layers_that_the_reader_writes_are_the_packages(name, kind):
    torch.manual_seed(0)
    layer, options = LAYERS[name]
    own = pieces()[layer](6, **options).double()
    package = getattr(attention, layer)(6, **options).double()
    assert [key for key, _ in own.named_parameters()] == [
        key for key, _ in package.named_parameters()
    ]
    package.load_state_dict(own.state_dict())
    x, mask = torch.randn(3, 5, 6, dtype=torch.float64), masks(5)[kind]
    assert_same(
        results(lambda x: own(x, mask), x, parameters=list(own.parameters())),
        results(lambda x: package(x, mask), x, parameters=list(package.parameters())),
    )
    assert_close(own(x[0]), package(x[0]))


def test_without_a_mask_a_model_copies_the_answer_and_with_one_it_stays_at_chance():
    page = run(MASKS).names
    accuracy, ids = page["accuracy"], page["vectors"](page["ids"])
    assert accuracy(page["sees_all"](ids)[:, :-1]) > 0.99
    chance = [
        accuracy(page["predict_as_generator"](page[layer])) for layer in ("sees_all", "honest")
    ]
    chance.append(accuracy(page["honest"](ids)[:, :-1]))
    assert chance == pytest.approx([1 / 6] * 3, abs=0.03)
    assert page["next_word_loss"](page["honest"]).item() == pytest.approx(math.log(6), abs=0.05)


def test_rows_that_were_generated_with_a_cache_are_those_of_one_pass():
    page = run(MASKS).names
    assert_close(torch.cat(page["rows"]), page["layer"](page["x"]).detach())
    assert (page["moved"] > 0).tolist() == [False, False, False, True, True, True]


def test_two_heads_meet_two_targets_and_one_does_not():
    page = run(HEADS).names
    assert page["missed"][1] > 0.3
    assert page["missed"][2] < 0.005
    first, previous = page["weights"][0]
    assert first[1:, 0].min() > 0.9
    assert previous[range(1, 6), range(5)].min() > 0.8


def test_cross_attention_finds_the_translation_or_everything_but_it():
    page = run(HEADS).names
    assert_close(page["cross_weights"], page["translation"], atol=0.02, rtol=0)
    missed, weight = torch.tensor(page["found"]).T
    assert missed.max() < 0.01
    found, avoided = weight > 0.9, weight < 0.1
    assert (found | avoided).all()
    assert found.any()
    assert avoided.sum() > 2
