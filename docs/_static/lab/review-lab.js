"use strict";

// Three trained models side by side, with the reader's own text.

{
  const { UNKNOWN } = lab.tokenizer;
  const { KINDS, NAMES, load } = lab.models;
  const { digits, element, keep, kept, moveByArrows, quoted } = lab.dom;
  const { setStop, speaker, weightText, whenNear } = lab.dom;
  const { drawTokens, follow, limitOf, noticeOf, readTokens, tokensOf } = lab.tokens;
  const { percentText, signed } = lab.tokens;
  const { drawMap } = lab.map;

  // What we wrote, and whether we meant it as praise
  const SAMPLES = {
    "the ending saves it": {
      label: "positive",
      text: "The trailer promised a thriller and the first hour is slow, but the ending is wonderful and the music is the best I have heard in years.",
    },
    "a good cast, wasted": {
      label: "negative",
      text: "What a waste of a good cast. The plot is thin, the jokes are old, and after an hour I was looking at my watch.",
    },
    "not bad at all": {
      label: "positive",
      text: "Not bad at all. I did not expect to like it, and I was never bored.",
    },
    "two minds": {
      label: "positive",
      text: "The acting is terrible and the script is worse, yet I loved every minute of it.",
    },
    "for a long week": {
      label: "negative",
      text: "Just what I needed after a long week: two hours of a man explaining wine. Brilliant, if you have trouble falling asleep.",
    },
    "a longer one": {
      label: "positive",
      text: "I took my grandmother, who falls asleep in every film after ten minutes. She stayed awake. So did I, although nothing much happens: two sisters sort the things of their late father, quarrel over a piano that neither can play, and slowly begin to laugh again. The camera stays close to their hands. There is one scene in a kitchen, without a word, that is better than most films of this year. The end comes a little too quickly, and the boy next door is a poor excuse for a character. Still, we talked about it all the way home, and I would see it again tomorrow.",
    },
  };
  const DISTRACTOR =
    "I bought a ticket to get out of the rain. Boring from the first scene to the last: the hero mumbles, the story goes nowhere, and the awful music never stops.";
  const PAUSE = 150; // milliseconds without a key press after which effects and map follow

  const part = (box) => (name) => box.querySelector(`[data-part="${name}"]`);
  const labelOf = (probability) => (probability > 0.5 ? "positive" : "negative");

  function unknownText(unknown, all) {
    if (unknown === 0) return "";
    if (unknown < all) return `The models do not know ${unknown} of the ${all} words.`;
    return `The models do not know ${all === 1 ? "this word" : `any of the ${all} words`}.`;
  }

  // ---- one model's column: its verdict and the words as it reads them

  function makeColumn(kind, template) {
    const box = template.content.firstElementChild.cloneNode(true);
    const find = part(box);
    let name = NAMES[kind];
    name = name[0].toUpperCase() + name.slice(1);
    box.dataset.kind = kind;
    box.ariaLabel = name;
    find("name").textContent = name;
    find("recommended").hidden = kind !== KINDS[0];
    find("tokens").ariaLabel = `The words as ${NAMES[kind]} reads them. Press one to delete it.`;
    moveByArrows(find("tokens"), () => [[...find("tokens").children]]);
    return { kind, box, find, model: null, reading: null };
  }

  // `label` is what the sample was meant to be, or null for a text of the reader's own.
  function showVerdict({ find, reading }, hasWords, label) {
    const { logit, probability } = reading;
    const judged = labelOf(probability);
    find("label").textContent = hasWords ? judged : "no answer";
    const share = judged === "positive" ? probability : 1 - probability;
    find("percent").textContent = hasWords ? `(${percentText(share)})` : "";
    for (const [name, number, places] of [
      ["probability", probability, 3],
      ["logit", logit, 3],
    ]) {
      find(name).textContent = hasWords ? digits(number, places) : "–";
      find(name).dataset.value = hasWords ? number : "";
    }
    find("needle").hidden = !hasWords;
    find("needle").style.left = `${(100 * probability).toFixed(1)}%`;
    const isWrong = hasWords && label !== null && judged !== label;
    find("mistake").hidden = !isWrong;
    find("mistake").textContent = isWrong
      ? `✗ The model is wrong here: we wrote this as a ${label} review.`
      : "";
  }

  function showNote({ find, model, reading }, hasWords) {
    const { contributions, logit, read, skipped } = reading;
    const words = contributions.reduce((sum, one) => sum + one, 0);
    const sum = `Logit ${digits(logit, 3)} = words ${digits(words, 3)} + bias ${digits(model.b, 3)}.`;
    const share = ` An equal share of the weight would be ${weightText(1 / read.length)}.`;
    find("note").textContent = hasWords ? `${sum}${share} ${limitOf(model, skipped)}`.trim() : "";
  }

  function showWords({ find, reading }, measure, largest) {
    const row = find("tokens");
    drawTokens(row, reading.shown, "button", measure, largest);
    setStop(row, row.querySelector("[tabindex='0']") ?? row.firstChild);
  }

  // ---- all of it

  function startReviewLab(box) {
    const find = part(box);
    const say = speaker(find("spoken"));
    const columns = KINDS.map((kind) => makeColumn(kind, find("model")));
    const qkv = columns.find((one) => one.kind === "qkv");
    let ids = null; // of the words that the models know
    let tokens = []; // the text, word by word
    let words = []; // those of the review
    let deleted = new Set(); // places of words of the review
    let asker = null; // the token whose weights are asked for
    let effects = new Map(); // rows of the table by place, as long as the text is the same
    let cellAt = () => null;
    let isLoading = false;
    let waiting = []; // what is still to be done, a frame each
    let frame = null;
    let pause = null;

    find("models").append(...columns.map((one) => one.box));
    find("kind").append(
      ...KINDS.map((kind) => element("option", { value: kind }, `${NAMES[kind]} only`)),
    );
    find("sample").append(
      element("option", { value: "" }, "choose one"),
      ...Object.keys(SAMPLES).map((name) => element("option", { value: name }, name)),
    );

    const measure = () => box.querySelector("[name=measure]:checked").value;
    const isShown = ({ kind }) => [kind, ""].includes(find("kind").value);
    const distractor = () => (find("distracted").checked ? find("distractor").value : "");
    const tokensWithout = (places) => tokensOf(ids, find("review").value, distractor(), places);

    function begin() {
      const [name] = Object.keys(SAMPLES);
      find("kind").value = "";
      find("sample").value = name;
      find("review").value = SAMPLES[name].text;
      find("distractor").value = DISTRACTOR;
      find("distracted").checked = false;
      box.querySelector("[name=measure][value=contribution]").checked = true;
      forget();
      if (ids) update();
    }

    function forget() {
      deleted = new Set();
      asker = null;
    }

    // Words and models, those that are not here yet
    async function loadAll() {
      isLoading = true;
      box.ariaBusy = "true";
      const arrive = async (column) => {
        try {
          [ids, column.model] = await Promise.all([load("words"), load(column.kind)]);
        } catch (error) {
          column.find("note").textContent = `The model did not load: ${error.message}`;
        }
      };
      await Promise.all(columns.filter((one) => !one.model).map(arrive));
      effects = new Map();
      if (ids) update();
      else box.ariaBusy = "false";
      isLoading = false;
    }

    // The first verdict follows at once, words and the other models one per frame, and effects and
    // map when the reader pauses: so no key press has to wait for all of it.
    function update() {
      find("distractor-field").hidden = !find("distracted").checked;
      for (const one of columns) one.box.hidden = !isShown(one);
      if (columns.some((one) => !one.model) && !isLoading) loadAll();
      if (!ids) return;
      box.ariaBusy = "true";
      tokens = tokensWithout(deleted);
      keepPlaces(tokens.filter((one) => one.part === "review").map((one) => one.word));
      showNotice();
      for (const one of box.querySelectorAll("[data-measure]")) {
        one.hidden = one.dataset.measure !== measure();
      }
      const [first, ...others] = columns.filter((one) => one.model);
      read(first);
      if (measure() === "weight") {
        // The colours of all models have one scale, so each is read before the first is drawn.
        const drawings = [first, ...others].map((one) => () => drawWeights(one));
        waiting = [...others.map((one) => () => read(one)), ...drawings];
      } else {
        const drawings = others.map((one) => () => {
          read(one);
          showWords(one, measure());
        });
        waiting = [() => showWords(first, measure()), ...drawings];
      }
      clearTimeout(pause);
      if (frame === null) frame = requestAnimationFrame(showNext);
    }

    function read(column) {
      const hasWords = tokens.some((one) => one.part === "review" && !one.isDeleted);
      const sample = SAMPLES[find("sample").value];
      const label = sample && deleted.size === 0 && !distractor() ? sample.label : null;
      column.reading = readTokens(column.model, tokens);
      if (column === qkv) showAskers();
      showVerdict(column, hasWords, label);
      showNote(column, hasWords);
    }

    function drawWeights(column) {
      const shown = columns.filter((one) => isShown(one) && one.reading);
      const weights = shown.flatMap((one) => one.reading.shown.map(({ weight }) => weight));
      showWords(column, "weight", Math.max(...weights));
    }

    function showNext() {
      waiting.shift()();
      if (waiting.length > 0) {
        frame = requestAnimationFrame(showNext);
        return;
      }
      frame = null;
      sayVerdicts();
      pause = setTimeout(() => {
        showMap();
        showEffects();
      }, PAUSE);
    }

    function sayVerdicts() {
      const verdicts = columns
        .filter((one) => isShown(one) && one.reading)
        .map(
          ({ box: { ariaLabel }, find: some }) =>
            `${ariaLabel}: ${some("label").textContent} ${some("percent").textContent}`,
        );
      say([...verdicts, find("notice").textContent].join(". "));
    }

    // Deleted words, and the one whose weights are shown, stay what they are when others change.
    function keepPlaces(now) {
      const isSame = words.length === now.length && words.every((word, i) => word === now[i]);
      const before = words;
      words = now;
      if (isSame) return;
      effects = new Map();
      if (deleted.size === 0 && asker === null) return;
      const places = follow(before, now);
      deleted = new Set([...deleted].map((place) => places.get(place)).filter((one) => one >= 0));
      if (asker?.part === "review") asker = { ...asker, place: places.get(asker.place) };
      tokens = tokensWithout(deleted);
    }

    function showNotice() {
      const unknown = tokens.filter((one) => one.part === "review" && one.id === UNKNOWN).length;
      const isEmpty = find("review").value.trim() === "";
      const isGone = words.length > 0 && deleted.size === words.length;
      const notes = [
        isEmpty ? "There are no words yet." : noticeOf(find("review").value, tokens),
        isGone ? "All words are deleted." : "",
        unknownText(unknown, words.length),
      ];
      find("notice").textContent = notes.filter(Boolean).join(" ");
      find("notice").hidden = find("notice").textContent === "";
    }

    // For qkv every word has a row of weights: their mean is shown, or the row that is asked for.
    function showAskers() {
      const { map, read } = qkv.reading;
      const select = find("asker");
      const names = read.map((one, i) => `those of ${quoted(one.word)} (${i + 1})`);
      // A key press changes few of them, and a new one costs more than one that stays.
      for (const [i, name] of ["the mean over all that attend", ...names].entries()) {
        const value = i > 0 ? i - 1 : "";
        const option = select.options[i] ?? select.appendChild(element("option", { value }));
        if (option.text !== name) option.text = name;
      }
      select.length = 1 + names.length;
      const row = read.findIndex((one) =>
        ["part", "place", "word"].every((name) => one[name] === asker?.[name]),
      );
      if (row < 0) asker = null;
      select.value = row < 0 ? "" : row;
      if (row < 0) return;
      for (const [i, one] of read.entries()) one.weight = map[row][i];
    }

    // One row after the other, so that no key press has to wait for all of them
    function showEffects() {
      const some = columns.filter((one) => isShown(one) && one.model);
      find("effects-field").hidden = deleted.size === 0;
      find("effects-head").replaceChildren(
        element("th", { scope: "col" }, "word"),
        ...some.map((one) => element("th", { scope: "col" }, one.box.ariaLabel)),
      );
      const places = [...deleted].sort((a, b) => a - b);
      const missing = places.find((place) => !effects.has(place));
      if (missing === undefined) box.ariaBusy = "false";
      else {
        effects.set(missing, effectRow(missing, some));
        pause = setTimeout(showEffects);
      }
      const rows = places.map((place) => effects.get(place)).filter(Boolean);
      find("effects").replaceChildren(...rows);
    }

    // What the logit loses when one word alone is left out of the whole review
    function effectRow(place, some) {
      const all = tokensWithout(new Set());
      const without = tokensWithout(new Set([place]));
      const cells = some.map(({ kind, model }) => {
        const whole = readTokens(model, all);
        const rest = readTokens(model, without);
        const { contribution, weight } = whole.read.find(
          (one) => one.part === "review" && one.place === place,
        ) ?? { contribution: 0, weight: 0 }; // not read
        const added = whole.logit - rest.logit;
        const [before, after] = [whole.probability, rest.probability];
        return element(
          "td",
          { "data-kind": kind, "data-effect": added, "data-weight": weight },
          element("strong", {}, signed(added)),
          element("span", {}, `${percentText(before, after)} → ${percentText(after, before)}`),
          element("span", {}, `contribution ${signed(contribution)}`),
        );
      });
      const word = element("th", { scope: "row" }, words[place]);
      return element("tr", { "data-place": place }, word, ...cells);
    }

    function showMap() {
      const map = isShown(qkv) ? qkv.reading?.map : null;
      find("map-field").hidden = !map;
      if (!map) return;
      const names = qkv.reading.read.map((one) => one.word);
      cellAt = drawMap(find("map"), map, names);
      const tops = map.map((row) => Math.max(...row));
      const i = tops.indexOf(Math.max(...tops));
      const [weight, j] = [tops[i], map[i].indexOf(tops[i])];
      const text = `The largest weight: ${quoted(names[i])} attends to ${quoted(names[j])} with ${weightText(weight)}.`;
      find("map").setAttribute("aria-label", `${names.length} by ${names.length} weights. ${text}`);
      find("map-readout").textContent =
        `${text} Point at the map for others, or choose a word under “Whose weights?”.`;
    }

    // ---- what the reader does

    find("review").addEventListener("input", () => {
      keep("review", find("review").value); // for the home page, and for the way back
      find("sample").value = "";
      update();
    });
    for (const name of ["distractor", "distracted", "kind"]) {
      find(name).addEventListener("input", () => {
        effects = new Map();
        update();
      });
    }
    for (const one of box.querySelectorAll("[name=measure]")) {
      one.addEventListener("input", update);
    }
    find("sample").addEventListener("input", () => {
      if (find("sample").value === "") return;
      find("review").value = SAMPLES[find("sample").value].text;
      keep("review", ""); // it gives way to ours
      forget();
      update();
    });

    // A reader who asks whose weights they are wants to see weights.
    function ask(row) {
      asker = qkv.reading.read[row] ?? null;
      if (asker !== null) box.querySelector("[name=measure][value=weight]").checked = true;
      update();
    }
    find("asker").addEventListener("input", () => {
      const { value } = find("asker");
      ask(value === "" ? -1 : Number(value));
    });
    for (const one of columns) {
      one.find("tokens").addEventListener("click", (event) => {
        const pressed = event.target.closest(".lab-token");
        const token = one.reading.shown[[...one.find("tokens").children].indexOf(pressed)];
        if (token?.part !== "review") return;
        if (!deleted.delete(token.place)) deleted.add(token.place);
        update();
      });
    }
    find("map").addEventListener("pointermove", (event) => {
      const at = cellAt(event);
      if (!at) return;
      const [from, to] = at.map((i) => quoted(qkv.reading.read[i].word));
      find("map-readout").textContent =
        `${from} attends to ${to} with ${weightText(qkv.reading.map[at[0]][at[1]])}.`;
    });
    find("map").addEventListener("click", (event) => {
      const at = cellAt(event);
      if (at) ask(at[0]);
    });
    // The map is painted once: paint it again when the page's width or colours change.
    addEventListener("resize", showMap);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showMap);
    new MutationObserver(showMap).observe(document.body, { attributeFilter: ["data-theme"] });

    box.hidden = false;
    begin();
    const typed = kept("review"); // here or on the home page
    if (typed) {
      find("sample").value = "";
      find("review").value = typed;
    }
    find("reset").addEventListener("click", () => {
      keep("review", "");
      begin();
    });
    whenNear(box, "300px", update);
  }

  startReviewLab(document.getElementById("review-lab"));
  lab.reviewLab = { SAMPLES };
}
