"""What a finger does, which Playwright has no gesture for."""


def middle(part):
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def swipe(page, part, dx, dy, steps=10):
    """Put a finger on a part, move it, and take it away; return what the page heard of it."""
    page.evaluate(
        """() => { window.heard = [];
        for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel"])
          addEventListener(kind, () => heard.push(kind), { capture: true }); }"""
    )
    x, y = middle(part)
    touch = page.context.new_cdp_session(page)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, steps + 1):
        send("touchMove", {"x": x + dx * step / steps, "y": y + dy * step / steps})
    send("touchEnd")
    return page.evaluate("heard")
