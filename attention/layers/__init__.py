"""The layers, one file per family; :mod:`attention.layers.variants` lists those with a name."""

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

__all__ = [
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
    "SinusoidalPositions",
    "TransformerBlock",
    "TransformerEncoder",
    "positions_from_end",
]
