import re

import pytest

CARD = ".. card:: A card\n\n   Text.\n"


@pytest.mark.parametrize(("text", "has"), [("Text.", False), (CARD, True)])
def test_a_page_has_the_styles_of_what_it_has(site, text, has):
    app = site(text, "sphinx_design", "sphinx_exercise", "unused_files").build()
    assert app.warnings == ""
    files = re.findall(r"_static/([\w.-]+)", app.page())
    assert any(name.startswith("sphinx-design") for name in files) is has
    assert "basic.css" in files
    assert {"exercise.css", "design-tabs.js"}.isdisjoint(files)
