"""In how many bits a machine multiplies, and that it says so."""

import pytest
import torch

from attention._precision import autocast, choose_precision, precision_note

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("device", "has_units", "is_pretrained", "expected"),
    [
        (CPU, True, True, "bfloat16"),
        (CPU, True, False, "float32"),
        (CPU, False, True, "float32"),
        (GPU, True, False, "bfloat16"),
        (GPU, True, True, "bfloat16"),
        (GPU, False, True, "float32"),
    ],
)
def test_auto_takes_what_the_machine_has_units_for(
    device, has_units, is_pretrained, expected, monkeypatch
):
    capabilities = {"amx_bf16": has_units}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_units)
    assert choose_precision("auto", device, is_pretrained=is_pretrained) == expected
    note = precision_note("auto", device, is_pretrained=is_pretrained)
    assert (note is None) == (expected == "float32")
    for requested in ("float32", "bfloat16"):
        assert choose_precision(requested, device, is_pretrained=is_pretrained) == requested
        assert precision_note(requested, device, is_pretrained=is_pretrained) is None


def test_a_torch_that_does_not_say_gets_float32(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert choose_precision("auto", CPU, is_pretrained=True) == "float32"


@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_products_have_the_requested_precision(name):
    linear = torch.nn.Linear(3, 2)
    with autocast(CPU, name, is_pretrained=True):
        assert linear(torch.ones(1, 3)).dtype == getattr(torch, name)
