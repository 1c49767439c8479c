"use strict";

// The workbench: one sentence with everything movable. A reader's choices are the state of
// bench-state.js, and all that is shown follows from it by bench.js. This file keeps the state and
// its history, and answers "Where from?"; the other workbench-*.js files each add one part.

{
  const { digits, element, setStop, moveByArrows, speaker } = lab.dom;

  const HISTORY = 200;
  const parts = []; // what the other files add: (bench) => { build?(view), update(view) }

  // −0.1235, 12.35, −123.5, 12346 or 1e6: never wider than a cell. The explanation has all digits.
  function short(number) {
    if (number === -Infinity) return "−∞";
    const size = Math.abs(number);
    if (size >= 99999.5) return number.toExponential(0).replace("-", "−").replace("+", "");
    return digits(number, size < 10 ? 4 : size < 100 ? 2 : size < 1000 ? 1 : 0);
  }

  // The head of a row. A long word is cut in its span: a cell's max-width would not make a table narrow.
  function rowHead(title, ...parts) {
    const name = parts.length > 0 ? parts : [title];
    return element("th", { scope: "row", title }, element("span", { class: "name" }, ...name));
  }

  const pair = (vector) => `(${vector.map(short).join(", ")})`;
  const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

  // `numbers` has an entry per preset: { label, words, x, W_query, W_key, W_value }.
  function start(box, numbers, { preset = Object.keys(numbers)[0] } = {}) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    const history = []; // { state, curve }, oldest first
    const whole = find("whole");
    const inputs = new Map(); // name of a number → where it is typed
    const cells = new Map(); // name of a number → where it is shown
    let chosen = preset; // the preset that Reset goes back to
    let state;
    let curve = []; // the losses since the last change by hand
    let view; // all that follows from the state
    let gesture = null; // changes of one gesture are undone together
    let asked = null; // the number whose origin is shown
    let structure = "";

    const bench = {
      box,
      find,
      say,
      inputs,
      numbers,
      state: () => state,
      view: () => view,
      chosen: () => chosen,
      change,
      set,
      begin,
      cell,
      grid,
      tell,
      refuse,
      accept,
      on,
    };

    // ---- the state and its history

    // `by` names the gesture that a change belongs to; the losses of learning extend the curve.
    function change(next, { by = null, losses = null } = {}) {
      if (by === null || by !== gesture) history.push({ state, curve });
      if (history.length > HISTORY) history.shift();
      gesture = by;
      if (losses) curve = [...(curve.length > 0 ? curve : [view.loss]), ...losses];
      else curve = [];
      state = next;
      update();
    }

    function set(changes, options) {
      change({ ...state, ...changes }, options);
    }

    function undo() {
      ({ state, curve } = history.pop());
      gesture = null;
      update();
    }

    function begin(name) {
      chosen = name;
      change(lab.benchState.begin(numbers[name]));
    }

    // ---- all that follows

    function follow() {
      const layer = lab.bench.forward(state);
      const head = layer.heads[state.head];
      return {
        state,
        curve,
        layer,
        head,
        loss: lab.bench.loss(state, layer),
        gradients: lab.bench.gradients(state, layer),
        numbers: lab.bench.explain(state),
      };
    }

    function update() {
      view = follow();
      const shape = JSON.stringify([state.words, state.heads.length]);
      if (shape !== structure) {
        structure = shape;
        cells.clear();
        inputs.clear();
        for (const part of made) part.build?.(view);
        for (const table of box.querySelectorAll("[role=grid]")) {
          setStop(table, table.querySelector("[data-name]"));
        }
        if (!cells.has(asked) && !inputs.has(asked)) asked = null;
      }
      for (const [name, made] of cells) {
        const { value } = origin(name);
        made.textContent = value === null ? "none" : short(value);
        made.dataset.value = value;
      }
      for (const part of made) part.update(view);
      for (const part of box.querySelectorAll("[data-asks]")) {
        part.textContent = state.words[state.at];
      }
      find("undo").disabled = history.length === 0;
      if (whole) whole.hash = `bench=${lab.benchState.encode(state)}`;
      showOrigin(asked);
    }

    // ---- what the parts use

    // A cell that shows a number
    function cell(name, attributes = {}) {
      const made = element("td", {
        "data-name": name,
        tabindex: -1,
        "aria-describedby": "bench-where",
        ...attributes,
      });
      cells.set(name, made);
      return made;
    }

    function grid(table) {
      moveByArrows(table, () =>
        [...table.rows]
          .map((row) => [...row.querySelectorAll("[data-name]")])
          .filter((line) => line.length > 0),
      );
    }

    function tell(problem) {
      find("problem").textContent = problem;
    }

    function on(name, kind, action) {
      find(name)?.addEventListener(kind, action);
    }

    // ---- where from?

    // `explain` calls the context vector of the query's own word context.c.
    function origin(name) {
      if (inputs.has(name)) return originOfInput(name);
      return view.numbers.get(name) ?? view.numbers.get(name.replace(`.${state.at}.`, "."));
    }

    function originOfInput(name) {
      const [matrix, i, c] = name.split(".");
      if (matrix === "x") {
        const text = `number ${Number(c) + 1} of the embedding of ${state.words[i]} is an input: it is given, drawn from the word's letters or set by you`;
        return { text, sources: [] };
      }
      const gradient = `d${name}`;
      const slope = view.numbers.get(gradient).value;
      const step = `${short(state.heads[state.head][matrix][i][c])} − ${state.rate} × ${short(slope)}`;
      const text = `${matrix}, row ${Number(i) + 1}, column ${Number(c) + 1} is a parameter; one step of learning makes it ${step}`;
      return { text, sources: [gradient] };
    }

    const partOf = (name) => inputs.get(name) ?? cells.get(name);

    function showOrigin(name) {
      for (const part of box.querySelectorAll(".source, .asked")) {
        part.classList.remove("source", "asked");
      }
      asked = name;
      const number = name && origin(name);
      find("where").textContent = number
        ? number.text
        : "Select any number, and its equation is written here with the digits filled in.";
      // What scrolls must be reachable from the keyboard.
      const bar = find("where-box");
      bar.toggleAttribute("tabindex", bar.scrollHeight > bar.clientHeight);
      if (bar.hasAttribute("tabindex")) bar.tabIndex = 0;
      if (!number) return;
      partOf(name)?.classList.add("asked");
      for (const source of number.sources)
        if (source !== name) partOf(source)?.classList.add("source");
      keepClear();
    }

    // Nothing that has the focus may lie under the explanation, which sticks to the lower edge.
    function keepClear() {
      const focused = document.activeElement;
      const bar = find("where-box");
      if (!box.contains(focused) || bar.contains(focused)) return;
      if (getComputedStyle(bar).position !== "sticky") return;
      const [low, high] = [focused.getBoundingClientRect(), bar.getBoundingClientRect()];
      if (low.bottom > high.top && low.top < high.bottom) {
        scrollBy({ top: low.bottom - high.top + 8, behavior: "instant" });
      }
    }

    let pointer = "";
    for (const kind of ["pointermove", "pointerdown", "focusin"]) {
      box.addEventListener(kind, (event) => {
        // A page that scrolls below a resting pointer is no question about what comes to lie there.
        const place = `${event.clientX} ${event.clientY}`;
        if (kind === "pointermove" && (place === pointer || event.buttons > 0)) return;
        if (kind !== "focusin") pointer = place;
        const name = event.target.closest("[data-name]")?.dataset.name;
        if (name && name !== asked && partOf(name)) showOrigin(name);
        if (kind === "focusin") requestAnimationFrame(keepClear);
      });
    }

    // ---- the sentence, the presets, the way to the whole workbench

    const presets = find("preset");
    presets?.replaceChildren(
      ...Object.entries(numbers).map(([name, { label }]) =>
        element("option", { value: name }, label),
      ),
    );
    on("preset", "change", () => begin(presets.value));
    on("reset", "click", () => begin(chosen));
    on("undo", "click", undo);
    on("sentence", "input", (event) => {
      const field = event.target;
      // A word that is half typed is no other word: what counts is the sentence before the gesture.
      const before = gesture === "sentence" ? history.at(-1).state : state;
      try {
        change(lab.benchState.withWords(before, field.value), { by: "sentence" });
        accept(field);
      } catch (problem) {
        refuse(field, problem.message);
      }
    });
    // What was refused stays with its reason while it is in sight, also after Enter. On leaving, the field
    // shows again what counts.
    on("sentence", "blur", (event) => accept(event.target));

    function refuse(field, problem) {
      field.setAttribute("aria-invalid", "true");
      tell(problem);
    }

    function accept(field) {
      field.removeAttribute("aria-invalid");
      tell("");
      showSentence();
    }
    function showSentence() {
      const field = find("sentence");
      if (document.activeElement !== field) field.value = state.words.join(" ");
      if (presets) presets.value = chosen;
      const drawn = lab.benchState.drawnWords(state);
      const isAll = state.words.every((word) => drawn.includes(word));
      find("drawn").textContent = isAll
        ? "Vectors drawn from letters: all words."
        : drawn.length > 0
          ? `Vectors drawn from letters: ${drawn.join(", ")}.`
          : "";
    }

    const made = [...parts.map((part) => part(bench)), { update: showSentence }];
    state = lab.benchState.begin(numbers[chosen]);
    update();
    for (const part of made) part.start?.();
    box.hidden = false;
    return { bench, reset: () => begin(preset) };
  }

  lab.workbench = { pair, parts, plural, rowHead, short, start };
}
