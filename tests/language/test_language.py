"""The model that writes: what it predicts, what it draws, what it saves."""

import json
import math

import pytest
import small_language
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import check_refused
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch.nn import functional as F

from attention.language import (
    START_ID,
    LanguageConfig,
    LanguageModel,
    continuation,
    encode,
    load_language_model,
)
from attention.masks import causal_mask
from experiments.language.data import PATTERN, pieces, sentence_starts, stream, tidy
from experiments.language.train import loss_per_position, losses


def by_hand(model, ids):
    """Compute the logits with torch's functions and complex numbers, for one text."""
    config, state = model.config, model.state_dict()
    x, n = state["embedding.weight"][ids], len(ids)
    k = config.embed_dim // config.num_heads
    theta = 10_000.0 ** -(torch.arange(0, k, 2, dtype=x.dtype) / k)
    turn = torch.polar(torch.tensor(1.0, dtype=x.dtype), torch.arange(n)[:, None] * theta)

    def rotated(heads):
        pairs = torch.complex(*heads.chunk(2, dim=-1)) * turn
        return torch.cat((pairs.real, pairs.imag), dim=-1)

    def split(projected, count):
        return projected.unflatten(-1, (count, k)).transpose(0, 1)

    for layer in range(config.num_layers):
        W = {
            name.removeprefix(f"encoder.blocks.{layer}."): weight
            for name, weight in state.items()
            if name.startswith(f"encoder.blocks.{layer}.")
        }
        z = F.layer_norm(x, (config.embed_dim,), W["norm1.weight"])
        context = F.scaled_dot_product_attention(
            rotated(split(z @ W["attention.W_query.weight"].T, config.num_heads)),
            rotated(split(z @ W["attention.W_key.weight"].T, config.num_kv_heads)),
            split(z @ W["attention.W_value.weight"].T, config.num_kv_heads),
            attn_mask=causal_mask(n),
            enable_gqa=True,
        )
        x = x + context.transpose(0, 1).flatten(-2) @ W["attention.W_out.weight"].T
        z = F.layer_norm(x, (config.embed_dim,), W["norm2.weight"])
        x = x + F.gelu(z @ W["feed_forward.0.weight"].T) @ W["feed_forward.3.weight"].T
    x = F.layer_norm(x, (config.embed_dim,), state["encoder.norm.weight"])
    return x @ state["embedding.weight"].T


def test_logits_are_those_of_the_formula():
    model = small_language.model().double()
    ids = torch.randint(0, 280, (3, 11))
    logits, weights = model(ids, need_weights=True)
    assert logits.shape == (3, 11, 280)
    assert weights.shape == (2, 3, 4, 11, 11)
    for row, ours in zip(ids, logits, strict=True):
        torch.testing.assert_close(ours, by_hand(model, row), rtol=0, atol=1e-12)
    torch.testing.assert_close(model(ids), logits, rtol=0, atol=1e-12)


@given(cuts=st.lists(st.integers(1, 10), max_size=4), seed=st.integers(0, 2**16))
def test_cached_logits_are_uncached_ones(cuts, seed):
    model = small_language.model(seed).double()
    ids = torch.randint(0, 280, (2, 11), generator=torch.Generator().manual_seed(seed))
    caches, starts = model.new_caches(), sorted({0, *cuts})
    with torch.no_grad():
        parts = [
            model(ids[:, start:end], caches=caches)
            for start, end in zip(starts, [*starts[1:], 11], strict=True)
        ]
        torch.testing.assert_close(torch.cat(parts, dim=1), model(ids), rtol=0, atol=1e-12)


def test_new_logits_have_variance_one_and_a_token_is_as_likely_as_any():
    torch.manual_seed(0)
    model = LanguageModel(LanguageConfig(vocab_size=500, num_layers=1))
    ids = torch.randint(0, 500, (16, 33))
    with torch.no_grad():
        assert model(ids).std().item() == pytest.approx(1.0, abs=0.1)
        assert losses(model, ids).mean().item() == pytest.approx(math.log(500) + 0.5, abs=0.2)


def test_temperature_zero_takes_the_most_likely_token():
    model = small_language.model()
    ids = [START_ID, 17, 3]
    for drawn in continuation(model, ids, temperature=0):
        logits = model(torch.tensor(ids))[-1]
        assert drawn == logits.argmax()
        ids.append(drawn)
    assert len(ids) > 3


def test_tokens_are_drawn_with_their_probability():
    model = small_language.model()
    logits = model(torch.tensor([START_ID, 5]))[-1].detach()
    for temperature in (0.5, 1.0):
        expected = torch.softmax(logits / temperature, dim=-1)
        generator = torch.Generator().manual_seed(0)
        first = [
            next(
                continuation(model, [START_ID, 5], temperature=temperature, generator=generator), 0
            )
            for _ in range(500)
        ]
        observed = torch.bincount(torch.tensor(first), minlength=280) / 500
        # Four standard errors of the most likely token's share
        top = int(expected.argmax())
        error = (expected[top] * (1 - expected[top]) / 500).sqrt()
        assert abs(observed[top] - expected[top]) < 4 * error
    assert expected[top] < torch.softmax(logits / 0.5, dim=-1)[top]


def test_a_seed_repeats_a_text_and_another_gives_another():
    model = small_language.model()

    def text(seed):
        generator = torch.Generator().manual_seed(seed)
        return list(continuation(model, [START_ID], generator=generator))

    assert text(1) == text(1) != text(2)


def test_a_text_ends_where_another_would_begin_or_at_the_limit():
    model = small_language.model()
    with torch.no_grad():
        model.embedding.weight[START_ID] = 0.0
        model.embedding.weight[1:] = -1.0  # with the next line, <start> is the most likely token
        model.encoder.norm.weight.fill_(0.0)
    assert list(continuation(model, [START_ID, 7], temperature=0)) == []
    model = small_language.model()
    drawn = list(continuation(model, [START_ID] * 30, temperature=0))
    assert len(drawn) == 2


def test_what_cannot_be_continued_is_refused():
    model = small_language.model()
    check_refused(
        lambda ids, temperature: continuation(model, ids, temperature=temperature),
        [
            ([], 1.0, "ids: expected between 1 and max_length − 1 = 31 tokens, got 0"),
            ([0] * 32, 1.0, "got 32"),
            ([0], -0.5, "temperature: expected 0 or more, got -0.5"),
            ([0], math.nan, "temperature: expected a finite number"),
        ],
    )
    with pytest.raises(ValueError, match="ids: expected at most max_length = 32 tokens, got 33"):
        model(torch.zeros(33, dtype=torch.long))


@given(text=st.text(max_size=20) | st.text("ab .,!?'é日😀\n", max_size=20))
@example(text="<start> the film <start>")
def test_any_text_can_be_spelled_and_none_begins_another(text):
    tokenizer = small_language.tokenizer()
    ids = encode(tokenizer, text)
    assert ids[0] == START_ID
    assert START_ID not in ids[1:]
    assert tokenizer.decode(ids) == text
    assert not tokenizer.encode_special_tokens  # the caller's setting


def test_ids_are_made_on_the_models_device(monkeypatch):
    model, devices = small_language.model().to("meta"), []

    def forward(self, ids, **options):
        devices.append(ids.device.type)
        return torch.zeros(len(ids), 280)  # <start> is first among equals

    monkeypatch.setattr(LanguageModel, "forward", forward)
    assert list(continuation(model, [START_ID, 3], temperature=0)) == []
    assert devices == ["meta"]


def test_the_pattern_takes_a_word_with_the_space_before_it():
    tokenizer = small_language.tokenizer()
    pieces = [piece for piece, _ in tokenizer.pre_tokenizer.pre_tokenize_str("It's  7 o'clock!")]
    assert pieces == ["It", "'", "s", "ĠĠ", "7", "Ġo", "'", "clock", "!"]
    assert PATTERN.startswith(" ?")


def test_a_saved_model_comes_back_rounded_to_8_bits(tmp_path):
    folder = small_language.write(tmp_path / "model")
    model, tokenizer = load_language_model(folder)
    assert model.config == small_language.CONFIG
    assert not model.training
    assert tokenizer.get_vocab() == small_language.tokenizer().get_vocab()
    original = small_language.model().state_dict()
    for name, weight in model.state_dict().items():
        step = original[name].abs().amax(dim=-1, keepdim=True) / 127
        assert ((weight - original[name]).abs() <= step * 0.5001).all(), name
    assert (folder / "model.safetensors").stat().st_size < 2 * sum(
        weight.numel() for weight in original.values()
    )
    again = small_language.write(tmp_path / "again")
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (again / name).read_bytes() == (folder / name).read_bytes()


def test_files_that_do_not_fit_are_refused(tmp_path):
    def spoilt(name, spoil):
        folder = small_language.write(tmp_path / name)
        spoil(folder)
        return folder

    def configured(**fields):
        def spoil(folder):
            config = json.loads((folder / "config.json").read_text())
            (folder / "config.json").write_text(json.dumps(config | fields))

        return spoil

    def with_tensors(change):
        def spoil(folder):
            path = folder / "model.safetensors"
            tensors = load_file(path)
            change(tensors)
            save_file(tensors, path)

        return spoil

    def other_tokens(folder):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.add_tokens(["film"])
        tokenizer.save(str(folder / "tokenizer.json"))

    check_refused(
        load_language_model,
        [
            (tmp_path / "nowhere", "does not hold a language model .*No such file"),
            (spoilt("a", lambda f: (f / "config.json").write_text("{")), "config.json"),
            (
                spoilt("b", configured(embed_dim=0)),
                "not that of a language model: embed_dim: Input should",
            ),
            (spoilt("c", configured(extra=1)), "language model: extra: Unexpected"),
            (spoilt("d", configured(embed_dim=24)), "size mismatch for embedding.weight"),
            (spoilt("e", configured(num_heads=3)), "num_heads: expected a divisor"),
            (spoilt("f", with_tensors(lambda t: t.pop("embedding.weight.scale"))), "weight.scale"),
            (spoilt("g", with_tensors(lambda t: t.pop("encoder.norm.weight"))), "Missing key"),
            (spoilt("h", other_tokens), "tokenizer.json has 281 ids, config.json 280"),
            (spoilt("i", lambda f: (f / "tokenizer.json").write_text("no")), "tokenizer.json"),
            (
                spoilt("j", lambda f: (f / "model.safetensors").write_bytes(b"x" * 50)),
                "SafetensorError",
            ),
        ],
    )


def test_pieces_begin_with_start_and_then_with_a_sentence():
    tokenizer = small_language.tokenizer()
    texts = ["The soup was cold. The film was warm, and ... the end.", "Was the end? The end!"] * 3
    ids = stream(tokenizer, texts)
    assert (ids == START_ID).sum() == 6
    starts = sentence_starts(tokenizer, ids, 6)
    rows = pieces(ids, starts, 6)
    assert rows.shape == (len(starts), 7)
    begun = {tokenizer.decode(row.tolist()).split()[0] for row in rows}
    assert begun <= {"The", "the", "Was"}
    assert len(starts) > 6
    assert tidy(r"So\nlong,<br />  farewell ") == "So long, farewell"


def test_the_loss_is_that_of_the_next_token():
    model = small_language.model()
    tokenizer = small_language.tokenizer()
    ids = stream(tokenizer, ["The soup was cold. The film was warm, and the end was the end."] * 9)
    starts = sentence_starts(tokenizer, ids, 32)
    batch = pieces(ids, starts, 32)
    expected = -torch.log_softmax(model(batch[:, :-1]), -1).gather(-1, batch[:, 1:, None])[..., 0]
    torch.testing.assert_close(losses(model, batch), expected)
    torch.testing.assert_close(loss_per_position(model, ids, starts), expected.mean(0))
