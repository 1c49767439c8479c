"""What attention is held against: torch's kernel, and the formula in float64.

Sizes are different primes, so that a swapped axis fails.
"""

import math

import torch
from hypothesis import strategies as st
from torch.nn import functional as F

from attention import scaled_dot_product_attention

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
LAYOUTS = ("contiguous", "transposed", "strided", "expanded")


def reference(query, key, value, allowed, scale):
    """Attention without softmax: exponentials of the allowed scores, divided by their sum."""
    scores = torch.einsum("...nk,...mk->...nm", query, key) * scale
    allowed = allowed.expand(torch.broadcast_shapes(scores.shape, allowed.shape))
    if scores.shape[-1] == 0:
        return scores @ value, scores.expand(allowed.shape)
    top = scores.detach().where(allowed, scores.new_tensor(-math.inf)).amax(-1, keepdim=True)
    powers = (scores - top).where(allowed, scores.new_tensor(0.0)).exp() * allowed
    total = powers.sum(-1, keepdim=True)
    weights = powers / total.where(total > 0, scores.new_tensor(1.0))
    return weights @ value, weights


def spelled(*args, **kwargs):
    return scaled_dot_product_attention(*args, **kwargs)[0]


def largest(tensor):
    return float(tensor.double().abs().max()) if tensor.numel() else 0.0


def torchs(query, key, value, attn_mask, **kwargs):
    """Call torch with all that broadcasts written out, so that its own rules play no part."""
    leading = torch.broadcast_shapes(*(t.shape[:-2] for t in (query, key, value)))
    query, key, value = (t.expand(*leading, *t.shape[-2:]) for t in (query, key, value))
    if attn_mask is not None:
        attn_mask = attn_mask.expand(*leading, query.shape[-2], key.shape[-2])
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, **kwargs)


@st.composite
def shapes_within(draw, shape):
    """Draw a shape that broadcasts to this one: some sizes are 1, some on the left are gone."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(draw(st.sampled_from((size, 1))) for size in kept)


@st.composite
def cases(draw):
    """Draw the shapes and options of one call."""
    leading = tuple(draw(st.lists(st.sampled_from((2, 3, 1, 0)), max_size=3)))
    n = draw(st.sampled_from((5, 7, 1, 0)))
    m = draw(st.sampled_from((7, 11, 5, 1, 0)))
    case = {
        "n": n,
        "m": m,
        "k": draw(st.sampled_from((3, 2, 13, 1))),
        "v": draw(st.sampled_from((2, 3, 17, 1))),
        "leadings": [draw(shapes_within(leading)) for _ in range(3)],
        "layouts": [draw(st.sampled_from(LAYOUTS)) for _ in range(3)],
        "dtype": draw(st.sampled_from(DTYPES)),
        "top_score": draw(st.sampled_from((1.0, 30.0, 1e4))),
        "is_causal": draw(st.booleans()),
        "scale": draw(st.sampled_from((None, 1.0, 0.3, -2.0, 0.0))),
        "seed": draw(st.integers(0, 2**16)),
    }
    broadcast = torch.broadcast_shapes(*case["leadings"])
    case["mask_shape"] = draw(st.none() | shapes_within((*broadcast, n, m)))
    case["share"] = draw(st.sampled_from((0.0, 0.3, 0.8, 1.0)))
    return case


def lay_out(leaf_shape, layout, dtype, generator):
    """Return a leaf, and a view of it that has this shape and lies in memory in this way."""
    *leading, length, width = leaf_shape
    if layout == "transposed":
        leaf = torch.randn(*leading, width, length, generator=generator, dtype=torch.float64)
        return leaf.to(dtype), lambda t: t.transpose(-2, -1)
    if layout == "strided":
        leaf = torch.randn(*leading, length, 2 * width, generator=generator, dtype=torch.float64)
        return leaf.to(dtype), lambda t: t[..., ::2]
    if layout == "expanded":
        # Sizes of stride 0 in every leading dimension.
        leaf = torch.randn(length, width, generator=generator, dtype=torch.float64)
        return leaf.to(dtype), lambda t: t.expand(*leading, length, width)
    return torch.randn(*leaf_shape, generator=generator, dtype=torch.float64).to(dtype), lambda t: t


def build(case):
    """Make the tensors of a case: leaves, the views attention gets, and the mask."""
    generator = torch.Generator().manual_seed(case["seed"])
    widths = ((case["n"], case["k"]), (case["m"], case["k"]), (case["m"], case["v"]))
    leaves, views = [], []
    for leading, layout, (length, width) in zip(
        case["leadings"], case["layouts"], widths, strict=True
    ):
        leaf, view = lay_out((*leading, length, width), layout, case["dtype"], generator)
        leaves.append(leaf)
        views.append(view)
    if case["n"] and case["m"]:
        scale = case["k"] ** -0.5 if case["scale"] is None else case["scale"]
        query, key = views[0](leaves[0]).double(), views[1](leaves[1]).double()
        top = largest(query @ key.transpose(-2, -1) * scale)
        if top > 0:
            # Half of the factor to each, and no more than float16 and its gradients can hold.
            factor = (case["top_score"] / top) ** 0.5
            for i, tensor in enumerate((query, key)):
                leaves[i] = leaves[i] * min(factor, 300 / largest(tensor))
    mask = None
    if case["mask_shape"] is not None:
        mask = torch.rand(case["mask_shape"], generator=generator) < case["share"]
    return leaves, views, mask


def run(attend, leaves, views, upstream, dtype, *args, **kwargs):
    """Return the context and the gradients of all leaves."""
    leaves = [leaf.to(dtype, copy=True).requires_grad_() for leaf in leaves]
    context = attend(*(view(t) for view, t in zip(views, leaves, strict=True)), *args, **kwargs)
    grads = torch.autograd.grad(context, leaves, upstream.to(dtype))
    return [context.detach().double(), *(grad.double() for grad in grads)]


def check_against_oracles(attend, case):
    leaves, views, mask = build(case)
    dtype, n, m = case["dtype"], case["n"], case["m"]
    scale = case["k"] ** -0.5 if case["scale"] is None else case["scale"]
    allowed = torch.ones(n, m, dtype=torch.bool) if mask is None else mask
    if case["is_causal"]:
        allowed = allowed & (torch.arange(m) <= torch.arange(n)[:, None])
    leading = torch.broadcast_shapes(*case["leadings"])
    upstream = torch.randn(*leading, n, case["v"]).to(dtype)

    ours = run(
        attend, leaves, views, upstream, dtype, mask,
        is_causal=case["is_causal"], scale=case["scale"],
    )  # fmt: skip
    exact = run(
        lambda q, k, v: reference(q, k, v, allowed, scale)[0].expand(upstream.shape),
        leaves, views, upstream, torch.float64,
    )  # fmt: skip
    theirs = run(torchs, leaves, views, upstream, dtype, allowed, scale=scale)

    # Rounding: of the dtype, and of scores as large as top_score in the dtype they are computed
    # in, times what each result multiplies it with.
    wide = torch.finfo(torch.promote_types(dtype, torch.float32)).eps
    eps = torch.finfo(dtype).eps + wide * case["top_score"]
    query, key, value = (largest(view(t)) for view, t in zip(views, leaves, strict=True))
    up = largest(upstream)
    copies = max(1, math.prod(leading))
    through_scores = up * value * case["v"] * abs(scale)
    bounds = (value, through_scores * key, through_scores * query * n, up * n)
    for name, bound, *results in zip(
        ("context", "query", "key", "value"), bounds, ours, exact, theirs, strict=True
    ):
        tolerance = {"rtol": 0.0, "atol": 8 * eps * bound * (1 if name == "context" else copies)}
        our, right, their = results
        torch.testing.assert_close(our, right, **tolerance, msg=lambda s, n=name: f"{n}: {s}")
        torch.testing.assert_close(
            our, their, **tolerance, msg=lambda s, n=name: f"{n}, torch: {s}"
        )
