from os.path import normpath
from pathlib import Path

import addresses
from edit_links import source_of

GALLERY = Path(__file__).parents[2] / "gallery"


def test_an_old_address_leads_to_a_lesson_that_is_there():
    redirects = addresses.redirects()
    assert redirects["gallery/plot_2b_masks_and_heads"] == "core/plot_4_masks.html"
    for old, new in redirects.items():
        if old in addresses.RENAMED:
            continue
        assert (GALLERY / new).with_suffix(".py").exists(), f"{old} leads to {new}"
        assert not (GALLERY.parent / f"{old}.py").exists(), f"{old} is still there"


def test_an_old_name_leads_to_a_page_that_is_there():
    for old, new in addresses.RENAMED.items():
        page = normpath(Path(old).parent / new.partition(".html")[0])
        assert source_of(page, GALLERY.parent), f"{old} leads to {new}"
        assert not source_of(old, GALLERY.parent), f"{old} is still there"
