"""The sheet: one page of either paper, with the numbers of its page, and code that is right."""

import io
import json
import re
from xml.etree import ElementTree

import pytest
import sheet
import torch
from pypdf import PdfReader
from run_pages import CELL, ROOT
from torch.nn import functional as F
from typst import TypstError

from attention import (
    MultiHeadAttention,
    TransformerBlock,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)

PAGE = (ROOT / "docs" / "sheet.md").read_text("utf-8")
CODE = re.findall(r"```\n(.*?)\n```", sheet.SOURCE.read_text("utf-8"), re.DOTALL)
POINTS = {"a4": (595, 842), "us-letter": (612, 792)}


@pytest.fixture(scope="module")
def cells():
    """Execute the cells of the page; return their names."""
    found = {}
    exec("\n".join(CELL.findall(PAGE)), found)
    return found


@pytest.fixture(scope="module")
def said(cells):
    # As the page hands it over
    numbers = json.loads(json.dumps(cells["numbers"]))
    return {"numbers": numbers, "author": "A", "version": "1.2", "address": "https://a.org/"}


@pytest.mark.parametrize("paper", POINTS)
def test_it_is_one_page_with_the_numbers_of_the_cells(paper, said, cells):
    (page,) = PdfReader(io.BytesIO(sheet.typeset(said, paper, "pdf"))).pages
    assert [round(each) for each in page.mediabox[2:]] == [*POINTS[paper]]
    text = " ".join(page.extract_text().split())
    for name in ("query", "value", "weights", "context"):
        for row in cells[name].tolist():
            assert " ".join(f"{number:.2f}" for number in row) in text, name
    for key in cells["key"].T.tolist():
        assert " ".join(f"{number:.2f}" for number in key) in text
    for call, may_attend in cells["conventions"]:
        assert f"{call} {'may attend' if may_attend else 'may not attend'}" in text
    for row in ("tokens", "share", "memory"):
        assert " ".join(each[row] for each in cells["costs"]) in text
    for name in ("axis", "scale", "mask", "view", "mean"):
        assert cells["mistakes"][name] in text
    for part in ("attention 1.2", "https://a.org/", cells["numbers"]["block"]["parameters"]):
        assert part in text


def test_its_numbers_are_those_of_the_first_lesson_and_of_the_formulas(cells):
    journey = [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820]
    assert cells["weights"][1].tolist() == pytest.approx(journey, abs=5e-5)
    assert cells["context"][1].tolist() == pytest.approx([0.3061, 0.8210], abs=5e-5)
    assert cells["conventions"] == [
        ("F.scaled_dot_product_attention(attn_mask=)", True),
        ("nn.MultiheadAttention(attn_mask=)", False),
        ("nn.MultiheadAttention(key_padding_mask=)", False),
    ]
    assert [each["share"] for each in cells["costs"]] == ["10 %", "50 %", "88 %"]
    block = TransformerBlock(6, num_heads=2)
    assert sum(each.numel() for each in block.parameters()) == 12 * 6**2 + 13 * 6
    assert cells["mistakes"]["mean"] == f"{3 / 8}"
    (fast, slow), (a, b) = cells["numbers"]["angles"], (10_000 ** (-2 / 16), 10_000 ** (-4 / 16))
    assert (fast[0] - fast[1], slow[0] - slow[1]) == pytest.approx((2 * a, 2 * b))


def test_its_code_computes_what_the_package_computes():
    formula, masks, heads, block = CODE
    B, n, d, h = 2, 5, 6, 3
    x, lengths = torch.randn(B, n, d), torch.tensor([5, 3])
    layer = MultiHeadAttention(d, h).requires_grad_(False)
    names = {name: getattr(layer, name) for name in ("W_query", "W_key", "W_value", "W_out")}
    names |= {"torch": torch, "x": x, "n": n, "m": n, "h": h, "lengths": lengths}
    exec(masks, names)
    assert torch.equal(names["mask"], causal_mask(n) & padding_mask(lengths, n))
    exec(formula, names)
    tensors = [names[name] for name in ("query", "key", "value")]
    expected, weights = scaled_dot_product_attention(*tensors, names["mask"])
    assert torch.allclose(names["context"], expected, atol=1e-6)
    assert torch.allclose(names["weights"], weights, atol=1e-6)
    theirs = F.scaled_dot_product_attention(*tensors, names["mask"])
    assert torch.allclose(names["context"], theirs, atol=1e-6)

    split, join = heads.splitlines()
    for name in ("query", "key", "value"):  # the sheet shows the first
        exec(split.replace("query", name), names)
    names["mask"] = names["mask"][:, None]  # (B, 1, n, m)
    exec(formula.partition("\n")[2], names)
    exec(join, names)
    assert torch.allclose(names["context"], layer(x, attn_mask=names["mask"][:, 0]), atol=1e-6)

    ours = TransformerBlock(d, h).requires_grad_(False)
    names |= {"attention": ours.attention, "norm_1": ours.norm1, "norm_2": ours.norm2}
    names |= {"W_1": ours.feed_forward[0], "W_2": ours.feed_forward[3], "gelu": F.gelu}
    exec(block, names)
    assert torch.allclose(names["x"], ours(x), atol=1e-6)


def test_what_does_not_fit_on_one_page_is_refused(said):
    longer = said | {"numbers": said["numbers"] | {"costs": said["numbers"]["costs"] * 7}}
    with pytest.raises(TypstError, match="too long for a4"):
        sheet.typeset(longer, "a4", "pdf")


def test_a_picture_is_as_wide_as_its_paper_and_light(said):
    for paper, width in (("a4", b"595.27"), ("phone", b"360")):
        svg = sheet.typeset(said, paper, "svg")
        assert svg.startswith(b'<svg viewBox="0 0 ' + width)
        assert b'fill="#17191c"' in svg.partition(b">")[0]  # the ink, said once
        assert len(svg) < 425_000
        ElementTree.fromstring(svg)


def test_its_page_links_to_all_its_files_and_the_build_writes_them(site, said):
    numbers = f'<script class="sheet-numbers">{json.dumps(said["numbers"])}</script>'
    raw = f".. raw:: html\n\n   {numbers}\n"
    app = site(
        ".. toctree::\n\n   sheet", "sheet", pages={"sheet": f"Sheet\n=====\n\n{raw}"}
    ).build()
    assert app.warnings == ""
    links = set(re.findall(f'"{sheet.FOLDER}/([^"]+)"', PAGE))
    assert links == {path.name for path in (app.outdir / sheet.FOLDER).iterdir()}
