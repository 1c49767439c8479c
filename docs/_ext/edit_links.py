"""Lead from each page to what it was made from, and to a form for what is wrong with it.

Both need the address of the repository (``REPOSITORY_URL``), on GitHub.
"""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gallery_pages import title_of
from sphinx.application import Sphinx

# "main" is the branch that .github/workflows/ci.yml publishes. GitHub fills in the fields of a form
# in .github/ISSUE_TEMPLATE by their names.
EDIT = "edit/main/{source}"
REPORT = "issues/new?template=wrong_statement.yml&title={title}&page={address}"


def source_of(page: str, root: Path) -> str:
    """Name the file that a page was made from; empty for what Sphinx makes by itself."""
    if page == "gallery/index":
        return "gallery/GALLERY_HEADER.rst"
    candidates = [f"docs/{page}.md", f"{page}.py"]  # a page; a lesson, which is a script
    if page.startswith("_modules/"):  # the view of a module or a package
        module = page.removeprefix("_modules/")
        candidates = [f"{module}.py", f"{module}/__init__.py"]
    return next((name for name in candidates if (root / name).is_file()), "")


def links(repository: str, source: str, title: str, address: str) -> dict[str, str]:
    """Write the addresses that a page leads to; none where it is not on GitHub."""
    found = re.fullmatch(r"(https://github\.com/.+?)(\.git)?/?", repository)
    if not found:
        return {}
    filled_in = REPORT.format(title=quote(f"{title}: "), address=quote(address, safe=""))
    both = {"report_link": f"{found[1]}/{filled_in}"}
    if source:
        both["edit_link"] = f"{found[1]}/{EDIT.format(source=source)}"
    return both


def add_links(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Give the links to the page's template."""
    title = context.get("title", page)
    if page in app.env.titles:
        title = title_of(app, page)
    source = source_of(page, Path(app.srcdir).parent)
    address = app.config.html_baseurl + app.builder.get_target_uri(page)
    context.update(links(app.config.repository_url, source, title, address))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("repository_url", os.environ.get("REPOSITORY_URL", ""), "env", str)
    app.connect("html-page-context", add_links)
    return {"parallel_read_safe": True}
