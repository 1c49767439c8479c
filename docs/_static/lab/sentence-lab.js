"use strict";

// The first lesson with everything movable: the embeddings, the three matrices, the word that
// asks, the scale, the mask. All that is shown follows from `state` by `explain` in where.js.

{
  const { digits, element, moveByArrows, setStop, speaker } = lab.dom;
  const { drawMixture, drawScores } = lab.plane;
  const { explain } = lab.where;

  const MATRICES = ["x", "W_query", "W_key", "W_value"];
  const LIMIT = 9; // larger numbers make one weight 1 and the others 0, and teach no more

  function startSentenceLab(box) {
    const lessons = JSON.parse(document.getElementById("lessons").textContent);
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    let state; // what the reader chose
    let numbers; // what follows from it, by name
    const inputs = new Map(); // name of a number → where it is typed
    const cells = new Map(); // name of a number → where it is shown
    let shown = null; // the number whose origin is shown
    const grids = box.querySelectorAll("[role=grid]");

    function begin(lesson) {
      const { words, ...matrices } = structuredClone(lessons[lesson]);
      state = { words, ...matrices, at: 1, isScaled: true, isCausal: false };
      find("lesson").value = lesson;
      find("scaled").checked = state.isScaled;
      find("causal").checked = state.isCausal;
      find("who").replaceChildren(...words.map(askButton));
      buildInputs();
      buildTables();
      update();
    }

    const askButton = (word, i) =>
      element(
        "label",
        {},
        element("input", { type: "radio", name: "who", value: i, checked: i === state.at }),
        element("span", {}, word),
      );

    // ---- what can be typed

    function buildInputs() {
      inputs.clear();
      for (const name of MATRICES) {
        const rows = state[name].map((row, i) => {
          const head = name === "x" ? state.words[i] : `row ${i + 1}`;
          const fields = row.map((number, j) => element("td", {}, input(name, i, j, number)));
          return element("tr", {}, element("th", { scope: "row" }, head), ...fields);
        });
        find(name).replaceChildren(...rows);
      }
    }

    function input(name, i, j, number) {
      const what = name === "x" ? `embedding of ${state.words[i]}` : `${name}, row ${i + 1}`;
      const made = element("input", {
        type: "number",
        min: -LIMIT,
        max: LIMIT,
        step: 0.05,
        "aria-label": `${what}, number ${j + 1}`,
        "data-name": `${name}.${i}.${j}`,
      });
      made.value = number;
      inputs.set(`${name}.${i}.${j}`, made);
      return made;
    }

    function readInput(made) {
      const [name, i, j] = made.dataset.name.split(".");
      const number = made.valueAsNumber;
      const fits = Math.abs(number) <= LIMIT; // an empty field is no number, and fits nothing
      made.toggleAttribute("aria-invalid", !fits);
      if (fits) state[name][i][j] = number;
      find("problem").textContent = fits
        ? ""
        : `${made.getAttribute("aria-label")}: expected a number from −${LIMIT} to ${LIMIT}; the last one counts.`;
    }

    // ---- what is shown

    function cell(name) {
      const made = element("td", { "data-name": name, tabindex: -1, "aria-describedby": "where" });
      cells.set(name, made);
      return made;
    }

    function buildTables() {
      cells.clear();
      const row = (word, ...names) =>
        element("tr", {}, element("th", { scope: "row" }, word), ...names.map(cell));
      const each = (build) => state.words.map((word, j) => build(word, j));
      find("query").replaceChildren(row("query", "query.0", "query.1"));
      find("scores").replaceChildren(
        ...each((word, j) =>
          row(word, `key.${j}.0`, `key.${j}.1`, `score.${j}`, `scaled.${j}`, `weight.${j}`),
        ),
      );
      find("values").replaceChildren(
        ...each((word, j) => row(word, `mix.${j}`, `value.${j}.0`, `value.${j}.1`)),
        row("context", "context.0", "context.1"),
      );
      find("values").rows[state.words.length].cells[0].colSpan = 2;
      const map = each((word, i) => row(word, ...state.words.map((_, j) => `map.${i}.${j}`)));
      find("map").replaceChildren(...map);
      find("map-head").replaceChildren(
        element("td", {}),
        ...state.words.map((word) => element("th", { scope: "col" }, element("span", {}, word))),
      );
      for (const table of grids) setStop(table, table.querySelector("[data-name]"));
    }

    function update() {
      const layer = explain(state);
      numbers = layer.numbers;
      const { words, at } = state;
      const [query, weights, context] = [layer.query[at], layer.weights[at], layer.context[at]];
      const largest = Math.max(...layer.weights.flat());
      for (const [name, made] of cells) {
        const { value } = numbers.get(name);
        made.textContent = Number.isFinite(value)
          ? digits(value, name.startsWith("map") ? 2 : 4)
          : "−∞";
        made.dataset.value = value;
        if (/^(map|weight|mix)/.test(name))
          made.style.setProperty("--share", (value / largest).toFixed(3));
      }
      for (const [i, row] of [...find("map").rows].entries())
        row.classList.toggle("asks", i === at);
      find("scale-head").textContent = state.isScaled ? "÷ √2" : "no scale";
      for (const part of box.querySelectorAll("[data-asks]")) part.textContent = words[at];
      drawScores(find("plane-scores"), query, layer.key, words);
      drawMixture(find("plane-values"), layer.value, weights, context, words);
      const most = words[weights.indexOf(Math.max(...weights))];
      const pair = (vector) => `(${vector.map((number) => digits(number)).join(", ")})`;
      describe(
        "plane-scores",
        `Arrows: the query of ${words[at]} ${pair(query)} and six keys, each with its shadow on the line of the query.`,
      );
      describe(
        "plane-values",
        `Arrows: six values, the wider the larger their weight; the context of ${words[at]} ${pair(context)} is a dot between them.`,
      );
      const favourites = new Set(layer.weights.map((row) => row.indexOf(Math.max(...row))));
      find("finding").textContent =
        favourites.size === 1 && !state.isCausal
          ? `All six words look most at ${words[[...favourites][0]]}.`
          : `The six words have ${favourites.size} favourites.`;
      say(
        `${words[at]} looks most at ${most}: ${digits(Math.max(...weights))}. Its context is ${pair(context)}.`,
      );
      showOrigin(shown);
    }

    function describe(name, text) {
      find(name).setAttribute("aria-label", text);
    }

    // ---- where from?

    function showOrigin(name) {
      for (const made of box.querySelectorAll(".source, .asked")) {
        made.classList.remove("source", "asked");
      }
      shown = name;
      const number = numbers.get(name);
      find("where").textContent = number
        ? number.text
        : "Point at a number, or go to it with Tab and the arrow keys, and its origin stands here.";
      if (!number) return;
      cells.get(name).classList.add("asked");
      for (const source of number.sources) {
        if (source !== name) (inputs.get(source) ?? cells.get(source)).classList.add("source");
      }
    }

    // ---- what the reader does

    box.addEventListener("input", (event) => {
      const { target } = event;
      if (target.dataset.name) readInput(target);
      else if (target.name === "who") state.at = Number(target.value);
      else if (target.dataset.part === "lesson") return begin(target.value);
      state.isScaled = find("scaled").checked;
      state.isCausal = find("causal").checked;
      update();
    });
    let pointer = "";
    for (const kind of ["pointermove", "pointerdown", "focusin"]) {
      box.addEventListener(kind, (event) => {
        // A page that scrolls below a resting pointer is no question about what comes to lie there.
        const place = `${event.clientX} ${event.clientY}`;
        if (kind === "pointermove" && place === pointer) return;
        if (kind !== "focusin") pointer = place;
        const { name } = event.target.dataset;
        if (cells.has(name) && name !== shown) showOrigin(name);
      });
    }
    for (const table of grids) {
      moveByArrows(table, () =>
        [...table.rows]
          .map((row) => [...row.querySelectorAll("[data-name]")])
          .filter((line) => line.length),
      );
    }
    find("draw").addEventListener("click", () => {
      // Like torch.rand: evenly between 0 and 1
      for (const name of MATRICES.slice(1)) {
        state[name] = state[name].map((row) => row.map(() => Number(Math.random().toFixed(4))));
      }
      buildInputs();
      update();
    });
    const reset = () => begin(find("lesson").value);
    find("reset").addEventListener("click", reset);
    begin(Object.keys(lessons)[0]);
    box.hidden = false;
    return () => begin(Object.keys(lessons)[0]);
  }

  lab.sentenceLab = { reset: startSentenceLab(document.getElementById("sentence-lab")) };
}
