import re
import unicodedata
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import mathml
import pytest
from fontTools.ttLib import TTFont

# ziamath finds its fonts in a way that importlib means to drop.
pytestmark = pytest.mark.filterwarnings("ignore:path is deprecated:DeprecationWarning")


def parse(tex: str) -> ET.Element:
    return ET.fromstring(mathml.to_mathml(tex, "inline"))


def test_an_equation_becomes_mathml():
    math = parse(r"e = \frac{QK^\top}{\sqrt{d}}")
    assert math.tag == "math"
    assert math.get("display") == "inline"
    fraction = math.find(".//mfrac")
    assert ["".join(part.itertext()) for part in fraction] == ["QK⊤", "d"]
    assert fraction.find(".//msup") is not None
    assert ET.fromstring(mathml.to_mathml("a", "block")).get("display") == "block"


@pytest.mark.parametrize(
    ("tex", "problem"),
    [
        (r"\frac{a}{b", "braces don't match"),
        (r"\nonsense{a}", r"unknown command \\nonsense"),
        ("日", "the site's font does not carry 日"),
    ],
)
def test_tex_that_cannot_be_set_is_refused(tex, problem):
    with pytest.raises(ValueError, match=problem):
        mathml.to_mathml(tex, "inline")


def test_a_part_that_is_missing_is_refused():
    with pytest.raises(ValueError, match="mfrac has 1 parts"):
        mathml._check(ET.fromstring("<mfrac><mi>a</mi></mfrac>"))


@pytest.mark.parametrize("tex", [r"\mathrm{softmax}(x)", r"\operatorname{softmax}(x)"])
def test_a_word_is_one_name(tex):
    assert [name.text for name in parse(tex).iter("mi")] == ["softmax", "x"]


def test_one_upright_letter_stays_upright():
    assert "F" in [text.text for text in parse(r"\mathrm{F}").iter("mtext")]


def test_brackets_are_operators():
    assert {"⟨", "⟩"} <= {operator.text for operator in parse(r"\langle a \rangle").iter("mo")}


@pytest.mark.parametrize("tex", [r"\lVert q \rVert^2", r"\left( |q|^2 \right)"])
def test_the_two_bars_of_a_norm_are_equally_tall(tex):
    bars = [mo for mo in parse(tex).iter("mo") if mo.text in tuple("|‖")]
    assert [bar.get("stretchy") for bar in bars] == ["false", "false"]


@pytest.mark.parametrize(("tex", "letter"), [(r"\boldsymbol{x}", "𝒙"), (r"\boldsymbol{\mu}", "𝝁")])
def test_a_bold_letter_is_spelt_out(tex, letter):
    (name,) = parse(tex).iter("mi")
    assert name.text == letter
    assert name.get("mathvariant") is None


def test_no_space_is_named():
    assert [space.get("width") for space in parse(r"a\!b").iter("mspace")] == ["-0.167em"]


@pytest.mark.parametrize(
    ("tex", "kind"), [(r"\sqrt{d}", "low"), (r"\sqrt{d^2}", None), (r"\sqrt{(d)}", None)]
)
def test_a_root_over_low_letters_is_low(tex, kind):
    assert parse(tex).find(".//msqrt").get("class") == kind


@pytest.mark.parametrize("tex", [r"\tilde{x}", r"\bar{x}", r"\vec{x}"])
def test_accents_are_accents(tex):
    assert parse(tex).find(".//mover").get("accent") == "true"


@pytest.mark.parametrize(
    "tex", [r"a &= b \\ c &= d", r"\begin{aligned}a &= b \\ c &= d\end{aligned}"]
)
def test_lines_are_the_rows_of_a_table(tex):
    assert len(list(parse(tex).iter("mtr"))) == 2


PAGE = r"""
Inline :math:`x_1`.

.. math:: y = 2
   :label: twice
"""


def test_a_page_holds_its_equations(build):
    page, warnings = build(PAGE, "mathml", html_math_renderer="mathml")
    assert warnings == ""
    inline, block = re.findall("<math.*?</math>", page)
    assert "<msub>" in inline
    assert 'display="block"' in block
    assert '<span class="eqno">(1)' in page
    assert page.count('id="equation-twice"') == 1


def test_an_equation_that_cannot_be_set_is_shown_as_tex_and_missed(build):
    page, warnings = build(r":math:`\nonsense < 1`", "mathml", html_math_renderer="mathml")
    assert r"<code>\nonsense &lt; 1</code>" in page
    assert r"math: unknown command \nonsense in" in warnings
    assert "index.rst:4" in warnings


def test_the_font_carries_what_equations_may_hold(tmp_path):
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    (tmp_path / "_static").mkdir()
    target = tmp_path / mathml.FONT
    mathml.write_font(app, RuntimeError("the build failed"))
    assert not target.exists()
    mathml.write_font(app, None)
    with TTFont(target) as font:
        assert "MATH" in font
        carried = font.getBestCmap().keys()
    # Unicode has holes in its alphabets, where older characters already were.
    named = {letter for letter in mathml.GLYPHS if unicodedata.category(chr(letter)) != "Cn"}
    assert not named - carried
    assert target.stat().st_size < 300_000
