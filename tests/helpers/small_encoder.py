"""An encoder of the BERT family, in a folder, that is small enough to train in a test."""

import json
from pathlib import Path

import small_run
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from attention import pretrained
from attention.pretrained import EncoderConfig, PretrainedEncoder, _their_name
from attention.sentiment import model

WORDS = [*small_run.GOOD, *small_run.BAD, *small_run.OTHER, "[", "]", "sep", "##s", "n", "\\"]
# The ids that BERT's vocabulary gives its special tokens.
SPECIALS = ["[PAD]", *(f"[unused{i}]" for i in range(99)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CONFIG = EncoderConfig(
    vocab_size=len(SPECIALS) + len(WORDS),
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=13,
    max_position_embeddings=16,
    type_vocab_size=2,
    hidden_act="gelu",
    layer_norm_eps=1e-12,
)


def tokenizer() -> Tokenizer:
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *WORDS])}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return made


def write(folder: Path) -> Path:
    folder.mkdir(parents=True)
    torch.manual_seed(7)
    weights = PretrainedEncoder(CONFIG).state_dict()
    save_file({_their_name(k): v for k, v in weights.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG.model_dump()))
    (folder / "tokenizer.json").write_text(tokenizer().to_str())
    return folder


def stand_in(monkeypatch, folder: Path) -> None:
    """Load this encoder wherever all-MiniLM-L6-v2 would be loaded."""
    monkeypatch.setattr(pretrained, "_minilm", lambda: folder)
    monkeypatch.setattr(model, "MINILM_CONFIG", CONFIG)
