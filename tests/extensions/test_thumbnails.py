import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "_static" / "thumbnails"
LESSON, OTHER = "core/plot_4_masks", "core/plot_5_multi_head"
SCRIPT = '"""\nMasks\n=====\n\nWhat is hidden?\n"""\n\nprint(1)\n'


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


def test_a_card_shows_the_picture_of_its_lesson_and_one_that_is_missing_is_named(site):
    header = "Lessons\n=======\n"
    pages = {f"../gallery/{name}.py": SCRIPT for name in (LESSON, OTHER)}
    pages |= {f"../gallery/{part}GALLERY_HEADER.rst": header for part in ("", "core/")}
    picture = (PICTURES / f"{LESSON}.svg").read_text(encoding="utf-8")
    pages[f"_static/thumbnails/{LESSON}.svg"] = picture
    conf = {
        "examples_dirs": "../gallery",
        "gallery_dirs": "gallery",
        "nested_sections": False,
        "write_computation_times": False,
    }
    text = f".. toctree::\n\n   gallery/index\n   gallery/{LESSON}\n   gallery/{OTHER}"
    extensions = "sphinx_gallery.gen_gallery", "gallery_pages"
    app = site(text, *extensions, pages=pages, sphinx_gallery_conf=conf).build()
    (warning,) = re.findall("WARNING: .*", app.warnings)
    assert f"not readable: _static/thumbnails/{OTHER}.svg" in warning
    assert (app.outdir / "_images/plot_4_masks.svg").read_text(encoding="utf-8") == picture
    assert 'src="../_images/plot_4_masks.svg"' in app.page("gallery/index")
