"""Several processes that train one model, under torchrun."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import TypeVar, cast

from torch import distributed as dist

Result = TypeVar("Result")


def is_first_process() -> bool:
    """Tell whether this is the process that writes and prints, the only one or the first."""
    return int(os.environ.get("RANK", 0)) == 0


def print_status(line: str) -> None:
    """Print a line on the first process for the person at the terminal, not for other programs."""
    if is_first_process():
        print(line, file=sys.stderr, flush=True)


def rank_and_size() -> tuple[int, int]:
    """Return the number of this process, and of how many."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


def join_group() -> None:
    """Join the other processes in a way that lets this one leave them again."""
    # Functions in this module of torch take the group that exists when they are imported as a
    # default. The model's parallel wrapper imports them. If it did so after the group had started,
    # they would keep the group for ever, and gloo's threads would sometimes abort the process (-6)
    # while Python shuts down.
    importlib.import_module("torch.distributed.nn.functional")
    dist.init_process_group()  # gloo for tensors on the CPU, NCCL for those on a GPU


def on_all_processes(action: Callable[[], Result]) -> Result:
    """Do something on every process, and fail on all if one fails, lest the others wait for ever.

    The first process raises an error of its own or, as a ValueError, that of another, and so
    reports for all. The others exit with code 2, unless their own error is a mistake in the code or
    a lack of memory.
    """
    result, failure = None, None
    try:
        result = action()
    except Exception as error:
        failure = error
    rank, world_size = rank_and_size()
    if world_size > 1:
        messages: list[str | None] = [None] * world_size
        dist.all_gather_object(messages, failure and (str(failure) or repr(failure)))
        elsewhere = [(other, message) for other, message in enumerate(messages) if message]
        if elsewhere and rank > 0 and isinstance(failure, ValueError | OSError | None):
            raise SystemExit(2)
        if elsewhere and failure is None:
            raise ValueError("process {}: {}".format(*elsewhere[0]))
    if failure is not None:
        raise failure
    return cast(Result, result)
