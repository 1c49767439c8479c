"use strict";

// The heatmap of the weights with the context vectors beside it, and what a click on a cell does:
// choose the query, mask the cell, or make it a target.

{
  const { digits, element, quoted } = lab.dom;
  const { parts, rowHead, shownAs } = lab.workbench;

  const FEW = 6; // words whose cells have room for all digits on any screen
  // Pixels of a cell that has this room, and of one that has room for a tick, too
  const [DIGITS, TICK] = [44, 56];

  const has = (cells, cell) => cells.some((one) => String(one) === String(cell));

  // A set of cells with this one added, or without it
  function toggled(cells, cell) {
    return has(cells, cell)
      ? cells.filter((one) => String(one) !== String(cell))
      : [...cells, cell];
  }

  // The targets with this cell, or without it where it is one; the others of its row go, unless all are
  // to stay: a row's weights add up to 1, so two targets share it.
  function aimed(targets, cell, all = false) {
    const isOther = ([h, i]) => all || h !== cell[0] || i !== cell[1];
    return has(targets, cell) ? toggled(targets, cell) : [...targets.filter(isOther), cell];
  }

  // The words on which a row puts its largest weight: several where they are equal
  function favourites(row) {
    const largest = Math.max(...row);
    return row.flatMap((weight, j) => (weight > 0 && largest - weight < 1e-9 ? [j] : []));
  }

  // What the row of the word that asks says in words
  function finding(row, words, at) {
    const asker = quoted(words[at]);
    const most = favourites(row);
    if (most.length === 0) return `${asker} attends to nothing, because its whole row is masked.`;
    if (row.every((weight) => Math.abs(weight - 1 / row.length) <= 0.01))
      return `${asker} attends to all words about equally.`;
    const names = [...new Set(most.map((j) => quoted(words[j])))];
    const list = [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");
    return `${asker} attends most to ${list}, with ${shownAs(row[most[0]])}${names.length > 1 ? " each" : ""}.`;
  }

  parts.push((bench) => {
    const { box, find, cell, set } = bench;
    const tool = () => box.querySelector("[name=bench-tool]:checked").value;
    const table = find("map").closest("table");
    let weights = []; // the cells, row by row
    let contexts = [];

    function build({ state: { words } }) {
      const columns = words.map((word) =>
        element("th", { scope: "col", title: word }, element("span", {}, word)),
      );
      const context = element(
        "th",
        { scope: "colgroup", colspan: 2, "data-from": "change" },
        "context",
      );
      find("map-head").replaceChildren(element("td"), ...columns, context);
      table.style.setProperty("--words", words.length);
      weights = words.map((_, i) =>
        words.map((_, j) =>
          cell(`map.${i}.${j}`, { "data-testid": "weight", "data-row": i, "data-column": j }),
        ),
      );
      contexts = words.map((_, i) =>
        [0, 1].map((c) => cell(`context.${i}.${c}`, { class: "context", "data-from": "change" })),
      );
      const rows = words.map((word, i) => {
        return element("tr", {}, rowHead(word), ...weights[i], ...contexts[i]);
      });
      find("map").replaceChildren(...rows);
    }

    // Whether columns are too narrow for all digits, or for the words above them
    function isCrowded(words) {
      if (words.length <= FEW) return false;
      table.classList.remove("many");
      const heads = [...find("map-head").querySelectorAll("th[scope=col] span")];
      const isCut = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
      return weights[0][0].clientWidth < DIGITS || heads.some(isCut);
    }

    // Weights come from queries and keys alone: the values and the context vectors are shown once somebody
    // asks for their numbers, or for a target of them.
    const folds = ["settings", "matrices", "arithmetic"].map(find);
    function showValues({ contexts, head, at }) {
      const isAimed = contexts.some(([h, i]) => h === head && i === at);
      const isAsked = folds.some((one) => one.open && !one.closest("[hidden]"));
      box.firstElementChild.classList.toggle("with-values", isAimed || isAsked);
    }

    const redraw = () => bench.view() && draw(bench.view());
    new ResizeObserver(redraw).observe(table.parentElement);
    box.addEventListener("toggle", redraw, { capture: true });

    function draw({ state, layer, head }) {
      const { words, targets, at } = state;
      showValues(state);
      const isMany = isCrowded(words);
      table.classList.toggle("many", isMany);
      table.classList.toggle("roomy", weights[0][0].clientWidth >= TICK);
      const short = (weight) => weight.toFixed(2).replace(/^0(?=\.)/, isMany ? "" : "0");
      weights.forEach((row, i) => {
        row.forEach((made, j) => {
          const weight = head.weights[i][j];
          const isMasked = !layer.allowed[i][j];
          const isTarget = !isMasked && has(targets, [state.head, i, j]);
          made.textContent = short(weight);
          made.dataset.value = weight;
          made.dataset.head = state.head;
          made.classList.toggle("masked", isMasked);
          const isLargest = isTarget && weight === Math.max(...head.weights[i]);
          made.classList.toggle("target", isTarget);
          made.classList.toggle("largest", isLargest);
          made.style.setProperty("--share", weight.toFixed(3));
          const notes = `${isMasked ? ", masked" : ""}${isTarget ? ", a target" : ""}${isLargest ? ", the largest of its row" : ""}`;
          made.setAttribute(
            "aria-label",
            `${words[i]} to ${words[j]}: ${weight.toFixed(2)}${notes}`,
          );
        });
      });
      // As many decimals as the weights have; all of them are in the steps, and in the explanation.
      for (const made of contexts.flat()) {
        const number = Number(made.dataset.value);
        if (Math.abs(number) < 99.995) made.textContent = digits(number, 2);
      }
      [...find("map").rows].forEach((row, i) => {
        row.classList.toggle("asks", i === at);
      });
    }

    function update(view) {
      draw(view);
      const { words, at } = view.state;
      bench.say(finding(view.head.weights[at], words, at));
    }

    function use(made, { shiftKey }) {
      const [i, j] = [Number(made.dataset.row), Number(made.dataset.column)];
      const { forbidden, targets, head } = bench.state();
      if (tool() === "query") return set({ at: i });
      if (tool() === "mask") return set({ forbidden: toggled(forbidden, [i, j]) });
      return set({ at: i, targets: aimed(targets, [head, i, j], shiftKey) });
    }

    table.addEventListener("click", (event) => {
      const made = event.target.closest("[data-testid=weight]");
      if (made) use(made, event);
      else if (event.target.closest("tbody th")) {
        bench.forget(); // the explanation is of what was asked before
        set({ at: event.target.closest("tr").sectionRowIndex });
      }
    });
    table.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      const made = event.target.closest("[data-testid=weight]");
      if (!made) return;
      event.preventDefault(); // the space bar would scroll
      use(made, event);
    });
    bench.grid(table);
    return { build, update };
  });

  lab.workbenchMap = { finding };
}
