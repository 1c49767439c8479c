import re
import unicodedata
from xml.etree import ElementTree as ET

import fonts
import mathml
import pytest
from fontTools.ttLib import TTFont
from math_core import LatexError

# ziamath finds its fonts in a way that importlib means to drop.
pytestmark = pytest.mark.filterwarnings("ignore:path is deprecated:DeprecationWarning")


def parse(tex: str) -> ET.Element:
    return ET.fromstring(mathml.to_mathml(tex, "inline"))


def test_an_equation_becomes_mathml():
    math = parse(r"e = \frac{QK^\top}{\sqrt{d}}")
    assert math.tag == "math"
    assert math.get("display") is None
    fraction = math.find(".//mfrac")
    assert ["".join(part.itertext()) for part in fraction] == ["QK⊤", "d"]
    assert fraction.find(".//msup") is not None
    # Characters stand for themselves, so that the book can be read as XML.
    assert "\N{FUNCTION APPLICATION}" in "".join(parse(r"\operatorname{rank}(A)").itertext())
    assert "&lt;" in mathml.to_mathml("a < b", "inline")


@pytest.mark.parametrize(
    ("tex", "problem"),
    [(r"\frac{a}{b", 'Expected closing token "}"'), ("日", "the site's font does not carry 日")],
)
def test_tex_that_cannot_be_set_is_refused(tex, problem):
    with pytest.raises((LatexError, ValueError), match=problem):
        mathml.to_mathml(tex, "inline")


@pytest.mark.parametrize(
    ("tex", "kind"), [(r"\sqrt{d}", "low"), (r"\sqrt{d^2}", None), (r"\sqrt{(d)}", None)]
)
def test_a_root_over_low_letters_is_low(tex, kind):
    assert parse(tex).find(".//msqrt").get("class") == kind


@pytest.mark.parametrize(
    "tex", [r"a &= b \\ c &= d", r"\begin{aligned}a &= b \\ c &= d\end{aligned}"]
)
def test_lines_are_the_rows_of_a_table(tex):
    assert len(list(parse(tex).iter("mtr"))) == 2


PAGE = r"""
Inline :math:`x_1`, :math:`\nonsense < 1`.

.. math:: y = 2
   :label: twice
"""


def test_a_page_holds_its_equations_and_one_that_cannot_be_set_as_tex_and_is_warned_of(site):
    app = site(PAGE, "mathml", html_math_renderer="mathml").build()
    page = app.page()
    inline, block = re.findall("<math.*?</math>", page)
    assert "<msub>" in inline
    assert 'display="block"' in block
    assert '<span class="eqno">(1)' in page
    assert page.count('id="equation-twice"') == 1
    assert r"<code>\nonsense &lt; 1</code>" in page
    (warning,) = app.warnings.splitlines()
    assert "index.rst:5" in warning
    assert r'math: 0: Unknown command "\nonsense". in' in warning


def test_the_font_carries_what_equations_may_hold(tmp_path):
    (tmp_path / "_static").mkdir()
    (target,) = (tmp_path / name for name in fonts.OF_THE_BOOK)
    fonts.write_fonts(fonts.OF_THE_BOOK, tmp_path)
    with TTFont(target) as font:
        assert "MATH" in font
        carried = font.getBestCmap().keys()
    # Unicode has holes in its alphabets, where older characters already were.
    named = {letter for letter in mathml.GLYPHS if unicodedata.category(chr(letter)) != "Cn"}
    assert not named - carried
    assert target.stat().st_size < 300_000
