"""What the tests of the workbench share."""

SIX = range(6)


def open_bench(visit, address, size="desktop", **options):
    """Open a page at its workbench, with the digits of the lesson on the playground as well."""
    if address.endswith("playground.html"):
        address += "#bench=lesson"
    page = visit(address, size=size, **options).page
    page.locator("#workbench").wait_for()
    if "#takeaways" not in address:  # which would move
        unfold(page)
    return page


def unfold(page):
    """Open what the workbench folds."""
    for part in ("matrices", "options", "settings", "arithmetic", "gradients"):
        page.locator(f"#workbench [data-part={part}]").evaluate("part => (part.open = true)")


def show(page, density, folded=False):
    """Let the workbench show as much as "look", "change" or "train" says, and unfold it all."""
    page.locator(f"[data-testid=density][data-value={density}]").check(force=True)
    if density != "look" and not folded:
        unfold(page)


def cell(page, name):
    return page.locator(f'#workbench td[data-name="{name}"]')


def field(page, name):
    return page.locator(f'#workbench input[data-name="{name}"]')


def shown(page, *names):
    return [cell(page, name).text_content() for name in names]


def state(page):
    return page.evaluate("lab.workbench.bench.state()")
