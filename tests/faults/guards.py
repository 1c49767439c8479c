"""The guards that matter most: what stands in their place, and the tests that must then fail.

A guard is a function of the package, found by its name. :mod:`run_guards` takes them out.
"""

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import load_file

from attention.layers.variants import VARIANTS


@dataclass(frozen=True)
class Guard:
    """What stands in a guard's place, and the tests that must notice."""

    instead: Callable[..., Any]
    tests: tuple[str, ...]


def nothing(*_: object, **__: object) -> None:
    """Check nothing."""


GUARDS: dict[str, Guard] = {
    # The numbers
    "attention.masks.allowed_keys": Guard(
        nothing, ("core/test_functional.py::test_blind_query_gives_zeros_and_passes_none_back",)
    ),
    "attention.masks.causal_mask": Guard(
        lambda n, device=None: torch.ones(n, n, dtype=torch.bool, device=device),
        ("core/test_functional.py::test_formula_is_torchs_in_value_and_gradient",),
    ),
    "attention.masks.padding_mask": Guard(
        lambda lengths, n: torch.ones(*lengths.shape, 1, n, dtype=torch.bool),
        ("sentiment/test_model.py::test_a_review_gets_its_logit_alone_and_in_any_batch",),
    ),
    "attention._checks.check_attention_inputs": Guard(
        nothing, ("core/test_functional.py::test_wrong_input_is_refused",)
    ),
    "attention._checks.check_mask": Guard(
        nothing, ("core/test_functional.py::test_wrong_input_is_refused",)
    ),
    "attention._checks.check_tokens": Guard(
        nothing, ("core/test_every_layer.py::test_wrong_tokens_and_masks_are_refused",)
    ),
    "attention._checks.check_lengths": Guard(
        lambda lengths, n: (lengths, n),
        ("core/test_functional.py::test_wrong_lengths_are_refused",),
    ),
    "attention._checks.check_ids": Guard(
        nothing, ("sentiment/test_model.py::test_bad_input_is_named",)
    ),
    "attention.sentiment.trainer.Trainer.check": Guard(
        nothing,
        (
            "sentiment/test_trainer.py::test_a_loss_that_is_not_a_number_stops_training_and_says_where",
            "sentiment/test_trainer.py::test_weights_are_checked_on_request",
        ),
    ),
    # What a command is given
    "attention.sentiment.config.models_reading": Guard(
        lambda field: [*VARIANTS, "minilm"],
        (
            "sentiment/test_config.py::test_what_another_model_does_not_read_is_left_out_of_a_preset",
        ),
    ),
    "attention.sentiment.files._check_columns": Guard(
        nothing, ("sentiment/test_sources.py::test_faults_of_files",)
    ),
    "attention._device.check_memory": Guard(
        nothing,
        ("faults/test_untrusted_files.py::test_a_hostile_configuration_is_not_begun_with_either",),
    ),
    # What lies in a run folder
    "attention._files.write_bytes": Guard(
        lambda path, content: path.write_bytes(content),
        ("sentiment/test_run_folder.py::test_a_file_is_replaced_whole_or_not_at_all",),
    ),
    "attention._files.read_tensors": Guard(
        lambda path, expected: load_file(path),
        (
            "sentiment/test_run_folder.py::test_a_broken_checkpoint_is_never_half_loaded_in_silence",
            "faults/test_untrusted_files.py::test_a_hostile_configuration_is_refused_before_memory_is_taken",
        ),
    ),
    "attention.sentiment.run_folder._options": Guard(
        lambda config: {},
        ("sentiment/test_run_folder.py::test_another_configuration_or_other_reviews_are_refused",),
    ),
    "attention.sentiment.run_folder.lock": Guard(
        lambda folder: types.SimpleNamespace(release=nothing),
        ("sentiment/test_run_folder.py::test_a_lock_keeps_others_out_until_it_is_released",),
    ),
    "attention.sentiment.run_folder.refuse_taken": Guard(
        nothing, ("sentiment/test_run_folder.py::test_folders_for_a_new_run",)
    ),
    "attention.sentiment.run_folder.refuse_finished": Guard(
        nothing, ("sentiment/test_training.py::test_a_finished_run_is_refused",)
    ),
    "attention.sentiment.reviews.fingerprint": Guard(
        lambda reviews: "", ("sentiment/test_sources.py::test_fingerprint_sees_every_change",)
    ),
}
