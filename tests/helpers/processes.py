"""Real processes that train, how they are stopped, and what they leave behind."""

import json
import os
import socket
import subprocess
import sys

import torch
from safetensors.torch import load_file

from attention import runs

PROMISED = {
    ".lock", "checkpoint", "config.json", "curves.svg", "metrics.jsonl", "model.safetensors",
    "summary.json", "tokenizer.json",
}  # fmt: skip


def python(*arguments, **environment):
    """Start a real process, as many threads as this one has, so that sums round alike."""
    return subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def weights(run):
    return load_file(run / "model.safetensors")


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def place(run):
    """Say where the checkpoint stands: epochs finished, batches of the next."""
    with runs.safe_open(run / runs.CHECKPOINT, "pt") as file:
        about = json.loads(file.metadata()["state"])
    return about["epoch"], about["batch"]


def without_time(metrics):
    return [
        {k: v for k, v in line.items() if k not in ("seconds", "tokens_per_second")}
        for line in metrics
    ]


# Stops itself at a step of its own, which no clock could hit: KIND is a signal's name, or CRASH
# for a SIGKILL between the checkpoint's being written and its taking the old one's place.
STOPPING = """
import os, signal, sys
from attention import _files, command, train
kind, count, save_every = sys.argv.pop(1), int(sys.argv.pop(1)), float(sys.argv.pop(1))
train.SAVE_EVERY = save_every
after_batch, replace = train.Watch.after_batch, os.replace
steps = 0
def stop(watch, trainer):
    global steps
    steps += 1
    if steps == count and kind != "CRASH" and os.environ.get("RANK") != "0":
        os.kill(os.getpid(), getattr(signal, kind))
    after_batch(watch, trainer)
def crash(source, target):
    if steps == count and kind == "CRASH":
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
train.Watch.after_batch, os.replace = stop, crash
code = command.run_command(train.main)
# A thread of gloo's that outlives the group may abort the process while Python is taken down.
if os.path.isdir("/proc/self/task"):
    threads = os.listdir("/proc/self/task")
    names = [open(f"/proc/self/task/{thread}/comm").read() for thread in threads]
    assert not [name for name in names if "gloo" in name], names
sys.exit(code)
"""


def two_processes(*arguments, **environment):
    """Start two processes as torchrun would, so that each one's own end can be seen."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        python(*arguments, **group, **environment, RANK=str(rank), LOCAL_RANK=str(rank))
        for rank in (0, 1)
    ]
    said = [process.communicate(timeout=240)[1] for process in processes]
    return [process.returncode for process in processes], said
