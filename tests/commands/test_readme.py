"""What the README shows: its commands and its lines of Python."""

import re
import shlex
from pathlib import Path

from attention import evaluate, predict, train

TEXT = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
COMMANDS = {"train": train.main, "evaluate": evaluate.main, "predict": predict.main}
QUICK = shlex.split("--limit 40 --epochs 1 --min-steps 1 --embed-dim 2 --bigram-buckets 0")


def test_its_commands_and_its_python_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    rows = [f"soup number {i} was {'good' if i % 2 else 'bad'},{i % 5}" for i in range(80)]
    Path("mine.csv").write_text("\n".join(["review,stars", *rows]))
    Path("new.csv").write_text("review\ngood soup\nbad soup\n")
    lines = re.findall(r"^\.venv/bin/python -m attention\.(\w+) (.*)$", TEXT, re.MULTILINE)
    for command, line in lines:
        assert COMMANDS[command](shlex.split(line) + QUICK * (command == "train")) == 0
    assert Path("scored.csv").read_text().startswith("review,predicted,probability\ngood soup,")
    names = {}
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(code, names)
    assert f"# {tuple(names['context'].shape)}, {tuple(names['weights'].shape)}\n" in TEXT
    assert names["answer"]["label"] in names["classify"].labels
    assert len(names["explained"]["words"]) == len(names["explained"]["contributions"]) > 0
    assert len(lines) == 5
