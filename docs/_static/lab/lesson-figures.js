"use strict";

// Four figures of the first lesson come alive: a number that one presses says of which products it is
// the sum, any word asks, and the training at the end is watched. The picture stays for paper.

{
  const { matmul, transpose } = lab.tensors;
  const { digits, element, moveByArrows, quoted, setStop, whenNear } = lab.dom;
  const { nodes } = lab.benchEquation;
  const { NAMED, STOPS, learn, sumOf } = lab.lessonNumbers;

  const SECONDS = 4; // that the whole training takes to watch

  const column = (A, j) => A.map((row) => row[j]);
  const withShare = (made, share) => {
    made.style.setProperty("--share", share.toFixed(3));
    return made;
  };
  const pressable = (number) => element("button", { type: "button" }, digits(number, 2));
  const plain = (number) => element("span", {}, digits(number, 2));
  const subscript = (i) => String(i).replace(/\d/g, (digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]);

  function rowsOf(cells, names = null) {
    return cells.map((row, i) => {
      const head = names ? [element("th", { scope: "row" }, names[i])] : [];
      return element("tr", {}, ...head, ...row.map((made) => element("td", {}, made)));
    });
  }

  // A table of words by words
  function square(words, label, cells) {
    const columns = words.map((word) => element("th", { scope: "col" }, word));
    const head = element("thead", {}, element("tr", {}, element("td"), ...columns));
    const attributes = { "aria-label": label, class: "live-square" };
    return element("table", attributes, head, element("tbody", {}, ...rowsOf(cells, words)));
  }

  function matrix(caption, role, cells) {
    const body = element("tbody", {}, ...rowsOf(cells));
    const title = element("caption", {}, caption);
    return element("table", { class: `live-matrix live-${role}` }, title, body);
  }

  // Does what a press does for the pointer that rests on a button, and for the focus, too
  function onChoice(box, lines, choose) {
    for (const kind of ["click", "focusin", "mouseover"]) {
      box.addEventListener(kind, ({ target }) => {
        const made = target.closest("button");
        const i = lines.findIndex((row) => row.includes(made));
        if (i >= 0) choose(i, lines[i].indexOf(made));
      });
    }
    moveByArrows(box, () => lines);
  }

  function replacePicture(id, name, ...parts) {
    const figure = document.getElementById(id);
    const box = element("div", { class: `lab live live-${name}`, "data-testid": name }, ...parts);
    figure.prepend(box);
    figure.classList.add("is-live");
    return box;
  }

  const sumLine = () => element("p", { class: "live-sum", "aria-live": "polite" });
  const hint = (text) => element("p", { class: "live-hint" }, text);

  // Figure 1: the score of any two words
  function startScores({ words, x, at }) {
    const scores = matmul(x, transpose(x)); // (n, n)
    const largest = Math.max(...scores.flat());
    const cells = scores.map((row) =>
      row.map((score) => withShare(pressable(score), 0.32 * (score / largest) ** 2)),
    );
    const table = square(words, "The scores of all pairs of words", cells);
    const sum = sumLine();
    const box = replacePicture(
      "figure-1",
      "scores",
      hint("Press any score, and its sum is written below."),
      table,
      sum,
    );

    function choose(i, j) {
      cells.flat().forEach((made, c) => {
        const [row, col] = [Math.floor(c / words.length), c % words.length];
        made.setAttribute("aria-pressed", row === i && col === j);
        made.classList.toggle("mirrored", row === j && col === i);
      });
      const name = `${quoted(words[i])} and ${quoted(words[j])}`;
      const factors = `x${subscript(i + 1)} · x${subscript(j + 1)}`;
      sum.replaceChildren(...nodes(sumOf(name, factors, x[i], x[j], 2)));
      setStop(box, cells[i][j]);
    }
    onChoice(box, cells, choose);
    choose(at, at + 1);
  }

  // Figure 2: one word times one of the three matrices
  function startProduct({ words, x, at, ...matrices }) {
    const roles = ["query", "key", "value"];
    const name = `x_${at + 1}`;
    const choice = element("fieldset", { class: "lab-choice", "aria-label": "Which matrix?" });
    choice.append(
      ...roles.map((role) => {
        const input = element("input", { type: "radio", name: "live-role", value: role });
        return element("label", {}, input, element("span", {}, `W_${role}`));
      }),
    );
    const product = element("div", { class: "live-factors" });
    const sum = sumLine();
    const said = hint("Press a number of the result, or another of the three matrices.");
    replacePicture("figure-2", "product", said, choice, product, sum);

    function show(role) {
      const W = matrices[`W_${role}`]; // (d, k)
      const [made] = matmul([x[at]], W); // (k,)
      const results = made.map(pressable);
      const factors = W.map((row) => row.map(plain));
      product.replaceChildren(
        matrix(name, "ink", [x[at].map((one) => withShare(plain(one), 0.24))]),
        element("span", { class: "live-sign" }, "·"),
        matrix(`W_${role}`, role, factors),
        element("span", { class: "live-sign" }, "="),
        matrix(`${role}_${at + 1}`, role, [results]),
      );

      function choose(_, j) {
        results.forEach((one, c) => {
          one.setAttribute("aria-pressed", c === j);
          for (const each of [one, ...column(factors, c)]) withShare(each, c === j ? 0.28 : 0.09);
        });
        const subject = `number ${j + 1} of ${role}_${at + 1}`;
        const by = `${name} · column ${j + 1} of W_${role}`;
        sum.replaceChildren(...nodes(sumOf(subject, by, x[at], column(W, j), 4)));
        setStop(product, results[j]);
      }
      onChoice(product.lastChild, [results], choose);
      choose(0, 0);
    }
    choice.addEventListener("change", ({ target }) => show(target.value));
    choice.querySelector("input").checked = true;
    show(roles[0]);
  }

  // Figure 3: the word that asks has a query, which meets each key
  function startRoles({ words, x, at: first, ...matrices }) {
    const roles = ["query", "key", "value"];
    const vectors = Object.fromEntries(
      roles.map((role) => [role, matmul(x, matrices[`W_${role}`])]), // (n, k)
    );
    const scores = matmul(vectors.query, transpose(vectors.key)); // (n, n)
    const tinted = (number) => withShare(plain(number), 0.07 + 0.2 * Math.max(0, number));
    const inputs = words.map((_, i) =>
      element("input", { type: "radio", name: "live-asks", value: i }),
    );
    const heads = words.map((word, i) =>
      element("th", { scope: "col" }, element("label", {}, inputs[i], element("span", {}, word))),
    );
    const head = element("thead", {}, element("tr", {}, element("td"), ...heads));
    const body = element("tbody");
    const label = "The query of the word that asks, all keys, and their scores";
    const table = element("table", { class: "live-square", "aria-label": label }, head, body);
    const asks = element("fieldset", { class: "lab-words", "aria-label": "Who asks?" }, table);
    const own = element("div", { class: "live-factors live-own" });
    const sum = sumLine();
    const said = hint(
      "Press another word, and it asks; press a score, and its sum is written below.",
    );
    replacePicture("figure-3", "roles", said, own, asks, sum);

    // Of the two numbers of a vector
    const headOfTwo = (title) => element("th", { scope: "rowgroup", rowspan: 2 }, title);
    function row(title, role, cells) {
      const all = cells.map((made) => element("td", {}, made));
      return element("tr", { class: `live-${role}` }, ...title, ...all);
    }

    function show(at) {
      const made = roles.map((role) =>
        matrix(`${role}_${at + 1}`, role, [vectors[role][at].map(tinted)]),
      );
      const word = matrix(`x_${at + 1}`, "ink", [x[at].map((one) => withShare(plain(one), 0.24))]);
      own.replaceChildren(word, element("span", { class: "live-sign" }, "→"), ...made);
      const results = scores[at].map((score) =>
        withShare(pressable(score), 0.32 * (score / Math.max(...scores[at])) ** 2),
      );
      const numbers = (of, c) => words.map((_, j) => tinted(of(j)[c]));
      body.replaceChildren(
        ...[0, 1].map((c) =>
          row(
            c ? [] : [headOfTwo("query")],
            "query",
            numbers(() => vectors.query[at], c),
          ),
        ),
        ...[0, 1].map((c) =>
          row(
            c ? [] : [headOfTwo("key")],
            "key",
            numbers((j) => vectors.key[j], c),
          ),
        ),
        row([element("th", { scope: "row" }, "score")], "ink", results),
      );

      function choose(_, j) {
        for (const one of results) one.setAttribute("aria-pressed", one === results[j]);
        const subject = `score of ${quoted(words[at])} and ${quoted(words[j])}`;
        const by = `query_${at + 1} · key_${j + 1}`;
        sum.replaceChildren(...nodes(sumOf(subject, by, vectors.query[at], vectors.key[j], 2)));
        setStop(body, results[j]);
      }
      onChoice(body.lastChild, [results], choose);
      choose(0, at === words.length - 1 ? 0 : at + 1);
    }
    asks.addEventListener("change", ({ target }) => show(Number(target.value)));
    inputs[first].checked = true;
    show(first);
  }

  // The last figure: the weights at every step of the training, the last of them at first
  function startTraining({ words, ...numbers }) {
    const stops = learn({ words, ...numbers });
    const cells = words.map(() => words.map(() => plain(0)));
    words.forEach((_, i) => {
      cells[i][(i + 1) % words.length].classList.add("target");
    });
    const table = square(words, "The weights, one row per query", cells);
    const slider = element("input", {
      type: "range",
      min: 0,
      max: STOPS.length - 1,
      "aria-label": "training step",
    });
    const button = element("button", { type: "button", class: "live-play" }, "Watch it learn");
    const output = element("output", {});
    const scale = element("div", { class: "live-scale", "aria-hidden": "true" });
    scale.append(
      ...NAMED.map((stop) => {
        const made = element("span", {}, stop.toLocaleString("en"));
        made.style.setProperty("--at", STOPS.indexOf(stop) / (STOPS.length - 1));
        return made;
      }),
    );
    const time = element("div", {}, slider, scale);
    const row = element("div", { class: "live-time" }, button, time, output);
    const sum = element("p", { class: "live-found" });
    replacePicture("figure-5", "training", row, table, sum);
    let timer = null;

    function show(at) {
      const { stop, weights, mean, loss } = stops[at];
      weights.forEach((weightsOf, i) => {
        weightsOf.forEach((weight, j) => {
          cells[i][j].textContent = digits(weight, 2);
          withShare(cells[i][j], weight);
        });
      });
      slider.value = at;
      const step = `step ${stop.toLocaleString("en")}`;
      slider.setAttribute("aria-valuetext", step);
      output.textContent = step;
      sum.textContent = `mean weight on the targets ${digits(mean, 2)}, loss ${digits(loss, 2)}`;
    }

    function halt() {
      clearInterval(timer);
      timer = null;
      button.textContent = "Watch it learn";
    }

    button.addEventListener("click", () => {
      if (timer !== null) return halt();
      let at = 0;
      button.textContent = "Stop";
      show(at);
      timer = setInterval(
        () => {
          at += 1;
          show(at);
          if (at === stops.length - 1) halt();
        },
        (1000 * SECONDS) / stops.length,
      );
    });
    slider.addEventListener("input", () => {
      halt();
      show(Number(slider.value));
    });
    button.hidden = matchMedia("(prefers-reduced-motion: reduce)").matches; // the slider does the same
    show(stops.length - 1);
  }

  const { lesson } = JSON.parse(document.querySelector("script.workbench-numbers").textContent);
  startScores(lesson);
  startProduct(lesson);
  startRoles(lesson);
  // Two thousand steps take a third of a second.
  whenNear(document.getElementById("figure-5"), "1200px", () => startTraining(lesson));
}
