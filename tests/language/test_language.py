"""The model that writes: what it predicts, what it draws, what it saves."""

import math

import layer_oracle
import pytest
import small_language
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import check_refused
from run_files import edit_json, edit_tensors
from tokenizers import Tokenizer
from wrapped import wrap

from attention.language import (
    START_ID,
    LanguageConfig,
    LanguageModel,
    continuation,
    encode,
    load_language_model,
)
from experiments.language.data import PATTERN, pieces, sentence_starts, stream, tidy
from experiments.language.train import loss_per_position, losses


def test_logits_are_those_of_the_formula():
    model = small_language.model().double()
    ids = torch.randint(0, 280, (3, 11))
    table = model.embedding.weight
    hidden, right = layer_oracle.of_layer(model.encoder, table[ids], is_causal=True)
    logits, weights = model(ids, need_weights=True)
    torch.testing.assert_close(logits, hidden @ table.T, rtol=0, atol=1e-12)
    torch.testing.assert_close(weights, right, rtol=0, atol=1e-12)
    torch.testing.assert_close(model(ids), logits, rtol=0, atol=1e-12)


def test_parts_may_be_replaced_by_what_computes_the_same():
    model = small_language.model()
    wrapped, ids = wrap(model), [START_ID, 17, 3]
    torch.testing.assert_close(wrapped(torch.tensor(ids)), model(torch.tensor(ids)))
    drawn = [list(continuation(each, ids, temperature=0)) for each in (wrapped, model)]
    assert drawn[0] == drawn[1]


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
        options = {"temperature": temperature, "generator": generator}
        first = [next(continuation(model, [START_ID, 5], **options), 0) for _ in range(500)]
        observed = torch.bincount(torch.tensor(first), minlength=280) / 500
        # Four standard errors of the most likely token's share
        top = int(expected.argmax())
        error = (expected[top] * (1 - expected[top]) / 500).sqrt()
        assert abs(observed[top] - expected[top]) < 4 * error
    assert expected[top] < torch.softmax(logits / 0.5, dim=-1)[top]


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
        return lambda folder: edit_json(folder / "config.json", lambda c: c.update(fields))

    def without(name):
        return lambda folder: edit_tensors(folder / "model.safetensors", lambda t: t.pop(name))

    def other_tokens(folder):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.add_tokens(["film"])
        tokenizer.save(str(folder / "tokenizer.json"))

    # What is broken as a file is read, and refused, as the pretrained encoder's files are.
    check_refused(
        load_language_model,
        [
            (tmp_path / "nowhere", "does not hold a language model .*No such file"),
            (spoilt("b", configured(embed_dim=0)), "a language model: embed_dim: Input should"),
            (spoilt("c", configured(extra=1)), "language model: extra: Unexpected"),
            (spoilt("d", configured(embed_dim=24)), "size mismatch for embedding.weight"),
            (spoilt("e", configured(num_heads=3)), "num_heads: expected a divisor"),
            (spoilt("f", without("embedding.weight.scale")), "embedding.weight.scale"),
            (spoilt("g", without("encoder.norm.weight")), "Missing key"),
            (spoilt("h", other_tokens), "tokenizer.json has 281 ids, config.json 280"),
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
