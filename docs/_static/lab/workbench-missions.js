"use strict";

// Missions: what a reader could try, and whether it is done, which follows from what the workbench
// computes. Marks are kept as those of exercises are.

{
  const { element, quoted } = lab.dom;
  const { isAlone, parts, shownAs } = lab.workbench;
  const { isFree, nextOf } = lab.workbenchLearning;

  const positions = (words, wanted) =>
    words.flatMap((word, i) => (word.toLowerCase() === wanted ? [i] : []));
  const isUnmasked = ({ allowed }) => allowed.flat().every(Boolean);
  const areEqual = (weights) =>
    weights.flat().every((weight) => Math.abs(weight - 1 / weights.length) <= 0.01);

  // The word that asks, and the last other one that stands nowhere else and has an embedding of its own:
  // equal ones get equal weights. Null where there is none.
  function pairOf({ words, x, at }) {
    const single = (j) =>
      j !== at && isAlone(x, j) && positions(words, words[j].toLowerCase()).length === 1;
    const other = [...words.keys()].findLast(single);
    return other === undefined ? null : [at, other];
  }

  // Two places of one word that have the same row of weights, or none
  function twinsOf({ state: { words }, head: { weights } }) {
    const isSame = (i, j) =>
      j > i && weights[i].every((weight, k) => Math.abs(weight - weights[j][k]) < 1e-9);
    const pairs = words.flatMap((word, i) =>
      positions(words, word.toLowerCase()).map((j) => [i, j]),
    );
    return pairs.find(([i, j]) => isSame(i, j)) ?? [];
  }

  // The targets that are not masked, the one with the largest weight first
  const targetsOf = ({ state: { targets }, layer: { allowed, heads } }) =>
    targets
      .filter(([, i, j]) => allowed[i][j])
      .map(([h, i, j]) => ({ i, j, weight: heads[h].weights[i][j] }))
      .sort((one, other) => other.weight - one.weight);

  // Each in the density that shows what it needs; what is said may depend on what is shown. What a
  // sentence, another row or learning may do by itself counts once it was undone, which a mask does not do.
  const MISSIONS = [
    {
      name: "twice",
      density: "look",
      text: () => "Write a sentence with one word twice. Do its two rows differ?",
      answer: () => "They are the same: a head does not know where a word stands.",
      rowsOf: twinsOf,
      isDone: (view) => twinsOf(view).length > 0,
    },
    {
      name: "only",
      density: "change",
      cellOf: ({ state }) => pairOf(state),
      isUndone: ({ state, layer: { allowed }, head: { weights } }) => {
        const [i, j] = pairOf(state) ?? [];
        return j !== undefined && allowed[i].every(Boolean) && weights[i][j] < 0.9;
      },
      text: ({ state, layer: { allowed }, head: { weights } }, isMoved) => {
        const { words, at } = state;
        const [i, j] = pairOf(state) ?? [at];
        if (j === undefined)
          return `Add a word that occurs once, and make ${quoted(words[i])} attend only to it.`;
        const [own, other] = [weights[i][i], weights[i][j]].map(shownAs);
        if (isMoved(i) && own > other && allowed[i].every(Boolean))
          // its key moved with its query
          return `${quoted(words[i])} gives itself ${own}, ${quoted(words[j])} ${other}: now drag the key of ${quoted(words[j])}.`;
        return `Make ${quoted(words[i])} attend only to ${quoted(words[j])}: 0.9 or more, without a mask. Now it is ${other}.`;
      },
      answer: () => "A score far above the others leaves them next to nothing.",
      isDone: ({ state, layer: { allowed }, head: { weights } }) => {
        const [i, j] = pairOf(state) ?? [];
        return j !== undefined && allowed[i].every(Boolean) && weights[i][j] >= 0.9;
      },
    },
    {
      name: "mask",
      density: "change",
      opens: "options",
      text: () => "Which mask makes the first word's weight on itself 1? Switch it on.",
      answer: () => "The causal mask: the first word sees nothing but itself.",
      isDone: ({ state, head: { weights } }) => state.isCausal && weights[0][0] === 1,
    },
    {
      name: "equal",
      density: "change",
      opens: "options",
      isUndone: ({ head: { weights } }) => !areEqual(weights),
      text: () => "Make all weights equal, to within 0.01, without a mask.",
      answer: () =>
        "Equal scores do it: a query of zeros, or equal keys. A high temperature makes the weights nearly equal where the scores hardly differ.",
      isDone: ({ layer, head: { weights } }) => isUnmasked(layer) && areEqual(weights),
    },
    {
      name: "target",
      density: "train",
      text: (view) => {
        const [best, another] = targetsOf(view);
        const now = best
          ? ` Now ${another ? "the largest" : "it"} is ${shownAs(best.weight)}.`
          : "";
        return `Set a target, and train until its weight is 0.9 or more.${now}`;
      },
      answer: (view) => {
        const [best] = targetsOf(view);
        if (view.curve.length < 2 || !(best?.weight >= 0.9))
          return "The query of one word and the key of another were changed until they fitted.";
        const [asks, answers] = [best.i, best.j].map((i) => quoted(view.state.words[i]));
        return `The query of ${asks} and the key of ${answers} were changed until they fitted.`;
      },
      isDone: (view) => view.curve.length > 1 && targetsOf(view)[0]?.weight >= 0.9,
    },
  ];

  parts.push((bench) => {
    const { find, say } = bench;
    const { done, mark, onChange, showMark } = globalThis.doneStore;
    const list = find("missions");
    const labelOf = ({ name }) => `mission-${name}`;
    const PLAIN = {
      temperature: 1,
      isCausal: false,
      padding: 0,
      forbidden: [],
      targets: [],
      contexts: [],
    };
    const isOther = (name) => String(bench.state()[name]) !== String(PLAIN[name]);
    let pressed = -1;
    // A press shows what the mission needs, without what was set for another one.
    const items = MISSIONS.map(({ density, opens }, i) => {
      const title = element("b", {}, density[0].toUpperCase() + density.slice(1));
      const text = element("span", { class: "text" });
      const number = { "data-number": i + 1, "data-of": MISSIONS.length };
      const item = element("button", { type: "button", ...number }, title, text);
      item.addEventListener("click", () => {
        pressed = i;
        if (Object.keys(PLAIN).some((name) => isOther(name))) bench.set(PLAIN);
        bench.forget();
        bench.showAs(density);
        if (opens) find(opens).open = true;
        showDone();
      });
      return item;
    });
    list.append(
      ...items.map((item, i) => element("li", { "data-for": MISSIONS[i].density }, item)),
    );

    let shown = null; // the density that they are shown in
    let words = null;
    let row = null; // of which head
    let given = []; // what sentence, row and learning may do by themselves

    function update(view) {
      if (shown !== bench.density()) {
        shown = bench.density();
        if (pressed >= 0 && MISSIONS[pressed].density !== shown) pressed = -1;
      }
      showDone();
      const { at, head } = view.state;
      if (words !== view.state.words || row !== `${head}.${at}` || view.curve.length > 1) {
        [words, row] = [view.state.words, `${head}.${at}`];
        given = MISSIONS.filter((one) => one.isUndone);
      }
      given = given.filter((one) => !one.isUndone(view));
      // What one starts with, or opens by a link, is no deed.
      if (JSON.stringify(view.state) === JSON.stringify(bench.origin().state)) return;
      for (const mission of MISSIONS) {
        if (done.has(labelOf(mission)) || given.includes(mission) || !mission.isDone(view))
          continue;
        pressed = MISSIONS.indexOf(mission); // its answer stays in sight
        mark(labelOf(mission));
        say(`Mission done: ${mission.answer(view)}`);
      }
    }

    // The next one of what is shown, as long as there is one, else the next after the one that was pressed
    function nextMission() {
      const open = MISSIONS.filter((mission) => !done.has(labelOf(mission)));
      const next =
        open.find((one) => one.density === bench.density()) ??
        open.find((one) => MISSIONS.indexOf(one) > pressed) ??
        open[0];
      return MISSIONS.indexOf(next);
    }

    function showDone() {
      const next = nextMission();
      const isAnswered = pressed >= 0 && done.has(labelOf(MISSIONS[pressed]));
      items.forEach((item, i) => {
        const { text, answer } = MISSIONS[i];
        const isDone = done.has(labelOf(MISSIONS[i]));
        const said = (isDone ? answer : text)(bench.view(), bench.isMoved);
        item.querySelector(".text").textContent = said;
        item.title = said;
        showMark(item, isDone && "✓ done");
        item.classList.toggle("next", i === (pressed < 0 ? next : pressed));
        item.classList.toggle("ahead", i === next && pressed !== next && isAnswered);
      });
      frameCell(MISSIONS[pressed < 0 ? next : pressed]);
    }

    // The weight or the rows that the mission in sight is about, or the weight that a step would take as
    // its target, and the key that changes it
    function frameCell(mission) {
      const { state, layer } = bench.view();
      const isOpen = mission?.cellOf && mission.density === shown && !done.has(labelOf(mission));
      const next = nextOf(state);
      const isNext = shown === "train" && isFree(state) && layer.allowed[state.at][next];
      const [i, j] = (isOpen && mission.cellOf(bench.view())) || (isNext ? [state.at, next] : []);
      for (const made of bench.box.querySelectorAll("[data-testid=weight]"))
        made.classList.toggle("wanted", made.dataset.name === `map.${i}.${j}`);
      for (const handle of bench.box.querySelectorAll("[data-handle^=key]"))
        handle.classList.toggle("wanted", handle.dataset.handle === `key.${j}`);
      const twins = (mission?.density === shown && mission.rowsOf?.(bench.view())) || [];
      for (const [at, line] of [...bench.find("map").rows].entries())
        line.classList.toggle("twin", twins.includes(at));
    }

    onChange(() => bench.view() && showDone()); // before the first view there is nothing to say
    return { update };
  });

  lab.workbenchMissions = { MISSIONS };
}
