import screen_readers

ARGUMENTS = ", ".join(f"argument_{i}" for i in range(9))
TEXT = f".. py:function:: f({ARGUMENTS})\n\n   Text.\n\nA term\n   Its definition.\n"
NAVIGATION = '<p class="caption" role="heading"><span>Core</span></p>'


def test_parameters_that_sphinx_writes_are_lines_and_no_list_without_terms(site):
    settings = {"python_maximum_signature_line_length": 72}
    app = site(TEXT, "screen_readers", **settings).build()
    assert app.page().count('<span class="sig-line"><em class="sig-param">') == 9
    signature = app.page().partition('class="sig-paren">(')[2].partition('class="sig-paren">)')[0]
    assert "<dd>" not in signature
    assert "<dl>" not in signature
    # What else is a list of definitions stays one.
    assert "<dd><p>Its definition.</p>" in app.page()


def test_entries_of_a_list_have_the_role_of_today_and_captions_are_no_headings_without_a_level():
    context = {"body": '<div role="doc-biblioentry">', "furo_navigation_tree": NAVIGATION}
    screen_readers.mend(None, "page", "page.html", context, None)
    assert context == {
        "body": '<div role="listitem">',
        "furo_navigation_tree": '<p class="caption"><span>Core</span></p>',
    }
