"""Every layer from its equation, one text after the other, and one head after the other.

Nothing here calls the package. What a layer holds is read, and each sum is written out.
"""

import math
from itertools import pairwise

import torch


def of_layer(layer, x, mask=None, is_causal=False, positions=None):
    """Return the contexts and weights of a batch (B, n, d), with a mask (B, rows, n)."""
    n = x.shape[1]
    name = type(layer).__name__
    contexts, weights = [], []
    for b, text in enumerate(x):
        added = torch.zeros(n, n, dtype=x.dtype)
        rows = None if mask is None else mask[b].expand(n, n)
        if mask is not None and mask.dtype == torch.bool:
            added = added.masked_fill(~rows, -math.inf)
        elif mask is not None:
            added = rows
        if is_causal:
            later = torch.tensor([[j > i for j in range(n)] for i in range(n)])
            added = added.masked_fill(later, -math.inf)
        at = list(range(n)) if positions is None else positions[b].tolist()
        context, of_text = EQUATIONS[name](layer, text, added, at)
        contexts.append(context)
        weights.append(of_text)
    return torch.stack(contexts), torch.stack(weights, dim=1 if name == "TransformerEncoder" else 0)


def attend(query, key, value, added, scale):
    """Attend without softmax: exponentials of the allowed scores, divided by their sum."""
    allowed = added != -math.inf
    products = torch.einsum("...nk,...mk->...nm", query, key) * scale
    scores = products + added.masked_fill(~allowed, 0.0)
    allowed = allowed.expand(scores.shape)
    if scores.shape[-1] == 0:
        return scores @ value, scores
    top = scores.detach().masked_fill(~allowed, -math.inf).amax(-1, keepdim=True)
    # Where nothing is allowed the largest score is −∞, and infinity minus itself would be NaN.
    top = top.where(top.isfinite(), top.new_tensor(0.0))
    powers = (scores - top).masked_fill(~allowed, -math.inf).exp()
    total = powers.sum(-1, keepdim=True)
    weights = powers / total.where(total > 0, total.new_tensor(1.0))
    return weights @ value, weights


def project(matrix, x):
    """Multiply by a bare matrix (d, k), or a linear layer's (k, d), whose bias is added."""
    if isinstance(matrix, torch.nn.Parameter):
        return torch.einsum("nd,dk->nk", x, matrix)
    product = torch.einsum("nd,kd->nk", x, matrix.weight)
    return product if matrix.bias is None else product + matrix.bias


def rotate(x, positions, base=10_000.0, interleaved=False):
    """Multiply each pair, as one complex number, by exp(i p θ)."""
    k, x = x.shape[-1], x.double()
    pairs = x.unflatten(-1, (k // 2, 2)) if interleaved else x.unflatten(-1, (2, k // 2)).mT
    theta = torch.tensor([base ** (-2 * i / k) for i in range(k // 2)], dtype=torch.float64)
    angle = torch.as_tensor(positions).double()[..., None] * theta
    turned = torch.complex(*pairs.unbind(-1)) * torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_real(turned)  # (..., n, k / 2, 2)
    return (pairs if interleaved else pairs.mT).flatten(-2)


def self_attention(layer, x, added, at):
    query, key = project(layer.W_query, x), project(layer.W_key, x)
    value = project(layer.W_value, x) if hasattr(layer, "W_value") else x
    scale = getattr(layer, "scale", None)
    return attend(query, key, value, added, query.shape[-1] ** -0.5 if scale is None else scale)


def pooling(layer, x, added, at):
    if hasattr(layer, "energy"):
        energies = [(token * layer.energy.weight[0]).sum() for token in x]
    elif hasattr(layer, "query"):
        energies = [(key * layer.query).sum() for key in project(layer.W_key, x)]
    else:
        energies = [token.sum() * 0 for token in x]
    energies = torch.stack(energies)[:, None]  # (n, 1)
    context, weights = attend(torch.ones_like(energies[:1]), energies, x, added[:1], 1.0)
    return context[0], weights[0]


def split(projected, count):
    width = projected.shape[-1] // count
    ends = [i * width for i in range(count + 1)]
    return [projected[:, start:end] for start, end in pairwise(ends)]


def multi_head(layer, x, added, at):
    queries = split(project(layer.W_query, x), layer.num_heads)
    keys = split(project(layer.W_key, x), layer.num_kv_heads)
    values = split(project(layer.W_value, x), layer.num_kv_heads)
    if layer.window is not None:
        far = torch.tensor([[abs(p - q) >= layer.window for q in at] for p in at])
        added = added.masked_fill(far, -math.inf)
    contexts, weights = [], []
    for i, query in enumerate(queries):
        g = i * layer.num_kv_heads // layer.num_heads
        key = keys[g]
        if layer.rotary:
            query, key = rotate(query, at), rotate(key, at)
        context, of_head = attend(query, key, values[g], added, query.shape[-1] ** -0.5)
        contexts.append(context)
        weights.append(of_head)
    context = project(layer.W_out, torch.cat(contexts, dim=-1))
    blind = (added == -math.inf).all(-1, keepdim=True)  # (n, 1)
    return context.masked_fill(blind, 0.0), torch.stack(weights)


def latent(layer, x, added, at):
    r, e = layer.latent_dim, layer.rotary_dim
    made = project(layer.W_latent, x)
    keys = split(project(layer.W_key, made[:, :r]), layer.num_heads)
    values = split(project(layer.W_value, made[:, :r]), layer.num_heads)
    contexts, weights = [], []
    for query, key, value in zip(
        split(project(layer.W_query, x), layer.num_heads), keys, values, strict=True
    ):
        k = key.shape[-1]
        if e:
            query = torch.cat((query[:, :k], rotate(query[:, k:], at)), dim=-1)
            key = torch.cat((key, rotate(made[:, r:], at)), dim=-1)
        context, of_head = attend(query, key, value, added, (k + e) ** -0.5)
        contexts.append(context)
        weights.append(of_head)
    return project(layer.W_out, torch.cat(contexts, dim=-1)), torch.stack(weights)


def normalise(norm, x):
    centred = x - x.sum(-1, keepdim=True) / x.shape[-1]
    variance = (centred**2).sum(-1, keepdim=True) / x.shape[-1]
    scaled = centred / (variance + norm.eps) ** 0.5 * norm.weight
    return scaled if norm.bias is None else scaled + norm.bias


def feed_forward(layers, x):
    hidden = project(layers[0], x)
    if type(layers[1]).__name__ == "GELU":
        hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    else:
        hidden = hidden * (hidden > 0)
    return project(layers[3], hidden)


def block(layer, x, added, at):
    before = normalise(layer.norm1, x) if layer.norm_first else x
    context, weights = multi_head(layer.attention, before, added, at)
    x = x + context
    if layer.norm_first:
        return x + feed_forward(layer.feed_forward, normalise(layer.norm2, x)), weights
    x = normalise(layer.norm1, x)
    return normalise(layer.norm2, x + feed_forward(layer.feed_forward, x)), weights


def encoder(layer, x, added, at):
    weights = []
    for each in layer.blocks:
        x, of_block = block(each, x, added, at)
        weights.append(of_block)
    return (x if layer.norm is None else normalise(layer.norm, x)), torch.stack(weights)


EQUATIONS = {
    "MeanPooling": pooling,
    "EnergyPooling": pooling,
    "KeyedPooling": pooling,
    "SelfAttentionV1": self_attention,
    "SelfAttentionV2": self_attention,
    "CausalSelfAttention": self_attention,
    "QKSelfAttention": self_attention,
    "SelfAttention": self_attention,
    "MultiHeadAttention": multi_head,
    "LatentAttention": latent,
    "TransformerBlock": block,
    "TransformerEncoder": encoder,
}
