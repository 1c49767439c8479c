import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "_static" / "thumbnails"


def test_every_lesson_has_a_picture_and_every_picture_a_lesson():
    lessons = (path.relative_to(ROOT / "gallery") for path in ROOT.glob("gallery/*/plot_*.py"))
    pictures = (path.relative_to(PICTURES) for path in PICTURES.glob("*/*"))
    assert sorted(path.with_suffix(".svg") for path in lessons) == sorted(pictures)


def test_a_picture_has_the_size_of_a_card_and_asks_for_nothing():
    for path in PICTURES.glob("*/*"):
        text = path.read_text(encoding="utf-8")
        root = re.match("<svg [^>]*>", text)[0]
        assert {'width="144"', 'height="96"'} <= set(root[:-1].split()), path.name
        assert not re.search(r'<script|href="(?!#)|url\((?!#)', text), path.name
        assert len(text) < 6000, path.name
