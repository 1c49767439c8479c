"""
Two modules, one function
=========================

Are these two attention layers different, when on the same sentence they print different numbers?

One holds three bare matrices, the other three ``nn.Linear``. :cite:t:`raschka2024build` calls them
version 1 and version 2, and the comparison that follows is exercise 3.1 of that book. As functions
they are the same: copy the matrices, transposed, and the numbers agree.
"""

import math
import warnings

import matplotlib.pyplot as plt
import torch
from torch import nn

from attention import SelfAttentionV1, SelfAttentionV2
from attention.plotting import BLUE, ORANGE, use_style

use_style()

x = torch.tensor(
    [
        [0.43, 0.15, 0.89],  # Your
        [0.55, 0.87, 0.66],  # journey
        [0.57, 0.85, 0.64],  # starts
        [0.22, 0.58, 0.33],  # with
        [0.77, 0.25, 0.10],  # one
        [0.05, 0.80, 0.55],  # step
    ]
)  # (6, 3)

# %%
# The two, as they come
# ---------------------
# Version 1 multiplies by ``nn.Parameter(torch.rand(d_in, d_out))``. Version 2 calls
# ``nn.Linear(d_in, d_out, bias=False)``.

torch.manual_seed(123)
v1 = SelfAttentionV1(d_in=3, d_out=2)
torch.manual_seed(789)
v2 = SelfAttentionV2(d_in=3, d_out=2)
context_v1 = v1(x).detach()  # (6, 2)
context_v2 = v2(x).detach()  # (6, 2)
print("v1, seed 123:")
print(context_v1)
print("v2, seed 789:")
print(context_v2)

# %%
# The matrices as numbers, should the generator ever change. ``nn.Linear`` keeps its matrix lying on
# its side, (d_out, d_in), and computes :math:`x W^\top`.

linear_weights = torch.tensor(
    [
        [[0.31605908, 0.45680857, 0.51183486], [-0.1682854, -0.33787704, -0.09177387]],
        [[0.40580583, -0.47042054, 0.2368052], [0.21336074, -0.26005065, -0.51054299]],
        [[0.25256988, -0.14147827, -0.19618134], [0.5191074, -0.08516758, -0.20432705]],
    ]
)  # (3, 2, 3)
drawn = torch.stack([W.weight.detach() for W in (v2.W_query, v2.W_key, v2.W_value)])  # (3, 2, 3)
same = torch.allclose(drawn, linear_weights, rtol=0, atol=1e-6)
print("torch", torch.__version__, "still draws these numbers from seed 789:", same)

# %%
# .. admonition:: What went wrong: "The outputs are different because"
#    :class: warning
#
#    So :ref:`the notebook <source-notebook>` begins its explanation, and it names two seeds and two
#    schemes of initialisation. Both are true, and they hide the point that the book's exercise
#    makes: as *functions* the two are one. Copy version 1's matrices, transposed, into version 2,
#    and look again.

with torch.no_grad():
    v2.W_query.weight.copy_(v1.W_query.T)
    v2.W_key.weight.copy_(v1.W_key.T)
    v2.W_value.weight.copy_(v1.W_value.T)
context_copied = v2(x).detach()  # (6, 2)
print(context_copied)
print("largest difference to v1:", (context_copied - context_v1).abs().max().item())
assert torch.allclose(context_copied, context_v1)

# %%
# So choose by other things than the result. ``nn.Linear`` offers a bias (``qkv_bias=True``), a
# start that suits training, and a form that tools for loading and quantising know. The bare matrix
# reads like the formula.
#
# Where ``nn.Linear`` starts
# --------------------------
# .. admonition:: What went wrong: "Kaiming/Xavier by default"
#    :class: warning
#
#    :ref:`The notebook <source-notebook>` says so, and a look into torch seems to confirm it:
#    ``nn.Linear`` calls ``kaiming_uniform_``. But it calls it with ``a=√5``, a number that makes
#    the formula collapse. What is drawn is uniform between :math:`\pm 1/\sqrt{d_\mathrm{in}}`,
#    which is neither Kaiming's initialisation nor Xavier's.
#
# ``kaiming_uniform_`` draws uniformly between plus and minus
#
# .. math:: \sqrt{\frac{2}{1 + a^2}} \cdot \sqrt{\frac{3}{d_\mathrm{in}}}, \qquad
#           \text{which for } a = \sqrt 5 \text{ is } \quad
#           \sqrt{\frac13} \cdot \sqrt{\frac{3}{d_\mathrm{in}}} = \frac{1}{\sqrt{d_\mathrm{in}}} .
#
# A uniform number between :math:`\pm b` has variance :math:`b^2/3`, so each weight has variance
# :math:`1/(3 d_\mathrm{in})`.

d, key_dim = 512, 64
torch.manual_seed(0)
fresh = nn.Linear(d, key_dim, bias=False).weight  # (64, 512)
print(f"largest weight       {fresh.abs().max():.5f}")
print(f"1 / √d_in            {1 / math.sqrt(d):.5f}")
print(f"variance             {fresh.var():.3e}")
print(f"1 / (3 d_in)         {1 / (3 * d):.3e}")
print(f"Kaiming: 2 / d_in    {2 / d:.3e}")
print(f"Xavier: 2 / (d_in + d_out) = {2 / (d + key_dim):.3e}")

# %%
# What that does to the scores
# ----------------------------
# Let the tokens have independent numbers of variance 1. Each number of a query is a sum of d
# products, so its variance is :math:`d \cdot 1/(3d) = 1/3`, and likewise for a key. A score adds up
# k products of variance 1/9, which makes :math:`k/9`. Divided by :math:`\sqrt k` it has variance
# 1/9: a standard deviation of one third.

tokens = torch.randn(2048, d)  # (2048, 512)


def scaled_scores(draw):
    """Score random tokens with a query and a key matrix from ``draw``."""
    query = tokens @ draw()  # (2048, 64)
    key = tokens @ draw()  # (2048, 64)
    return query @ key.T / math.sqrt(key_dim)


starts = {
    "torch.rand": lambda: torch.rand(d, key_dim),
    "variance 1/d": lambda: torch.randn(d, key_dim) / math.sqrt(d),
    "nn.Linear": lambda: nn.Linear(d, key_dim, bias=False).weight.detach().T,
}
spread = {}
for name, draw in starts.items():
    scores = scaled_scores(draw)  # (2048, 2048)
    top = torch.softmax(scores, dim=-1).amax(dim=-1)  # (2048,)
    spread[name] = scores.std().item()
    print(f"{name:13} σ of the scores {spread[name]:9.3f}   median top weight {top.median():.4f}")
print(f"theory for nn.Linear: {1 / 3:.3f}. All 2,048 weights equal: {1 / 2048:.4f}")

# %%
# ``torch.rand``, harmless with 3 numbers, is a disaster with 512: one word takes all. A start of
# variance 1/d gives scores of standard deviation 1, ``nn.Linear`` a third of that, so the weights
# of a fresh layer are close to equal. Neither of the two is wrong. Know which one you have.

fig, ax = plt.subplots(figsize=(5, 3.4))
for name, color in (("variance 1/d", ORANGE), ("nn.Linear", BLUE)):
    scores = scaled_scores(starts[name])  # (2048, 2048)
    sample = scores.flatten()[:20_000]  # (20000,)
    ax.hist(sample, bins=80, range=(-4, 4), density=True, color=color, alpha=0.5, label=name)
grid = torch.linspace(-4, 4, 200)  # (200,)
for sigma in (1, 1 / 3):
    curve = torch.exp(-0.5 * (grid / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))  # (200,)
    ax.plot(grid, curve, color="black", lw=1)
ax.set(xlabel="score, after the division by √k", ylabel="density")
ax.legend()
fig.set_label(
    "Histograms of scaled scores for two starts, normal curves drawn over them. With matrices of "
    "variance 1/d the standard deviation is 1, with nn.Linear's start it is one third."
)

# %%
# Two sentences at once
# ---------------------
# .. admonition:: What went wrong: ``keys.T``
#    :class: warning
#
#    :ref:`The blog post <source-blog>`, :ref:`the notebook <source-notebook>`,
#    :ref:`the chapter <source-chapter>` and :ref:`the lecture notes <source-notes>` write
#    ``queries @ keys.T``, which is right for the one sentence that they have.
#    (:ref:`The lab <source-lab>` has batches, and transposes the last two dimensions.) A batch has
#    three dimensions, and ``.T`` reverses *all* of them: (batch, tokens, width) becomes (width,
#    tokens, batch).

torch.set_warn_always(True)  # torch speaks of this only once a process otherwise
batch = torch.rand(4, 6, 3)  # (4, 6, 3)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("turned round:", tuple(batch.T.shape))
    try:
        batch @ batch.T
    except RuntimeError as error:
        print("RuntimeError:", error)
print("UserWarning:", str(caught[0].message).split(". Consider")[0])

# %%
# An error is a kindness. Now let batch, tokens and width be the same number. The shapes fit, the
# code runs, and the scores mix sentences with each other.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    cube = torch.rand(3, 3, 3)  # (3, 3, 3)
    wrong = cube @ cube.T  # (3, 3, 3)
right = cube @ cube.transpose(-2, -1)  # (3, 3, 3)
alone = cube[0] @ cube[0].T  # (3, 3)
torch.set_warn_always(False)
print("first sentence of the batch, .T       :", wrong[0].flatten()[:4])
print("first sentence of the batch, transpose:", right[0].flatten()[:4])
print("first sentence, computed alone        :", alone.flatten()[:4])
assert torch.allclose(right[0], alone)
assert not torch.allclose(wrong[0], alone)

# %%
# ``keys.transpose(-2, -1)`` (or ``keys.mT``) turns the last two dimensions and leaves the others in
# peace. That is what the package does, so its layers take any number of leading dimensions.
#
# .. admonition:: What went wrong: ``shape[1]`` or ``shape[-1]``?
#    :class: warning
#
#    :ref:`The lecture notes <source-notes>` have both, with question marks: ``[1]...-1???``. For
#    one sentence, keys are (tokens, width) and both name the width. For a batch, ``shape[1]`` is
#    the number of tokens, so the code runs with a wrong scale, which changes with the length of the
#    sentence. The width is always last, so count from the end.

for tokens_now in (6, 60):
    keys = torch.rand(4, tokens_now, 2)  # (4, tokens_now, 2)
    print(f"{tokens_now:2} tokens: shape[1] = {keys.shape[1]:2}, shape[-1] = {keys.shape[-1]}")

batched = torch.stack([x, x.flip(0)])  # (2, 6, 3)
context_batch = v1(batched)  # (2, 6, 2)
assert torch.allclose(context_batch[0], v1(x), atol=1e-6)
print("a batch through SelfAttentionV1:", tuple(context_batch.shape))

# %%
# Takeaways
# ---------
# * Version 1 and version 2 are one function. Their matrices are each other's transposes.
# * ``nn.Linear`` starts uniform in :math:`\pm 1/\sqrt{d_\mathrm{in}}`, which makes fresh scores
#   small: a standard deviation of about one third.
# * Turn the last two dimensions, and take the width from the last. Code that runs may still be
#   wrong, so compare a batch with its sentences one by one.
#
# *Practise:* :doc:`/exercises/sentence`.
#
# *Where next:* :doc:`/gallery/core/plot_3_scaling_variance`, for the :math:`\sqrt k` that we have
# used and not yet explained.

plt.show()
