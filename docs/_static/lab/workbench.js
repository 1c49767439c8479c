"use strict";

// The workbench: one sentence with everything movable. A reader's choices are the state of
// bench-state.js, and all that is shown follows from it by bench.js. This file keeps the state and
// its history, and answers "Where from?"; the other workbench-*.js files each add one part.

{
  const { afterPress, digits, element, keep, kept } = lab.dom;
  const { moveByArrows, quoted, setStop, speaker } = lab.dom;

  const HISTORY = 200;
  // How much is shown: each density has all of the one before. A part that names one in data-from is
  // hidden in those before it.
  const DENSITIES = ["look", "change", "train"];
  const HINTS = {
    look: "Choose a row, or drag an arrow: its word changes.",
    change: "Choose a row, and change its weights: drag an arrow, or set a number.",
    train: "Press “A hundred steps”, or first click another weight as the target.",
  };
  // As in its cell, but never rounded up to the 0.9 that a mission asks for
  const shownAs = (weight) => Math.min(weight, weight < 0.9 ? 0.89 : 1).toFixed(2);
  const parts = []; // what the other files add: (bench) => { build?(view), update(view) }

  // −0.1235, 12.35, −123.5, 12346 or 1e6: never wider than a cell. The explanation has all digits.
  function short(number, places = 4) {
    if (number === -Infinity) return "−∞";
    const size = Math.abs(number);
    if (size >= 99999.5) return number.toExponential(0).replace("-", "−").replace("+", "");
    return digits(number, Math.min(places, size < 10 ? 4 : size < 100 ? 2 : size < 1000 ? 1 : 0));
  }

  // The head of a row. A long word is cut in its span: a cell's max-width would not make a table narrow.
  function rowHead(title, ...parts) {
    const name = parts.length > 0 ? parts : [title];
    return element("th", { scope: "row", title }, element("span", { class: "name" }, ...name));
  }

  // Whether no other word has the same embedding: equal words get equal weights
  const isAlone = (x, j) => x.filter((row) => String(row) === String(x[j])).length === 1;
  const pair = (vector) => `(${vector.map((one) => short(one)).join(", ")})`;
  const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;

  // `numbers` has an entry per preset: { label, words, x, W_query, W_key, W_value }, and `vectors` where
  // a trained model has vectors for other words, too.
  function start(box, numbers, { preset = Object.keys(numbers)[0] } = {}) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    const history = []; // { state, curve, origin }, oldest first
    const inputs = new Map(); // name of a number → where it is typed
    const cells = new Map(); // name of a number → where it is shown
    // What Reset goes back to: { name, label, state, vectors }, a preset or a link
    const origins = new Map(
      Object.entries(numbers).map(([name, { label, vectors, ...given }]) => [
        name,
        { name, label, vectors, state: lab.benchState.begin(given) },
      ]),
    );
    let origin = origins.get(preset);
    let state;
    let curve = []; // the losses since the last change by hand
    let view; // all that follows from the state
    let gesture = null; // changes of one gesture are undone together
    let settled; // the timer of what is settling
    let asked = null; // the number whose origin is shown
    let isPinned = false; // it was pressed, and stays until another one is, or it is closed
    let structure = "";
    let given; // the state in which its words came
    const isWide = matchMedia("(min-width: 40em)");
    // Seven columns of a step fit on a phone with two decimals; gradients have a tint, too.
    const places = (name) => (name.startsWith("d") ? 3 : isWide.matches || name === "loss" ? 4 : 2);
    // A lesson shows the weights and the arrows that its text is about, and nothing to change them by.
    const isToLookAt = box.matches(".bench-look *");
    let density = (!isToLookAt && DENSITIES.find((one) => one === kept("density"))) || "look";

    const bench = {
      box,
      find,
      say,
      inputs,
      state: () => state,
      view: () => view,
      origin: () => origin,
      density: () => density,
      before: (by) => (gesture === by ? history.at(-1).state : state),
      isAtOnce: () => gesture === null, // and follows no hand
      isDragged: () => gesture?.startsWith("drag") ?? false,
      isMoved: (i) => isMoved(i),
      change,
      set,
      open,
      showAs,
      forget: () => showOrigin(null),
      origins,
      begin,
      cell,
      grid,
      tell,
      refuse,
      accept,
      onLeave,
      on,
    };

    // ---- the state and its history

    // `by` names the gesture that a change belongs to; the losses of learning extend the curve.
    function change(next, { by = null, losses = null, from = origin } = {}) {
      if (by === null || by !== gesture) history.push({ state, curve, origin });
      if (by === null) settle();
      if (history.length > HISTORY) history.shift();
      gesture = by;
      if (losses) curve = [...(curve.length > 0 ? curve : [view.loss]), ...losses];
      else curve = [];
      origin = from;
      state = next;
      update();
    }

    // What changes at once is seen to change; what follows a hand does so without delay.
    function settle() {
      box.classList.add("settling");
      clearTimeout(settled);
      settled = setTimeout(() => box.classList.remove("settling"), 500);
    }

    function set(changes, options) {
      change({ ...state, ...changes }, options);
    }

    function undo() {
      ({ state, curve, origin } = history.pop());
      gesture = null;
      update();
    }

    // What a click on a weight sets: in training a target, else the query
    function resetTool() {
      const tool = density === "train" ? "target" : "query";
      box.querySelector(`[name=bench-tool][value=${tool}]`).checked = true;
    }

    // Back to what the reader starts from, also in what a click does
    function begin(next, first = next.state) {
      resetTool();
      given = undefined;
      change(structuredClone(first), { from: next });
    }

    // A state from a link, whose new words have vectors of the model that its matrices are of, or the
    // reader's own after a reload, who had begun with a preset
    function open(linked, name = null) {
      if (origins.has(name)) return change(linked, { from: origins.get(name) });
      const matrices = ({ heads: [first] }) => JSON.stringify(first);
      const like = [...origins.values()].find((one) => matrices(one.state) === matrices(linked));
      const made = { name: "link", label: "a link", state: linked, vectors: like?.vectors };
      origins.set("link", made);
      begin(made);
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
      if (String(given?.words) !== String(state.words)) given = state;
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
      showDensity(); // before the curve is measured, which what is hidden has no size for
      for (const [name, made] of cells) {
        const { value } = explained(name);
        made.textContent = value === null ? "none" : short(value, places(name));
        made.dataset.value = value;
      }
      for (const part of made) part.update(view);
      for (const part of box.querySelectorAll("[data-asks]")) {
        part.textContent = state.words[state.at];
      }
      find("undo").disabled = history.length === 0;
      showStart();
      showOrigin(asked);
    }

    // ---- how much is shown

    function showDensity() {
      box.dataset.density = density;
      for (const part of box.querySelectorAll("[data-from]")) {
        part.hidden = DENSITIES.indexOf(part.dataset.from) > DENSITIES.indexOf(density);
      }
      box.querySelector(`[name=bench-density][value=${density}]`).checked = true;
      find("hint").textContent = (density === "change" && moved()) || HINTS[density];
    }

    const isMoved = (i) => String(state.x[i]) !== String(given.x[i]);

    // A word's embedding makes its query, its key and its value, so whoever moves one moves all.
    function moved() {
      const others = state.words.flatMap((_, i) => (isMoved(i) ? [i] : []));
      if (others.length === 0) return "";
      if (others.length > 1)
        return `${others.length} words have other embeddings, so their queries, keys and values moved.`;
      const [i] = others;
      const word = quoted(state.words[i]);
      const leads = (row) => row[i] > 0 && row[i] === Math.max(...row);
      const row = view.head.weights[i];
      const before = lab.bench.forward({ ...state, x: given.x }).heads[state.head].weights[i];
      return leads(row) && !leads(before)
        ? `The key of ${word} moved with its query, so ${word} gives itself the most, ${shownAs(row[i])}.`
        : `${word} has another embedding, so its query, key and value moved.`;
    }

    on("density", "change", ({ target }) => showAs(target.value));

    function showAs(wanted) {
      density = wanted;
      keep("density", density);
      resetTool();
      asked = null;
      update();
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
          .map((row) =>
            [...row.querySelectorAll("[data-name]")].filter((one) => one.checkVisibility()),
          )
          .filter((line) => line.length > 0),
      );
    }

    function tell(problem) {
      if (problem === "") refused = null;
      find("problem").textContent = problem;
    }

    function on(name, kind, action) {
      find(name)?.addEventListener(kind, action);
    }

    // ---- where from?

    // `explain` calls the context vector of the query's own word context.c.
    function explained(name) {
      if (inputs.has(name)) return originOfInput(name);
      return view.numbers.get(name) ?? view.numbers.get(name.replace(`.${state.at}.`, "."));
    }

    function originOfInput(name) {
      const [matrix, i, c] = name.split(".");
      if (matrix === "x") {
        const text = `number ${Number(c) + 1} of the embedding of ${quoted(state.words[i])} is an input: it is given, drawn from the word's letters or set by you`;
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
      isPinned &&= name !== null;
      const number = name && explained(name);
      const { nodes } = lab.benchEquation;
      find("where").replaceChildren(...(number ? nodes(number.text) : []));
      if (number) partOf(name)?.classList.add("asked");
      for (const source of number?.sources ?? [])
        if (source !== name) partOf(source)?.classList.add("source");
      // What scrolls must be reachable from the keyboard. How wide and high this is follows from
      // where the number stands that was asked about.
      const bar = find("where-box");
      bar.toggleAttribute("tabindex", bar.scrollHeight > bar.clientHeight);
      if (bar.hasAttribute("tabindex")) bar.tabIndex = 0;
      showKey(number ? name : "");
      if (!number) return;
      makeRoom(bar.offsetHeight);
      // Nothing moves below a finger, or below a pointer that only points.
      if (partOf(name) === document.activeElement) afterPress(keepClear);
    }

    // Of a score or a weight the picture shows its key alone.
    function showKey(name) {
      const [, i, j] = /^(?:map\.(\d+)|score|scaled|weight)\.(\d+)$/.exec(name) ?? [];
      const isHere = j !== undefined && Number(i ?? state.at) === state.at;
      for (const arrow of find("plane-scores").querySelectorAll("[data-handle^=key]"))
        arrow.classList.toggle("aside", isHere && arrow.dataset.handle !== `key.${j}`);
    }

    // The focus goes back to the number, which is explained again only when it is asked for again.
    function closeOrigin() {
      const name = asked;
      showOrigin(null);
      asked = name;
      partOf(name)?.focus({ preventScroll: true });
      asked = null;
    }

    on("where-close", "click", closeOrigin);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && asked && !event.defaultPrevented) showOrigin(null);
    });

    // Nothing that has the focus may lie under the explanation, which sticks to the lower edge.
    function keepClear() {
      const focused = document.activeElement;
      const bar = find("where-box");
      if (!box.contains(focused) || bar.contains(focused)) return;
      if (getComputedStyle(bar).position !== "sticky") return;
      const [low, high] = [focused.getBoundingClientRect(), bar.getBoundingClientRect()];
      const isBeside = low.right <= high.left || low.left >= high.right;
      if (!isBeside && low.bottom > high.top && low.top < high.bottom) {
        scrollBy({ top: low.bottom - high.top + 8, behavior: "instant" });
      }
    }

    // A press that masks a weight, or makes it a target, is no question.
    function isForAction(part) {
      const isPressed = part.dataset.testid === "weight" && !part.matches(":focus-visible");
      return isPressed && box.querySelector("[name=bench-tool]:checked").value !== "query";
    }

    // The explanation that sticks needs room below what it could cover.
    let tail = 0;
    function makeRoom(height) {
      tail = Math.max(tail, height); // never less, so that nothing jumps back
      box.style.setProperty("--tail", `${tail}px`);
    }

    let pointer = "";
    for (const kind of ["pointermove", "pointerdown", "focusin"]) {
      box.addEventListener(kind, (event) => {
        // A page that scrolls below a resting pointer is no question about what comes to lie there.
        const place = `${event.clientX} ${event.clientY}`;
        if (kind === "pointermove" && (place === pointer || event.buttons > 0)) return;
        if (kind !== "focusin") pointer = place;
        if (kind === "pointermove" && isPinned) return;
        const part = event.target.closest("[data-name]");
        const name = part?.dataset.name;
        if (kind === "focusin") afterPress(() => requestAnimationFrame(keepClear));
        if (!name || !partOf(name) || (kind !== "pointermove" && isForAction(part))) return;
        if (kind === "focusin" && name === asked) return; // also of a number that was just closed
        const ask = () => {
          if (name !== asked) showOrigin(name);
          isPinned ||= kind === "pointerdown";
        };
        if (kind === "pointermove") ask();
        else afterPress(ask); // what opens below a finger would take its click
      });
    }

    // ---- what the reader starts from, and what is refused

    const presets = find("preset");
    on("reset", "click", () => begin(origin));
    on("undo", "click", undo);

    function showStart() {
      const options = [...origins.values()].map(({ name, label }) =>
        element("option", { value: name }, label),
      );
      if (presets.length !== options.length) presets.replaceChildren(...options);
      presets.value = origin.name;
    }

    let refused = null; // the field whose entry the message is about

    function refuse(field, problem) {
      refused = field;
      field.setAttribute("aria-invalid", "true");
      tell(problem);
    }

    function accept(field) {
      field.removeAttribute("aria-invalid");
      if (refused === field) tell("");
    }

    // What was refused stays with its reason while it is in sight, also after Enter. On leaving, a field
    // shows again what counts; `fields` are those of one entry.
    function onLeave(fields, show) {
      for (const field of fields) {
        field.addEventListener("blur", ({ relatedTarget }) => {
          if (fields.includes(relatedTarget)) return; // the second number follows
          afterPress(() => {
            if (fields.includes(document.activeElement)) return;
            for (const one of fields) accept(one);
            show();
          });
        });
      }
    }

    const made = parts.map((part) => part(bench));
    state = structuredClone(origin.state);
    resetTool();
    box.hidden = false; // what is hidden has no size, and words are cut to theirs
    isWide.addEventListener("change", () => update());
    update();
    for (const part of made) part.start?.();
    return { bench };
  }

  lab.workbench = { isAlone, pair, parts, plural, rowHead, short, shownAs, start };
}
