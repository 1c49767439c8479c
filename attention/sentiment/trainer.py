"""The training loop, which trains a model in place and returns one line of metrics per epoch."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from attention._distributed import rank_and_size
from attention._precision import autocast
from attention.sentiment.batches import (
    Batch,
    Examples,
    FeatureBatch,
    FeatureExamples,
    plan_batches,
    to_device,
)
from attention.sentiment.config import TrainConfig
from attention.sentiment.evaluation import losses_of, measure
from attention.sentiment.lazy_adam import LazyAdam
from attention.sentiment.model import SentimentClassifier, logits_of

# A line of metrics.jsonl: the numbers of an epoch, and by name what was measured on each set.
Metrics = dict[str, Any]

CHECK_EVERY = 20
"""Steps between two checks of the loss where a check makes the host wait for other devices."""

TOKENS_AT_ONCE = 1 << 15
"""Tokens, including padding, that a CPU takes through the model at a time, which needs less memory
and a sixth less time than a batch of 1,024 long reviews at once."""

WIDTH_STEP = 8
"""A CPU works on eight or sixteen numbers at a time, so 256 columns take less time than 250."""


class TrainingError(ValueError):
    """The loss is not finite any more, and no further step can repair that."""


@dataclass
class State:
    """How far training is, down to the batch within the epoch."""

    batch: int = 0
    """The number of finished batches of the current epoch."""
    seconds: float = 0.0
    """The time spent on these batches."""
    sums: Tensor = field(default_factory=lambda: torch.zeros(4, dtype=torch.float64))
    """The sums of loss, correct answers, examples and tokens over these batches."""
    metrics: list[Metrics] = field(default_factory=list)
    """One line per finished epoch."""

    @property
    def epoch(self) -> int:
        """The number of finished epochs."""
        return len(self.metrics)


def learning_rate(step: int, total: int, config: TrainConfig) -> float:
    r"""Compute the learning rate of one step: it rises, reaches the full rate, and then falls.

    .. math::
        \frac{\mathrm{rate}_s}{\mathrm{lr}} = \begin{cases}
        (s + 1) / (W + 1) & s < W \\
        1 - (s - W) / (T - W) & s \ge W
        \end{cases}

    Here T is the number of steps, and W is the number of those during which the rate rises. A
    constant schedule stays at 1 after them.

    Args:
        step: The number of steps before this one, s.
        total: The number of steps of the whole run, T.
        config: Determines ``lr``, ``schedule`` and ``warmup``, the share W / T.

    Returns:
        The rate. The largest of a run is ``lr``, whatever the warm-up.

    Example:
        >>> from attention.sentiment.config import TrainConfig
        >>> config = TrainConfig(lr=0.6, warmup=0.4)
        >>> [round(learning_rate(step, 5, config), 2) for step in range(5)]
        [0.2, 0.4, 0.6, 0.4, 0.2]
    """
    rising = min(round(config.warmup * total), total - 1)
    if step < rising:
        return config.lr * (step + 1) / (rising + 1)
    if config.schedule == "constant":
        return config.lr
    return config.lr * (total - step) / (total - rising)


def split_batch(batch: Batch) -> list[Batch]:
    """Cut a batch on a CPU into pieces that fit into its caches and need little memory.

    The gradient of a batch is the sum over its pieces, so training stays the same. Its rows are
    sorted by length, so that a piece is padded to little more than its own longest row. A batch on
    a GPU stays whole.
    """
    count = -(-batch.ids.numel() // TOKENS_AT_ONCE)
    if count <= 1 or batch.ids.device.type != "cpu":
        return [batch]
    pieces = [Batch(*piece) for piece in zip(*(part.chunk(count) for part in batch), strict=True)]
    widths = [-(-max(int(piece.lengths.max()), 1) // WIDTH_STEP) * WIDTH_STEP for piece in pieces]
    return [Batch(p.ids[:, :width], *p[1:]) for p, width in zip(pieces, widths, strict=True)]


class Trainer:
    """Train one model on one set of examples, from the start or from any state.

    The gradient of a batch is the mean over the whole batch, even if several processes take a
    share each, so the trained model is the same whether one process trains it or many do. The
    seed, the step and the process determine the random numbers of dropout, so that training can
    resume at any step.

    Args:
        model: The model, which is trained in place.
        examples: The training examples.
        validation: The examples to measure on after each epoch, by name.
        config: Batch size, learning rate, epochs and seed. The model's own configuration determines
            how examples are cut.

    Example:
        >>> from attention import SentimentClassifier
        >>> from attention.sentiment.tokenizer import Ragged
        >>> from attention.sentiment.batches import make_examples
        >>> from attention.sentiment.config import TrainConfig
        >>> ids = Ragged.from_lists([[3, 4], [5, 4], [3, 6], [5, 6]])
        >>> examples = make_examples(ids, [1, 0, 1, 0])
        >>> model = SentimentClassifier(7, embed_dim=4, attention="mean")
        >>> config = TrainConfig(batch_size=2, epochs=40, lr=0.1, seed=0)
        >>> metrics = Trainer(model, examples, {"clean": examples}, config).run()
        >>> metrics[-1]["clean"]["accuracy"]
        1.0

    Source:
        Lab 13 (Nowakowski, 2024) for the task; Kingma & Ba (2015) for Adam.
    """

    def __init__(
        self,
        model: SentimentClassifier,
        examples: Examples | FeatureExamples,
        validation: Mapping[str, Examples | FeatureExamples],
        config: TrainConfig,
    ) -> None:
        self.device = next(model.parameters()).device
        self.model = model
        self.examples = examples.to(self.device)
        self.validation = validation
        self.config = config
        self.state = State()
        self.rank, self.world_size = rank_and_size()
        self.tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
        is_lazy = config.optimizer == "lazy-adam"
        # A sparse gradient has the rows that a batch reads. NCCL can't add up such gradients.
        self.is_sparse = is_lazy and (self.world_size == 1 or self.device.type == "cpu")
        self._make_gradients(sparse=self.is_sparse)  # parallel training looks at it once, here
        self.parallel: nn.Module = self.model
        # For a backward pass whose gradients are not averaged yet.
        self.no_sync: Callable[[], AbstractContextManager[None]] = nullcontext
        if self.world_size > 1:
            self.parallel = parallel = DistributedDataParallel(self.model)
            self.no_sync = parallel.no_sync
        trained = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimizer = (
            LazyAdam(trained, [table.weight for table in self.tables], config.lr)
            if is_lazy
            else torch.optim.Adam(trained, config.lr, fused=True)
        )
        self.lengths = examples.lengths(model.config.reading)  # (E,)
        # A step reads each example of a small set about once.
        count = max(len(examples), 1)
        self.batch_size = min(config.batch_size, count)
        steps = -(-config.min_steps // config.epochs)  # of an epoch at least
        passes = (steps - 1) * self.batch_size // count + 1
        self.lengths = self.lengths.repeat(passes)  # (passes · E,)
        self.batches_per_epoch = -(-len(self.lengths) // self.batch_size)
        # Counted on the device of the loss, so that the first bad step is known later.
        self.bad_steps = torch.zeros((), dtype=torch.int64, device=self.device)
        self.checks_each_step = self.device.type == "cpu" and self.world_size == 1

    @property
    def batches_done(self) -> int:
        """The number of finished batches, over all epochs."""
        return self.state.epoch * self.batches_per_epoch + self.state.batch

    def run(
        self,
        *,
        after_batch: Callable[["Trainer"], None] = lambda trainer: None,
        after_epoch: Callable[["Trainer"], bool | None] = lambda trainer: None,
    ) -> list[Metrics]:
        """Train to the last epoch and return one line of metrics per finished epoch.

        The model is left in evaluation mode. What the caller draws at random afterwards does not
        depend on the training.

        Args:
            after_batch: Called between two steps.
            after_epoch: Called after each epoch has been measured; training ends early if it
                returns True.

        Raises:
            TrainingError: If the loss is not finite any more.
        """
        gpu = [self.device] if self.device.type == "cuda" else []
        self._make_gradients(sparse=self.is_sparse)
        try:
            with torch.random.fork_rng(devices=gpu):
                while self.state.epoch < self.config.epochs:
                    self._train_epoch(after_batch)
                    if after_epoch(self):
                        break
        finally:
            self._make_gradients(sparse=False)  # most optimisers refuse other gradients
        self.model.eval()
        return self.state.metrics

    def _train_epoch(self, after_batch: Callable[["Trainer"], None]) -> None:
        self.model.train()
        for batch, size in self._batches():
            started = time.perf_counter()
            self._step(batch, size)
            self.state.batch += 1
            if self.checks_each_step or self.state.batch % CHECK_EVERY == 0:
                self.check()
            self.state.seconds += time.perf_counter() - started
            after_batch(self)
        self._finish_epoch()

    def _make_gradients(self, *, sparse: bool) -> None:
        for table in self.tables:
            table.sparse = sparse

    def check(self, *, weights: bool = False) -> None:
        """Make sure that the loss is still finite; all processes must check at the same time.

        Before weights are saved, they have to be checked, too.
        """
        bad = self.bad_steps.clone()
        if weights:
            finite = torch.stack([p.isfinite().all() for p in self.model.parameters()]).all()
            bad = bad.maximum((~finite).long())
        if self.world_size > 1:
            dist.all_reduce(bad, dist.ReduceOp.MAX)
        if int(bad):
            step, epoch = self.state.batch - int(bad) + 1, self.state.epoch + 1
            raise TrainingError(
                f"the loss or a weight has not been finite since step {step} of epoch {epoch}; "
                "what was saved before is kept; a lower --lr may help"
            )

    def _batches(self) -> Iterator[tuple[Batch | FeatureBatch, int]]:
        """Cut the rest of the epoch: this process's share of each batch, and the batch's size."""
        started = time.perf_counter()
        plan = plan_batches(
            self.lengths, self.batch_size, seed=self.config.seed, epoch=self.state.epoch
        )
        for rows in plan[self.state.batch :]:
            share = rows[self.rank :: self.world_size] % len(self.examples)  # (B / world_size,)
            batch = to_device(self.examples.batch(share, self.model.config.reading), self.device)
            self.state.seconds += time.perf_counter() - started
            yield batch, len(rows)
            started = time.perf_counter()

    def _step(self, batch: Batch | FeatureBatch, size: int) -> None:
        config, state = self.config, self.state
        done = self.batches_done
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(done, config.epochs * self.batches_per_epoch, config)
        if self.model.config.dropout or self.model.config.word_dropout:
            self._seed(done)
        self.optimizer.zero_grad()
        state.sums = state.sums.to(self.device)
        pieces = split_batch(batch) if isinstance(batch, Batch) else [batch]
        for piece in pieces:
            with self.no_sync() if piece is not pieces[-1] else nullcontext():
                self._add_gradient(piece, size)
        self.optimizer.step()
        self.bad_steps += ~torch.isfinite(state.sums[0])

    def _add_gradient(self, piece: Batch | FeatureBatch, size: int) -> None:
        with autocast(
            self.device, self.config.precision, is_pretrained=self.model.config.is_pretrained
        ):
            logits = logits_of(self.parallel, piece)  # (B,) or (B, C)
        losses, answers = losses_of(logits, piece.labels)  # (B,), (B,)
        correct = answers == piece.labels  # (B,)
        # Processes average their gradients; × world_size makes that the mean over the batch.
        (losses.sum() / size * self.world_size).backward()
        loss = losses.detach().sum()
        # Added up on the device, because reading them would make the host wait for it.
        parts: list[Tensor | int] = [loss, correct.sum(), len(losses), piece.lengths.sum()]
        for i, part in enumerate(parts):
            self.state.sums[i] += part

    def _seed(self, step: int) -> None:
        # The generator itself, because torch.manual_seed queues a call for each absent GPU.
        generator = (
            torch.cuda.default_generators[self.device.index or 0]
            if self.device.type == "cuda"
            else torch.default_generator
        )
        # Modulo 2**32 because torch's CPU generator uses no more bits of its seed.
        number = (self.config.seed * 1_000_003 + step) * self.world_size + self.rank
        generator.manual_seed(number % 2**32)

    def gather(self) -> None:
        """Add up the sums of all processes over the epoch; the first process gets the total."""
        if self.world_size > 1:
            dist.all_reduce(self.state.sums)
            if self.rank > 0:
                self.state.sums.zero_()

    def _finish_epoch(self) -> None:
        state = self.state
        started = time.perf_counter()
        self.check(weights=True)  # waits for a GPU to finish, which is part of the epoch's time
        state.seconds += time.perf_counter() - started
        sums = state.sums
        if self.world_size > 1:
            dist.all_reduce(sums)
        loss, correct, count, tokens = sums.tolist()
        line: Metrics = {
            "epoch": state.epoch + 1,
            "seconds": state.seconds,
            "tokens_per_second": tokens / state.seconds,
            "train": {"loss": loss / count, "accuracy": correct / count, "n": int(count)},
        }
        for name, examples in self.validation.items():
            line[name] = measure(self.model, examples, precision=self.config.precision)
        self.state = State(metrics=[*state.metrics, line])
