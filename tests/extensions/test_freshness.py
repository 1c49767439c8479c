from types import SimpleNamespace

import freshness
import pytest
from freshness import EXECUTE

FILES = ["pyproject.toml", "attention/a.py", "attention/deep/b.py"]
FILES += [f"docs/_ext/{name}.py" for name in EXECUTE]
FILES += ["docs/_parts/a.html", "tests/faults/a.py", "tests/faults/a.json"]
FILES += [f"docs/experiments/a/b.{kind}" for kind in ("py", "json", "toml", "csv", "safetensors")]
TOOLS = ["docs/conf.py", "docs/_ext/figures.py", "docs/_ext/offline/sitecustomize.py"]
TOOLS += ["docs/_templates/lesson-map.html"]


@pytest.fixture
def root(tmp_path):
    for name in [*FILES, *TOOLS]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    return tmp_path


def test_a_file_that_is_changed_new_gone_or_renamed_changes_the_fingerprint(root):
    seen = [freshness.fingerprint(root)]
    for name in FILES:
        (root / name).write_text("2")
        seen.append(freshness.fingerprint(root))
    (root / "attention/c.py").write_text("1")
    seen.append(freshness.fingerprint(root))
    (root / "attention/c.py").rename(root / "attention/d.py")
    seen.append(freshness.fingerprint(root))
    (root / "attention/a.py").unlink()
    seen.append(freshness.fingerprint(root))
    assert len(set(seen)) == len(FILES) + 4


@pytest.mark.parametrize("name", TOOLS)
def test_a_changed_tool_reads_pages_again_and_executes_none(root, name):
    before, tools = freshness.fingerprint(root), freshness.tools(root / "docs")
    (root / name).write_text("2")
    assert freshness.fingerprint(root) == before
    assert freshness.tools(root / "docs") != tools


def test_what_python_compiled_or_an_experiment_wrote_does_not(root):
    before = freshness.fingerprint(root), freshness.tools(root / "docs")
    for folder in ("attention/__pycache__", "docs/_ext/__pycache__", "docs/experiments/a/runs/1"):
        (root / folder).mkdir(parents=True)
        (root / folder / "a.cpython-311.pyc").write_bytes(b"1")
    assert (freshness.fingerprint(root), freshness.tools(root / "docs")) == before


def test_pages_are_forgotten_when_the_package_changed(root):
    app = SimpleNamespace(srcdir=root / "docs", outdir=root / "docs/_build/html")
    remembered = [root / "docs/gallery/page.rst", root / "docs/_build/.jupyter_cache/cell"]

    def forgets(address: str = "") -> list[bool]:
        for path in remembered:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        freshness.forget_stale_pages(app, SimpleNamespace(html_baseurl=address))
        return [not path.exists() for path in remembered]

    assert forgets() == [True, True]  # nothing is known of the package they were made with
    assert forgets() == [False, False]
    assert forgets("https://example.org/") == [False, False]
    (root / "attention/a.py").write_text("2")
    assert forgets() == [True, True]
    assert forgets() == [False, False]


def test_pages_are_read_again_for_another_tool_or_address(site, root):
    def read(**settings: str) -> list[str]:
        app, names = site("Text.", "freshness", **settings), []
        app.connect("env-before-read-docs", lambda app, env, pages: names.extend(pages))
        app.build()
        return names

    assert read() == ["index"]
    assert read() == []
    (root / "docs/_ext/figures.py").write_text("2")
    assert read() == ["index"]
    assert read(html_baseurl="https://example.org/") == ["index"]
