import io
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import matplotlib.image as mpimg
import numpy as np
import pytest
import thumbnails
from thumbnail_drawings import DRAWINGS, HEIGHT, POINTS, SCALE, WIDTH, Canvas

GALLERY = Path(__file__).parents[2] / "gallery"
LESSON = "core/plot_4_masks"
PHONE = 7 * 16  # CSS pixels: the narrowest that site.css shows a picture
SCRIPT = '''"""
Masks
=====

What is hidden?
"""

import matplotlib.pyplot as plt

plt.plot([0, 1])
'''


@pytest.fixture(scope="module")
def drawn() -> dict[str, bytes]:
    return {lesson: thumbnails.draw(lesson) for lesson in DRAWINGS}


@pytest.fixture
def gallery(site, tmp_path, monkeypatch):
    """Build a gallery of one lesson, executed as on the site, and return the app."""
    monkeypatch.setattr(thumbnails, "DRAWINGS", {LESSON: DRAWINGS[LESSON]})
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
        page = ".. toctree::\n\n   gallery/index"
        app = site(page, "thumbnails", "sphinx_gallery.gen_gallery", sphinx_gallery_conf=conf)
        app.build()
        return app

    return build


def pixels(png: bytes) -> np.ndarray:
    return mpimg.imread(io.BytesIO(png))[:, :, :3]


def test_every_lesson_has_a_drawing_and_every_drawing_a_lesson():
    scripts = {
        path.relative_to(GALLERY).with_suffix("").as_posix() for path in GALLERY.glob("*/plot_*.py")
    }
    assert DRAWINGS.keys() == scripts


def test_a_second_drawing_has_the_same_bytes_whatever_is_set(drawn):
    with mpl.rc_context({"savefig.dpi": 50, "font.size": 20, "lines.linewidth": 9}):
        assert {lesson: thumbnails.draw(lesson) for lesson in DRAWINGS} == drawn


@pytest.mark.parametrize("lesson", DRAWINGS)
def test_a_picture_is_three_by_two_with_a_white_margin(lesson, drawn):
    picture = pixels(drawn[lesson])
    assert (WIDTH, HEIGHT) == (144, 96)
    assert picture.shape == (HEIGHT * SCALE, WIDTH * SCALE, 3)
    inside = picture[5 * SCALE : -5 * SCALE, 5 * SCALE : -5 * SCALE]
    assert inside.min() < 0.7  # something is on it
    assert (1 - inside).sum() == pytest.approx((1 - picture).sum())


@pytest.mark.parametrize("lesson", DRAWINGS)
def test_a_label_can_be_read_on_the_card_of_a_phone(lesson):
    canvas = Canvas()
    DRAWINGS[lesson](canvas)
    labels = [text for text in canvas.ax.texts if text.get_text()]
    assert len({text.get_text() for text in labels}) <= 4
    for text in labels:
        assert text.get_size() / POINTS * PHONE / WIDTH >= 9, text


def test_no_two_pictures_are_alike(drawn):
    small = {lesson: pixels(png)[::SCALE, ::SCALE] for lesson, png in drawn.items()}
    differ = {
        pair: np.mean(np.abs(small[pair[0]] - small[pair[1]]).max(axis=-1) > 0.1)
        for pair in combinations(small, 2)
    }
    closest = min(differ, key=differ.get)
    print(f"the closest two: {closest}, which differ in {differ[closest]:.0%} of the pixels")
    assert differ[closest] > 0.05


def test_a_card_shows_the_drawing_also_after_the_lesson_is_executed_again(gallery, tmp_path, drawn):
    app = gallery()
    assert "WARNING" not in app.warning.getvalue()
    shown = app.outdir / "_images" / Path(thumbnails.thumbnail(LESSON)).name
    assert shown.read_bytes() == drawn[LESSON]
    assert shown.name in (app.outdir / "gallery" / "index.html").read_text()
    (tmp_path / "gallery" / f"{LESSON}.py").write_text(SCRIPT + "plt.plot([1, 0])\n")
    app = gallery()
    assert shown.read_bytes() == drawn[LESSON]


def test_a_picture_that_has_not_changed_is_not_written_again(gallery):
    app = gallery()
    picture = app.srcdir / thumbnails.thumbnail(LESSON)
    written = picture.stat().st_mtime_ns
    thumbnails.write_thumbnails(app)
    assert picture.stat().st_mtime_ns == written
    picture.write_bytes(b"")
    thumbnails.write_thumbnails(app)
    assert picture.stat().st_size


def test_a_lesson_without_a_drawing_is_named(gallery, monkeypatch):
    monkeypatch.setattr(thumbnails, "DRAWINGS", {})
    app = gallery()
    assert f"WARNING: {LESSON}: the card has no picture" in app.warning.getvalue()
    assert (app.srcdir / thumbnails.thumbnail(LESSON)).exists()  # Sphinx-Gallery's own


def test_a_drawing_without_a_lesson_is_named(gallery, monkeypatch):
    monkeypatch.setitem(thumbnails.DRAWINGS, "core/plot_0", DRAWINGS[LESSON])
    warnings = gallery().warning.getvalue()
    assert "WARNING: core/plot_0: a picture is drawn for a lesson that does not exist" in warnings
