"""What the matrices of a layer can express, and what each word contributes to an answer."""

from attention.analysis.attribution import deletion_effects, gradient_effects, rank_correlation
from attention.analysis.low_rank import (
    Layer,
    balance,
    bilinear_form,
    effective_rank,
    parameter_count,
    truncate_rank,
)

__all__ = [
    "Layer",
    "balance",
    "bilinear_form",
    "deletion_effects",
    "effective_rank",
    "gradient_effects",
    "parameter_count",
    "rank_correlation",
    "truncate_rank",
]
