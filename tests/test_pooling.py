"""The poolings against their equations, and against each other."""

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention import EnergyPooling, KeyedPooling, MeanPooling, padding_mask

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
POOLINGS = {
    "mean": lambda: MeanPooling(5),
    "energy": lambda: EnergyPooling(5),
    "keys": lambda: KeyedPooling(5, key_dim=3),
}
every_pooling = pytest.mark.parametrize("name", POOLINGS)


def energies(pooling, x):
    """Return one score a token, as the equation of the class says."""
    if isinstance(pooling, EnergyPooling):
        return (x * pooling.energy.weight[0]).sum(-1)
    if isinstance(pooling, KeyedPooling):
        return torch.einsum("...nd,kd,k->...n", x, pooling.W_key.weight, pooling.query)
    return torch.zeros(x.shape[:-1], dtype=x.dtype)


def pooled(pooling, x, allowed):
    """Pool in powers of e over their sum; texts of which nothing may be read give zeros."""
    powers = energies(pooling, x).exp() * allowed
    total = powers.sum(-1, keepdim=True)
    weights = powers / total.where(total > 0, total.new_tensor(1.0))
    return torch.einsum("...n,...nd->...d", weights, x), weights


@st.composite
def cases(draw):
    leading = tuple(draw(st.lists(st.sampled_from((2, 3, 1, 0)), max_size=3)))
    n = draw(st.sampled_from((7, 11, 1, 0)))
    scores = (*leading, 1, n)
    kept = scores[draw(st.integers(0, len(scores))) :]
    return {
        "name": draw(st.sampled_from(list(POOLINGS))),
        "leading": leading,
        "n": n,
        "dtype": draw(st.sampled_from(DTYPES)),
        "mask_shape": draw(st.none() | st.tuples(*(st.sampled_from((size, 1)) for size in kept))),
        "share": draw(st.sampled_from((0.0, 0.3, 0.8, 1.0))),
        "seed": draw(st.integers(0, 2**16)),
    }


@given(case=cases())
def test_pooling_is_its_equation_in_value_and_gradient(case):
    torch.manual_seed(case["seed"])
    leading, n, dtype = case["leading"], case["n"], case["dtype"]
    pooling = POOLINGS[case["name"]]().to(dtype)
    x = torch.randn(*leading, n, 5).to(dtype).requires_grad_()
    mask, allowed = None, torch.ones(*leading, n)
    if case["mask_shape"] is not None:
        mask = torch.rand(case["mask_shape"]) < case["share"]
        allowed = mask.expand(*leading, 1, n)[..., 0, :]
    context, weights = pooling(x, mask, need_weights=True)
    assert torch.equal(pooling(x, mask), context)
    assert context.dtype == weights.dtype == dtype
    upstream = torch.randn(context.shape).to(dtype)
    grads = torch.autograd.grad(context, [x, *pooling.parameters()], upstream, allow_unused=True)

    exact = copy.deepcopy(pooling).double()
    x_exact = x.detach().double().requires_grad_()
    right, right_weights = pooled(exact, x_exact, allowed)
    right_grads = torch.autograd.grad(
        right, [x_exact, *exact.parameters()], upstream.double(), allow_unused=True
    )
    atol = 30 * torch.finfo(dtype).eps
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


def test_keys_are_redundant():
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
@pytest.mark.parametrize("dtype", DTYPES)
def test_empty_text_gives_zeros_and_passes_none_back(name, dtype):
    pooling = POOLINGS[name]().to(dtype)
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
def test_order_of_the_tokens_does_not_count(name):
    pooling, x, order = POOLINGS[name](), torch.randn(2, 7, 5), torch.randperm(7)
    mask = torch.rand(2, 1, 7) < 0.7
    context, weights = pooling(x, mask, need_weights=True)
    turned, turned_weights = pooling(x[:, order], mask[..., order], need_weights=True)
    torch.testing.assert_close(turned, context)
    torch.testing.assert_close(turned_weights, weights[:, order])


@every_pooling
def test_padding_never_changes_a_context(name):
    pooling, x = POOLINGS[name](), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([4, 7]), 7)
    before = pooling(x, mask)
    x[0, 4:] = 1e30
    assert torch.equal(pooling(x, mask), before)
    torch.testing.assert_close(pooling(x[0, :4]), before[0])


@every_pooling
def test_texts_of_a_batch_are_strangers(name):
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
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(name, dtype):
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


@every_pooling
@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        ([[1.0] * 5], TypeError, ("list", "tensor")),
        (torch.zeros(7, 4), ValueError, ("(7, 4)", "(..., n, 5)")),
        (torch.zeros(5), ValueError, ("(5,)", "(..., n, 5)")),
        (torch.zeros(7, 5, dtype=torch.int64), TypeError, ("int64", "floating-point")),
        (torch.zeros(7, 5, dtype=torch.complex64), TypeError, ("complex64", "floating-point")),
    ],
)
def test_bad_tokens_are_named(name, x, error, words):
    with pytest.raises(error) as caught:
        POOLINGS[name]()(x)
    assert str(caught.value).startswith("x: expected")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("name", ["energy", "keys"])
def test_tokens_unlike_the_parameters_are_named(name):
    with pytest.raises(TypeError, match=r"x: expected torch.float32, .* got torch.float64"):
        POOLINGS[name]()(torch.zeros(7, 5, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"x: expected device cpu, .* got meta"):
        POOLINGS[name]()(torch.zeros(7, 5, device="meta"))


@every_pooling
@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        ([True] * 7, TypeError, ("list", "tensor")),
        (torch.ones(7), TypeError, ("float32", "boolean")),
        (torch.ones(2, 7, dtype=torch.bool), ValueError, ("(2, 7)", "(2, 1, 7)")),
        (torch.ones(7, 7, dtype=torch.bool), ValueError, ("(7, 7)", "(2, 1, 7)")),
        (torch.ones(2, 7, 7, dtype=torch.bool), ValueError, ("(2, 7, 7)", "(2, 1, 7)")),
        (torch.ones(7, dtype=torch.bool, device="meta"), ValueError, ("meta", "cpu")),
    ],
)
def test_bad_masks_are_named(name, mask, error, words):
    with pytest.raises(error) as caught:
        POOLINGS[name]()(torch.zeros(2, 7, 5), mask)
    assert str(caught.value).startswith("attn_mask: expected")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("size", [0, -1, 2.0, "3", None, True])
@pytest.mark.parametrize(
    ("argument", "build"),
    [
        ("embed_dim", MeanPooling),
        ("embed_dim", EnergyPooling),
        ("embed_dim", lambda size: KeyedPooling(size, key_dim=3)),
        ("key_dim", lambda size: KeyedPooling(5, key_dim=size)),
    ],
)
def test_bad_sizes_are_named(argument, build, size):
    whole = isinstance(size, int) and not isinstance(size, bool)
    with pytest.raises(ValueError if whole else TypeError) as caught:
        build(size)
    assert str(caught.value).startswith(f"{argument}: expected")
    assert str(caught.value).endswith(f"got {size if whole else type(size).__name__}")
