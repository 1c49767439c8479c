// What accessibility.py asks of a page, in which these names are put.

// Finding what is behind a text takes axe-core most of its time. Texts of one look, on one ground,
// are represented by three of them: the first, the last, and one between. A look that was found sound is
// so on every other page, and names all the colours that it consists of.
const looksOf = (within, sound) => {
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
  for (const part of document.querySelectorAll(`:is(${within}), :is(${within}) *`)) {
    const isText = [...part.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!(isText || part.matches("input, select, textarea")) || !part.checkVisibility()) continue;
    const s = getComputedStyle(part);
    const isOff = Boolean(part.closest("[disabled], [aria-disabled]") || part.control?.disabled);
    const font = [s.color, s.fontSize, s.fontWeight, s.textShadow, s.textDecorationLine];
    const around = getComputedStyle(part.parentElement).color;
    const look = [part.tagName, part.className, font, around, isOff, groundOf(part)].join();
    looks.set(look, [...(looks.get(look) ?? []), part]);
  }
  for (const look of sound) looks.delete(look);
  return looks;
};

const violationsOf = async (areColours, areOthers, within, sound) => {
  const colours = ["color-contrast", "link-in-text-block"];
  const rules = Object.fromEntries(colours.map((rule) => [rule, { enabled: false }]));
  const short = { resultTypes: ["violations"] };
  const runs = [];
  const looks = areColours ? looksOf(within, sound) : new Map();
  const texts = [...looks.values()].flatMap((all) => [all[0], all[Math.floor(all.length / 2)], all.at(-1)]);
  if (texts.length > 0)
    runs.push(await axe.run({ include: [...new Set(texts)] }, { ...short, runOnly: colours }));
  if (areOthers) runs.push(await axe.run({ include: [within] }, { ...short, rules }));
  const found = runs.flatMap((run) => run.violations).flatMap((rule) => rule.nodes.map(
    (node) => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
  return [found, [...looks.keys()]];
};

// The page, and whatever around its text could scroll sideways instead
const tooWide = () => {
  const ways = [document.documentElement];
  for (let one = document.querySelector("article"); one; one = one.parentElement)
    if (getComputedStyle(one).overflowX !== "visible") ways.push(one);
  return ways.filter((part) => part.scrollWidth > part.clientWidth)
    .map((part) => `${part.scrollWidth - part.clientWidth} pixels too wide: ${part.className}`);
};

// Parts that reach beyond their box and are in no row that scrolls by itself, and boxes that reach
// beyond the text's column
const sticksOut = (selector) => [...document.querySelectorAll(selector)].flatMap((box) => {
  const right = (part) => part.getBoundingClientRect().right;
  const edge = Math.min(right(box), right(box.closest("article")));
  const scrolls = (part) => part !== box
    && (getComputedStyle(part).overflowX === "auto" || scrolls(part.parentElement));
  return [box, ...box.querySelectorAll(":is(table, svg, canvas, textarea, input, button, p)")]
    .filter((part) => right(part) > edge + 1 && !scrolls(part)).map((part) => part.outerHTML.slice(0, 120));
});
