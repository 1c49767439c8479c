"""The training of the model that writes, its loss on other reviews, and its files."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from attention._files import write_tensors, write_text
from attention.language import LanguageConfig, LanguageModel
from experiments.language.data import pieces, repeat_passages


def losses(model: LanguageModel, batch: Tensor) -> Tensor:
    """Compute the cross-entropy of each next token in nats.

    Shape:
        - batch: :math:`(B, n + 1)`
        - returns: :math:`(B, n)`
    """
    logits = model(batch[:, :-1])  # (B, n, vocab_size)
    return F.cross_entropy(logits.transpose(1, 2), batch[:, 1:], reduction="none")


@torch.no_grad()
def loss_per_position(model: LanguageModel, ids: Tensor, starts: Tensor) -> Tensor:
    """Average the loss over pieces of validation reviews, for each position by itself."""
    model.eval()
    length = model.config.max_length
    parts = [losses(model, pieces(ids, rows, length)) for rows in starts.split(64)]
    return torch.cat(parts).mean(dim=0)  # (n,)


def train(
    model: LanguageModel,
    ids: Tensor,
    starts: Tensor,
    settings: dict[str, Any],
    *,
    seed: int,
    report: Callable[[int, float], None] = lambda step, loss: None,
) -> None:
    """Train with AdamW, a warm-up and a cosine; ``report`` gets the step and the mean loss."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings["lr"], betas=(0.9, 0.95), weight_decay=0.01
    )
    steps: int = settings["steps"]
    warm_up: int = settings["warm_up"]

    def share(step: int) -> float:
        if step < warm_up:
            return (step + 1) / warm_up
        done = (step - warm_up) / (steps - warm_up)
        return 0.05 + 0.475 * (1 + math.cos(math.pi * done))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    model.train()
    summed, since, said = 0.0, 0, time.monotonic()
    for step in range(steps):
        rows = starts[torch.randint(len(starts), (settings["batch_size"],), generator=generator)]
        batch = pieces(ids, rows, model.config.max_length)  # (B, n + 1)
        repeat_passages(batch, settings["repeated"], generator)
        loss = losses(model, batch).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        summed, since = summed + loss.item(), since + 1
        if time.monotonic() - said > 20 or step == steps - 1:
            report(step + 1, summed / since)
            summed, since, said = 0.0, 0, time.monotonic()
    model.eval()


def save_language_model(model: LanguageModel, tokenizer: Tokenizer, folder: Path) -> None:
    """Write what :func:`attention.language.load_language_model` reads, each matrix in 8 bits."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, weight in model.state_dict().items():
        weight = weight.float()
        if weight.dim() == 2:
            scale = weight.abs().amax(dim=-1).clamp(min=1e-12) / 127  # (rows,)
            tensors[name + ".scale"] = scale
            weight = (weight / scale[:, None]).round().to(torch.int8)
        tensors[name] = weight
    write_tensors(folder / "model.safetensors", tensors)
    write_text(folder / "tokenizer.json", tokenizer.to_str())
    text = TypeAdapter(LanguageConfig).dump_json(model.config, indent=1).decode()
    write_text(folder / "config.json", text)
