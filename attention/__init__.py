"""Self-attention as the pages of this project teach it, in code one would use."""

from attention.embedding import BigramEmbedding
from attention.functional import (
    causal_mask,
    fused_attention,
    padding_mask,
    scaled_dot_product_attention,
)
from attention.layers import QKSelfAttention, SelfAttention, SelfAttentionV1, SelfAttentionV2
from attention.models import SentimentClassifier
from attention.multihead import CausalSelfAttention, MultiHeadAttention
from attention.pooling import EnergyPooling, KeyedPooling, MeanPooling
from attention.positions import SinusoidalPositions, positions_from_end

__all__ = [
    "BigramEmbedding",
    "CausalSelfAttention",
    "EnergyPooling",
    "KeyedPooling",
    "MeanPooling",
    "MultiHeadAttention",
    "QKSelfAttention",
    "SelfAttention",
    "SelfAttentionV1",
    "SelfAttentionV2",
    "SentimentClassifier",
    "SinusoidalPositions",
    "causal_mask",
    "fused_attention",
    "padding_mask",
    "positions_from_end",
    "scaled_dot_product_attention",
]
