import screen_readers

LONG = """<dt><span class="sig-name">f</span><span class="sig-paren">(</span>
<dl>
<dd><em class="sig-param">first: int</em>,</dd>
<dd><em class="sig-param">second</em></dd>
</dl>
<span class="sig-paren">)</span></dt><dd><p>Text.</p></dd><dl><dt>a</dt><dd>b</dd></dl>"""


def mend(body: str) -> str:
    context = {"body": body}
    screen_readers.mend(None, "page", "page.html", context, None)
    return context["body"]


def test_parameters_are_lines_and_no_list_without_terms():
    mended = mend(LONG)
    assert '<span class="sig-line"><em class="sig-param">first: int</em>,</span>' in mended
    assert '<span class="sig-line"><em class="sig-param">second</em></span>' in mended
    # What else is a list of definitions stays one.
    assert mended.endswith("</dt><dd><p>Text.</p></dd><dl><dt>a</dt><dd>b</dd></dl>")
    assert mended.count("<dl>") == 1


def test_entries_of_a_list_have_the_role_of_today():
    assert mend('<div role="doc-biblioentry">') == '<div role="listitem">'


def test_a_page_without_text_stays_as_it_is():
    context = {"title": "Search"}
    screen_readers.mend(None, "search", "search.html", context, None)
    assert context == {"title": "Search"}


def test_sphinx_still_writes_what_is_mended(build):
    arguments = ", ".join(f"argument_{i}" for i in range(9))
    settings = {"python_maximum_signature_line_length": 72}
    text = f".. py:function:: f({arguments})"
    page, _ = build(text, "screen_readers", **settings)
    assert page.count('<span class="sig-line"><em class="sig-param">') == 9
    assert '<span class="sig-line">' not in build(text, **settings)[0]


def test_captions_of_the_sidebar_are_no_headings_without_a_level():
    context = {"furo_navigation_tree": '<p class="caption" role="heading"><span>Core</span></p>'}
    screen_readers.fix_navigation(None, "index", "", context, None)
    assert context["furo_navigation_tree"] == '<p class="caption"><span>Core</span></p>'
