"""The accessibility errors of a page, as axe-core finds them."""

from axe_playwright_python.sync_playwright import Axe


def violations(page):
    """List the rules that a page violates, each with the element and how to fix it."""
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in Axe().run(page).response["violations"]
        for node in rule["nodes"]
    ]
