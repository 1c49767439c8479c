"""Another distribution that is imported under our name: its user is told while all still works."""

import os
import subprocess
import sys

import pytest

from attention._namesake import warn_of_namesake


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put a distribution called attention into the environment, with these files."""

    def install(*files):
        folder = tmp_path / "attention-5.0.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: attention\nVersion: 5.0.0\n")
        (folder / "RECORD").write_text("".join(f"{file},,\n" for file in files))
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    return install


def test_two_distributions_that_share_our_file_are_named_with_the_way_out(install):
    install("attention/__init__.py", "attention/attention.py")
    way_out = "pip uninstall attention, then install attention-tutorial again"
    with pytest.warns(UserWarning, match=way_out) as warned:
        warn_of_namesake()
    assert "a file attention/__init__.py" in str(warned[0].message)


def test_a_distribution_of_that_name_without_our_file_is_none_of_our_business(install):
    install("attention/attention.py")
    warn_of_namesake()  # a warning would be an error here


def test_the_warning_is_shown_at_the_line_that_imports(install, tmp_path):
    folder = install("attention/__init__.py")
    script = tmp_path / "script.py"
    script.write_text("import torch\nimport attention\nprint(attention.causal_mask(2).shape)\n")
    finished = subprocess.run(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{script}:2: UserWarning: the package attention, a Keras layer" in finished.stderr
    assert finished.stdout == "torch.Size([2, 2])\n"  # ours was installed last, and works
