"""The lines of Python that a reader of the README sees first."""

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_lines_in_the_readme_run_and_give_the_shapes_beside_them():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(code.splitlines()) == 3
    names: dict = {}
    exec(code, names)
    shapes = f"# {tuple(names['context'].shape)}, {tuple(names['weights'].shape)}"
    assert code.rstrip().endswith(shapes)
