"""The poolings against their equations, and against each other."""

import copy
import functools
import pickle

import pytest
import torch
from errors import unexpected_errors
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import DTYPES, allowed_by, draw_mask, mask_values, shapes_within

from attention import EnergyPooling, KeyedPooling, MeanPooling, padding_mask

POOLINGS = {
    "mean": lambda: MeanPooling(5),
    "energy": lambda: EnergyPooling(5),
    "keys": lambda: KeyedPooling(5, key_dim=3),
}
every_pooling = for_each(name=POOLINGS)


def energies(pooling, x):
    """Return one score per token, as the equation of the class says."""
    if isinstance(pooling, EnergyPooling):
        return (x * pooling.energy.weight[0]).sum(-1)
    if isinstance(pooling, KeyedPooling):
        return torch.einsum("...nd,kd,k->...n", x, pooling.W_key.weight, pooling.query)
    return torch.zeros(x.shape[:-1], dtype=x.dtype)


def pooled(pooling, x, mask):
    """Pool by exponentials over their sum; a text of which nothing is allowed gives zeros."""
    allowed = allowed_by(mask)
    scores = energies(pooling, x)
    if mask.is_floating_point():
        scores = scores + mask.masked_fill(~allowed, 0.0)
    powers = scores.exp() * allowed
    total = powers.sum(-1, keepdim=True)
    weights = powers / total.where(total > 0, total.new_tensor(1.0))
    return torch.einsum("...n,...nd->...d", weights, x), weights


@st.composite
def cases(draw):
    leading = tuple(draw(st.lists(st.sampled_from((2, 3, 1, 0)), max_size=3)))
    n = draw(st.sampled_from((7, 11, 1, 0)))
    dtype = draw(st.sampled_from(DTYPES))
    return {
        "name": draw(st.sampled_from(list(POOLINGS))),
        "leading": leading,
        "n": n,
        "dtype": dtype,
        "mask_shape": draw(st.none() | shapes_within((*leading, 1, n))),
        "seed": draw(st.integers(0, 2**16)),
    } | draw(mask_values(dtype))


@given(case=cases())
def test_pooling_is_its_equation_in_value_and_gradient(case):
    torch.manual_seed(case["seed"])
    leading, n, dtype = case["leading"], case["n"], case["dtype"]
    pooling = POOLINGS[case["name"]]().to(dtype)
    x = torch.randn(*leading, n, 5).to(dtype).requires_grad_()
    mask, whole = draw_mask(case), torch.ones(*leading, n, dtype=torch.bool)
    if mask is not None:
        whole = mask.expand(*leading, 1, n)[..., 0, :]
    context, weights = pooling(x, mask, need_weights=True)
    assert torch.equal(pooling(x, mask), context)
    assert context.dtype == weights.dtype == dtype
    upstream = torch.randn(context.shape).to(dtype)
    grads = torch.autograd.grad(context, [x, *pooling.parameters()], upstream, allow_unused=True)

    exact = copy.deepcopy(pooling).double()
    x_exact = x.detach().double().requires_grad_()
    whole = whole.double() if whole.is_floating_point() else whole
    right, right_weights = pooled(exact, x_exact, whole)
    right_grads = torch.autograd.grad(
        right, [x_exact, *exact.parameters()], upstream.double(), allow_unused=True
    )
    wide = torch.finfo(torch.promote_types(dtype, torch.float32)).eps
    atol = 30 * (torch.finfo(dtype).eps + wide * case["mask_size"])
    torch.testing.assert_close(context.double(), right, rtol=0.0, atol=atol)
    torch.testing.assert_close(weights.double(), right_weights, rtol=0.0, atol=atol)
    copies = max(1, x.numel() // 5)
    for grad, right_grad in zip(grads, right_grads, strict=True):
        torch.testing.assert_close(grad.double(), right_grad, rtol=0.0, atol=atol * copies)


def test_mean_is_the_mean_of_the_words_alone():
    x = torch.randn(2, 7, 5)
    torch.testing.assert_close(MeanPooling(5)(x), x.mean(-2))
    mask = padding_mask(torch.tensor([4, 7]), 7)
    torch.testing.assert_close(MeanPooling(5)(x, mask)[0], x[0, :4].mean(-2))
    assert not list(MeanPooling(5).parameters())


def test_mean_of_the_infinite_is_infinite():
    x = torch.randn(7, 5)
    x[3, 0] = torch.inf
    assert MeanPooling(5)(x)[0] == torch.inf
    assert MeanPooling(5)(x)[1:].isfinite().all()


def test_keyed_pooling_is_an_energy_pooling():
    keyed, energy, x = KeyedPooling(5, key_dim=3), EnergyPooling(5), torch.randn(2, 7, 5)
    w = keyed.query @ keyed.W_key.weight
    energy.load_state_dict({"energy.weight": w[None]})
    mask = padding_mask(torch.tensor([4, 7]), 7)
    for ours, theirs in zip(
        keyed(x, mask, need_weights=True), energy(x, mask, need_weights=True), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_energy_is_not_scaled():
    pooling, x = EnergyPooling(5), torch.randn(7, 5)
    _, weights = pooling(x, need_weights=True)
    torch.testing.assert_close(weights, (x @ pooling.energy.weight[0]).softmax(0))


@every_pooling
def test_empty_text_gives_zeros_and_passes_no_gradient(name):
    for dtype in DTYPES:
        check_empty_text(POOLINGS[name]().to(dtype), dtype)


def check_empty_text(pooling, dtype):
    x = torch.randn(2, 7, 5).to(dtype).requires_grad_()
    context, weights = pooling(x, padding_mask(torch.tensor([0, 4]), 7), need_weights=True)
    assert not context[0].any()
    assert not weights[0].any()
    assert context[1].any()
    context.sum().backward()
    assert x.grad.isfinite().all()
    assert not x.grad[0].any()
    assert not x.grad[1, 4:].any()
    assert x.grad[1, :4].any()
    for parameter in pooling.parameters():
        assert parameter.grad.isfinite().all()


@every_pooling
def test_order_of_the_tokens_does_not_matter(name):
    pooling, x, order = POOLINGS[name](), torch.randn(2, 7, 5), torch.randperm(7)
    mask = torch.rand(2, 1, 7) < 0.7
    context, weights = pooling(x, mask, need_weights=True)
    permuted, permuted_weights = pooling(x[:, order], mask[..., order], need_weights=True)
    torch.testing.assert_close(permuted, context)
    torch.testing.assert_close(permuted_weights, weights[:, order])


@every_pooling
def test_padding_never_changes_a_context(name):
    pooling, x = POOLINGS[name](), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([4, 7]), 7)
    before = pooling(x, mask)
    x[0, 4:] = 1e30
    assert torch.equal(pooling(x, mask), before)
    torch.testing.assert_close(pooling(x[0, :4]), before[0])


@every_pooling
def test_texts_of_a_batch_do_not_affect_each_other(name):
    pooling = POOLINGS[name]()
    for x in (torch.randn(2, 3, 7, 5), torch.randn(5, 5, 5)):
        one_by_one = [pooling(text) for text in x.flatten(0, -3)]
        torch.testing.assert_close(pooling(x).flatten(0, -2), torch.stack(one_by_one))


@every_pooling
def test_pooling_survives_copying_saving_and_modes(name):
    pooling, x = POOLINGS[name](), torch.randn(2, 7, 5)
    context = pooling(x)
    other = POOLINGS[name]()
    other.load_state_dict(pooling.state_dict())
    for twin in (
        other,
        copy.deepcopy(pooling),
        pickle.loads(pickle.dumps(pooling)),
        pooling.eval(),
    ):
        assert torch.equal(twin(x), context)


def test_learned_parts_start_as_linear_does():
    pooling = KeyedPooling(5, key_dim=997)
    assert pooling.query.abs().max() <= 997**-0.5
    assert pooling.query.std().item() == pytest.approx((997 * 3) ** -0.5, rel=0.1)
    assert pooling.W_key.weight.shape == (997, 5)
    assert [p.shape for p in EnergyPooling(5).parameters()] == [(1, 5)]


@every_pooling
def test_autocast(name):
    for dtype in (torch.bfloat16, torch.float16):
        check_autocast(name, dtype)


def check_autocast(name, dtype):
    pooling, x = POOLINGS[name](), torch.randn(2, 7, 5, requires_grad=True)
    right = pooling(x)
    with torch.autocast("cpu", dtype=dtype):
        context = pooling(x, padding_mask(torch.tensor([7, 7]), 7))
    torch.testing.assert_close(context.float(), right, rtol=0.1, atol=0.1)
    context.sum().backward()
    assert x.grad.isfinite().all()


def test_compiles_into_one_graph():
    pooling, x = KeyedPooling(5, key_dim=3), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([4, 0]), 7)
    compiled = torch.compile(pooling, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, mask), pooling(x, mask))


def test_wrong_input_is_refused():
    every = [
        ([[1.0] * 5], TypeError, ("list", "tensor")),
        (torch.zeros(7, 4), ValueError, ("(7, 4)", "(..., n, 5)")),
        (torch.zeros(5), ValueError, ("(5,)", "(..., n, 5)")),
        (torch.zeros(7, 5, dtype=torch.int64), TypeError, ("int64", "floating-point")),
        (torch.zeros(7, 5, dtype=torch.complex64), TypeError, ("complex64", "floating-point")),
    ]
    with_parameters = [
        (torch.zeros(7, 5, dtype=torch.float64), TypeError, ("torch.float32", "torch.float64")),
        (torch.zeros(7, 5, device="meta"), ValueError, ("device cpu", "got meta")),
    ]
    assert not unexpected_errors(
        (f"{name}, {words}", functools.partial(build(), x), error, "x: expected", words)
        for name, build in POOLINGS.items()
        for x, error, words in every + (with_parameters if name != "mean" else [])
    )


def test_wrong_masks_are_refused():
    masks = (
        ([True] * 7, TypeError, ("list", "tensor")),
        (torch.ones(7).int(), TypeError, ("int32", "boolean", "floating-point")),
        (torch.ones(2, 7, dtype=torch.bool), ValueError, ("(2, 7)", "(2, 1, 7)")),
        (torch.ones(7, 7, dtype=torch.bool), ValueError, ("(7, 7)", "(2, 1, 7)")),
        (torch.ones(2, 7, 7, dtype=torch.bool), ValueError, ("(2, 7, 7)", "(2, 1, 7)")),
        (torch.ones(2, 7, 7), ValueError, ("(2, 7, 7)", "(2, 1, 7)")),
        (torch.ones(7, dtype=torch.bool, device="meta"), ValueError, ("meta", "cpu")),
    )
    x = torch.zeros(2, 7, 5)
    assert not unexpected_errors(
        (
            f"{name}, {words}",
            functools.partial(build(), x, mask),
            error,
            "attn_mask: expected",
            words,
        )
        for name, build in POOLINGS.items()
        for mask, error, words in masks
    )


def test_wrong_sizes_are_refused():
    sizes = {
        "mean": ("embed_dim", MeanPooling),
        "energy": ("embed_dim", EnergyPooling),
        "keys": ("embed_dim", lambda size: KeyedPooling(size, key_dim=3)),
        "width of keys": ("key_dim", lambda size: KeyedPooling(5, key_dim=size)),
    }
    for size in (0, -1, 2.0, "3", None, True):
        is_integer = isinstance(size, int) and not isinstance(size, bool)
        error, got = (ValueError, size) if is_integer else (TypeError, type(size).__name__)
        assert not unexpected_errors(
            (name, functools.partial(build, size), error, f"{argument}: expected", (f"got {got}",))
            for name, (argument, build) in sizes.items()
        )
