"""What keeps readers out of a page, as axe-core finds it, and what does not fit on the screen."""

from axe_playwright_python.base import AXE_SCRIPT
from built_site import SIZES

# Finding what is behind a text takes axe-core most of its time. Texts of one look, on one ground,
# are represented by three of them: the first, the last, and one between.
TEXTS = """const textsOf = () => {
  const looks = new Map();
  const grounds = new Map();
  const groundOf = (part) => {
    if (!part) return "";
    if (!grounds.has(part)) {
      const s = getComputedStyle(part);
      const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.clip, s.clipPath, s.position];
      const isPlain = own.join() === "rgba(0, 0, 0, 0),none,1,auto,none,static";
      grounds.set(part, groundOf(part.parentElement) + (isPlain ? "" : own));
    }
    return grounds.get(part);
  };
  for (const part of document.body.querySelectorAll("*")) {
    const isText = [...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!(isText || part.matches("input, select, textarea")) || !part.checkVisibility()) continue;
    const s = getComputedStyle(part);
    const isOff = Boolean(part.closest("[disabled], [aria-disabled]") || part.control?.disabled);
    const font = [s.color, s.fontSize, s.fontWeight, s.textShadow, s.textDecorationLine];
    const around = getComputedStyle(part.parentElement).color;
    const look = [part.tagName, part.className, font, around, isOff, groundOf(part)].join();
    looks.set(look, [...(looks.get(look) ?? []), part]);
  }
  return [...looks.values()].flatMap((all) => [
    ...new Set([all[0], all[Math.floor(all.length / 2)], all.at(-1)]),
  ]);
}"""
RUN = """async (isOfThemeAlone) => {
  const colours = ["color-contrast", "link-in-text-block"];
  const rules = Object.fromEntries(colours.map((rule) => [rule, { enabled: false }]));
  const short = { resultTypes: ["violations"] };
  const runs = [await axe.run({ include: textsOf() }, { ...short, runOnly: colours })];
  if (!isOfThemeAlone) runs.push(await axe.run({ ...short, rules }));
  return runs.flatMap((run) => run.violations).flatMap((rule) => rule.nodes.map(
    (node) => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}"""
# The page, and whatever around its text could scroll sideways instead
TOO_WIDE = """() => {
  const ways = [document.documentElement];
  for (let one = document.querySelector("article"); one; one = one.parentElement)
    if (getComputedStyle(one).overflowX !== "visible") ways.push(one);
  return ways.filter((part) => part.scrollWidth > part.clientWidth)
    .map((part) => `${part.scrollWidth - part.clientWidth} pixels too wide: ${part.className}`);
}"""
# Parts that reach beyond their box, and boxes that reach beyond the text's column
STICKS_OUT = """(selector) => [...document.querySelectorAll(selector)].flatMap((box) => {
  const right = (part) => part.getBoundingClientRect().right;
  const edge = Math.min(right(box), right(box.closest("article")));
  return [box, ...box.querySelectorAll(":is(table, svg, canvas, textarea, input, button, p)")]
    .filter((part) => right(part) > edge + 1).map((part) => part.outerHTML.slice(0, 120));
})"""


def violations(page, of_the_theme_alone=False):
    """List what violates a rule, or one that depends on the theme, each with a remedy."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        page.add_script_tag(content=TEXTS)
    return page.evaluate(RUN, of_the_theme_alone)


def unsound(page, *sizes, themes=("light", "dark"), boxes=".lab"):
    """List what keeps readers out of a page, or does not fit, on these screens in these themes."""
    found = []
    for size in sizes:
        page.set_viewport_size(SIZES[size])
        here = page.evaluate(TOO_WIDE) + page.evaluate(STICKS_OUT, boxes)
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            seen = violations(page, of_the_theme_alone=theme != themes[0])
            here += [f"{theme}: {one}" for one in seen]
        found += [f"{size}: {one}" for one in here]
    return found
