"""The oracles that attention is compared with: torch's kernel, and the formula in float64.

Sizes are different primes, so that a swapped axis fails.
"""

import math

import torch
from hypothesis import strategies as st
from layer_oracle import attend
from torch.nn import functional as F

from attention import scaled_dot_product_attention

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
LAYOUTS = ("contiguous", "transposed", "strided", "expanded")


def allowed_by(mask):
    return mask if mask.dtype == torch.bool else mask != -math.inf


def made_causal(mask, n, m):
    """Make a mask of either kind, or None, also forbid every later key."""
    causal = torch.arange(m) <= torch.arange(n)[:, None]  # (n, m)
    if mask is None:
        return causal
    return mask & causal if mask.dtype == torch.bool else mask.masked_fill(~causal, -math.inf)


def reference(query, key, value, mask, scale):
    if mask.dtype == torch.bool:
        mask = query.new_zeros(mask.shape).masked_fill(~mask, -math.inf)
    return attend(query, key, value, mask, scale)


def spelled(*args, **kwargs):
    """Return the context of the spelled-out formula, without the weights."""
    return scaled_dot_product_attention(*args, **kwargs)[0]


def largest(tensor):
    return float(tensor.double().abs().max()) if tensor.numel() else 0.0


def torchs(query, key, value, attn_mask, **kwargs):
    """Call torch with everything broadcast beforehand, so that its own rules play no part."""
    leading = torch.broadcast_shapes(*(t.shape[:-2] for t in (query, key, value)))
    query, key, value = (t.expand(*leading, *t.shape[-2:]) for t in (query, key, value))
    if attn_mask is not None:
        attn_mask = attn_mask.expand(*leading, query.shape[-2], key.shape[-2])
        if attn_mask.is_floating_point() and attn_mask.dtype != query.dtype:
            # torch takes a mask of the query's dtype, or of 32 bits for one of 16.
            wide = torch.promote_types(query.dtype, torch.float32)
            attn_mask = attn_mask.to(wide)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, **kwargs)


@st.composite
def shapes_within(draw, shape):
    """Draw a shape that broadcasts to this one: some sizes are 1, some leading ones are missing."""
    kept = shape[draw(st.integers(0, len(shape))) :]
    return tuple(draw(st.sampled_from((size, 1))) for size in kept)


@st.composite
def cases(draw):
    leading = tuple(draw(st.lists(st.sampled_from((2, 3, 1, 0)), max_size=3)))
    n = draw(st.sampled_from((5, 7, 1, 0)))
    is_causal = draw(st.booleans())
    m = n if is_causal else draw(st.sampled_from((7, 11, 5, 1, 0)))
    case = {
        "n": n,
        "m": m,
        "k": draw(st.sampled_from((3, 2, 13, 1))),
        "v": draw(st.sampled_from((2, 3, 17, 1))),
        "leadings": [draw(shapes_within(leading)) for _ in range(3)],
        "layouts": [draw(st.sampled_from(LAYOUTS)) for _ in range(3)],
        "dtype": draw(st.sampled_from(DTYPES)),
        "top_score": draw(st.sampled_from((1.0, 30.0, 1e4))),
        "is_causal": is_causal,
        "scale": draw(st.sampled_from((None, 1.0, 0.3, -2.0, 0.0))),
        "seed": draw(st.integers(0, 2**16)),
    }
    broadcast = torch.broadcast_shapes(*case["leadings"])
    case["mask_shape"] = draw(st.none() | shapes_within((*broadcast, n, m)))
    # How much the mask allows, and whether it is boolean or added.
    case["share"] = draw(st.sampled_from((0.0, 0.3, 0.8, 1.0)))
    case["mask_dtype"] = draw(
        st.sampled_from((torch.bool, torch.bool, case["dtype"], torch.float32))
    )
    case["mask_size"] = draw(st.sampled_from((1.0, 30.0)))
    case["factor"] = case["k"] ** -0.5 if case["scale"] is None else case["scale"]
    return case


def draw_mask(case, generator):
    """Make the mask of a case; one that is added has −∞ where it forbids."""
    shape = case["mask_shape"]
    if shape is None:
        return None
    allowed = torch.rand(shape, generator=generator) < case["share"]
    if case["mask_dtype"] == torch.bool:
        return allowed
    added = torch.rand(shape, generator=generator) * 2 - 1  # −1 to 1
    return (added * case["mask_size"]).to(case["mask_dtype"]).masked_fill(~allowed, -math.inf)


def lay_out(leaf_shape, layout, dtype, generator):
    """Return a leaf, and a view of it that has this shape and this layout in memory."""
    *leading, length, width = leaf_shape

    def leaf(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    if layout == "transposed":
        return leaf(*leading, width, length), lambda t: t.transpose(-2, -1)
    if layout == "strided":
        return leaf(*leading, length, 2 * width), lambda t: t[..., ::2]
    if layout == "expanded":  # sizes of stride 0 in every leading dimension
        return leaf(length, width), lambda t: t.expand(*leading, length, width)
    return leaf(*leaf_shape), lambda t: t


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
        query, key = views[0](leaves[0]).double(), views[1](leaves[1]).double()
        top = largest(query @ key.transpose(-2, -1) * case["factor"])
        if top > 0:
            # Half of the factor for each, and no more than float16 and its gradients can represent.
            factor = (case["top_score"] / top) ** 0.5
            for i, tensor in enumerate((query, key)):
                leaves[i] = leaves[i] * min(factor, 300 / largest(tensor))
    return leaves, views, draw_mask(case, generator)


def results(attention, leaves, views, mask, upstream, dtype):
    """Return the context and the gradients of all leaves, and of a mask that is added."""
    leaves = [leaf.to(dtype, copy=True).requires_grad_() for leaf in leaves]
    inputs = list(leaves)
    if mask is not None and mask.is_floating_point():
        mask = mask.detach().clone().requires_grad_()
        inputs.append(mask)
    context = attention(*(view(t) for view, t in zip(views, leaves, strict=True)), mask)
    grads = torch.autograd.grad(context, inputs, upstream.to(dtype), materialize_grads=True)
    return [context.detach().double(), *(grad.double() for grad in grads)]


def assert_same(own, other, tolerance, leaves, leaves_of_other=None):
    """Compare two results, and the gradients of what each was made of."""
    torch.testing.assert_close(own, other, rtol=tolerance, atol=tolerance)
    upstream = torch.randn_like(own)
    gradients = [
        torch.autograd.grad(one, of, upstream, retain_graph=True, materialize_grads=True)
        for one, of in ((own, leaves), (other, leaves_of_other or leaves))
    ]
    for one, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(one, expected, rtol=10 * tolerance, atol=10 * tolerance)


def rounding(case):
    """Return the rounding of the dtype, and of scores as large as the case's top score."""
    wide = torch.finfo(torch.promote_types(case["dtype"], torch.float32)).eps
    added = 0.0 if case["mask_dtype"] == torch.bool else case["mask_size"]
    return torch.finfo(case["dtype"]).eps + wide * (case["top_score"] + added)


def whole_mask(case, mask):
    """Return the full mask that a mask and the options of a case amount to."""
    if case["is_causal"]:
        return made_causal(mask, case["n"], case["m"])
    return torch.ones(case["n"], case["m"], dtype=torch.bool) if mask is None else mask


def check_against_oracles(attention, case):
    leaves, views, mask = build(case)
    dtype, n, scale = case["dtype"], case["n"], case["factor"]
    leading = torch.broadcast_shapes(*case["leadings"])
    upstream = torch.randn(*leading, n, case["v"]).to(dtype)

    def ours(q, k, v, mask):
        return attention(q, k, v, mask, is_causal=case["is_causal"], scale=case["scale"])

    def exactly(q, k, v, mask):
        return reference(q, k, v, whole_mask(case, mask), scale)[0].expand(upstream.shape)

    def theirs(q, k, v, mask):
        return torchs(q, k, v, whole_mask(case, mask), scale=scale)

    wide_mask = mask.double() if mask is not None and mask.is_floating_point() else mask
    our = results(ours, leaves, views, mask, upstream, dtype)
    exact = results(exactly, leaves, views, wide_mask, upstream, torch.float64)
    their = results(theirs, leaves, views, mask, upstream, dtype)

    # Rounding, times the factor by which each result multiplies it.
    eps = rounding(case)
    query, key, value = (largest(view(t)) for view, t in zip(views, leaves, strict=True))
    up = largest(upstream)
    copies = max(1, math.prod(leading))
    through_weights = up * value * case["v"]
    through_scores = through_weights * abs(scale)
    bounds = {
        "context": value,
        "query": through_scores * key,
        "key": through_scores * query * n,
        "value": up * n,
        "mask": through_weights * n,
    }
    names = list(bounds)[: len(our)]  # without a mask that is added, it has no gradient
    for name, mine, right, torchs_own in zip(names, our, exact, their, strict=True):
        # The gradient of a mask has the mask's dtype, which may have fewer digits.
        digits = max(eps, torch.finfo(mask.dtype).eps) if name == "mask" else eps
        atol = 8 * digits * bounds[name] * (1 if name == "context" else copies)
        tolerance = {"rtol": 0.0, "atol": atol}
        for other, oracle in ((right, "formula"), (torchs_own, "torch")):
            what = f"{name}, {oracle}"
            torch.testing.assert_close(mine, other, **tolerance, msg=lambda s, w=what: f"{w}: {s}")
