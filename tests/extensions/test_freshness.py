from pathlib import Path
from types import SimpleNamespace

import freshness
import pytest

FILES = ["pyproject.toml", "attention/a.py", "attention/deep/b.py"]
FILES += ["docs/_ext/saved_pictures.py"]
FILES += [f"docs/experiments/a/b.{suffix}" for suffix in ("py", "json", "toml")]


@pytest.fixture
def root(tmp_path):
    for name in FILES:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1")
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_changes_the_fingerprint(root, name):
    before = freshness.fingerprint(root)
    (root / name).write_text("2")
    assert freshness.fingerprint(root) != before


def test_so_does_a_file_that_is_new_gone_or_renamed(root):
    seen = [freshness.fingerprint(root)]
    (root / "attention/c.py").write_text("1")
    seen.append(freshness.fingerprint(root))
    (root / "attention/c.py").rename(root / "attention/d.py")
    seen.append(freshness.fingerprint(root))
    (root / "attention/a.py").unlink()
    seen.append(freshness.fingerprint(root))
    assert len(set(seen)) == 4


def test_so_does_a_setting(root):
    settings = ["", "https://one.example", "https://two.example"]
    assert len({freshness.fingerprint(root, setting) for setting in settings}) == 3


def test_what_python_compiled_does_not(root):
    before = freshness.fingerprint(root)
    for folder in ("attention", "docs/experiments/a"):
        (root / folder / "__pycache__").mkdir()
        (root / folder / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"1")
    assert freshness.fingerprint(root) == before


def test_pages_are_forgotten_when_the_package_changed(root):
    app = SimpleNamespace(srcdir=root / "docs", outdir=root / "docs/_build/html")
    remembered = [root / "docs/gallery/page.rst", root / "docs/_build/.jupyter_cache/cell"]

    def forgets() -> list[bool]:
        for path in remembered:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        freshness.forget_stale_pages(app, SimpleNamespace(html_baseurl=""))
        return [not path.exists() for path in remembered]

    assert forgets() == [True, True]  # nothing is known of the package they were made with
    assert forgets() == [False, False]
    (root / "attention/a.py").write_text("2")
    assert forgets() == [True, True]
    assert forgets() == [False, False]


def examples(site, root: Path, text: str):
    app = site(text, "freshness", builder="doctest")
    assert app.srcdir == root / "docs"
    outdated = set(app.builder.get_outdated_docs())
    app.build()
    return outdated, app.statuscode


def test_examples_that_passed_run_again_only_after_a_change(site, root):
    assert examples(site, root, ">>> 1 + 1\n2") == ({"index"}, 0)
    assert examples(site, root, ">>> 1 + 1\n2") == (set(), 0)
    assert examples(site, root, ">>> 1 + 2\n3") == ({"index"}, 0)
    (root / "attention/a.py").write_text("2")
    assert examples(site, root, ">>> 1 + 2\n3") == ({"index"}, 0)


def test_examples_that_failed_run_again(site, root):
    assert examples(site, root, ">>> 1 + 1\n3")[1] == 1
    assert examples(site, root, ">>> 1 + 1\n3") == ({"index"}, 1)
