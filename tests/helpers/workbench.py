"""What the tests of the workbench share."""

SIX = range(6)


def open_bench(visit, address, size="desktop", **options):
    """Open a page and wait for its workbench."""
    page = visit(address, size=size, **options).page
    page.locator("#workbench").wait_for()
    return page


def cell(page, name):
    """Find the cell that shows a number."""
    return page.locator(f'#workbench td[data-name="{name}"]')


def field(page, name):
    """Find the field in which a number is typed."""
    return page.locator(f'#workbench input[data-name="{name}"]')


def shown(page, *names):
    """Read numbers as they are shown."""
    return [cell(page, name).text_content() for name in names]
