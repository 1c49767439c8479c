"use strict";

// Learning: targets, steps of gradient descent, the loss as a curve, and the gradients.

{
  const { element, quoted, shape, typed } = lab.dom;
  const { LIMIT, MATRICES } = lab.bench;
  const { readNumber } = numberReader;
  const { isAlone, parts, plural, rowHead, short, shownAs } = lab.workbench;

  const STEPS = 100;
  const LONGEST = 9; // letters of a word that a button has room for
  const DURATION = 1500; // milliseconds that they take

  const cut = (word) => (word.length > LONGEST ? `${word.slice(0, LONGEST - 1)}…` : word);

  const isFree = ({ targets, contexts }) => targets.length + contexts.length === 0;

  // The points of a curve in a picture of this size, the first loss on the left
  function curvePoints(losses, width, height) {
    const [low, high] = [Math.min(0, ...losses), Math.max(...losses)];
    const last = Math.max(losses.length - 1, 1);
    return losses.map((loss, t) => [
      (t / last) * width,
      height - ((loss - low) / (high - low || 1)) * height,
    ]);
  }

  // Why a run ended by itself after so many steps, and what helps
  function ending(taken, reason, rate) {
    const smaller = Math.max(Number((rate / 10).toPrecision(2)), 0.01);
    const advice = rate > smaller ? ` Try a smaller learning rate, such as ${smaller}.` : "";
    if (taken === 0) return `No step was taken, because ${reason}.${advice}`;
    return `Learning stopped after ${plural(taken, "step")}, because ${reason}. Undo takes the run back.${advice}`;
  }

  // Steps
  parts.push((bench) => {
    const { find, on } = bench;
    const many = find("many-steps");
    let left = 0; // steps of a run that are still to come
    let run = 0; // what is undone together
    let taken = 0; // steps of that run
    let began = 0; // milliseconds

    // Without a target there is nothing to learn, so a step takes that of the button, if it is not masked.
    function aim() {
      const { state, layer } = bench.view();
      if (!isFree(state)) return true;
      const { words, head, at } = state;
      const next = nextOf(state);
      if (!layer.allowed[at][next]) {
        const pair = `${quoted(words[at])} can't attend to ${quoted(words[next])}`;
        bench.tell(`${pair}, which is masked. Lift the mask, or click on another weight.`);
        return false;
      }
      bench.set({ targets: [[head, at, next]] }, { by: `run ${run}` });
      return true;
    }

    function learn(count) {
      const { state, losses, stopped } = lab.bench.step(bench.state(), count);
      if (losses.length > 0) bench.change(state, { by: `run ${run}`, losses });
      taken += losses.length;
      bench.tell(stopped === null ? "" : ending(taken, stopped, state.rate));
      return stopped === null;
    }

    // As many steps per frame as the run's duration asks for
    function next(now) {
      if (left === 0) return;
      const due = Math.ceil((STEPS * (now - began)) / DURATION) - (STEPS - left);
      const count = Math.min(Math.max(due, 1), left);
      left -= count;
      if (!learn(count)) left = 0;
      if (left > 0) requestAnimationFrame(next);
      showRun();
    }

    function showRun() {
      const more = bench.view().curve.length > 1;
      many.textContent = left > 0 ? "Stop" : more ? "A hundred more" : "A hundred steps";
    }

    function begin() {
      run += 1;
      taken = 0;
      left = 0;
    }

    on("one-step", "click", () => {
      begin();
      if (aim()) learn(1);
    });
    many.addEventListener("click", () => {
      if (left > 0) {
        left = 0;
        return showRun();
      }
      begin();
      if (!aim()) return;
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) return learn(STEPS);
      left = STEPS;
      began = performance.now();
      requestAnimationFrame(next);
      showRun();
    });
    // Whatever a reader does by hand ends a run.
    bench.box.addEventListener("input", () => (left = 0), { capture: true });
    bench.box.addEventListener(
      "pointerdown",
      (event) => {
        if (event.target !== many) left = 0;
      },
      { capture: true },
    );

    function update() {
      showRun();
    }

    return { update };
  });

  // Targets, and the loss
  parts.push((bench) => {
    const { find, on, cell, set, refuse, accept } = bench;
    const goals = [find("goal-0"), find("goal-1")];
    bench.grid(find("loss").closest("table"));

    on("rate", "input", ({ target }) => {
      const rate = readNumber(target.value, (one) => one >= 0.01 && one <= 10);
      if (rate === null)
        return refuse(
          target,
          "Learning rate: expected a number from 0.01 to 10; the last one counts.",
        );
      accept(target);
      set({ rate }, { by: "rate" });
    });
    // Of the row that asks: its target, or none, as the button says
    on("next-word", "click", () => {
      const state = bench.state();
      const others = state.targets.filter((one) => !isHere(state)(one));
      const isNew = others.length === state.targets.length;
      set({ targets: isNew ? [...others, [state.head, state.at, nextOf(state)]] : others });
    });
    // In all rows of this head the next word becomes the target; the last word's is the first.
    on("all-next", "click", () => {
      const { words, head, targets } = bench.state();
      const others = targets.filter(([h]) => h !== head);
      set({ targets: [...others, ...words.map((_, i) => [head, i, (i + 1) % words.length])] });
    });
    on("clear", "click", () => set({ targets: [], contexts: [] }));

    const isHere =
      ({ head, at }) =>
      ([h, i]) =>
        h === head && i === at;

    for (const field of goals) {
      field.addEventListener("input", () => {
        const state = bench.state();
        const fits = (number) => Math.abs(number) <= LIMIT;
        const numbers = goals.map((one) => readNumber(one.value, fits));
        const others = state.contexts.filter((one) => !isHere(state)(one));
        if (goals.every((one) => one.value === "")) {
          accept(field);
          return set({ contexts: others }, { by: "goal" });
        }
        if (numbers.includes(null)) {
          return refuse(
            field,
            `Target for the context vector: expected two numbers from −${LIMIT} to ${LIMIT}, or none.`,
          );
        }
        for (const one of goals) accept(one);
        set({ contexts: [...others, [state.head, state.at, ...numbers]] }, { by: "goal" });
      });
    }
    bench.onLeave([find("rate")], () => show(bench.view()));
    bench.onLeave(goals, () => show(bench.view()));

    function build() {
      find("loss").replaceChildren(
        element("tr", {}, element("th", { scope: "row" }, "loss"), cell("loss")),
      );
    }

    function show({ state }) {
      const goal = state.contexts.find(isHere(state))?.slice(2) ?? ["", ""];
      const isIdle = (field) => field !== document.activeElement;
      if (goals.every(isIdle)) for (const c of [0, 1]) goals[c].value = typed(goal[c]);
      if (isIdle(find("rate"))) find("rate").value = state.rate;
    }

    function update(view) {
      const { state, layer, loss, curve } = view;
      show(view);
      const { words, at, targets } = state;
      const target = targets.findLast(isHere(state));
      const word = words[target?.[2] ?? nextOf(state)];
      find("next-word").textContent = `Target: ${quoted(cut(word))}`;
      find("next-word").title = `${quoted(words[at])} is to attend to ${quoted(word)}`;
      find("next-word").setAttribute("aria-pressed", target !== undefined);
      const isMasked = loss === null && !isFree(state);
      find("one-step").disabled = isMasked;
      find("many-steps").disabled = isMasked;
      const made = remark(state, lab.bench.lossTerms(state, layer));
      if (bench.density() === "train" && !isFree(state))
        find("hint").textContent = leading(state, layer, curve.length > 1) || made;
      find("lesson-of-loss").textContent = made;
      // Before the first step, the loss is that of the target which the step would take.
      const wanted = isFree(state)
        ? { ...state, targets: [[state.head, at, nextOf(state)]] }
        : state;
      find("loss").closest("table").hidden = isFree(state);
      const begun = curve.length > 0 ? curve : [lab.bench.loss(wanted, layer)];
      drawCurve(find("curve"), find("curve-said"), begun);
    }

    return { build, update };
  });

  // The word that a row learns to attend to where nothing else was chosen: the next one that can get nearly all
  function nextOf({ x, at }) {
    const after = x.map((_, k) => (at + 1 + k) % x.length);
    return after.find((j) => j !== at && isAlone(x, j)) ?? after[0];
  }

  // How many of the target weights are the largest of their row; a masked one has no part in it
  function leading({ targets, words, x }, { allowed, heads }, hasLearned = false) {
    const open = targets.filter(([, i, j]) => allowed[i][j]);
    const largest = ([h, i, j]) => heads[h].weights[i][j] === Math.max(...heads[h].weights[i]);
    if (open.length === 0) return "";
    const count = open.filter(largest).length;
    const shared = " Other rows share the matrices, and moved too.";
    const others = open.length < allowed.length ? shared : "";
    const twins = ([, i, j]) =>
      x.filter((row, k) => allowed[i][k] && String(row) === String(x[j])).length;
    const most = Math.max(...open.map(twins));
    const share = ` Equal words get equal weights, here ${(1 / most).toFixed(2)} at most.`;
    const more = count < open.length ? " More steps may help." : others;
    const next = most > 1 ? share : hasLearned ? more : "";
    const masked = targets.length - open.length;
    const rest = masked > 0 ? ` ${masked} more ${masked === 1 ? "is" : "are"} masked.` : "";
    const told = (one) => {
      const [h, i, j] = one;
      const of = heads.length > 1 ? ` in head ${h + 1}` : "";
      const gives = `${quoted(words[i])} gives ${quoted(words[j])} ${shownAs(heads[h].weights[i][j])}`;
      return `${gives}${of}, ${largest(one) ? "the" : "not yet the"} most of its row`;
    };
    if (open.length <= 2) return `${open.map(told).join("; ")}.${rest}${next}`;
    const what = count === 1 ? "leads its row" : "lead their rows";
    return `${count} of ${open.length} targets ${what}.${rest}${next}`;
  }

  // What the loss is made of, from its terms, and how many of the targets are masked
  function remark({ targets, contexts }, terms) {
    const weights = terms.rows.reduce((sum, { js }) => sum + js.length, 0);
    const vectors = terms.contexts.length;
    const masked = targets.length + contexts.length - weights - vectors;
    if (weights + vectors === 0) {
      return masked > 0
        ? `${masked === 1 ? "The only target is" : `All ${masked} targets are`} masked, so there is no loss.`
        : "Without a target there is no loss. A click on a weight sets one; else a step takes the one that the button “Target” names.";
    }
    const made = [
      [weights, "target weight"],
      [vectors, "target context vector"],
    ]
      .filter(([n]) => n > 0)
      .map(([n, one]) => plural(n, one));
    const rest =
      masked > 0
        ? ` ${plural(masked, "more target")} ${masked === 1 ? "is masked and has" : "are masked and have"} no part in it.`
        : "";
    if (vectors > 0) return `The loss is made of ${made.join(" and ")}.${rest}`;
    return `The loss is made of ${made[0]} alone.${rest} No value takes part in it, so the gradient of W_value is 0 and no step changes W_value.`;
  }

  function drawCurve(picture, caption, curve) {
    const losses = curve.filter((loss) => loss !== null);
    const width = Math.round((100 * picture.clientWidth) / picture.clientHeight) || 420; // hidden: 0 by 0
    picture.setAttribute("viewBox", `0 0 ${width} 100`);
    const axes = shape("path", { d: `M 2 2 V 98 H ${width - 2}`, class: "axis", fill: "none" });
    // Its place is kept, so that nothing moves when learning begins.
    caption.textContent = "no step yet";
    picture.setAttribute("aria-label", "Loss: no step yet.");
    picture.replaceChildren(axes);
    if (losses.length === 0) return;
    const points = curvePoints(losses, width - 8, 90).map(([x, y]) => [x + 4, y + 5].join(","));
    const [first, last] = [short(losses[0]), short(losses.at(-1))];
    const isBegun = losses.length > 1;
    const steps = isBegun ? plural(losses.length - 1, "step") : "the first step";
    caption.textContent = `${isBegun ? "" : "loss "}${first} before ${steps}`;
    picture.setAttribute(
      "aria-label",
      isBegun ? `Loss over ${steps}: from ${first} to ${last}.` : `Loss: ${first} before ${steps}.`,
    );
    const line = [points[0], ...points].join(" "); // one point alone is a dot
    picture.append(shape("polyline", { points: line, class: isBegun ? "curve" : "curve start" }));
  }

  // The largest of a matrix has the full tint.
  function tint(cells) {
    const sizes = cells.map(({ dataset: { value } }) => Math.abs(value));
    const most = Math.max(...sizes) || 1;
    for (const [i, one] of cells.entries())
      one.style.setProperty("--share", (sizes[i] / most).toFixed(3));
  }

  // The gradients, each named as in `explain`
  parts.push((bench) => {
    const { find, cell } = bench;
    for (const name of ["dW_query", "dW_key", "dW_value", "dQKV"])
      bench.grid(find(name).closest("table"));

    function build({ state: { words } }) {
      const row = (...names) => names.map((name) => cell(name));
      for (const name of MATRICES) {
        const rows = [0, 1, 2].map((r) =>
          element("tr", {}, ...row(`d${name}.${r}.0`, `d${name}.${r}.1`)),
        );
        find(`d${name}`).replaceChildren(...rows);
      }
      const rows = words.map((word, i) => {
        const names = ["dQuery", "dKey", "dValue"].flatMap((name) => [
          `${name}.${i}.0`,
          `${name}.${i}.1`,
        ]);
        return element("tr", {}, rowHead(word), ...row(...names));
      });
      find("dQKV").replaceChildren(...rows);
    }

    function update({ state }) {
      const scale = `${state.isScaled ? "/√2" : ""}${state.temperature === 1 ? "" : `/${state.temperature.toFixed(2)}`}`;
      find("dQ-head").textContent = `dQ = dS K${scale}`;
      find("dK-head").textContent = `dK = dSᵀ Q${scale}`;
      for (const name of [...MATRICES.map((one) => `d${one}`), "dQuery", "dKey", "dValue"])
        tint([...bench.box.querySelectorAll(`#bench-gradients [data-name^="${name}."]`)]);
    }

    return { build, update };
  });

  lab.workbenchLearning = { curvePoints, ending, isFree, leading, nextOf, remark };
}
