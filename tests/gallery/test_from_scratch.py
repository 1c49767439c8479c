"""The file that a reader writes through the lessons: complete, the package's equal, and it runs."""

import csv
import runpy
import subprocess
import sys
import types

import from_scratch
import oracles
import pytest
import small_run
import torch
from imports import imported
from loops import for_each
from run_pages import ROOT
from torch import nn

import attention
from attention.functional import scaled_dot_product_attention
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import train_tokenizer

# Each lesson's pieces, in the order of the file.
PIECES = {
    "plot_1_qkv_derivation": ["scaled_dot_product_attention"],
    "plot_2": ["SelfAttentionV1", "SelfAttentionV2"],
    "plot_4": ["causal_mask", "padding_mask", "CausalSelfAttention"],
    "plot_5": ["MultiHeadAttention"],
    "plot_6": ["sinusoidal_positions"],
    "plot_7": ["LayerNorm", "FeedForward", "TransformerBlock"],
    "plot_8": [
        "words_of",
        "build_vocabulary",
        "encode",
        "batches",
        "ReviewClassifier",
        "train_one_epoch",
        "validate",
        "read_reviews",
        "main",
    ],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    written = tmp_path_factory.mktemp("site") / from_scratch.NAME
    written.write_text(from_scratch.from_scratch(ROOT), encoding="utf-8")
    return written


@pytest.fixture(scope="module")
def scratch(path):
    """Import the file, as a reader would who has it in the folder."""
    return types.SimpleNamespace(**runpy.run_path(path))


def test_each_lesson_writes_its_pieces_and_is_named_above_them(path):
    text = path.read_text(encoding="utf-8")
    for lesson in from_scratch.lessons_in(ROOT):
        pieces = list(from_scratch.pieces_of(lesson))
        names = {piece.name for piece in pieces}
        expected = {
            n for stem, line in PIECES.items() if lesson.stem.startswith(stem) for n in line
        }
        if lesson.stem.startswith("plot_4"):
            expected.add("scaled_dot_product_attention")  # now with a mask
        assert names == expected, lesson.stem
        if pieces and not lesson.stem.startswith("plot_1_"):  # whose only piece plot_4 replaces
            assert f'# From "{pieces[0].lesson}"' in text
    pieces = from_scratch.collect(from_scratch.lessons_in(ROOT))
    assert list(pieces) == [name for names in PIECES.values() for name in names]


def test_it_imports_torch_and_the_standard_library_alone_and_says_what_each_piece_is(path, scratch):
    assert imported(path) <= {"csv", "random", "re", "sys", "torch"}
    for name in (name for names in PIECES.values() for name in names):
        assert getattr(scratch, name).__doc__.count("\n") == 0, name


def allowed():
    """Masks: none, causal, padding; one that blinds the second query, and one an empty text."""
    padding, empty = (
        attention.padding_mask(torch.tensor(lengths), 6)  # (3, 1, 6)
        for lengths in ([6, 1, 4], [6, 0, 4])
    )
    nothing = torch.rand(6, 6) > 0.4  # (6, 6)
    nothing[1] = False
    return [None, attention.causal_mask(6), padding, nothing, empty & attention.causal_mask(6)]


def copy(own: nn.Module, packages: nn.Module) -> None:
    """Draw weights, so that no bias is 0 and no gain 1, for both."""
    with torch.no_grad():
        for mine, theirs in zip(own.parameters(), packages.parameters(), strict=True):
            theirs.copy_(mine.normal_(std=0.5))


def assert_same(own, packages, *inputs, **masks) -> None:
    """Compare two functions or layers, and the gradients of inputs and parameters."""
    given = [x for x in (*inputs, *masks.values()) if x is not None and x.is_floating_point()]
    leaves = [x.requires_grad_() for x in given]
    results, made_of = [], []
    for each in (own, packages):
        result = each(*inputs, **masks)
        results.append(result if isinstance(result, tuple) else (result,))
        made_of.append([*leaves, *(each.parameters() if isinstance(each, nn.Module) else ())])
    for mine, theirs in zip(*results, strict=True):
        oracles.assert_same(mine, theirs, 1e-5, *made_of)


@for_each(which=range(5))
def test_the_function_is_the_packages(scratch, which):
    for n in (6, 2):  # as many queries as keys, and fewer
        mask = allowed()[which]
        if n == 2 and mask is not None:
            mask = mask[..., :2, :]
        inputs = torch.randn(3, n, 4), torch.randn(3, 6, 4), torch.randn(3, 6, 5), mask
        assert_same(scratch.scaled_dot_product_attention, scaled_dot_product_attention, *inputs)


@for_each(
    case=(
        ("SelfAttentionV1", (4, 3), {}, {}),
        ("SelfAttentionV2", (4, 3), {}, {}),
        ("SelfAttentionV2", (4, 3), {}, {"qkv_bias": True}),
        ("CausalSelfAttention", (4,), {"key_dim": 3}, {"value_dim": None}),
        ("CausalSelfAttention", (4,), {"key_dim": 3}, {"value_dim": 5}),
        ("MultiHeadAttention", (8, 2), {}, {"bias": False}),
        ("MultiHeadAttention", (8, 2), {}, {"bias": True}),
        ("TransformerBlock", (8, 2), {}, {"norm_first": True}),
        ("TransformerBlock", (8, 2), {}, {"norm_first": False}),
    ),
)
def test_a_layer_is_the_packages(scratch, case):
    name, sizes, widths, options = case
    own = getattr(scratch, name)(*sizes, *widths.values(), **options)
    packages = getattr(attention, name)(*sizes, **widths, **options)
    copy(own, packages)
    d = sizes[0]
    if name.startswith("SelfAttention"):
        assert own.state_dict().keys() == packages.state_dict().keys()
        for shape in ((6, d), (3, 6, d), (2, 3, 6, d)):
            assert_same(own, packages, torch.randn(shape))
        return
    # What a bias says of a query without keys is the package's own.
    masks = allowed()[: 3 if options.get("bias", "norm_first" in options) else None]
    for mask in masks:
        assert_same(own, packages, torch.randn(3, 6, d), attn_mask=mask)


class OfMask(nn.Module):
    """The package's classifier, which takes lengths, called with a mask."""

    def __init__(self, classifier):
        super().__init__()
        self.classifier = classifier

    def forward(self, ids, mask):
        return self.classifier(ids, mask.sum(dim=(-2, -1)))


@pytest.mark.parametrize("num_layers", [1, 3])
def test_the_classifier_is_the_packages(scratch, num_layers):
    own = scratch.ReviewClassifier(30, embed_dim=8, num_heads=2, num_layers=num_layers)
    packages = attention.SentimentClassifier(
        30,
        attention="transformer",
        embed_dim=8,
        num_heads=2,
        num_layers=num_layers,
        bias=True,
        positions="start",
        position_base=10_000.0,
    )
    copy(own, packages)
    examples = [(list(range(1, n + 1)), n % 2) for n in (9, 1, 0, 4)]
    ((ids, mask, labels),) = scratch.batches(examples, 8)
    assert labels.tolist() == [1, 1, 0, 0]
    assert_same(own, OfMask(packages), ids, mask)


def test_a_model_without_blocks_is_a_mean(scratch):
    model = scratch.ReviewClassifier(30, embed_dim=8, num_heads=2, num_layers=0)
    ((ids, mask, _),) = scratch.batches([([3, 4, 5], 1), ([6], 0)], 2)
    x = model.norm(model.embedding(ids) + scratch.sinusoidal_positions(3, 8))
    means = torch.stack([x[0].mean(dim=0), x[1, 0]])
    torch.testing.assert_close(model(ids, mask), model.classifier(means)[:, 0])


def test_words_and_vocabulary_are_the_packages(scratch):
    texts = [*load_reviews("imdb", limit=200)["train"].texts, "", "7/10", "Café <b>x</b>", "K1 İ"]
    texts += ["I <3 this film, the best of 10 > 5 others"] * 2
    tokenizer = train_tokenizer(texts)
    ids = {word: i for word, i in tokenizer.get_vocab().items() if word != "<sep>"}
    own = scratch.build_vocabulary(texts)
    assert list(own) == sorted(ids, key=ids.get)
    for text in texts:
        of_package = [own[token] for token in tokenizer.encode(text).tokens]
        assert scratch.encode(text, own, max_length=10_000) == of_package
    (longest,) = [max(texts, key=len)]
    assert scratch.encode(longest, own, 7) == scratch.encode(longest, own, 10_000)[-7:]


def test_batches_hold_every_example_once_padded_to_the_longest(scratch):
    examples = [([i] * (i % 4), i % 2) for i in range(1, 12)]
    for shuffle in (False, True):
        seen = []
        for ids, mask, labels in scratch.batches(examples, 4, shuffle=shuffle):
            assert ids.shape == (len(labels), mask.shape[-1])
            assert ids.shape[1] == max(mask.sum(dim=-1).max(), 1)
            for row, words, label in zip(ids, mask[:, 0], labels, strict=True):
                assert not row[~words].any()
                seen.append((row[words].tolist(), int(label)))
        assert sorted(seen) == sorted(examples)
        assert (seen == examples) is not shuffle


def test_an_epoch_is_a_step_per_batch_and_validation_is_none(scratch):
    examples = [([i % 5 + 1, 7], i % 2) for i in range(10)]
    model = scratch.ReviewClassifier(9, embed_dim=4, num_heads=2, num_layers=1)
    loader = list(scratch.batches(examples, 4))
    logits = torch.cat([model(ids, mask) for ids, mask, _ in loader])
    labels = torch.cat([labels for *_, labels in loader])
    loss = nn.functional.binary_cross_entropy_with_logits(logits, labels).item()
    right = ((logits > 0) == (labels == 1)).float().mean().item()
    for _ in range(2):
        assert scratch.validate(model, loader) == pytest.approx((loss, right), abs=1e-5)
    assert not model.training
    steps, still = [], torch.optim.SGD(model.parameters(), lr=0.0)
    still.register_step_post_hook(lambda *_: steps.append(model.classifier.bias.grad.clone()))
    assert scratch.train_one_epoch(model, loader, still) == pytest.approx((loss, right))
    assert model.training
    for step, (ids, mask, labels) in zip(steps, loader, strict=True):  # gradients don't add up
        alone = (model(ids, mask).sigmoid() - labels).mean()
        torch.testing.assert_close(step[0], alone, atol=1e-6, rtol=1e-5)


def test_the_program_learns_an_easy_set(scratch, tmp_path, capsys):
    rows = [row | {"text": f"{row['text']}, they say."} for row in small_run.rows(600, 0)]
    file = small_run.write_table(tmp_path / "reviews.csv", rows)
    assert scratch.main([str(file)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert len(lines) == 5
    assert all(line.startswith(f"epoch {i}  training: loss") for i, line in enumerate(lines, 1))
    assert err == ""
    assert float(lines[-1].rpartition(" ")[2]) > 0.9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory"),
        (b"", "no column 'label'"),
        (b"label,review\n1,good\n", "no column 'text'"),
        (b"label,text\n1,good\nyes,bad\n", "line 3: expected a label, 0 or 1, and a text"),
        (b"label,text\n1\n", "line 2: expected a label"),
        (b"label,text\n1,good\n", "at least 10 reviews, got 1"),
        (b"label,text\n1,\xff\n", "can't decode"),
        (b'label,text\n1,"' + b"a" * 200_000 + b'"\n', "field larger than"),
    ],
)
def test_bad_input_ends_in_one_line(scratch, tmp_path, capsys, content, message):
    csv.field_size_limit(131_072)  # a new process's; reading with the package raises it
    file = tmp_path / "reviews.csv"
    if content is not None:
        file.write_bytes(content)
    assert scratch.main([str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"{file}: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_wrong_call_says_the_right_one(path):
    call = [sys.executable, str(path), "a.csv", "b.csv"]
    finished = subprocess.run(call, capture_output=True, text=True, check=False)
    usage = "usage: python attention_from_scratch.py reviews.csv\n"
    assert (finished.returncode, finished.stdout, finished.stderr) == (2, "", usage)
