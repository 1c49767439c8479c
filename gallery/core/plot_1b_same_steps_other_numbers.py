"""
The same steps, other numbers
=============================

Can you walk from embeddings to context vectors without being led?

Here is the same sentence with other embeddings and other matrices. Each heading is a step that
:doc:`/gallery/core/plot_1_qkv_derivation` took. Compute before you read on; paper is enough for one
word, a Python prompt for all. The numbers below tell whether you were right.
"""

import matplotlib.pyplot as plt
import torch

import attention
from attention.plotting import draw_mixture, draw_scores, draw_weights, use_style

use_style()

# %%
# What is given
# -------------
# Six embeddings, and three matrices that seed 100 drew. The last line says whether torch still
# draws them.

words = ["Your", "journey", "starts", "with", "one", "step"]
x = torch.tensor(
    [
        [0.8938, 0.9003, 0.8978],  # Your
        [0.7165, 0.3428, 0.2553],  # journey
        [0.1042, 0.5163, 0.3753],  # starts
        [0.0445, 0.3091, 0.9763],  # with
        [0.1554, 0.1614, 0.2700],  # one
        [0.8089, 0.9435, 0.5480],  # step
    ]
)  # (6, 3)
W_query = torch.tensor([[0.111664, 0.815843], [0.262562, 0.483878], [0.676504, 0.753911]])  # (3, 2)
W_key = torch.tensor([[0.262691, 0.042840], [0.208029, 0.118037], [0.121695, 0.735599]])  # (3, 2)
W_value = torch.tensor([[0.711765, 0.787581], [0.418305, 0.901415], [0.996886, 0.756515]])  # (3, 2)

torch.manual_seed(100)
drawn = torch.stack([torch.rand(3, 2) for _ in range(3)])  # (3, 3, 2)
same = torch.allclose(drawn, torch.stack([W_query, W_key, W_value]), rtol=0, atol=1e-6)
print("torch", torch.__version__, "still draws these numbers from seed 100:", same)

# %%
# Step 1: what does "journey" ask?
# --------------------------------

query_2 = x[1] @ W_query  # (2,)
print(query_2)

# %%
# Step 2: what is each word found by, and what does it hand over?
# ---------------------------------------------------------------

keys = x @ W_key  # (6, 2)
values = x @ W_value  # (6, 2)
queries = x @ W_query  # (6, 2)
print("shapes", keys.shape, values.shape, queries.shape)

# %%
# Step 3: the score of "journey" for itself, then for all
# -------------------------------------------------------

score_22 = query_2 @ keys[1]
scores_2 = query_2 @ keys.T  # (6,)
print(f"{score_22:.4f}")
print(scores_2)

# %%
# Step 4: the weights
# -------------------

weights_2 = torch.softmax(scores_2 / keys.shape[-1] ** 0.5, dim=-1)  # (6,)
print(weights_2, f"sum {weights_2.sum():.4f}")

# %%
# Step 5: the context vector
# --------------------------

context_2 = weights_2 @ values  # (2,)
print(context_2)

# %%
# Step 6: all words, and the layer that does it in one call
# ---------------------------------------------------------
# :class:`attention.SelfAttentionV1` draws its three matrices in the order query, key, value, so
# after the same seed it holds the same numbers.

torch.manual_seed(100)
layer = attention.SelfAttentionV1(d_in=3, d_out=2)
with torch.no_grad():
    context, weights = layer(x, need_weights=True)  # (6, 2), (6, 6)
print(context)
assert torch.allclose(context[1], context_2, atol=1e-5)

# %%
# What the plane shows
# --------------------

fig, (top, bottom) = plt.subplots(2, figsize=(5, 8.4))
draw_scores(top, query_2, keys, words)
draw_mixture(bottom, values, context_2, words)
fig.set_label(
    "Above: the query of journey and the six keys as arrows; the key of Your reaches farthest "
    "along the query. Below: the six values, the region between their tips shaded, the context "
    "vector of journey a dot inside it."
)

# %%

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, weights, words)
ax.set_title("weights before any training", fontsize=11)
fig.set_label(
    "Heatmap of the 6 by 6 attention weights, words on both axes. In every row the column Your is "
    "darkest and the column one is lightest."
)

# %%
# This time every word looks at "Your". Another insight into language? Count again how often all
# six words share a favourite, over 1,000 draws of the matrices.

favourites = []
for seed in range(1000):
    torch.manual_seed(seed)
    best = ((x @ torch.rand(3, 2)) @ (x @ torch.rand(3, 2)).T).argmax(dim=-1)  # (6,)
    favourites += [words[best[0]]] if len(best.unique()) == 1 else []
print(f"{len(favourites):,} of 1,000 seeds agree; the favourites:", sorted(set(favourites)))

# %%
# Compare the embedding of "Your" with the others: it is large in all three numbers. Multiplied by
# positive matrices it gives the longest key, and the longest key wins.
#
# .. admonition:: What went wrong: a cell that was not run again
#    :class: warning
#
#    In :ref:`the chapter <source-chapter>` that these numbers come from, the code says
#    ``requires_grad=False``, and the output printed below it says ``requires_grad=True``. Both were
#    true, at different times: the code was changed and that cell not run again. So a notebook can
#    show a result that its code does not give. The pages here are run from the first line to the
#    last whenever they are built. Run from the top, the code gives:

print(torch.nn.Parameter(torch.rand(3, 2), requires_grad=False))

# %%
# .. admonition:: What went wrong: a layer that reads a variable outside itself
#    :class: warning
#
#    The layer of :ref:`the same chapter <source-chapter>` divides by ``d_out**0.5``, and ``d_out``
#    is not the layer's: it is a variable of the notebook. It gives the right result as long as no
#    other cell changes it. Below the mistake, made small. The layer's keys are of width 2 all the
#    time.


def weights_by_global(queries, keys):
    """Scale by whatever ``d_out`` happens to be."""
    return torch.softmax(queries @ keys.T / d_out**0.5, dim=-1)


d_out = 2
right = weights_by_global(queries, keys)  # (6, 6)
d_out = 200  # another cell, another layer
wrong = weights_by_global(queries, keys)  # (6, 6)
print("d_out = 2  ", right[1])
print("d_out = 200", wrong[1])

# %%
# No error, nearly equal weights. The width belongs to the tensor, so take it from there:
# ``keys.shape[-1]``.
#
# .. admonition:: What went wrong: "I can't reproduce the printed numbers"
#    :class: warning
#
#    One reason is easily missed. ``print`` shows four decimals. Type the printed matrices in, and
#    what you compute differs in the fourth decimal here and there. That is why the matrices above
#    have six.

printed = [torch.tensor([[round(a, 4) for a in row] for row in W.tolist()]) for W in drawn]
typed, _ = attention.scaled_dot_product_attention(*(x @ W for W in printed))  # (6, 2), (6, 6)
print(typed)
print(f"{(typed - context).abs().max():.6f} is the largest difference")

# %%
# Takeaways
# ---------
# * The steps do not depend on the numbers. You can take them alone.
# * With positive embeddings and positive matrices the longest key wins every row.
# * Take a width from the tensor, run a notebook from the top, and keep more digits than you print.
#
# *Practise:* :doc:`/exercises/sentence`.
#
# *Where next:* :doc:`/gallery/core/plot_2_attention_layer` puts the steps into a layer, twice,
# and asks what the difference is.

plt.show()
