"""What keeps readers out of a page, as axe-core finds it."""

from axe_playwright_python.sync_playwright import Axe


def violations(page):
    """List the rules that a page breaks, each with the place and how to repair it."""
    return [
        f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in Axe().run(page).response["violations"]
        for node in rule["nodes"]
    ]
