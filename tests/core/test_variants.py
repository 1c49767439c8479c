"""Every variant of the registry, new ones included: a new entry is covered by itself."""

import re

import pytest
import torch
from loops import for_each
from other_values import OF_LAYERS
from torch.nn import functional as F

from attention import SentimentClassifier
from attention.analysis import parameter_count
from attention.layers.variants import VARIANTS


def options_of(name):
    return {option: OF_LAYERS[option] for option in VARIANTS[name].options}


every_variant = for_each(name=VARIANTS)


def documented_counts():
    """Read the equations of parameter_count's docstring, by variant, as Python."""
    equations = re.findall(
        r"\\text\{(\w+): \} (.+?)(?=, \\quad|\n\n|, *\n)", parameter_count.__doc__
    )
    python = {}
    for name, equation in equations:
        symbols = re.findall(r"\d+|[a-zL]|[-+/^()]", equation)
        code = ""
        for before, symbol in zip([None, *symbols], symbols, strict=False):
            # What stands side by side is multiplied.
            is_product = before is not None and re.match(r"[\w)]", before)
            code += "*" if is_product and re.match(r"[\w(]", symbol) else ""
            code += symbol.replace("^", "**")
        python[name] = code
    return python


@every_variant
def test_parameters_are_counted_as_built_and_as_documented(name):
    equations = documented_counts()
    assert equations.keys() == VARIANTS.keys()
    for d, k, h, g, r, layers in ((12, 5, 4, 2, 7, 3), (24, 24, 6, 3, 5, 1), (8, 1, 1, 1, 1, 2)):
        symbols = {"d": d, "k": k, "h": h, "g": g, "r": r, "L": layers}
        sizes = {"key_dim": k, "num_heads": h, "num_kv_heads": g, "latent_dim": r}
        sizes["num_layers"] = layers
        options = {each: sizes[each] for each in sizes.keys() & VARIANTS[name].options}
        built = sum(p.numel() for p in VARIANTS[name].build(d, **options).parameters())
        counted = parameter_count(name, d, **options)
        documented = eval(equations[name], symbols)
        assert built == counted == documented, symbols


@every_variant
def test_every_option_that_a_variant_reads_changes_what_is_built(name):
    """An option without effect would be ignored in silence."""

    def built(**options):
        torch.manual_seed(0)
        layer = VARIANTS[name].build(24, **options).double()
        x = torch.linspace(-1, 1, 3 * 7 * 24, dtype=torch.float64).view(3, 7, 24).sin()
        shapes = [weight.shape for weight in layer.parameters()]
        return shapes, layer(x, need_weights=True)

    shapes, (context, weights) = built()
    for option, value in options_of(name).items():
        new_shapes, (new_context, new_weights) = built(**{option: value})
        assert (
            new_shapes != shapes
            or not torch.equal(new_context, context)
            or new_weights.shape != weights.shape
        ), option


@for_each(name=VARIANTS, option=OF_LAYERS)
def test_an_option_that_a_variant_does_not_read_is_refused(name, option):
    if option in VARIANTS[name].options:
        return
    names = [each for each in VARIANTS if option in VARIANTS[each].options]
    expected = (
        f"^{option}: expected {', '.join(names[:-1])}.*{names[-1]}, which reads? it, got {name}$"
    )
    with pytest.raises(ValueError, match=expected):
        parameter_count(name, 24, **{option: OF_LAYERS[option]})


@for_each(name=VARIANTS, options=({}, {"bigram_buckets": 11}))
def test_classifier_trains_a_step(name, options):
    model = SentimentClassifier(31, embed_dim=24, attention=name, **options_of(name), **options)
    ids, lengths = torch.randint(3, 31, (5, 7)), torch.tensor([7, 5, 3, 2, 1])
    labels = torch.tensor([1.0, 0, 1, 0, 1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    initial = {key: p.detach().clone() for key, p in model.named_parameters()}

    def loss():
        return F.binary_cross_entropy_with_logits(model(ids, lengths), labels)

    first = loss()
    first.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    optimizer.step()
    assert loss() < first
    # The bias of the keys adds the same to all scores of a query, so it alone never moves.
    still = [key for key, p in model.named_parameters() if torch.equal(p, initial[key])]
    assert all(key.endswith("W_key.bias") for key in still)


def test_an_unknown_variant_is_refused_with_the_names_of_all():
    with pytest.raises(ValueError, match=f"^kind: expected one of {', '.join(VARIANTS)}, got"):
        parameter_count("kqv", 24)
    with pytest.raises(ValueError, match=r"^attention: expected 'mean', .* or 'minilm', got"):
        SentimentClassifier(31, attention="kqv")
