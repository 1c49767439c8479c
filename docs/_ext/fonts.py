"""Cut the site's fonts to the letters of its pages when it is built: no page asks another host.

They come in packages, under the Open Font License; ``tokens.css`` says what is set in which.
"""

import logging
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer
from mathml import GLYPHS
from sphinx.application import Sphinx

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
# What texts, tables and code are written with: Latin, some Greek, arrows, signs of mathematics.
LETTERS = frozenset(
    subset.parse_unicodes(
        "20-7E A0-FF 131 142 152-153 2C6 2DC 394 3A3 3A6 3A9 3B1-3C9 1D49 1D62 2013-2014 2016 "
        "2018-201A 201C-201E 2020-2022 2026 2032-2033 2044 2070-208E 2090-209C 2113 2190-2193 21D2 "
        "2202 2207 2211-2212 2218 221A 221E 222B 2248 2260 2264-2265 2423 2713 2717 2C7C"
    )
)


class Font(NamedTuple):
    package: str
    file: str
    features: str
    axes: dict[str, Any] | None = None  # of a variable font, what stays
    letters: frozenset[int] = LETTERS


SERIF, BOTH = "fontpkg_source_serif_4", {"opsz": 18, "wght": (400, 700)}
# The MATH table, which sizes roots and bars, stays.
MATHS = Font("ziamath", "fonts/STIXTwoMath-Regular.ttf", "ssty dtls", letters=GLYPHS)
FONTS = {
    "_static/stix-two-math.woff2": MATHS,
    "_static/inter.woff2": Font(
        "fontpkg_inter", "files/Inter[opsz,wght].ttf", "ccmp kern tnum", BOTH
    ),
    "_static/source-serif.woff2": Font(
        SERIF, "files/SourceSerif4[opsz,wght].ttf", "ccmp kern liga", BOTH
    ),
    "_static/source-serif-italic.woff2": Font(
        SERIF, "files/SourceSerif4-Italic[opsz,wght].ttf", "ccmp kern liga", BOTH | {"wght": 400}
    ),
    "_static/jetbrains-mono.woff2": Font(
        "fontpkg_jetbrains_mono", "files/JetBrainsMono[wght].ttf", "ccmp", {"wght": (400, 700)}
    ),
}
# Sphinx does not know the newer format as a part of a book.
OF_THE_BOOK = {"_static/stix-two-math.woff": MATHS}


def widen_digits_only(font: TTFont) -> None:
    """Keep the hyphens, spaces and brackets of tables: Inter's "tnum" widens them like digits."""
    substitutions = font["GSUB"].table
    for record in substitutions.FeatureList.FeatureRecord:
        for i in record.Feature.LookupListIndex if record.FeatureTag == "tnum" else []:
            for table in substitutions.LookupList.Lookup[i].SubTable:
                table = getattr(table, "ExtSubTable", table)
                table.mapping = {a: b for a, b in table.mapping.items() if a in DIGITS}


def cut(font: Font, target: Path) -> None:
    """Write a font with its letters, its features and its axes."""
    options = subset.Options(
        flavor=target.suffix[1:],
        hinting=False,
        layout_features=font.features.split(),
        obfuscate_names=True,  # what was cut may not keep a name that is reserved
    )
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=font.letters)
    with (
        as_file(files(font.package) / font.file) as path,
        subset.load_font(path, options) as cutting,
    ):
        if "tnum" in font.features:
            widen_digits_only(cutting)
        subsetter.subset(cutting)
        if font.axes:
            instancer.instantiateVariableFont(cutting, font.axes, inplace=True)
        subset.save_font(cutting, target, options)


def write_fonts(fonts: Mapping[str, Font], folder: Path) -> None:
    """Write what is not there yet."""
    # fontTools tells every table it cuts; Sphinx would print that as its own news.
    for part in ("subset", "varLib"):
        logging.getLogger(f"fontTools.{part}").setLevel("WARNING")
    for name, font in fonts.items():
        if not (folder / name).exists():
            cut(font, folder / name)


def write_all(app: Sphinx, exception: Exception | None) -> None:
    if not exception and app.builder.name == "html":
        write_fonts(FONTS, app.outdir)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", write_all)
    return {"parallel_read_safe": True}
