"use strict";

// The models of the lesson on real reviews, with the reader's own text.

{
  const { UNKNOWN } = lab.tokenizer;
  const { load } = lab.models;
  const { digits, element, moveByArrows, setStop, speaker } = lab.dom;
  const { readReview, tokenPart, weightText } = lab.tokens;
  const { drawMap } = lab.map;

  const SAMPLES = {
    "the ending saves it":
      "The trailer promised a thriller and the first hour is slow, but the ending is wonderful and the music is the best I have heard in years.",
    "a good cast, wasted":
      "What a waste of a good cast. The plot is thin, the jokes are old, and after an hour I was looking at my watch.",
    "not bad at all": "Not bad at all. I did not expect to like it, and I was never bored.",
    "two minds": "The acting is terrible and the script is worse, yet I loved every minute of it.",
    "rare words":
      "A flabbergasting phantasmagoria: gloriously daft, and its curmudgeonly hobbledehoy of a hero is a delight.",
    "a longer one":
      "I took my grandmother, who falls asleep in every film after ten minutes. She stayed awake. So did I, although nothing much happens: two sisters sort the things of their late father, quarrel over a piano that neither can play, and slowly begin to laugh again. The camera stays close to their hands. There is one scene in a kitchen, without a word, that is better than most films of this year. The end comes a little too quickly, and the boy next door is a poor excuse for a character. Still, we talked about it all the way home, and I would see it again tomorrow.",
  };
  const DISTRACTOR =
    "I bought a ticket to get out of the rain. Boring from the first scene to the last: the hero mumbles, the story goes nowhere, and the awful music never stops.";

  function startReviewLab(box) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    const deleted = new Set(); // places of words of the review
    let loaded = null; // the model and the ids of its words
    let reading = null; // what it made of the text
    let cellAt = () => null;

    function begin() {
      find("kind").value = "energy";
      find("sample").replaceChildren(
        element("option", { value: "" }, "choose one"),
        ...Object.keys(SAMPLES).map((name) => element("option", { value: name }, name)),
      );
      find("sample").value = Object.keys(SAMPLES)[0];
      find("review").value = Object.values(SAMPLES)[0];
      find("distractor").value = DISTRACTOR;
      find("distracted").checked = false;
      deleted.clear();
      if (loaded) choose();
    }

    async function choose() {
      const kind = find("kind").value;
      box.ariaBusy = "true";
      try {
        const [ids, model] = await Promise.all([load("words"), load(kind)]);
        if (kind !== find("kind").value) return; // the reader has chosen again meanwhile
        loaded = { ids, model };
        box.ariaBusy = "false";
        update();
      } catch (error) {
        find("note").textContent = `The model did not load: ${error.message}`;
      }
    }

    const read = (without = deleted) => {
      const before = find("distracted").checked ? find("distractor").value : "";
      return readReview(loaded.model, loaded.ids, find("review").value, before, without);
    };

    function update() {
      find("distractor-field").hidden = !find("distracted").checked;
      if (!loaded) return choose();
      reading = read();
      showVerdict();
      showAskers();
      showTokens();
      showEffects();
      showMap();
    }

    function showVerdict() {
      const { probability, logit, tokens } = reading;
      const isEmpty = reading.read.length === 0;
      const label = probability > 0.5 ? "positive" : "negative";
      const percent = `${(100 * probability).toFixed(0)} % positive`;
      find("label").textContent = isEmpty ? "no words yet" : label;
      find("percent").textContent = isEmpty ? "" : percent;
      find("probability").textContent = probability.toFixed(6);
      find("probability").dataset.value = probability;
      find("logit").textContent = digits(logit, 3);
      find("logit").dataset.value = logit;
      find("needle").style.left = `${(100 * probability).toFixed(1)}%`;
      const words = tokens.filter((one) => one.part === "review");
      const skipped = tokens.filter((one) => one.isSkipped).length;
      const unknown = words.filter((one) => one.id === UNKNOWN).length;
      const config = loaded.model.config;
      const known = loaded.ids.size - 3; // without the three ids that are no words
      find("note").textContent =
        `The model reads ${reading.read.length} words; an equal share would be ${weightText(1 / (reading.read.length || 1))}. ` +
        (unknown ? `${unknown} of yours it does not know. ` : "") +
        (skipped
          ? `It reads at most ${config.max_length}, so the first ${skipped} are left out. `
          : "") +
        `Of the ${config.trained_words.toLocaleString("en-GB")} words it was trained on, this page holds the ${known.toLocaleString("en-GB")} most frequent.`;
      say(isEmpty ? "No words yet." : `${label}, ${percent}.`);
    }

    // For qkv every word has a row of weights: their mean is shown, or the row that is asked for.
    function showAskers() {
      const select = find("asker");
      const chosen = select.value;
      find("asker-field").hidden = !reading.map;
      select.replaceChildren(
        element("option", { value: "" }, "the mean over all words that ask"),
        ...(reading.map ? reading.read : []).map((one, i) =>
          element("option", { value: i }, `those of ${one.word} (${i + 1})`),
        ),
      );
      select.value = chosen < reading.read.length ? chosen : "";
      const row = reading.map && select.value !== "" ? reading.map[Number(select.value)] : null;
      if (!row) return;
      for (const [i, one] of reading.read.entries()) one.weight = row[i];
    }

    function showTokens() {
      const row = find("tokens");
      const focused = [...row.children].indexOf(document.activeElement);
      const largest = Math.max(0, ...reading.tokens.map((one) => one.weight));
      row.replaceChildren(...reading.tokens.map((one) => tokenPart(one, largest, "button")));
      setStop(row, row.children[focused] ?? row.firstChild);
      row.children[focused]?.focus();
    }

    // What the logit loses when one word alone is left out of the whole review
    function showEffects() {
      find("effects-field").hidden = deleted.size === 0;
      if (deleted.size === 0) return find("effects").replaceChildren();
      const whole = read(new Set());
      const rows = [...deleted].map((place) => {
        const one = whole.tokens.find((token) => token.part === "review" && token.place === place);
        const without = read(new Set([place]));
        const added = whole.logit - without.logit;
        const cells = [
          weightText(one.weight),
          `${added >= 0 ? "+" : ""}${digits(added, 2)}`,
          `${(100 * whole.probability).toFixed(0)} % → ${(100 * without.probability).toFixed(0)} %`,
        ];
        return element(
          "tr",
          { "data-place": place, "data-effect": added, "data-weight": one.weight },
          element("th", { scope: "row" }, one.word),
          ...cells.map((text) => element("td", {}, text)),
        );
      });
      find("effects").replaceChildren(...rows);
    }

    function showMap() {
      const { map, read } = reading;
      find("map-field").hidden = !map;
      if (!map) return;
      const words = read.map((one) => one.word);
      cellAt = drawMap(find("map"), map, words);
      const tops = map.map((row) => Math.max(...row));
      const i = tops.indexOf(Math.max(...tops));
      const [weight, j] = [tops[i], map[i].indexOf(tops[i])];
      const text = `The largest weight: ${words[i]} looks at ${words[j]} with ${weightText(weight)}.`;
      find("map").setAttribute("aria-label", `${words.length} by ${words.length} weights. ${text}`);
      find("map-readout").textContent =
        `${text} Point at the map for others, or choose a word under “Whose weights?”.`;
    }

    // ---- what the reader does

    for (const name of ["review", "distractor", "distracted"]) {
      find(name).addEventListener("input", () => {
        if (name === "review") {
          deleted.clear();
          find("sample").value = "";
        }
        update();
      });
    }
    find("asker").addEventListener("input", update);
    find("kind").addEventListener("input", choose);
    find("sample").addEventListener("input", () => {
      if (find("sample").value === "") return;
      find("review").value = SAMPLES[find("sample").value];
      deleted.clear();
      update();
    });
    moveByArrows(find("tokens"), () => [[...find("tokens").children]]);
    find("tokens").addEventListener("click", (event) => {
      const pressed = event.target.closest(".lab-token");
      const one = reading.tokens[[...find("tokens").children].indexOf(pressed)];
      if (one?.part !== "review") return;
      if (!deleted.delete(one.place)) deleted.add(one.place);
      update();
    });
    find("map").addEventListener("pointermove", (event) => {
      const at = cellAt(event);
      if (!at) return;
      const [from, to] = at.map((i) => reading.read[i].word);
      find("map-readout").textContent =
        `${from} looks at ${to} with ${weightText(reading.map[at[0]][at[1]])}.`;
    });
    find("map").addEventListener("click", (event) => {
      const at = cellAt(event);
      if (!at) return;
      find("asker").value = at[0];
      update();
    });
    // The map is painted once: paint it again when the page's width or colours change.
    const repaint = () => reading && showMap();
    addEventListener("resize", repaint);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    new MutationObserver(repaint).observe(document.body, { attributeFilter: ["data-theme"] });

    box.hidden = false;
    begin();
    // The model comes when its reader comes near.
    const near = new IntersectionObserver(
      (seen) => {
        if (!seen.some((one) => one.isIntersecting)) return;
        near.disconnect();
        if (!loaded) choose();
      },
      { rootMargin: "300px" },
    );
    near.observe(box);
    return begin;
  }

  lab.reviewLab = { reset: startReviewLab(document.getElementById("review-lab")) };
}
