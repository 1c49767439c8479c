"""Training under faults: killed, out of space, damaged, doubled. Nothing lost, nothing silent.

What is killed, limited or doubled here is a process of its own, as a reader would start it. What
resumes from there runs in this process, which is sooner.
"""

import os
import random
import signal
import time

import pytest
import small_run
from processes import RUN_FILES, assert_nothing_was_lost, checkpoint_position, python

from attention.sentiment.run_folder import CHECKPOINT
from attention.train import main

OPTIONS = [*small_run.DROPOUT, "--epochs", "6"]

# The command, made slow where it writes: a checkpoint after each batch, every file in two halves.
# So a SIGKILL may find it computing, halfway through a file, or with a whole file that has not
# yet taken the old one's place.
SLOWLY = """
import builtins, os, sys, time
from attention import _files, train
from attention._command import run_command
from attention.sentiment import progress
progress.SAVE_EVERY = -1.0
replace = os.replace
class InHalves:
    def __init__(self, file):
        self.file = file
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.file.close()
    def __getattr__(self, name):
        return getattr(self.file, name)
    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        time.sleep(0.02)
        self.file.write(content[len(content) // 2 :])
def later(source, target):
    time.sleep(0.02)
    replace(source, target)
_files.open, os.replace = lambda path, mode: InHalves(builtins.open(path, mode)), later
sys.exit(run_command(train.main))
"""

# The command, killed for good as the file NAME is about to take its place.
KILLED_AT = """
import os, signal, sys
from attention import train
from attention._command import run_command
name, replace = sys.argv.pop(1), os.replace
def kill(source, target):
    if os.path.basename(target) == name:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(source, target)
os.replace = kill
run_command(train.main)
"""

# The command, unable to write a file of more than SIZE bytes.
LIMITED = """
import resource, sys
size = int(sys.argv.pop(1))
sys.dont_write_bytecode = True  # a file cut short would stay in the environment
resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
from attention import train
from attention._command import run_command
from attention.sentiment import progress
progress.SAVE_EVERY = -1.0
sys.exit(run_command(train.main))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbs."""
    return small_run.train(tmp_path_factory.mktemp("faults") / "whole", *OPTIONS)


def new(whole, out):
    return small_run.line(out, *OPTIONS, data=whole.parent / "reviews")


def half_written(out):
    return list(out.rglob("*.part"))


def wait_for(condition, process, seconds=120):
    until = time.monotonic() + seconds
    while not condition() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.0005)


def kill_slow_run(line, out, moment, *, in_a_write):
    """Start the slow command and kill it; say whether it was still running."""
    process = python("-c", SLOWLY, *line)
    before = (out / CHECKPOINT).stat().st_mtime_ns if (out / CHECKPOINT).exists() else 0
    wait_for(
        lambda: (out / CHECKPOINT).exists() and (out / CHECKPOINT).stat().st_mtime_ns > before,
        process,
    )
    time.sleep(moment)
    if in_a_write:
        wait_for(lambda: half_written(out), process)
    process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


def test_ten_kills_at_random_moments_cost_no_bit(whole, tmp_path):
    seed = int(os.environ.get("FAULTS_SEED", random.randrange(2**32)))
    print(f"FAULTS_SEED={seed}")
    draw = random.Random(seed)
    kills, writes, chains = 0, 0, 0
    while kills < 10:
        out = tmp_path / f"run {chains}"
        chains += 1
        assert chains <= 10, "no run is ever killed in the midst of a write"
        line = new(whole, out)
        while True:
            in_a_write = kills % 2 == 1
            was_running = kill_slow_run(line, out, draw.uniform(0, 0.4), in_a_write=in_a_write)
            kills += was_running
            writes += was_running and bool(half_written(out))
            epoch, batch = checkpoint_position(out)
            print(f"kill {kills}: after epoch {epoch}, batch {batch}, {half_written(out)}")
            if not was_running or kills == 10:
                break
            line = ["--resume", str(out)]
        if not (out / "summary.json").exists():
            assert main(["--resume", str(out)]) == 0
        assert_nothing_was_lost(out, whole)
    assert writes >= 3


FILES = RUN_FILES - {".lock", "checkpoint"} | {"state.safetensors"}


@pytest.mark.parametrize("name", sorted(FILES))
def test_killed_as_a_file_takes_its_place(name, whole, tmp_path, capsys):
    out = tmp_path / "run"
    process = python("-c", KILLED_AT, name, *new(whole, out))
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [path.name for path in half_written(out)] == [f"{name}.part"]
    if (out / CHECKPOINT).exists():
        line = ["--resume", str(out)]
        with pytest.raises(ValueError, match="resume it with --resume"):
            main(new(whole, out))
    else:  # killed before its first checkpoint: the folder is free for the same command
        line = new(whole, out)
    assert main(line) == 0
    afresh = "ended before it was saved; starting afresh" in capsys.readouterr().err
    assert afresh == (line[0] != "--resume")
    assert_nothing_was_lost(out, whole)


def test_no_space_left_is_said_and_leaves_what_was_saved(whole, tmp_path):
    out = tmp_path / "run"
    full = (whole / CHECKPOINT).stat().st_size
    named = set()
    # From no room for the first file to room for all but the last ones.
    for size in (10, 900, 2_500, full // 2, full - 5_000):
        start = ["--resume", str(out)] if (out / CHECKPOINT).exists() else new(whole, out)
        process = python("-c", LIMITED, size, *start)
        _, errors = process.communicate()
        assert process.returncode == 2, errors
        last = errors.splitlines()[-1]
        assert last.startswith("error: ")
        assert "File too large" in last
        assert "Traceback" not in errors
        assert not half_written(out)  # what could not be written leaves its place
        named.add(last.split("'")[1].removeprefix(f"{out}/"))
        if "state.safetensors" in last and not (out / CHECKPOINT).exists():
            # Room again for three batches, then none.
            assert kill_slow_run(new(whole, out), out, 0.2, in_a_write=False)
    assert {"tokenizer.json", "checkpoint/state.safetensors"} <= named
    assert main(["--resume", str(out)]) == 0
    assert_nothing_was_lost(out, whole)


def test_two_runs_in_one_folder(whole, tmp_path):
    out = tmp_path / "run"
    first = python("-c", SLOWLY, *new(whole, out))
    wait_for(lambda: (out / CHECKPOINT).exists(), first)
    second = python("-m", "attention.train", "--resume", out)
    _, errors = second.communicate()
    assert second.returncode == 2, errors
    assert first.poll() is None, "the first run ended too soon to tell"
    assert "another run is writing here" in errors
    assert errors.count("\n") == 1
    _, errors = first.communicate()
    assert first.returncode == 0, errors
    assert_nothing_was_lost(out, whole)


def test_two_runs_that_begin_at_once(whole, tmp_path):
    out = tmp_path / "run"
    both = [python("-c", SLOWLY, *new(whole, out)) for _ in range(2)]
    errors = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], errors
    (refused,) = (line for process, line in zip(both, errors, strict=True) if process.returncode)
    assert refused.count("\n") == 1
    assert_nothing_was_lost(out, whole)
