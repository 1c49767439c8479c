"""A small language model with random weights, and a tokenizer that can spell everything."""

import functools

import torch

from attention.language import LanguageConfig, LanguageModel
from experiments.language.data import train_tokenizer
from experiments.language.train import save_language_model

CONFIG = LanguageConfig(
    vocab_size=280,
    embed_dim=16,
    num_heads=4,
    num_kv_heads=2,
    num_layers=2,
    hidden_dim=24,
    max_length=32,
)


@functools.cache
def tokenizer():
    return train_tokenizer(["The soup was cold. The film was warm, and the end was the end."], 280)


def model(seed=0):
    torch.manual_seed(seed)
    return LanguageModel(CONFIG).eval()


def write(folder, seed=0):
    """Write a folder as the experiment does."""
    save_language_model(model(seed), tokenizer(), folder)
    return folder
