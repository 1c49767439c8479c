"use strict";

// The numbers that a reader can set, with a slider for each number of the word in use, or for the one
// number in use of all, and what follows from them for one query, step by step.

{
  const { element, setStop, moveByArrows, quoted, stepByArrows, typed } = lab.dom;
  const { readNumber } = numberReader;
  const { LIMIT, MATRICES } = lab.bench;
  const { parts, rowHead } = lab.workbench;

  const TABLES = ["x", ...MATRICES];

  // The fields: names are x.i.c and W_query.r.c, as in `explain`.
  parts.push((bench) => {
    const { find, inputs, refuse, accept } = bench;
    const slider = find("slider");
    const slides = new Map(); // name of a word's number → its own slider
    let used = null; // the name of the number that the slider moves
    let before = null; // the state that was shown last
    let sliding = null; // the slider that moves one now: a scale that followed would run away from it

    const tableOf = ({ x, heads, head }, name) => (name === "x" ? x : heads[head][name]);
    const read = (state, name) => {
      const [table, i, c] = name.split(".");
      return tableOf(state, table)[i][c];
    };

    function write(name, number) {
      const state = bench.state();
      const [table, i, c] = name.split(".");
      const changed = structuredClone(tableOf(state, table));
      changed[i][c] = number;
      const heads = state.heads.map((one, h) =>
        h === state.head ? { ...one, [table]: changed } : one,
      );
      bench.set(table === "x" ? { x: changed } : { heads }, { by: name });
    }

    function build({ state }) {
      slides.clear();
      for (const name of TABLES) {
        const rows = tableOf(state, name).map((row, i) => {
          const head = name === "x" ? [rowHead(state.words[i])] : [];
          const fields = row.map((_, c) => {
            const made = field(name, i, c);
            return element("td", {}, made, ...(name === "x" ? [slide(made)] : []));
          });
          return element("tr", {}, ...head, ...fields);
        });
        find(name).replaceChildren(...rows);
        setStop(find(name), find(name).querySelector("input"));
      }
      if (!inputs.has(used)) used = `x.${state.at}.0`;
    }

    function field(table, i, c) {
      const what =
        table === "x" ? `embedding of ${quoted(bench.state().words[i])}` : `${table}, row ${i + 1}`;
      const name = `${table}.${i}.${c}`;
      const made = element("input", {
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        tabindex: -1,
        "data-step": 0.05,
        "aria-label": `${what}, number ${c + 1}`,
        "data-name": name,
      });
      inputs.set(name, made);
      bench.onLeave([made], () => {
        if (inputs.get(name) === made) show(made, read(bench.state(), name));
      });
      return made;
    }

    function slide(made) {
      const { name } = made.dataset;
      const label = `slider of the ${made.getAttribute("aria-label")}`;
      const own = element("input", { type: "range", step: 0.01, "aria-label": label });
      slides.set(name, own);
      own.addEventListener("focus", () => useSlider(name));
      own.addEventListener("input", () => writeFrom(own, name));
      return own;
    }

    function writeFrom(one, name) {
      sliding = one;
      write(name, one.valueAsNumber);
      sliding = null;
    }

    function update({ state }) {
      for (const [name, made] of inputs) {
        if (made !== document.activeElement) show(made, read(state, name));
      }
      follow(state);
      useSlider(used);
    }

    // The slider goes to the word that asks, also in a new sentence, or whose arrow is dragged.
    function follow(state) {
      if (state.words !== before?.words) {
        if (used.startsWith("x.")) used = `x.${state.at}.0`;
      } else {
        const moved = state.x.flatMap((row, i) => (row === before.x[i] ? [] : [i]));
        if (state.at !== before.at) used = `x.${state.at}.0`;
        else if (moved.length === 1 && !used.startsWith(`x.${moved[0]}.`)) used = `x.${moved[0]}.0`;
      }
      before = state;
    }

    // To change a number, one word's are enough, until one asks for all.
    find("matrices").addEventListener("toggle", () => useSlider(used));
    function showRows(state) {
      const at = used.startsWith("x.") ? Number(used.split(".")[1]) : state.at;
      const rows = [...find("x").rows];
      for (const [i, row] of rows.entries()) {
        row.hidden = !find("matrices").open && i !== at;
        find("map").rows[i].classList.toggle("moves", i === at && bench.density() !== "look");
      }
      const stop = find("x").querySelector("[tabindex='0']");
      if (stop.closest("tr").hidden) setStop(find("x"), rows[at].querySelector("input"));
    }

    // Where one types stand four decimals; elsewhere two, as in the weights.
    function show(made, number) {
      const places = made === document.activeElement ? 4 : 2;
      made.value = typed(Number(number.toFixed(places)));
      made.removeAttribute("aria-invalid");
    }

    function useSlider(name) {
      used = name;
      showRows(bench.state());
      const title = inputs.get(name).getAttribute("aria-label");
      slider.setAttribute("aria-label", title);
      find("slider-name").textContent = title.replace("embedding of ", ""); // the eye sees its row
      slider.closest("label").hidden = slides.has(name) && !find("matrices").open;
      scale(slider, name);
      for (const [own, one] of slides) scale(one, own);
    }

    function scale(slider, name) {
      if (slider === sliding) return;
      const number = read(bench.state(), name);
      const reach = Math.max(3, Math.ceil(Math.abs(number)));
      slider.min = -reach;
      slider.max = reach;
      slider.value = number;
    }

    const isField = (part) => inputs.get(part.dataset.name) === part;

    bench.box.addEventListener("input", ({ target }) => {
      if (target === slider) return writeFrom(slider, used);
      if (!isField(target)) return;
      const number = readNumber(target.value, (one) => Math.abs(one) <= LIMIT);
      if (number !== null) {
        accept(target);
        write(target.dataset.name, number);
      } else {
        const name = target.getAttribute("aria-label");
        refuse(
          target,
          `${name}: expected a number from −${LIMIT} to ${LIMIT}; the last one counts.`,
        );
      }
    });
    bench.box.addEventListener("focusin", ({ target }) => {
      if (!isField(target)) return;
      useSlider(target.dataset.name);
      if (target.hasAttribute("aria-invalid")) return;
      show(target, read(bench.state(), used));
      target.select(); // what the browser had selected was another text, with fewer digits
    });
    stepByArrows(bench.box);
    for (const name of TABLES) {
      moveByArrows(find(name), () => [[...find(name).querySelectorAll("input[type=text]")]]);
    }
    bench.on("draw", "click", () =>
      bench.set({ heads: bench.state().heads.map(lab.workbenchNumbers.draw) }),
    );
    return { build, update };
  });

  // From the query to the context vector
  parts.push((bench) => {
    const { find, cell } = bench;
    bench.grid(find("steps").closest("table"));

    function build({ state: { words } }) {
      const row = (head, ...cells) => element("tr", {}, head, ...cells);
      const asks = () => element("span", { "data-asks": true });
      const rows = words.map((word, j) => {
        const names = [`key.${j}.0`, `key.${j}.1`, `score.${j}`, `scaled.${j}`, `weight.${j}`];
        return row(
          rowHead(word),
          ...[...names, `value.${j}.0`, `value.${j}.1`].map((name) => cell(name)),
        );
      });
      find("steps").replaceChildren(
        row(rowHead("query", "query of ", asks()), cell("query.0"), cell("query.1")),
        ...rows,
        row(
          rowHead("context vector"),
          element("td", { colspan: 5 }),
          cell("context.0"),
          cell("context.1"),
        ),
      );
    }

    function update({ state, head }) {
      const factor = state.temperature === 1 ? "" : ` · ${state.temperature.toFixed(2)}`;
      find("scale-head").textContent = state.isScaled
        ? `÷ √2${factor}`
        : factor
          ? `÷${factor.slice(2)}`
          : "no scale";
      head.weights[state.at].forEach((weight, j) => {
        find("steps")
          .querySelector(`[data-name="weight.${j}"]`)
          .style.setProperty("--share", weight.toFixed(3));
      });
    }

    return { build, update };
  });

  // Three matrices like those of torch.rand: evenly between 0 and 1
  function draw() {
    const matrix = () => [0, 1, 2].map(() => [0, 1].map(() => Number(Math.random().toFixed(4)))); // (3, 2)
    return Object.fromEntries(MATRICES.map((name) => [name, matrix()]));
  }

  lab.workbenchNumbers = { draw };
}
