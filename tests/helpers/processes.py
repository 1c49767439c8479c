"""Real processes that train, ways to stop them, and the files that they leave."""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
from unittest import mock

import torch
from safetensors import safe_open
from safetensors.torch import load_file

from attention.sentiment import run_folder
from attention.sentiment.progress import Progress

RUN_FILES = {
    ".lock",
    "checkpoint",
    "config.json",
    "confusion.svg",
    "curves.svg",
    "metrics.jsonl",
    "model.safetensors",
    "summary.json",
    "tokenizer.json",
}


def python(*arguments, **environment):
    """Start a real process with as many threads as this one, so that sums are rounded alike."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def load_weights(run):
    return load_file(run / "model.safetensors")


def are_equal(tensors, others):
    return tensors.keys() == others.keys() and all(
        torch.equal(tensors[k], others[k]) for k in others
    )


def read_metrics(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def checkpoint_metadata(path):
    """Read what a checkpoint says about itself, as the text that is saved in it."""
    with safe_open(path, "pt") as file:
        return file.metadata()["state"]


def checkpoint_position(run):
    """Return how many epochs a checkpoint has finished, and how many batches of the next one."""
    state = json.loads(checkpoint_metadata(run / run_folder.CHECKPOINT))
    return len(state["metrics"]), state["batch"]


def assert_nothing_was_lost(run, whole):
    """Compare a run that was interrupted with one that was not, bit for bit."""
    assert are_equal(load_weights(run), load_weights(whole))
    metrics = read_metrics(run), read_metrics(whole)
    for line in itertools.chain(*metrics):
        del line["seconds"], line["tokens_per_second"]
    assert metrics[0] == metrics[1]
    assert are_equal(*(load_file(folder / run_folder.CHECKPOINT) for folder in (run, whole)))
    assert {path.name for path in run.rglob("*")} == {path.name for path in whole.rglob("*")}


class Interrupted(Exception):
    """What ends a run in its midst."""


@contextlib.contextmanager
def signalled_at(epoch, batch, number):
    """Let this process get a signal after a batch, while it trains here."""
    after_batch = Progress.after_batch

    def stop(self, trainer):
        if (trainer.state.epoch, trainer.state.batch) == (epoch, batch):
            os.kill(os.getpid(), number)
        after_batch(self, trainer)

    with mock.patch.object(Progress, "after_batch", stop):
        yield


# Sends itself a signal at a given step, which no timer could hit, but not in the first process.
STOPPING = """
import os, signal, sys
from attention import train
from attention._command import run_command
from attention.sentiment import progress
kind, count, save_every = sys.argv.pop(1), int(sys.argv.pop(1)), float(sys.argv.pop(1))
progress.SAVE_EVERY = save_every
after_batch, steps = progress.Progress.after_batch, 0
def stop(self, trainer):
    global steps
    steps += 1
    if steps == count and os.environ["RANK"] != "0":
        os.kill(os.getpid(), getattr(signal, kind))
    after_batch(self, trainer)
progress.Progress.after_batch = stop
code = run_command(train.main)
# A thread of gloo that outlives the group may abort the process while Python shuts down.
if os.path.isdir("/proc/self/task"):
    threads = os.listdir("/proc/self/task")
    names = [open(f"/proc/self/task/{thread}/comm").read() for thread in threads]
    assert not [name for name in names if "gloo" in name], names
sys.exit(code)
"""


def two_processes(*arguments, **environment):
    """Start two processes as torchrun would; return the exit code and the errors of each."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        python(*arguments, **group, **environment, RANK=str(rank), LOCAL_RANK=str(rank))
        for rank in (0, 1)
    ]
    errors = [process.communicate(timeout=240)[1] for process in processes]
    return [process.returncode for process in processes], errors
