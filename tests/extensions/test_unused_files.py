import re

import pytest
import unused_files
from sphinx.builders.html import _assets

CARD = '.. raw:: html\n\n   <div class="sd-card">A card</div>\n'
CONF = "html_css_files = ['sphinx-design.min.css']\nhtml_js_files = ['design-tabs.js']\n"


@pytest.mark.parametrize(("text", "has"), [("Text.", False), (CARD, True)])
def test_a_page_has_the_styles_of_what_it_has(site, text, has):
    pages = {"conf.py": CONF}
    app = site(text, "sphinx_exercise", "unused_files", pages=pages).build()
    files = re.findall(r"_static/([\w.-]+)", app.page())
    assert any(name.startswith("sphinx-design") for name in files) is has
    assert "basic.css" in files
    assert {"exercise.css", "design-tabs.js"}.isdisjoint(files)


@pytest.mark.parametrize(("name", "mark"), unused_files.MARKS.items())
def test_what_a_page_has_keeps_its_style(name, mark):
    style = _assets._CascadingStyleSheet(f"_static/{name}min.css")
    for body, kept in {f"<p {mark}-a'>": [style], "<p>": []}.items():
        context = {"body": body, "css_files": [style], "script_files": []}
        unused_files.drop(None, "page", "page.html", context, None)
        assert context["css_files"] == kept
