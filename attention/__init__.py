"""Self-attention as the pages of this project teach it, in code for real use.

The core is :mod:`attention.functional` and :mod:`attention.layers`, which need only torch.
"""

import signal
import sys
from typing import TYPE_CHECKING

if (
    sys.argv[:1] == ["-m"]
    and any(each.startswith("attention.") for each in sys.orig_argv)
    and signal.getsignal(signal.SIGINT) == signal.default_int_handler
):  # while a command of ours imports what it needs, Ctrl-C ends it at once, without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from attention._capture import capture
from attention._extras import lazily
from attention.blockwise import online_softmax_attention
from attention.functional import fused_attention, scaled_dot_product_attention
from attention.layers.base import AttentionLayer
from attention.layers.bigrams import BigramEmbedding
from attention.layers.block import TransformerBlock, TransformerEncoder
from attention.layers.cache import KVCache
from attention.layers.latent import LatentAttention
from attention.layers.multihead import MultiHeadAttention
from attention.layers.pooling import EnergyPooling, KeyedPooling, MeanPooling
from attention.layers.positions import SinusoidalPositions, positions_from_end
from attention.layers.self_attention import (
    CausalSelfAttention,
    QKSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
)
from attention.masks import causal_mask, padding_mask, window_mask
from attention.rotary import apply_rotary

if TYPE_CHECKING:
    from attention.sentiment.classify import load_classifier
    from attention.sentiment.model import SentimentClassifier

__all__ = [
    "AttentionLayer",
    "BigramEmbedding",
    "CausalSelfAttention",
    "EnergyPooling",
    "KVCache",
    "KeyedPooling",
    "LatentAttention",
    "MeanPooling",
    "MultiHeadAttention",
    "QKSelfAttention",
    "SelfAttention",
    "SelfAttentionV1",
    "SelfAttentionV2",
    "SentimentClassifier",
    "SinusoidalPositions",
    "TransformerBlock",
    "TransformerEncoder",
    "apply_rotary",
    "capture",
    "causal_mask",
    "fused_attention",
    "load_classifier",
    "online_softmax_attention",
    "padding_mask",
    "positions_from_end",
    "scaled_dot_product_attention",
    "window_mask",
]

# What reads reviews needs the extra [train], so it is imported when it is first asked for.
_LATER = {
    "SentimentClassifier": "attention.sentiment.model",
    "load_classifier": "attention.sentiment.classify",
}
__getattr__ = lazily(__name__, _LATER)


def __dir__() -> list[str]:
    return [*globals(), *_LATER]
