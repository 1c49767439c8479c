"""In how many bits a machine multiplies matrices: 32, or 16 where it has units for those."""

from typing import Literal

import torch

Precision = Literal["auto", "float32", "bfloat16"]


def choose_precision(
    precision: Precision, device: torch.device, *, is_pretrained: bool
) -> Literal["float32", "bfloat16"]:
    """Decide what ``"auto"`` stands for on a device.

    A GPU that has units for bfloat16 uses them. A CPU does for a pretrained encoder, most of whose
    time goes into large products; our own small models gain nothing from it.

    Args:
        precision: What was requested.
        device: Where the model is.
        is_pretrained: Whether the model is a pretrained encoder.

    Example:
        >>> choose_precision("auto", torch.device("cpu"), is_pretrained=False)
        'float32'
    """
    if precision != "auto":
        return precision
    if device.type == "cuda":
        has_units = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has_units = is_pretrained and _cpu_has_bfloat16()
    return "bfloat16" if has_units else "float32"


def autocast(device: torch.device, precision: Precision, *, is_pretrained: bool) -> torch.autocast:
    """Multiply matrices in the requested precision; arguments as in :func:`choose_precision`."""
    chosen = choose_precision(precision, device, is_pretrained=is_pretrained)
    return torch.autocast(device.type, torch.bfloat16, enabled=chosen == "bfloat16")


def precision_note(
    precision: Precision, device: torch.device, *, is_pretrained: bool
) -> str | None:
    """Say that ``"auto"`` took fewer bits; None where there is nothing to say."""
    chosen = choose_precision(precision, device, is_pretrained=is_pretrained)
    if precision != "auto" or chosen == "float32":
        return None
    return (
        "multiplying in bfloat16, for which this machine has units; "
        "--precision float32 multiplies in full"
    )


def _cpu_has_bfloat16() -> bool:
    # Versions of torch before 2.10 do not say.
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
