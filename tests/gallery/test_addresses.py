"""A lesson's old address leads to its new one, and nothing in the repository uses the old one."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "_ext" / "addresses.py"
ADDRESSES = runpy.run_path(str(TABLE))
# The lessons as they were published in gallery/: what other sites may link to.
PUBLISHED = [
    "plot_1_qkv_derivation",
    "plot_1c_two_modules_one_function",
    "plot_2_scaling_variance",
    "plot_2b_masks_and_heads",
    "plot_2c_positions",
    "plot_3_low_rank_qk",
    "plot_3a_gauge_and_biases",
    "plot_3b_values_fold",
    "plot_3c_rank_on_reviews",
    "plot_3d_cost_of_the_brackets",
    "plot_4_sentiment_training",
    "plot_4a_what_went_wrong_in_the_lab",
    "plot_5_reading_attention",
]
# A lesson that kept its name is recognised by the folder; sphinx-gallery's labels write it with _.
KEPT = {new.rpartition("/")[2] for new in ADDRESSES["MOVED"].values()}
REMOVED = "plot_1b_same_steps_other_numbers"  # what it taught is now exercises
RENAMED = "|".join([REMOVED, *(stem for stem in PUBLISHED if stem not in KEPT)])
OLD = re.compile(rf"gallery[/_]plot_\w*|\b({RENAMED})\b")
BUILT = [ROOT / "docs/_build", ROOT / "docs/gallery"]
TEXTS = {".md", ".rst", ".py", ".toml", ".json", ".html", ".js"}


def sources():
    """List what people write; what the build writes beside it is left out."""
    found = [ROOT / "README.md"]
    for folder in ("docs", "gallery"):
        found += [path for path in (ROOT / folder).rglob("*.*") if path.suffix in TEXTS]
    return [
        path
        for path in found
        if "runs" not in path.parts and not any(path.is_relative_to(built) for built in BUILT)
    ]


# Pages that are no lessons, and where each leads.
PAGES = {
    "api": "docs/api/index.md",
    "exercises_low_rank": "docs/exercises/low_rank.md",
    "lab": "docs/playground.md",
    "promises": "docs/reliability.md",
    f"gallery/{REMOVED}": "docs/exercises/sentence.md",
    f"gallery/core/{REMOVED}": "docs/exercises/sentence.md",
    "gallery/core/index": "gallery/GALLERY_HEADER.rst",
    "gallery/deeper/index": "gallery/GALLERY_HEADER.rst",
    "gallery/cases/index": "gallery/GALLERY_HEADER.rst",
}


def test_every_published_page_is_redirected():
    published = [*(f"gallery/{stem}" for stem in PUBLISHED), *PAGES]
    assert sorted(ADDRESSES["redirects"]()) == sorted(published)


@pytest.mark.parametrize("name", PAGES)
def test_a_renamed_page_is_where_its_redirect_leads(name):
    assert (ROOT / PAGES[name]).is_file()
    assert not (ROOT / "docs" / f"{name}.md").exists()


@pytest.mark.parametrize("stem", PUBLISHED)
def test_a_redirect_leads_to_a_lesson(stem):
    target = ADDRESSES["redirects"]()[f"gallery/{stem}"]
    assert target.endswith(".html")
    assert (ROOT / "gallery" / target).with_suffix(".py").is_file()


def test_no_source_uses_an_old_address():
    used = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in sources()
        if path != TABLE
        for found in OLD.finditer(path.read_text(encoding="utf-8"))
    ]
    assert used == []


def test_an_old_address_would_be_found():
    assert OLD.search(f"see gallery/core/{REMOVED}.rst")
    for stem in PUBLISHED:
        assert OLD.search(f"see gallery/{stem}.rst")
        assert OLD.search(f"<sphx_glr_gallery_{stem}.py>")
    for new in ADDRESSES["MOVED"].values():
        assert not OLD.search(f"see gallery/{new}.rst")
