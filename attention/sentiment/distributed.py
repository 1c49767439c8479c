"""Several processes that train one model, under torchrun."""

import importlib
import os
from collections.abc import Callable
from typing import TypeVar, cast

from torch import distributed as dist

Result = TypeVar("Result")


def is_first_process() -> bool:
    """Tell whether this is the process that writes and prints, the only one or the first."""
    return int(os.environ.get("RANK", 0)) == 0


def join_group() -> None:
    """Join the other processes, so that this one can leave them again, too."""
    # Functions in here take the group there is, when they are imported, as a default. The model's
    # parallel wrapper imports them; were that after the group began, they would keep it for good,
    # and gloo's threads would abort the process (-6) now and then as Python is taken down.
    importlib.import_module("torch.distributed.nn.functional")
    dist.init_process_group()  # gloo for tensors on the CPU, NCCL for those on a GPU


def on_all_processes(action: Callable[[], Result]) -> Result:
    """Do something on every process, and fail on all of them where one fails.

    A process that carried on alone would wait for the others at the next step, for ever.

    Args:
        action: What to do.

    Returns:
        What it returned here.

    Raises:
        ValueError: If bad input or a bad file stopped any process; on the first process, which
            speaks for all.
        OSError: Likewise.
        SystemExit: On the other processes, with code 2.

    Example:
        >>> from attention.sentiment.distributed import on_all_processes
        >>> on_all_processes(lambda: 6 * 7)
        42
    """
    result, failure = None, None
    try:
        result = action()
    except (ValueError, OSError) as error:
        failure = error
    if dist.is_initialized():
        messages: list[str | None] = [None] * dist.get_world_size()
        dist.all_gather_object(messages, failure and (str(failure) or repr(failure)))
        elsewhere = [(rank, message) for rank, message in enumerate(messages) if message]
        if elsewhere and dist.get_rank() > 0:
            raise SystemExit(2)
        if elsewhere and failure is None:
            rank, message = elsewhere[0]
            raise ValueError(f"process {rank}: {message}")
    if failure is not None:
        raise failure
    return cast(Result, result)
