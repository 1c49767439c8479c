import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "_static" / "thumbnails"
NAMES = sorted(path.relative_to(PICTURES).as_posix() for path in PICTURES.glob("*/*"))
LESSON = "core/plot_4_masks"
SCRIPT = '''"""
Masks
=====

What is hidden?
"""

import matplotlib.pyplot as plt

plt.plot([0, 1])
'''


@pytest.fixture
def gallery(site, tmp_path):
    """Build a gallery of one lesson, executed as on the site, and return the app."""
    lesson = tmp_path / "gallery" / f"{LESSON}.py"
    lesson.parent.mkdir(parents=True)
    lesson.write_text(SCRIPT)
    for folder in (lesson.parent, lesson.parent.parent):
        (folder / "GALLERY_HEADER.rst").write_text("Lessons\n=======\n")

    def build():
        conf = {
            "examples_dirs": "../gallery",
            "gallery_dirs": "gallery",
            "nested_sections": False,
            "write_computation_times": False,
        }
        page = f".. toctree::\n\n   gallery/index\n   gallery/{LESSON}"
        app = site(page, "sphinx_gallery.gen_gallery", "gallery_pages", sphinx_gallery_conf=conf)
        app.build()
        return app

    return build


def test_every_lesson_has_a_picture_and_every_picture_a_lesson():
    lessons = (path.relative_to(ROOT / "gallery") for path in ROOT.glob("gallery/*/plot_*.py"))
    assert sorted(path.with_suffix(".svg").as_posix() for path in lessons) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_has_the_size_of_a_card_and_asks_for_nothing(name):
    text = (PICTURES / name).read_text(encoding="utf-8")
    root = re.match("<svg [^>]*>", text)[0]
    assert {'width="144"', 'height="96"'} <= set(root[:-1].split())
    assert not re.search(r'<script|href="(?!#)|url\((?!#)', text)
    assert len(text) < 6000


def test_a_card_shows_the_picture_of_its_lesson(gallery, tmp_path):
    there = tmp_path / "docs" / "_static" / "thumbnails" / f"{LESSON}.svg"
    there.parent.mkdir(parents=True)
    shutil.copy(PICTURES / f"{LESSON}.svg", there)
    app = gallery()
    assert "WARNING" not in app.warning.getvalue()
    assert (app.outdir / "_images" / there.name).read_bytes() == there.read_bytes()
    assert f'src="../_images/{there.name}"' in (app.outdir / "gallery/index.html").read_text()


def test_a_lesson_without_a_picture_is_named(gallery):
    assert f"not readable: _static/thumbnails/{LESSON}.svg" in gallery().warning.getvalue()
