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
    """Join the other processes in a way that lets this one leave them again."""
    # Functions in this module of torch take the group that exists when they are imported as a
    # default. The model's parallel wrapper imports them. If it did so after the group had started,
    # they would keep the group for ever, and gloo's threads would sometimes abort the process (-6)
    # while Python shuts down.
    importlib.import_module("torch.distributed.nn.functional")
    dist.init_process_group()  # gloo for tensors on the CPU, NCCL for those on a GPU


def on_all_processes(action: Callable[[], Result]) -> Result:
    """Do something on every process, and fail on all of them if one fails.

    Otherwise, the remaining processes would wait for that one at the next step for ever.

    Args:
        action: What to do.

    Returns:
        What it returned on this process.

    Raises:
        ValueError: If bad input or a bad file stopped any process; raised on the first process,
            which reports for all.
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
