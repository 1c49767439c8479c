"""Every page of the site: quiet, self-contained, accessible, and no wider than the screen."""

import pytest
from accessibility import violations
from built_site import page_names

# The views of the source are one template with other code in it: one look at each is enough.
LOOKS = [
    pytest.param(name, size, id=f"{name}-{size}")
    for name in page_names()
    for size in ("desktop", "phone")
    if not name.startswith("_modules/") or size == "desktop"
]
UNREADABLE_MATHS = r"""() => {
  const prose = document.querySelector("article")?.cloneNode(true);
  if (!prose) return [];
  const broken = [...prose.querySelectorAll("merror, .math:not(:has(math)):not(math *)")];
  const problems = broken.map((part) => part.outerHTML);
  for (const other of prose.querySelectorAll("pre, code, math, script")) other.remove();
  const raw = prose.textContent.match(/\$\$|\\(frac|mathrm|sqrt|sum|text|top)\b/g) ?? [];
  return problems.concat(raw);
}"""
PICTURES_WITHOUT_WORDS = """() => [...document.querySelectorAll("article img")]
  .filter((image) => !image.alt && !image.closest(".sphx-glr-thumbcontainer"))
  .map((image) => image.src)"""


@pytest.mark.parametrize(("name", "size"), LOOKS)
def test_a_page_is_sound(visit, http_root, name, size):
    seen = visit(http_root + name, "light", size, until="load")
    page = seen.page
    assert violations(page) == []
    if not name.startswith("_modules/"):
        page.emulate_media(color_scheme="dark")
        assert violations(page) == []
    assert page.evaluate(UNREADABLE_MATHS) == []
    assert page.evaluate(PICTURES_WITHOUT_WORDS) == []
    # What a cell returns is shown by this name if it has nothing to show, such as Markdown("").
    assert "<IPython.core" not in page.locator("body").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert seen.complaints == []
    assert seen.foreign(http_root) == []
