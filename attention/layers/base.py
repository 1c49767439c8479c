"""What marks a layer as one that attends."""

from torch import nn


class AttentionLayer(nn.Module):
    """The base of every layer that attends by itself.

    Called with ``need_weights=True``, such a layer returns the pair (context, weights), which is
    what :func:`attention.capture` and the tests rely on when they find one in a model.
    """
