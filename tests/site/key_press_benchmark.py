"""How long the playground takes for a key press, and how that grows with the text.

nox -s browser -- -n 0 -s -k key_press_benchmark tests/site/key_press_benchmark.py
"""

from trained_models import reviews

# Types texts one after the other, each until its words are drawn
TYPE = """async (texts) => {
  const box = document.querySelector("[data-testid=review-input]");
  for (const text of texts) {
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    // One frame draws the words of one model.
    for (let i = 0; i < 4; i += 1) await new Promise(requestAnimationFrame);
  }
}"""


def time_per_key_press(page, text):
    """Measure what typing a letter takes, in milliseconds of the page's own thread.

    What other programs do meanwhile does not count. The median of five letters is returned.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    names = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
    page.evaluate(TYPE, [text])
    spent = []
    for i in range(5):
        found = []
        for letters in (i + 1, None):
            metrics = session.send("Performance.getMetrics")["metrics"]
            found.append(sum(one["value"] for one in metrics if one["name"] in names))
            if letters:
                page.evaluate(TYPE, [f"{text} {'a' * letters}"])
        spent.append(1000 * (found[1] - found[0]))
    return sorted(spent)[2]


def test_time_per_key_press(lab):
    words = " ".join(reviews(60)).split()
    times = {n: time_per_key_press(lab, " ".join(words[:n])) for n in (20, 256, 6_000)}
    for n, time in times.items():
        print(f"\n{n:>5,} words: {time:4.0f} ms, {time / times[20]:.1f} times that of 20", end="")
    print()
