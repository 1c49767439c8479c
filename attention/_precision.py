"""In how many bits matrices are multiplied: float32, or bfloat16 (mixed precision)."""

from typing import Literal

import torch

Precision = Literal["auto", "float32", "bfloat16"]


def choose_precision(
    precision: Precision, device: torch.device, *, is_pretrained: bool
) -> Literal["float32", "bfloat16"]:
    """Choose the precision of matrix products; ``"auto"`` depends on the device of the model.

    A GPU uses bfloat16 if it has units for it. A CPU does so only for a pretrained encoder, which
    spends most of its time on large products, while our own small models gain nothing from it.

    Example:
        >>> choose_precision("auto", torch.device("cpu"), is_pretrained=False)
        'float32'
    """
    if precision != "auto":
        return precision
    if device.type == "cuda":
        has_units = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Versions of torch before 2.10 do not say.
        known: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
        has_units = is_pretrained and bool(known.get("avx512_bf16") or known.get("amx_bf16"))
    return "bfloat16" if has_units else "float32"


def autocast(device: torch.device, precision: Precision, *, is_pretrained: bool) -> torch.autocast:
    """Multiply matrices in the requested precision; arguments as in :func:`choose_precision`."""
    chosen = choose_precision(precision, device, is_pretrained=is_pretrained)
    return torch.autocast(device.type, torch.bfloat16, enabled=chosen == "bfloat16")


def precision_note(
    precision: Precision, device: torch.device, *, is_pretrained: bool
) -> str | None:
    """Return a note that ``"auto"`` chose bfloat16, or None if it did not."""
    chosen = choose_precision(precision, device, is_pretrained=is_pretrained)
    if precision != "auto" or chosen == "float32":
        return None
    return (
        "multiplying in bfloat16, for which this machine has units; "
        "--precision float32 multiplies in full precision"
    )
