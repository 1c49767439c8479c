"""The sheet in a browser: what its page prints, and what a phone shows."""

import io

import pytest
from pypdf import PdfReader


@pytest.mark.parametrize(("paper", "scheme"), [("A4", "light"), ("Letter", "dark")])
def test_its_page_prints_the_sheet_alone_on_one_page(visit, http_root, paper, scheme):
    page = visit(http_root + "sheet.html").page
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("document.querySelector('.sheet img').complete")
    (printed,) = PdfReader(io.BytesIO(page.pdf(format=paper, print_background=True))).pages
    assert printed.extract_text().strip() == ""  # the letters of the sheet are shapes
    assert printed.images or len(printed.get_contents().get_data()) > 100_000


def test_a_phone_shows_it_as_a_column(visit, http_root):
    page = visit(http_root + "sheet.html").page
    shown = "document.querySelector('.sheet img').currentSrc.split('/').pop()"
    for width, name in ((1280, "attention.svg"), (390, "attention-phone.svg")):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_function(f"{shown} === '{name}'")
