"""Write a version's release notes from CHANGELOG.md, or say in one line why it can't be released.

``nox -s release`` runs this in the project's folder, before it builds anything.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path


def git(*arguments: str) -> list[str]:
    """Return the lines that git prints."""
    finished = subprocess.run(["git", *arguments], capture_output=True, text=True)
    if finished.returncode:
        sys.exit(f"git {arguments[0]}: {finished.stderr.strip()}")
    return finished.stdout.splitlines()


def section(changelog: str, version: str) -> tuple[str, str]:
    """Return what follows a version's number in its heading, and the text under the heading."""
    for each in re.split(r"(?m)^## ", changelog)[1:]:
        heading, _, text = each.partition("\n")
        number, _, remark = heading.partition(" ")
        if number == version and text.strip():
            return remark, text.strip()
    sys.exit(f"CHANGELOG.md has no section on {version}, the version in pyproject.toml")


def unwrapped(text: str) -> str:
    """Join the lines of each item, because a release's notes show every line break on GitHub."""
    return re.sub(r"(?<=\S)\n +(?!- |\s)", " ", text)


version = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["version"]
remark, notes = section(Path("CHANGELOG.md").read_text("utf-8"), version)
if git("status", "--porcelain"):
    sys.exit("the tree is not clean, so commit or stash first what git status lists")
tags = [tag for tag in git("tag", "--points-at", "HEAD") if re.match(r"v\d", tag)]
if tags and tags != [f"v{version}"]:
    sys.exit(f"the tag {' and '.join(tags)} is not the version in pyproject.toml, {version}")
if tags and "unreleased" in remark:
    sys.exit(f"CHANGELOG.md calls {version} unreleased; its heading needs the date instead")
dated = re.search(r"(?m)^date-released: (\S+)$", Path("CITATION.cff").read_text("utf-8"))
if tags and remark != f"({dated and dated[1]})":
    day = dated[1] if dated else "no day"
    sys.exit(f"CITATION.cff has {day} as date-released, CHANGELOG.md has {remark} for {version}")

path = Path(sys.argv[1])
path.parent.mkdir(exist_ok=True)
path.write_text(unwrapped(notes) + "\n", "utf-8")
print(f"{path}: {version}, {'tagged ' + tags[0] if tags else 'a rehearsal, as no tag is here'}")
