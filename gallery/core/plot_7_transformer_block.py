"""
.. lesson:: Transformer block
   :minutes: 60
   :extra: plot
   :needs: core/plot_5
   :exercises: block
   :tasks: count-block transformer-block
   :search: transformer block; layer norm; layer normalisation;
      residual connection; feed-forward layer

The transformer block: attention, residual connection, layer normalisation, feed-forward layer
==============================================================================================

What does a transformer add to attention, and what is each addition for?

Attention lets tokens exchange information. A feed-forward layer computes with what was exchanged,
residual connections keep what a token was and let gradients through a deep stack, and layer
normalisation keeps the numbers at one size. We write each part as a class of a few lines, and then
train the block with one part left out at a time.

The first reading takes ten minutes, and the whole page an hour. You need the lesson on
:doc:`multi-head attention </gallery/core/plot_5_multi_head>`. Running the page takes a minute.
"""

import copy

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.func import functional_call, stack_module_state
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import attention
from attention import MultiHeadAttention, causal_mask
from attention.plotting import (
    BLACK,
    BLUE,
    DIVERGING,
    GREEN,
    KEY,
    ORANGE,
    PURPLE,
    QUERY,
    SKY,
    VALUE,
    WEIGHT,
    draw_box,
    draw_flow,
    use_style,
)

torch.manual_seed(0)
use_style()
QUICK = False  # True: fewer reviews and steps, for a first try

# %%

# sphinx_gallery_start_ignore


def draw_block():
    """Draw the flow of data through a block, from top to bottom."""
    fig, ax = plt.subplots(figsize=(5, 8.8))
    ax.set(xlim=(0, 10), ylim=(17.9, 0))
    ax.plot([1, 1], [0.75, 16.9], color=BLACK, lw=4, solid_capstyle="butt", zorder=0)
    draw_box(ax, 1, 0.35, "x   (B, n, d)", None)
    draw_box(ax, 1.2, 17.65, "block(x)   (B, n, d)", None)
    for y, norm, end in ((5.5, 1.2, 9.75), (13, 11.1, 16.85)):
        ax.text(0.35, y, "residual connection", ha="center", va="center", rotation=90)
        draw_flow(ax, (1, norm), (4.55, norm))
        draw_box(ax, 5.6, norm, "LayerNorm")
        draw_flow(ax, (5.6, end), (1.3, end))
        ax.plot(1, end, "o", ms=19, mfc="white", mec=BLACK, mew=2)
        ax.text(1, end, "+", ha="center", va="center", fontsize=14)
    columns = (3.1, "W_query", QUERY, 5), (5.6, "W_key", KEY, 5), (8.1, "W_value", VALUE, 6.55)
    for x, name, color, y in columns:
        draw_flow(ax, (5.6, 1.6), (x, 2.95), "(B, n, d)" if x > 8 else "")
        draw_box(ax, x, 3.35, name, color)
        draw_flow(ax, (x, 3.75), (x, y), "(B, h, n, k)")
    draw_box(ax, 4.35, 5.4, "softmax(Q Kᵀ / √k)".center(30), WEIGHT)
    draw_flow(ax, (4.35, 5.8), (4.35, 6.55), "weights (B, h, n, n)")
    draw_box(ax, 5.6, 6.95, "weights · V, per head".center(45))
    draw_flow(ax, (5.6, 7.35), (5.6, 8.3), "(B, h, n, k) → (B, n, h·k)")
    draw_box(ax, 5.6, 8.7, "W_out")
    draw_flow(ax, (5.6, 9.1), (5.6, 9.75), "(B, n, d)")
    draw_flow(ax, (5.6, 11.5), (5.6, 12.3), "(B, n, d)")
    parts = ("W_1", "(B, n, 4d)", 1.2), ("GELU", "(B, n, 4d)", 1.2), ("W_2", "(B, n, d)", 0.95)
    for y, (name, shape, end) in zip((12.7, 14.3, 15.9), parts, strict=True):
        draw_box(ax, 5.6, y, name)
        draw_flow(ax, (5.6, y + 0.4), (5.6, y + end), shape)
    return fig


# sphinx_gallery_end_ignore
fig = draw_block()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart from top to bottom. A thick line, the residual connection, leads from x to the "
    "block's result. Twice a branch leaves it and is added to it again. First branch: LayerNorm, "
    "W_query, W_key and W_value, softmax of the scores, weights times values, W_out. Second "
    "branch: LayerNorm, W_1, GELU, W_2. Shapes are written at the arrows."
)

# %%
# *Figure 1.* A transformer block for B texts of n tokens with d numbers each. Two branches leave
# the thick line, the residual connection, and are added to it again. In the first, attention, the
# tokens meet; in the second, the feed-forward layer, each is processed by itself. Each of the h
# heads has the width k = d / h.
#
# Layer normalisation: every token at one size
# --------------------------------------------
# Attention is the :class:`~attention.MultiHeadAttention` that you have written before. :term:`Layer
# normalisation <layer normalisation>` (:cite:t:`ba2016layer`), a *norm* for short, subtracts from
# each token the mean of its d numbers and divides by their standard deviation. Each number is then
# multiplied by a learned factor and shifted by a learned amount.


# attention_from_scratch.py
class LayerNorm(nn.Module):
    """Give each token mean 0 and variance 1, then a learned factor and shift per number."""

    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(embed_dim))
        self.bias = nn.Parameter(torch.zeros(embed_dim))
        self.eps = eps

    def forward(self, x):
        """Return the tokens, normalised."""
        centred = x - x.mean(dim=-1, keepdim=True)  # (..., n, d)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (..., n, 1)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


# %%

token = torch.tensor([1.0, 2.0, 3.0, 6.0])  # (4,)
print("mean", token.mean().item(), "variance", token.var(correction=0).item())
print("normalised        ", LayerNorm(4)(token).detach())
print("ten times the size", LayerNorm(4)(10 * token).detach())
assert torch.allclose(LayerNorm(4)(token), nn.LayerNorm(4)(token))

# %%

fig, grid = plt.subplots(2, 2, figsize=(5, 3.6), sharey="col")
rows = {"the token": token, "ten times the token": 10 * token}
for (before, after), (name, numbers) in zip(grid, rows.items(), strict=True):
    before.bar(range(4), numbers.tolist(), color=BLUE)
    after.bar(range(4), LayerNorm(4)(numbers).tolist(), color=ORANGE)
    after.axhline(0, color=BLACK, lw=0.8)
    before.set_title(name, loc="left", fontsize=11)
    after.set_title("normalised", loc="left", fontsize=11)
for ax in grid.flat:
    ax.set_xticks([])
fig.set_label(
    "Bars of the four numbers of a token and of ten times the token, on the left. On the right, "
    "both after layer normalisation: the same four bars, two below zero, one near it, one above."
)

# %%
# *Figure 2.* A token and ten times the same token, before and after layer normalisation. What
# remains is the shape of a token, without its size.
#
# By hand, the first number is (1 − 3) / √3.5. A token ten times as large comes out the same.
#
# Closer look: what eps is for, and which variance is meant
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The two results differ only by the effect of ``eps``, a tiny number that keeps the code from
# dividing by 0. The variance is the mean of the squares, which divides by d and not by d − 1.
# Unlike in batch normalisation, no mean and no variance is shared between tokens or between texts.
#
# The feed-forward layer: each token by itself
# --------------------------------------------
# A context vector is a weighted *sum* of values. One more matrix would add little, because two
# matrices in a row are one matrix, :math:`(x W_1)\, W_2 = x\, (W_1 W_2)`. A :term:`feed-forward
# layer` therefore has two matrices with a nonlinear function between them.
# :cite:t:`vaswani2017attention` use ReLU(z) = max(z, 0) and an inner width of 4d. We use
# :term:`GELU` (:cite:t:`hendrycks2016gaussian`), a smooth version of ReLU.


# attention_from_scratch.py
class FeedForward(nn.Module):
    """Transform each token by itself, through an inner width of 4d."""

    def __init__(self, embed_dim):
        super().__init__()
        self.W_1 = nn.Linear(embed_dim, 4 * embed_dim)
        self.W_2 = nn.Linear(4 * embed_dim, embed_dim)

    def forward(self, x):
        """Return the tokens, transformed."""
        return self.W_2(F.gelu(self.W_1(x)))  # (..., n, d)


# %%

z = torch.linspace(-4, 3, 200)  # (200,)
fig, ax = plt.subplots(figsize=(5, 2.8))
for name, function, color, line in (("GELU", F.gelu, BLUE, "-"), ("ReLU", F.relu, ORANGE, "--")):
    ax.plot(z, function(z), line, color=color, label=name)
ax.plot(z, z / 2, ":", color=BLACK, lw=1, label="a linear function")
ax.set(xlabel="z")
ax.legend()
fig.set_label(
    "GELU and ReLU against z, from minus 4 to 3. ReLU is 0 up to 0 and then z. GELU lies close to "
    "it without the corner, a little below 0 for small negative z. A linear function is a line."
)

# %%
# *Figure 3.* The function between the two matrices. Because it bends, the layer can do what no
# single matrix does.
#
# The block: add, don't replace
# -----------------------------
# A :term:`residual connection` adds what went into a part to what comes out of it
# (:cite:t:`he2016deep`). Since the derivative of x + f(x) is 1 plus that of f, a gradient has a way
# past every part. Our norms are at the beginning of each branch (:term:`pre-norm`), or, with
# ``norm_first=False``, after each sum (:term:`post-norm`), as in the original transformer.


# attention_from_scratch.py
class TransformerBlock(nn.Module):
    """Let the tokens attend to each other, then transform each by itself, adding to what it was."""

    def __init__(self, embed_dim, num_heads, norm_first=True):
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads, bias=True)
        self.norm1, self.norm2 = LayerNorm(embed_dim), LayerNorm(embed_dim)
        self.feed_forward = FeedForward(embed_dim)
        self.norm_first = norm_first

    def forward(self, x, attn_mask=None):
        """Return the tokens after the block."""
        if self.norm_first:
            x = x + self.attention(self.norm1(x), attn_mask=attn_mask)  # (..., n, d)
            return x + self.feed_forward(self.norm2(x))  # (..., n, d)
        x = self.norm1(x + self.attention(x, attn_mask=attn_mask))  # (..., n, d)
        return self.norm2(x + self.feed_forward(x))  # (..., n, d)


# %%
# A block of two heads reads five texts of seven tokens, under a causal mask.

d, h, k = 32, 2, 16
block = TransformerBlock(d, h)
print(*block(torch.randn(5, 7, d), attn_mask=causal_mask(7)).shape)
for name, part in block.named_children():
    print(f"{name:12} {sum(p.numel() for p in part.parameters()):5} parameters")

# %%
# The shape is that of the input, so blocks can be stacked. Apart from biases, the feed-forward
# layer holds 8d² parameters, and attention holds 4d².
#
# Closer look: torch's block gives the same numbers
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# In the package, :class:`~attention.TransformerEncoder` stacks such blocks. To check ours, we copy
# the parameters of torch's layer into the package's :class:`~attention.TransformerBlock`, and from
# there into ours, whose parameters come in the same order. Then we compare results and gradients
# under a causal mask. In torch's mask, True means that attention is forbidden, so torch is given
# the inverted mask. The heads have biases here, as in most published models. A token that may
# attend to nothing still gets zeros from attention, but the feed-forward layer changes it like any
# other token.

# Check: torch's block, in value and in gradient.
torch.manual_seed(0)
x, target = torch.randn(5, 7, d, requires_grad=True), torch.randn(5, 7, d)  # (5, 7, d), (5, 7, d)
mask = causal_mask(7)  # (7, 7)
for norm_first, name in ((True, "pre-norm "), (False, "post-norm")):
    torchs = nn.TransformerEncoderLayer(
        d, h, 4 * d, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first
    )
    for parameter in torchs.parameters():  # some start at 0 or 1, which would hide a slip
        nn.init.normal_(parameter, std=0.2)
    packages, ours = (
        attention.TransformerBlock.from_torch(torchs),
        TransformerBlock(d, h, norm_first),
    )
    both = list(zip(ours.parameters(), packages.parameters(), strict=True))
    for own, other in both:
        own.data.copy_(other)
    results, gradients = [], []
    for result in ours(x, attn_mask=mask), packages(x, attn_mask=mask), torchs(x, src_mask=~mask):
        x.grad = None
        results.append(result)
        F.mse_loss(result, target).backward()
        gradients.append(x.grad)
    for result, gradient in zip(results, gradients, strict=True):
        assert torch.allclose(results[0], result, atol=1e-5)
        assert torch.allclose(gradients[0], gradient, atol=1e-7)
    assert all(torch.allclose(own.grad, other.grad, atol=1e-6) for own, other in both)
    difference = (results[0] - results[2]).abs().max().item()
    print(name, f"largest difference from torch: {difference:.0e}")

# %%
# Closer look: the block of today's models
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Language models of today, such as Llama 3 :cite:p:`grattafiori2024llama` or Gemma 2
# :cite:p:`gemma2024`, keep this plan and change its parts. Their norm is :term:`RMSNorm`
# (:cite:t:`zhang2019root`), which divides by the root mean square and subtracts no mean. So it does
# the same as layer normalisation to a token whose mean is 0 already. Their feed-forward layer is
# *gated* (:cite:t:`shazeer2020glu`): one more matrix makes a factor for each inner number,
#
# .. math:: \mathrm{feed\_forward}(x) =
#           \big(x W_1 \odot \mathrm{SiLU}(x W_\mathrm{gate})\big)\, W_2 , \qquad
#           \mathrm{SiLU}(z) = z\, \sigma(z) .
#
# With an inner width of 8d/3 instead of 4d, the three matrices hold as many parameters as the two
# before; Llama 3 and Gemma 2 make it wider. Gemma 2 has GELU instead of SiLU, a similar curve.
# Biases are often left out, as in PaLM :cite:p:`chowdhery2022palm`, and :ref:`where the norms are
# <norm-placement>` differs too.

tokens = torch.randn(7, 96)  # (7, 96)
centred = tokens - tokens.mean(dim=-1, keepdim=True)  # (7, 96)
pair = F.rms_norm(centred, (96,), eps=1e-5), F.layer_norm(tokens, (96,), eps=1e-5)
print(f"RMSNorm without a mean, and layer normalisation: {(pair[0] - pair[1]).abs().max():.0e}")

W_1, W_2 = torch.randn(96, 384), torch.randn(384, 96)  # (96, 384), (384, 96)
V_1, V_gate = torch.randn(2, 96, 256)  # (96, 256), (96, 256)
V_2 = torch.randn(256, 96)  # (256, 96)
print("parameters:", W_1.numel() + W_2.numel(), V_1.numel() + V_gate.numel() + V_2.numel())
for name, feed_forward in {
    "plain": lambda x: F.gelu(x @ W_1) @ W_2,
    "gated": lambda x: (x @ V_1 * F.silu(x @ V_gate)) @ V_2,
}.items():
    growth = feed_forward(2e-4 * tokens).norm() / feed_forward(1e-4 * tokens).norm()
    print(f"{name}: a small token twice as large gives a result {growth:.1f} times as large")

# %%
# Where the inner numbers are near 0, the plain layer is nearly linear, whereas the gated one
# multiplies a linear map of the token and a nearly linear one, so its result grows with the square.
# :cite:t:`shazeer2020glu` found lower losses with gates and gives no reason: "We offer no
# explanation".
#
# A task with work for every part
# -------------------------------
# There are eight rooms, and a note in each of them, drawn at random, names the room to go to next.
# Token i is room i together with its note. For each token, the model answers three questions about
# a walker who starts in that room.
#
# * Room after **two steps**: the token's own note says where the first step leads, and attention
#   must fetch the note of that room.
# * Room after **three steps**: attention must fetch a second note. Which one can be read only from
#   the note that was fetched first, so a second block is needed.
# * **Sum** of these two room numbers, modulo 8: the model has to compute it from both.

# Setup: the notes, the answers, and an example.
ROOMS, SEEDS, STEPS = (8, 2, 3) if QUICK else (8, 5, 120)
QUESTIONS = ("two steps", "three steps", "sum")


def follow(notes):
    """Look up the three answers for each starting room."""
    two = notes.gather(-1, notes)  # (..., ROOMS)
    three = notes.gather(-1, two)  # (..., ROOMS)
    return torch.stack([two, three, (two + three) % ROOMS], dim=-1)  # (..., ROOMS, 3)


def draw_walks(*shape):
    """Draw notes, and return them with the answers."""
    notes = torch.randint(ROOMS, (*shape, ROOMS))
    return notes, follow(notes)


example = torch.tensor([[3, 6, 3, 1, 0, 5, 2, 4]])  # (1, ROOMS)
print("room       ", *range(ROOMS))
print("its note   ", *example[0].tolist())
for question, found in zip(QUESTIONS, follow(example)[0].T, strict=True):
    print(f"{question:11}", *found.tolist())

# %%

fig, ax = plt.subplots(figsize=(5, 4.6))
angle = torch.arange(ROOMS) * 2 * torch.pi / ROOMS  # (ROOMS,)
at = list(zip(angle.sin().tolist(), angle.cos().tolist(), strict=True))
steps = [0, example[0, 0].item(), follow(example)[0, 0, 0].item()]  # where each step begins
for room, note in enumerate(example[0].tolist()):
    look = {"color": ORANGE, "lw": 2.5} if room in steps else {"color": "0.6", "lw": 1}
    style = {"arrowstyle": "-|>", "shrinkA": 17, "shrinkB": 17, **look}
    ax.annotate("", xy=at[note], xytext=at[room], arrowprops=style)
    if room in steps:
        x_mid, y_mid = ((a + b) / 2 for a, b in zip(at[room], at[note], strict=True))
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        number = str(steps.index(room) + 1)
        ax.text(x_mid, y_mid, number, ha="center", va="center", color=ORANGE, bbox=behind)
    ax.plot(*at[room], "o", ms=30, mfc="white", mec=BLACK, mew=1.5)
    ax.text(*at[room], room, ha="center", va="center")
ax.set(xlim=(-1.25, 1.25), ylim=(-1.2, 1.2), aspect="equal")
ax.set_axis_off()
fig.set_label(
    "Eight rooms in a circle, with an arrow from each room to the one that its note names. The "
    "three steps of a walker from room 0 are numbered: to room 3, to room 1 and to room 6."
)

# %%
# *Figure 4.* The example: eight rooms, their notes as arrows, and the three steps of the walker who
# starts in room 0. Its note says 3, the note in room 3 says 1, and the note in room 1 says 6. A
# room without an arrow names itself.
#
# This walker is in room 1 after two steps and in room 6 after three, and the sum is 7. To leave out
# a branch, we replace it with zeros, and a norm with the identity. Models of three blocks are
# trained for 120 steps, each variant from five seeds.


# Setup: the model, parts that do nothing, and the training of one model per seed.
class Walker(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.note, self.room = nn.Embedding(ROOMS, d), nn.Embedding(ROOMS, d)
        self.blocks = nn.Sequential(*blocks)
        self.norm = LayerNorm(d)
        self.answers = nn.Linear(d, len(QUESTIONS) * ROOMS)

    def forward(self, notes):
        x = self.blocks(self.note(notes) + self.room.weight)  # (..., ROOMS, d)
        return self.answers(self.norm(x)).unflatten(-1, (-1, ROOMS))


class Zeros(nn.Identity):  # an nn.Identity accepts any arguments
    def forward(self, x, attn_mask=None):
        return torch.zeros_like(x)


class NoGelu(FeedForward):
    def forward(self, x):
        return self.W_2(self.W_1(x))


class NoResidual(TransformerBlock):
    def forward(self, x):
        return self.feed_forward(self.norm2(self.attention(self.norm1(x))))


def without_output(layer):
    """Return a copy whose result is the concatenated heads."""
    layer = copy.deepcopy(layer)
    layer.W_out = nn.Identity()
    return layer


def build(
    depth=3,
    block=TransformerBlock,
    norms=True,
    norm_first=True,
    xavier=False,
    factor=1,
    zero_start=False,
    **parts,
):
    """Make a model; replace parts, or change the initial matrices of the blocks."""
    model = Walker([block(d, h, norm_first) for _ in range(depth)])
    if not norms:
        parts, model.norm = parts | {"norm1": nn.Identity, "norm2": nn.Identity}, nn.Identity()
    for one in model.blocks:
        for name, replaced in parts.items():
            setattr(one, name, replaced(getattr(one, name)))
    for parameter in model.blocks.parameters():
        if parameter.dim() == 2:
            if xavier:
                nn.init.xavier_normal_(parameter)
            parameter.data *= factor
    for one in model.blocks if zero_start else ():  # no branch adds anything at first
        for parameter in (*one.attention.W_out.parameters(), *one.feed_forward.W_2.parameters()):
            nn.init.zeros_(parameter)
    return model


def train(steps=STEPS, lr=8e-3, seeds=SEEDS, **options):
    """Train one model per seed; return their accuracies on new walks, per question."""
    models = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        models.append(build(**options))
    parameters, _ = stack_module_state(models)  # each (seeds, ...)
    answer = torch.vmap(lambda of_seed, notes: functional_call(models[0], of_seed, notes))
    optimizer = torch.optim.Adam(parameters.values(), lr=lr, fused=True)
    with sdpa_kernel(SDPBackend.MATH):  # the kernel that vmap can map
        for _ in range(steps):
            notes, answers = draw_walks(seeds, 32)
            logits = answer(parameters, notes)  # (seeds, 32, ROOMS, 3, ROOMS)
            loss = F.cross_entropy(logits.flatten(0, 3), answers.flatten())
            optimizer.zero_grad()
            (seeds * loss).backward()  # the sum of the mean losses of the seeds
            optimizer.step()
        with torch.no_grad():
            notes, answers = draw_walks(seeds, 500)
            found = answer(parameters, notes).argmax(dim=-1)  # (seeds, 500, ROOMS, 3)
    return (found == answers).float().mean(dim=(1, 2))  # (seeds, 3)


# %%
# .. predict:: without-feed-forward
#
#    Which questions do models without feed-forward layers answer?
#
#    All three, because the softmax is not linear either : ``without.min() > 0.9``
#        It is not, and with more steps they nearly learn the sum, but not in these few.
#    The rooms after two and three steps : ``without[:2].min() > 0.9 and without[2] < 0.8``
#        Attention fetches both notes, but adding what was fetched is work for another layer.
#    None of them : ``without.max() < 0.5``
#        Fetching is the work of attention, which is still in each of the three blocks.

# Table: the accuracies of all models.
variants = {
    "three complete blocks": {},
    "without attention": {"attention": Zeros},
    "one block": {"depth": 1},
    "without feed-forward": {"feed_forward": Zeros},
    "the same, no W_out": {"feed_forward": Zeros, "attention": without_output},
    "no feed-f., 300 steps": {"feed_forward": Zeros, "steps": 3 if QUICK else 300, "lr": 4e-3},
    "without GELU": {"feed_forward": lambda part: NoGelu(d)},
    "without W_out": {"attention": without_output},
    "without residual": {"block": NoResidual},
    "without norms": {"norms": False},
    "matrices × 2": {"factor": 2},
    "× 2, without norms": {"factor": 2, "norms": False},
}
accuracy = {name: train(**options) for name, options in variants.items()}
print(f"accuracy on new walks: mean [least, greatest] over {SEEDS} seeds")
print(" " * 22, *(f"{question:>17}" for question in QUESTIONS))
for name, a in accuracy.items():
    print(f"{name:22}", *(f"{q.mean():.2f} [{q.min():.2f}, {q.max():.2f}]" for q in a.T))

fig, ax = plt.subplots(figsize=(5, 6.6))
rows = torch.arange(len(accuracy))[:, None].expand(-1, SEEDS)  # (12, SEEDS)
for q, (color, marker) in enumerate(((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"))):
    points = torch.stack([a[:, q] for a in accuracy.values()])  # (12, SEEDS)
    style = {"mfc": "none", "color": color, "ms": 6, "mew": 1.3, "label": QUESTIONS[q]}
    ax.plot(points.flatten(), (rows + 0.25 * (q - 1)).flatten(), marker, **style)
ax.axvline(1 / ROOMS, color="0.5", lw=1, ls=":")
ax.set_yticks(range(len(accuracy)), accuracy)
ax.set(xlabel="accuracy (dotted: chance)", xlim=(0, 1.03))
ax.invert_yaxis()
ax.hlines(rows[:-1, 0] + 0.5, 0, 1.03, color="0.85", lw=0.8)
fig.legend(loc="outside upper center", ncols=3, handletextpad=0.1, columnspacing=1)
fig.set_label(
    "Accuracy of twelve models on three questions. Complete blocks answer all, one block answers "
    "two steps only. Without feed-forward layers or GELU the sum is often wrong, and without "
    "residual connections no question is answered reliably. Leaving out norms matters only where "
    "matrices are doubled, and leaving out W_out does not, with feed-forward layers or without."
)
mean = {name: a.mean(dim=0) for name, a in accuracy.items()}
without = mean["without feed-forward"]  # (3,)

# %%
# *Figure 5.* Accuracy with each part left out in turn, one mark per seed: circles for two steps,
# squares for three, triangles for the sum.
#
# * **Attention** brings notes to other tokens. Without it a room knows its own note only.
# * **Depth** is needed because the second fetch needs the result of the first.
# * **The feed-forward layer** computes the sum. Without GELU it fails likewise, so what the model
#   lacks is the nonlinear function and not the parameters.
# * **W_out** is not missed here. The next block reads all d numbers of a token, so it does not
#   matter in which slice a note lies.
# * **Residual connections** are needed: without them no question is answered reliably.
# * **Norms** help little here at torch's initialisation. If the initial matrices are twice as
#   large, however, complete blocks still learn the task, and blocks without norms do not.
#
# Closer look: what W_out lets a head do
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The concatenated heads have width d again, so what is the output projection for? A reader of the
# website Transformer Explainer noticed that this projection is missing there
# (`poloclub/transformer-explainer, #71
# <https://github.com/poloclub/transformer-explainer/issues/71>`__). If W_out is split into groups
# of k rows, one group per head, the output of the layer is a sum of one contribution per head.
# :cite:t:`elhage2021mathematical` base their analysis on this sum:
#
# .. math:: [\mathrm{head}_1, \ldots, \mathrm{head}_h]\, W_\mathrm{out}
#           = \sum_{i=1}^{h} \mathrm{head}_i\, W_\mathrm{out}^{(i)}
#
# Without W_out, a head of width k reads all d numbers of a token but can change only the k numbers
# of its own slice. With W_out it can change all d. To measure this, we add up the squares of the
# first head's contribution, and print the share of this sum that lies outside the head's slice.

layer = ours.attention
heads = without_output(layer)(x).unflatten(-1, (h, -1))  # (5, 7, h, k)
W_of_head = layer.W_out.weight.T.unflatten(0, (h, -1))  # (h, k, d)
contributions = torch.einsum("bnhk,hkd->bnhd", heads, W_of_head)  # (5, 7, h, d)
assert torch.allclose(contributions.sum(dim=-2) + layer.W_out.bias, layer(x), atol=1e-5)

identity = torch.eye(d).unflatten(0, (h, -1))  # (h, k, d)
for name, W in (("with W_out   ", W_of_head), ("without W_out", identity)):
    first = torch.einsum("bnk,kd->bnd", heads[:, :, 0], W[0])  # (5, 7, d)
    outside = first[..., k:].square().sum() / first.square().sum()
    print(name, f"share of head 1's contribution outside its slice: {outside:.2f}")

# %%

fig, axes = plt.subplots(2, figsize=(5, 3.6), sharex=True)
for ax, (name, W) in zip(axes, (("with W_out", W_of_head), ("without", identity)), strict=True):
    first = torch.einsum("bnk,kd->bnd", heads[:, :, 0], W[0]).detach()  # (5, 7, d)
    ax.bar(range(1, d + 1), first.square().mean(dim=(0, 1)).sqrt().tolist(), color=BLUE)
    ax.axvline(k + 0.5, color=BLACK, lw=1, ls=":")
    ax.set_title(name, loc="left", fontsize=11)
    ax.set_ylabel("size")
axes[1].set(xlabel="number of the token, 1 to d")
fig.set_label(
    "Bars: the size of the first head's contribution to each of the 32 numbers of a token. With "
    "W_out it adds to all 32. Without W_out it adds to the first 16 alone, its slice."
)

# %%
# *Figure 5a.* What the first head adds to each of the d numbers, as the root of the mean square.
# Its own slice is to the left of the dotted line.
#
# With W_out, a head writes wherever its group of rows points, and several heads can write to the
# same place. In a layer with a single head, W_value alone could do what W_value and W_out do
# together, because the two then act as one product, as :doc:`a later lesson
# </gallery/deeper/plot_3_values_fold>` shows.
#
# Closer look: how five models are trained at once
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Because the models are small, we train the five of a variant side by side: their parameters get
# one more axis, over which :func:`torch.vmap` maps. In a model of pre-norm blocks, one more norm
# follows the last block, because nothing else has normalised the last sum. A block without residual
# connections passes on only what its parts return.
#
# Closer look: how often a guess is right
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Without attention, the model is left with the most probable answers given a room's own note. After
# two steps the best answer is this note itself. It is right if the note
# names its own room, in one case of eight, and otherwise by chance, which gives :math:`\frac18 +
# \frac78 \cdot \frac18 = 0.234`. Three steps look easier than two, because the own note is right
# more often. It names the room after the first step, and the walker is often in that room again
# after the third. In a cycle of one or two rooms this is certain. The walker is in such a cycle if
# the first note names its own room, in one case of eight. If it does not, the walker can still
# enter such a cycle, namely if the second note names one of the two rooms already visited, in two
# cases of eight. Outside such a cycle the walker returns by chance, in one case of eight. Together,
# a room's own note is the right answer with probability :math:`\frac18 + \frac78 \, (\frac28 +
# \frac68 \cdot \frac18) = 0.426`, which we check on many walks:

notes, answers = draw_walks(100_000)  # (100_000, ROOMS), (100_000, ROOMS, 3)
again = (answers[..., 1] == notes).float().mean().item()
print(f"walks whose third step ends where the first one did: {again:.3f}")

# %%
# A model of one block also fetches the note of the next room. This does not raise the probability,
# because outside such a cycle the third step is still a guess.
#
# Closer look: what a token keeps through its residual connection
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# What does a token lose without its residual connection? The usual answer is its gradient, to which
# a closer look below comes, but here it loses what makes it different from the other tokens. In a
# fresh model the attention weights are nearly equal, so every token receives nearly the same
# mixture, and without a residual connection the mixture is all that it keeps. To see this, we copy
# the tokens after each block, subtract the mean of all tokens of all texts from the copy, and print
# the average cosine of two tokens of one text. This cosine is near 0 for unrelated tokens and 1 for
# identical ones.

torch.manual_seed(0)
notes, answers = draw_walks(64)  # (64, ROOMS), (64, ROOMS, 3)
alike = {}
for name, kind in (("with residual connections", TransformerBlock), ("without", NoResidual)):
    model, cosines = build(block=kind), []
    x = model.note(notes) + model.room.weight  # (64, ROOMS, d)
    for block in model.blocks:
        x = block(x)
        unit = F.normalize(x - x.mean(dim=(0, 1)), dim=-1)  # (64, ROOMS, d)
        pairs = (unit @ unit.mT).sum() - unit.square().sum()
        cosines.append(pairs.item() / (64 * ROOMS * (ROOMS - 1)))
    print(f"{name:25}", *(f"{cosine:6.2f}" for cosine in cosines))
    alike[name] = (unit @ unit.mT)[0].detach()  # (ROOMS, ROOMS)

# %%

fig, axes = plt.subplots(1, 2, figsize=(5, 4), sharey=True)
for ax, (name, table) in zip(axes, alike.items(), strict=True):
    image = ax.imshow(table.numpy(), cmap=DIVERGING, vmin=-1, vmax=1)
    ax.set_title(name.replace(" residual connections", " residual"), fontsize=11)
    ax.set_xlabel("room")
    ax.tick_params(length=0)
axes[0].set_ylabel("room")
fig.colorbar(image, ax=axes, location="bottom", shrink=0.7, aspect=30, ticks=[-1, 0, 1])
fig.set_label(
    "Two tables of the cosines between the eight rooms of one text after the last block. With "
    "residual connections only the diagonal is strong. Without them every cell is near 1."
)

# %%
# *Figure 5b.* The cosines between the eight rooms of one text after three fresh blocks. Without
# residual connections no room differs from any other.
#
# Without residual connections the rooms of a text become nearly the same vector, and no later block
# can tell them apart. :cite:t:`dong2021attention` prove such a collapse for stacks of attention
# alone.
#
# Closer look: what more steps change
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# All models but the one with 300 steps are trained equally long, so Figure 5 shows what a model
# learns in this time and not what it could learn. Without feed-forward layers the
# models find both rooms and are often wrong about their sum. Such a model answers more than nine in
# ten sums correctly if it is trained for more steps at a lower learning rate. It can do so because
# the softmax of its attention is not linear. W_out is not missed even where there are no
# feed-forward layers, which could otherwise mix the slices of the heads in its place:

longer, bare = mean["no feed-f., 300 steps"], mean["the same, no W_out"]  # (3,), (3,)
print(f"the sum without feed-forward layers: {without[2]:.2f}, after 300 steps {longer[2]:.2f}")
print(f"without W_out as well: {bare[2]:.2f}")
if not QUICK:
    assert (without - bare).max() < 0.1
    assert without[2] < 0.8 < longer[2]

# %%
# Closer look: pre-norm or post-norm, and what becomes of their gradients
# -----------------------------------------------------------------------
# The norm is placed either before each part (pre-norm) or after each sum (post-norm). In section
# 3.1, :cite:t:`vaswani2017attention` write LayerNorm(x + Sublayer(x)), which is post-norm. The
# Annotated Transformer quotes this formula, implements x + sublayer(norm(x)) instead, and says so
# only in a docstring, "Note for code simplicity the norm is first as opposed to last." Its readers
# keep asking which of the two is right (`harvardnlp/annotated-transformer, #13
# <https://github.com/harvardnlp/annotated-transformer/issues/13>`__). Both are in use, and they are
# different functions.

# sphinx_gallery_start_ignore


def draw_norms():
    """Draw the order of the parts in both kinds of block, side by side."""
    fig, ax = plt.subplots(figsize=(5, 4.2))
    ax.set(xlim=(0, 10), ylim=(8.9, -0.6))
    orders = {"pre-norm": ("norm", "part", "+"), "post-norm": ("part", "+", "norm")}
    for x, (title, order) in zip((1, 6), orders.items(), strict=True):
        draw_box(ax, x + 1.4, -0.2, title, None)
        ends = {"norm": BLUE, "part": BLACK}
        plus = 2 + 2.4 * order.index("+")
        ax.plot([x, x], [0.8, plus], color=BLACK, lw=4, solid_capstyle="butt", zorder=0)
        draw_flow(ax, (x, 0.8), (x + 2.2, 1.5))
        for i, part in enumerate(order):
            y = 2 + 2.4 * i
            at = x + 2.2 if i < order.index("+") else x
            if part == "+":
                draw_flow(ax, (x + 2.2, y - 1.9), (x + 0.35, y))
                ax.plot(x, y, "o", ms=19, mfc="white", mec=BLACK, mew=2)
                ax.text(x, y, "+", ha="center", va="center", fontsize=14)
            else:
                draw_box(ax, at, y, part, ends[part], width=2)
            if part == "norm" and i == 0:
                draw_flow(ax, (at, y + 0.5), (at, y + 1.9))
        if order[-1] == "norm":
            draw_flow(ax, (x, plus + 0.45), (x, plus + 1.9))
            draw_flow(ax, (x, plus + 2.9), (x, plus + 4))
        else:
            draw_flow(ax, (x, plus + 0.45), (x, plus + 1.6))
    return fig


# sphinx_gallery_end_ignore
fig = draw_norms()  # its drawing commands are in the script of this page
fig.set_label(
    "Two flow charts. In pre-norm, the branch passes through the norm and then the part, and is "
    "added to the thick line of the residual path. In post-norm, the branch passes through the "
    "part, is added to the path, and the norm comes last, on the path itself."
)

# %%
# *Figure 5c.* The two places of the norm. In pre-norm it lies on the branch, and nothing but
# additions is on the residual path (thick). In post-norm it lies on the path and rescales what is
# on it.
#
# :cite:t:`xiong2020layer` derive what this means at initialisation, for a stack of L blocks. In the
# last block, the gradient of post-norm keeps its size for any depth L, while that of pre-norm
# shrinks like :math:`1/\sqrt{L}`. They conclude that post-norm, unlike pre-norm, needs a warm-up,
# which is a learning rate that starts small and grows during the first steps. We measure both
# gradients with Xavier's initialisation, which their analysis assumes, and print means over five
# seeds.


def gradient_norms(**options):
    """Return the norm of the gradient of W_2 in fresh models, per seed and block."""
    norms = []
    for seed in range(5):
        torch.manual_seed(seed)
        model = build(xavier=True, **options)
        F.cross_entropy(model(notes).flatten(0, 2), answers.flatten()).backward()
        norms.append([block.feed_forward.W_2.weight.grad.norm() for block in model.blocks])
    return torch.tensor(norms)


for L in (3, 9, 27):
    pre, post = (gradient_norms(depth=L, norm_first=first)[:, -1].mean() for first in (True, False))
    print(f"last of {L:2} blocks: pre-norm {pre:.3f}, times √L {pre * L**0.5:.3f}; ", end="")
    print(f"post-norm {post:.3f}")

# %%
# The gradient of pre-norm falls with the depth, although at these depths somewhat more slowly than
# :math:`1/\sqrt{L}`. The gradient of post-norm does not fall. Now we compare the gradients in all
# twelve blocks of a stack, for the two placements and for blocks that lack the norms, the residual
# connections or both. A last stack lacks the norms, too, but its layers W_out and W_2 start at
# zero, so that no branch adds anything at first.

variants = {
    "no norms": ({"norms": False}, GREEN, "^"),
    "post-norm": ({"norm_first": False}, ORANGE, "s"),
    "pre-norm": ({}, BLUE, "o"),
    "norms, no residual": ({"block": NoResidual}, PURPLE, "D"),
    "neither": ({"block": NoResidual, "norms": False}, BLACK, "v"),
    "no norms, zero start": ({"norms": False, "zero_start": True}, SKY, "x"),
}
fig, (above, below) = plt.subplots(2, figsize=(5, 7), sharex=True)
for name, (options, color, marker) in variants.items():
    norms = gradient_norms(depth=12, **options)  # (5, 12)
    for ax in (above, below) if name in ("post-norm", "pre-norm") else (above,):
        ax.plot(range(1, 13), norms.median(dim=0).values, color=color, marker=marker, ms=5)
        ax.fill_between(range(1, 13), norms.amin(dim=0), norms.amax(dim=0), color=color, alpha=0.2)
above.set(yscale="log", ylabel="gradient norm of W_2")
below.set(ylim=(0, None), ylabel="the same, linear axis", xlabel="block", xticks=range(1, 13))
fig.legend(above.lines, variants, loc="outside upper center", ncols=2)
fig.set_label(
    "Gradient norms in twelve fresh blocks. Above, logarithmic: without norms they grow by orders "
    "of magnitude towards the first block, with neither norms nor residual connections they vanish "
    "there, and with norms they stay level, as they do without norms if branches start at zero. "
    "Below, the two placements alone: pre-norm falls slowly towards the last block, post-norm is "
    "larger there."
)

# %%
# *Figure 5d.* The norm of the gradient in each of twelve fresh blocks, as the median of five seeds
# with a band from the least to the greatest. The upper panel has a logarithmic axis, and the lower
# one repeats post-norm (squares) and pre-norm (circles) on a linear one.
#
# The upper panel shows what norms and residual connections do. With neither, the gradient vanishes
# on its way down to the first block. Residual connections alone let the gradient through, but it
# grows, because each block multiplies it by 1 plus a derivative of its own. Norms alone keep the
# size of the gradient but can't keep the tokens different, as the cosines above show. With this
# initialisation a deep stack therefore needs norms and residual connections together.
#
# Closer look: twelve blocks that learn without norms
# ---------------------------------------------------
# With another initialisation a deep stack does not need norms. Where all branches start at zero,
# each block multiplies the gradient by exactly 1, so the gradient has the same size everywhere. To
# see whether such a stack also learns, we train both stacks of twelve blocks without norms for a
# short while, one seed each:

deep = {}
for name, zero_start in (("Xavier throughout", False), ("W_out, W_2 at zero", True)):
    options = {"depth": 12, "norms": False, "xavier": True, "zero_start": zero_start}
    deep[name] = train(steps=3 if QUICK else 60, lr=4e-3, seeds=1, **options)[0]
    print(f"{name:18}", *(f"{q} {a:.2f}" for q, a in zip(QUESTIONS, deep[name], strict=True)))
if not QUICK:
    assert deep["Xavier throughout"].max() < 0.25
    assert deep["W_out, W_2 at zero"][0] > 0.8

# %%
# After these few steps, the stack that started at zero answers the first question and is on its way
# to the others, while the other stack is guessing. :cite:t:`bachlechner2021rezero` train deep
# transformers without norms in a similar way, and :cite:t:`he2023deep` train some without residual
# connections.
#
# Takeaways
# ---------
# * What does a transformer add to attention? A feed-forward layer, which computes with what was
#   fetched; residual connections, which keep what a token was; and layer normalisation, which keeps
#   the input of each part at one size.
# * Whether a part is missed depends on the task and on the initialisation.
#
# *From memory:* close this page, write the three classes, paste them over ours in the script of
# this page and run it. Create the parts of the block in the order printed above. If the assertions
# hold, your block computes what torch's does, in value and in gradient.
#
# *Where next:* in :doc:`the next lesson </gallery/core/plot_8_sentiment_training>`, attention is
# trained on reviews.
#
# You can now write a transformer block, say the shape after each of its parts, and name the part to
# suspect when a model does not learn. The exercise to do next is to :ref:`put the parts together
# <ex-transformer-block>`, on :doc:`the page of exercises </exercises/block>`.

plt.show()
