"use strict";

// Take it away: the state in the page's address, as Python, and the pictures as SVG.

{
  const { digits, shape } = lab.dom;
  const { encode, decode } = lab.benchState;
  const { coloursOf, contrasting, mixed } = lab.map;
  const { fitted } = lab.plane;
  const { parts } = lab.workbench;

  // In an address a state may stand behind a place of the page. Some programs write "=" and "&" as %3D and
  // %26, or take a full stop or a bracket after a link for its end.
  const STATE = /^#(?:([^&]*)&)?bench=([^&]*?)[^\w-]*$/;
  const AUTHOR = "The attention tutorial authors";
  const LICENCE = "https://opensource.org/license/mit";
  const PAUSE = 600; // milliseconds without a change, before the address follows
  // What the style sheet gives the shapes of a picture
  const LOOKS = [
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "paint-order",
  ];
  const TEXT_LOOKS = ["font-family", "font-size", "font-weight", "text-anchor"];

  function partsOf(hash) {
    try {
      hash = decodeURIComponent(hash);
    } catch {} // a % that stands for itself
    const [, place, text] = hash.match(STATE) ?? [null, hash.slice(1), null];
    return { place, text };
  }

  const linkTo = (state, place = "") =>
    `${location.href.split("#")[0]}#${place && `${place}&`}bench=${encode(state)}`;

  parts.push((bench) => {
    const { box, find, on } = bench;
    const shared = find("shared");
    let timer;
    let first = null; // the state before the reader's first change
    let isChanged = false;

    // An address that holds a state is read once, and whenever the reader pastes another one.
    function readAddress() {
      const { text } = partsOf(location.hash);
      if (text === null) return false;
      const preset = bench.origins.get(text); // the address may name one
      if (preset) {
        if (preset !== bench.origin()) bench.begin(preset);
        return true;
      }
      try {
        const state = decode(text);
        first = null;
        isChanged = false;
        bench.open(state, history.state?.origin);
        bench.tell("");
      } catch (problem) {
        bench.tell(`${problem.message} You see the numbers of ${bench.origin().label}.`);
      }
      return true;
    }

    function goThere() {
      const place = document.getElementById(partsOf(location.hash).place) ?? box;
      place.scrollIntoView({ behavior: "instant" });
    }

    addEventListener("hashchange", () => {
      if (readAddress()) goThere();
    });

    function start() {
      if (!readAddress()) return;
      // After a reload or on the way back, the browser goes to where the reader was.
      const [{ type } = {}] = performance.getEntriesByType("navigation");
      if (type !== "navigate") return;
      goThere();
      addEventListener("load", goThere); // what stands above may have got its size since
    }

    function update({ state }) {
      first ??= state;
      isChanged ||= state !== first;
      clearTimeout(timer);
      if (!isChanged) return;
      const { place } = partsOf(location.hash);
      const entry = { origin: bench.origin().name };
      timer = setTimeout(() => history.replaceState(entry, "", linkTo(state, place)), PAUSE);
    }

    async function copy(text, done) {
      const byHand = find("by-hand");
      try {
        await navigator.clipboard.writeText(text);
        byHand.hidden = true;
        shared.textContent = done;
      } catch {
        // The browser gives the clipboard to nobody: then the reader copies by hand.
        byHand.value = text;
        byHand.hidden = false;
        byHand.focus();
        byHand.select();
        shared.textContent = "Your browser lets no page copy. Press Ctrl+C to copy the text above.";
      }
    }

    function save(theme) {
      const file = new Blob([drawing(bench, theme)], { type: "image/svg+xml" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = `attention-${theme}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      shared.textContent = `Saved as attention-${theme}.svg.`;
    }

    // The menu lies over other controls, so it closes when the reader goes on to one of them.
    const menu = find("share");
    const leave = ({ target }) => {
      if (!menu.contains(target)) menu.open = false;
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });

    on("copy-link", "click", () =>
      copy(linkTo(bench.state()), "The link is copied. It holds all your numbers."),
    );
    on("copy-python", "click", () => {
      copy(
        lab.benchPython.toPython(bench.state()),
        "The program is copied. It needs torch and nothing else.",
      );
    });
    on("save-light", "click", () => save("light"));
    on("save-dark", "click", () => save("dark"));
    return { update, start };
  });

  // The heatmap and both planes as one SVG file, in the colours of a theme whatever the page shows
  function drawing(bench, theme) {
    const { body } = document;
    const before = body.dataset.theme;
    body.dataset.theme = theme; // nothing is painted before it is set back
    try {
      const style = getComputedStyle(body);
      const color = (name) => style.getPropertyValue(name).trim();
      let [wide, high] = [480, 320]; // the heatmap's
      const planes = ["plane-scores", "plane-values"].map((name) => {
        const plane = bench.find(name);
        const { width, height } = plane.viewBox.baseVal;
        const group = shape("g", { transform: `translate(${wide} 30)` });
        group.append(...[...plane.childNodes].map(copyWithLooks));
        [wide, high] = [wide + width + 10, Math.max(high, height + 50)];
        return group;
      });
      const picture = shape("svg", {
        xmlns: "http://www.w3.org/2000/svg",
        viewBox: `0 0 ${wide} ${high}`,
      });
      const fill = color("--color-background-primary");
      const background = shape("rect", { width: wide, height: high, fill });
      const map = heatmap(bench.view(), color);
      picture.append(...about(bench.state().words), background, map, ...planes);
      return new XMLSerializer().serializeToString(picture);
    } finally {
      body.dataset.theme = before;
    }
  }

  // What a program shows of a picture that has left its page: title, description and licence
  function about(words) {
    const title = `Attention of “${words.join(" ")}”, from the attention tutorial's workbench`;
    const text =
      "Left, the attention weights, one row per query and one column per key. In the middle, the " +
      "chosen query and all keys as arrows. Right, the values and that query's context vector. Hatched " +
      "cells are masked, and a target has a frame.";
    const [rdf, dc, cc] = [
      "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
      "http://purl.org/dc/elements/1.1/",
      "http://creativecommons.org/ns#",
    ];
    const part = (space, name, ...children) => {
      const made = document.createElementNS(space, name);
      made.append(...children);
      return made;
    };
    const named = (name, value) =>
      part(dc, name, part(cc, "cc:Agent", part(dc, "dc:title", value)));
    const work = part(
      cc,
      "cc:Work",
      part(dc, "dc:title", title),
      part(dc, "dc:description", text),
      named("dc:creator", AUTHOR),
      named("dc:rights", `© ${AUTHOR}, MIT License, ${LICENCE}`),
    );
    const metadata = shape("metadata", {}, part(rdf, "rdf:RDF", work));
    return [shape("title", {}, title), shape("desc", {}, text), metadata];
  }

  function copyWithLooks(part) {
    const copy = part.cloneNode(false);
    if (!(part instanceof Element)) return copy; // text
    const style = getComputedStyle(part);
    for (const name of ["class", "style", "tabindex", "role"]) copy.removeAttribute(name);
    const looks = part.localName === "text" ? [...LOOKS, ...TEXT_LOOKS] : LOOKS;
    for (const name of looks) copy.setAttribute(name, style.getPropertyValue(name));
    const kept = [...part.childNodes].filter((one) => !one.classList?.contains("grip")); // for the hand alone
    copy.append(...kept.map(copyWithLooks));
    return copy;
  }

  // Rows are queries, columns are keys; the context vectors stand behind them. As on the page, masked
  // cells are hatched, and a target has a frame.
  function heatmap({ state, layer: { allowed }, head }, color) {
    const { words } = state;
    const [left, top, side] = [90, 70, Math.min(40, 240 / words.length)];
    const right = left + words.length * side;
    const ink = color("--color-foreground-primary");
    const colours = coloursOf(document.body);
    const text = (x, y, label, more = {}) =>
      shape(
        "text",
        { x, y, fill: ink, "font-size": side > 30 ? 13 : 9, "font-family": "sans-serif", ...more },
        label,
      );
    const parts = words.flatMap((whole, i) => {
      const word = fitted(whole); // as in the planes
      const middle = (i + 0.5) * side;
      const turn = `rotate(-45 ${(left + middle).toFixed(1)} ${top - 6})`;
      return [
        text(left - 6, top + middle + 4, word, { "text-anchor": "end" }),
        text(left + middle, top - 6, word, { transform: turn }),
        ...words.flatMap((_, j) => {
          const [x, y] = [left + j * side, top + i * side];
          const weight = head.weights[i][j];
          const cell = mixed(colours, weight);
          const box = { x, y, width: side, height: side };
          const isTarget = state.targets.some((one) => String(one) === `${state.head},${i},${j}`);
          const frame = { x: x + 3, y: y + 3, width: side - 6, height: side - 6, fill: "none" };
          const dashes = {
            stroke: contrasting(cell),
            "stroke-width": 2,
            "stroke-dasharray": "4 3",
          };
          return [
            ...(allowed[i][j] ? [] : [shape("rect", { ...box, fill: "url(#masked)" })]),
            shape("rect", {
              ...box,
              fill: allowed[i][j] ? `rgb(${cell.map(Math.round)})` : "none",
              stroke: color("--color-background-border"),
            }),
            text(x + side / 2, y + side / 2 + 4, weight.toFixed(2), {
              "text-anchor": "middle",
              ...(allowed[i][j] && { fill: contrasting(cell) }),
            }),
            ...(allowed[i][j] && isTarget
              ? [shape("rect", { ...frame, ...dashes, class: "target" })]
              : []),
          ];
        }),
        ...head.context[i].map((number, c) =>
          text(right + 45 * (c + 1), top + middle + 4, digits(number, 2), { "text-anchor": "end" }),
        ),
      ];
    });
    parts.push(text(right + 90, top - 6, "context", { "text-anchor": "end" }));
    const size = { width: 5, height: 5, patternUnits: "userSpaceOnUse" };
    const hatching = shape("pattern", {
      id: "masked",
      patternTransform: "rotate(45)",
      ...size,
    });
    hatching.append(
      shape("path", { d: "M 0 0 V 5", stroke: color("--color-foreground-border"), fill: "none" }),
    );
    return shape("g", {}, shape("defs", {}, hatching), ...parts);
  }

  lab.workbenchShare = { drawing, linkTo };
}
