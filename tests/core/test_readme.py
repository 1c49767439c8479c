"""The lines of Python that a reader of the README sees first."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_lines_in_the_readme_run_and_give_the_shapes_beside_them():
    text = README.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 3
    names: dict = {}
    exec(code, names)
    assert f"contexts of shape {tuple(names['context'].shape)} " in text
    assert f"weights of two heads, {tuple(names['weights'].shape)}." in text
