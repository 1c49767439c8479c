"""Which modules a file of Python imports."""

import ast
from pathlib import Path


def imported(path: Path) -> set[str]:
    """Return the first names of all modules that the file at ``path`` imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.partition(".")[0])
    return names
