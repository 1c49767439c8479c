// What test_every_page.py asks of a page, in which these names are put.

// What a visit has cost
const cost = () => {
  const fetched = performance.getEntriesByType("resource");
  const page = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return {
    bytes: [page, ...fetched].reduce((sum, each) => sum + each.encodedBodySize, 0),
    requests: 1 + fetched.length,
    paint: paint.startTime,
  };
};

// What is wrong on a screen of any width, by its kind
const mistakes = () => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const outside = (part) => part.outerHTML.slice(0, 200);
  const article = document.querySelector("article");
  const prose = article.cloneNode(true);
  for (const code of all("pre, code, math, script, style, svg, .sig", prose)) code.remove();
  const head = (selector) => document.head.querySelector(selector);
  const expected = {
    doctype: document.doctype?.name === "html",
    charset: document.characterSet === "UTF-8",
    language: document.documentElement.lang === "en-GB",
    viewport: head("meta[name=viewport]"),
    title: document.title.length > 5,
    icon: head("link[rel~=icon]"),
    "one h1": all("h1").length === 1,
    "no cookies": document.cookie === "",
    "nothing stored": Object.keys(localStorage).every((key) => key === "theme"),
  };
  return {
    unexpected: Object.keys(expected).filter((name) => !expected[name]),
    maths: all("merror, .math:not(:has(math)):not(math *)", article).map(outside)
      .concat(prose.textContent.match(/\$\$|\\(frac|mathrm|sqrt|sum|text|top)\b/g) ?? []),
    // Directives and roles that were not understood
    markup: prose.textContent.match(
      /\]\(|\[[^\]\n]*\]\[|\{\w+\}`|:\w+:`|`__?\b|\*\*\w|^\(\S+\)=$/gm) ?? [],
    // What a cell returns is shown by this name if it has nothing to show, such as Markdown("").
    objects: document.body.innerText.match(/<IPython\.core.*/g) ?? [],
    wordless: all("img", article)
      .filter((image) => !image.alt && !image.closest(".lesson-map")).map(outside),
    stretched: all("img", article).filter((image) => {
      const shown = image.clientWidth / image.clientHeight;
      const natural = image.naturalWidth / image.naturalHeight;
      const isBroken = !image.naturalWidth || Math.abs(shown / natural - 1) > 0.05;
      return image.complete && isBroken;
    }).map(outside),
    empty: all("a[href]").filter(
      (link) => !(link.textContent.trim() || link.ariaLabel || link.querySelector("img[alt]")),
    ).map(outside),
    // The bars of a norm are equally tall.
    bars: all("math", article).filter((math) => {
      const bars = all("mo", math).filter((sign) => "|‖".includes(sign.textContent));
      const heights = bars.map((sign) => Math.round(sign.getBoundingClientRect().height));
      return Math.max(0, ...heights) >= 1.3 * Math.min(...heights);
    }).map(outside),
    // A caption of coloured words is nearer to its words than to what is above.
    captions: all(".attention-words > figcaption").filter((caption) => {
      let part = caption.parentElement;
      while (!part.previousElementSibling) part = part.parentElement;
      const { bottom, top } = caption.getBoundingClientRect();
      return caption.nextElementSibling.getBoundingClientRect().top - bottom
        >= top - part.previousElementSibling.getBoundingClientRect().bottom;
    }).map(outside),
  };
};

// Boxes that hide a part of what they hold. A field scrolls, and a name that ends in three dots is
// whole in the sentence above it.
// A folded output shows its first lines on purpose, and a line below it opens the others.
const cutOff = () => Array.from(
  document.querySelectorAll("article *:not(.math-wrapper, input, details.long-output:not([open]) pre)")
).filter((box) => {
  const across = box.scrollWidth - box.clientWidth;
  const down = box.scrollHeight - box.clientHeight;
  if (box.clientWidth <= 2 || (across <= 1 && down <= 1)) return false;
  const { overflowX, overflowY, textOverflow } = getComputedStyle(box);
  const isCut = (overflow, excess) => ["hidden", "clip"].includes(overflow) && excess > 1;
  return textOverflow !== "ellipsis" && (isCut(overflowX, across) || isCut(overflowY, down));
}).map((box) => `${box.tagName}.${box.className}: ${box.textContent.slice(0, 40)}`);
