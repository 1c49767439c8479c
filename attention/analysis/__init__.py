"""What the matrices of a layer can express, and what each word contributes to an answer."""

from attention.analysis.attribution import (
    deletion_effects,
    deletion_from_weights,
    gradient_effects,
    rank_correlation,
    shuffled_effects,
)
from attention.analysis.low_rank import (
    Layer,
    balance,
    bilinear_form,
    change_gauge,
    effective_rank,
    fold_values,
    parameter_count,
    truncate_rank,
)

__all__ = [
    "Layer",
    "balance",
    "bilinear_form",
    "change_gauge",
    "deletion_effects",
    "deletion_from_weights",
    "effective_rank",
    "fold_values",
    "gradient_effects",
    "parameter_count",
    "rank_correlation",
    "shuffled_effects",
    "truncate_rank",
]
