"use strict";

// The maps of a puzzle: the weights of each head, with a mark on what the goal asks for.

{
  const { element } = lab.dom;
  const { checks, forward, holds, isAllowed } = lab.puzzleJudge;
  const OF_CONTEXT = ["copy", "point", "tone"]; // the goals that are about the context vectors

  function map(mask, title, weights, words, { columns = [], cells = () => [], isSmall } = {}) {
    const heads = words.map((word) =>
      element("th", { scope: "col", title: word }, element("span", {}, word)),
    );
    const more = columns.map((one) => element("th", { scope: "col" }, one));
    const rows = words.map((word, i) => {
      const made = weights[i].map((weight, j) => {
        const isMasked = !isAllowed(mask, i, j);
        const attributes = {
          class: isSmall ? "small" : isMasked && "masked",
          "data-name": `map.${i}.${j}`,
          "data-value": weight,
          style: `--share: ${weight.toFixed(3)}`,
          "aria-label": `${word} to ${words[j]}: ${weight.toFixed(2)}${isMasked ? ", masked" : ""}`,
        };
        return element("td", attributes, weight.toFixed(2));
      });
      return element("tr", {}, element("th", { scope: "row" }, word), ...made, ...cells(i));
    });
    return element(
      "table",
      { class: "lab-map", "aria-label": `${title}: one row per query, one column per key` },
      element("caption", {}, title),
      element("thead", {}, element("tr", {}, element("td"), ...heads, ...more)),
      element("tbody", {}, ...rows),
    );
  }

  // The rows of the wanted map, which is drawn small; null where the goal is another one
  function wantedMap(puzzle, state, words) {
    const { kind, W_query, W_key } = puzzle.goal;
    if (kind !== "map") return null;
    return forward(puzzle, { ...state, W_query, W_key }, words).heads[0].weights;
  }

  // A map per head, with the context vectors where the goal is about them
  function mapsOf(puzzle, state, words, heading = "Weights") {
    const { heads } = forward(puzzle, state, words);
    const tables = heads.map(({ weights, context }, h) => {
      const title = heads.length > 1 ? `${heading}, head ${h + 1}` : heading;
      if (!OF_CONTEXT.includes(puzzle.goal.kind)) return map(state.mask, title, weights, words);
      const cells = (i) =>
        context[i].map((number) =>
          element("td", { class: "context" }, number.toFixed(2).replace("-", "−")),
        );
      return map(state.mask, title, weights, words, {
        columns: context[0].map((_, c, all) => (all.length > 1 ? `context ${c + 1}` : "context")),
        cells,
      });
    });
    // A mark on each number of the goal: whether it holds, in words for who can't see it
    for (const check of checks(puzzle, state, words)) {
      for (const j of Number.isInteger(check.at) ? [check.at] : check.on) {
        const cell = tables[0].querySelector(`[data-name="map.${check.i}.${j}"]`);
        cell.classList.add("goal");
        cell.classList.toggle("missed", !holds(check));
        cell.ariaLabel += holds(check) ? ", as asked" : ", not as asked";
      }
    }
    const wanted = wantedMap(puzzle, state, words);
    if (wanted) tables.push(map(state.mask, "Wanted", wanted, words, { isSmall: true }));
    return tables;
  }

  // Tables of the same words and heads stay, and their cells take what the new ones hold: so a weight
  // is seen to change.
  function showTables(place, tables) {
    const shape = (all) =>
      [...all].map((one) => `${one.caption.textContent}: ${one.rows[0].textContent}`).join("; ");
    if (shape(place.children) !== shape(tables)) return place.replaceChildren(...tables);
    const cells = (all) => [...all].flatMap((one) => [...one.querySelectorAll("td")]);
    const fresh = cells(tables);
    for (const [at, cell] of cells(place.children).entries()) {
      cell.className = fresh[at].className;
      for (const { name, value } of fresh[at].attributes) cell.setAttribute(name, value);
      cell.textContent = fresh[at].textContent;
    }
  }

  lab.puzzleMaps = { mapsOf, showTables };
}
