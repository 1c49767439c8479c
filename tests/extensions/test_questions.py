import json
import re

TEXT = """.. titles::

Heads
-----

.. _equal-heads:

Why are heads equal?
~~~~~~~~~~~~~~~~~~~~

.. search:: same weights; symmetry breaking

They are not.

What is a head?
~~~~~~~~~~~~~~~

A part.
"""


def test_titles_are_listed_with_their_short_addresses_and_old_ones_lead_there_too(site):
    app = site(TEXT, "questions").build()
    assert "WARNING" not in app.warnings
    page = app.page()
    (listed,) = re.findall(r'<div class="titles docutils container">(.*?)</section>', page, re.S)
    targets = re.findall(r'href="#([^"]+)"><?', listed.split("<section")[0])
    assert targets[0] == "heads"
    assert targets[2] == "what-is-a-head"
    assert {"equal-heads", "why-are-heads-equal"} <= set(re.findall(r'id="([^"]+)"', page))
    assert "symmetry breaking" not in page


def test_the_search_gets_the_phrases_of_a_section_in_a_build_that_does_not_write_it_too(site):
    for text in ("Before", "Changed"):
        pages = {"other": f":orphan:\n\nOther\n=====\n\n{text}.\n"}
        app = site(TEXT, "questions", "descriptions", pages=pages)
        seen = {}
        app.connect(
            "html-page-context",
            lambda app, page, template, context, doctree, seen=seen: seen.update(
                {page: context.get("search_phrases")}
            ),
            priority=900,
        )
        app.build()
        (phrases,) = seen["search"]["index"].values()
        assert json.loads(json.dumps(phrases)) == ["same weights", "symmetry breaking"]
