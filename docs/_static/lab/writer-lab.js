"use strict";

// A model that writes: it draws one token after the other, and shows what each of its heads attends to.

{
  const { START, START_ID, bytesOf, decode, encode } = lab.bpe;
  const { load } = lab.models;
  const { afterPress, element, moveByArrows, setStop, speaker, stepByArrows } = lab.dom;
  const { weightText, whenNear } = lab.dom;
  const { chance, draw, logitsAt, newReading, probabilities, read } = lab.writer;
  const { drawMap } = lab.map;
  const { makeHeads, onRepaint, paintHeads, rowsOf } = lab.writerHeads;

  const PROMPT = "The film";
  const TEMPERATURE = 0.8;
  const SEED = 1;
  const LARGEST_SEED = 9999;
  const SHOWN = 10; // tokens in the list of the most probable ones
  const MANY = 20;
  const PACE = 120; // milliseconds from one written token to the next

  const VISIBLE = { " ": "␣", "\n": "↵", "\t": "⇥" };
  const SPOKEN = { " ": "space ", "\n": "new line ", "\t": "tab " };

  // A token as text, or its bytes where they are no whole characters
  function textOf(vocabulary, id, names) {
    const bytes = Uint8Array.from(bytesOf(vocabulary, id));
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      return text.replaceAll(/[ \n\t]/g, (space) => names[space]);
    } catch {
      return `⟨${Array.from(bytes, (byte) => byte.toString(16).toUpperCase()).join(" ")}⟩`;
    }
  }

  // 12.3 %, and what is not 0 is not shown as 0
  function percent(share) {
    return share > 0 && share < 0.0005 ? "< 0.1 %" : `${(100 * share).toFixed(1)} %`;
  }

  // The places of the largest numbers, the largest first
  function largest(numbers, n) {
    return [...numbers.keys()].sort((a, b) => numbers[b] - numbers[a]).slice(0, n);
  }

  function startWriterLab(box) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    let model = null;
    let reading = null;
    let ids = []; // all of the text, with <start>
    let prompt = []; // those that the reader typed
    let isEnded = false; // the model drew <start>
    let asks = null; // the token whose weights are shown; null is the last
    let [layer, head] = [0, 0];
    let seed = SEED;
    let left = 0; // tokens still to be written
    let timer = null;
    let cellAt = () => null;

    const seen = (id) => textOf(model.vocabulary, id, VISIBLE);
    const spoken = (id) => textOf(model.vocabulary, id, SPOKEN);
    const hasSpace = () => ids.length < model.config.max_length;
    const query = () => asks ?? reading.ids.length - 1;

    // ---- what the model makes of the text

    function update() {
      read(model, reading, ids.slice(0, model.config.max_length));
      if (asks !== null && asks >= reading.ids.length) asks = null;
      showNext();
      showNotice();
      paintHeads(find("heads"), reading);
      showHead();
      for (const name of ["one", "many"]) find(name).ariaDisabled = String(!hasSpace());
      find("many").textContent = left > 0 ? "Stop" : `Write ${MANY}`;
      box.ariaBusy = String(left > 0);
      if (left === 0) tell();
    }

    const shares = () => {
      const logits = logitsAt(model, reading, reading.ids.length - 1); // (v,)
      return probabilities(logits, find("temperature").valueAsNumber); // (v,)
    };

    function showNext() {
      find("temperature-shown").textContent = find("temperature").valueAsNumber.toFixed(2);
      const all = shares();
      const best = largest(all, SHOWN);
      const bars = find("bars");
      while (bars.children.length < best.length) {
        const button = element("button", { type: "button", "data-testid": "candidate" });
        button.append(element("span"), element("span"));
        bars.append(element("li", {}, button));
      }
      best.forEach((id, i) => {
        const button = bars.children[i].firstChild;
        button.dataset.id = id;
        button.dataset.value = all[id];
        button.ariaDisabled = String(!hasSpace());
        button.ariaLabel = `${spoken(id)}, ${percent(all[id])}`;
        button.style.setProperty("--share", all[id].toFixed(3));
        button.firstChild.textContent = seen(id);
        button.lastChild.textContent = percent(all[id]);
      });
      const rest = 1 - best.reduce((sum, id) => sum + all[id], 0);
      find("rest").textContent =
        `All other ${(all.length - best.length).toLocaleString("en")} tokens together: ${percent(Math.max(rest, 0))}`;
    }

    function showNotice() {
      const most = model.config.max_length;
      const notes = [
        ids.length > most &&
          `The model reads ${most} tokens, ${START} included, and this text has ${ids.length}: what follows “${seen(ids[most - 1])}” is not read, and the list continues that token.`,
        ids.length === most &&
          `The text has ${most} tokens, as many as the model can read. Delete some, and it writes on.`,
        isEnded &&
          `The model drew ${START}: its text ends here, and another one would begin. Another seed or temperature, or a token of the list, leads on.`,
      ];
      notify(notes.find(Boolean) || "");
    }

    function notify(text) {
      find("notice").textContent = text;
      find("notice").hidden = text === "";
    }

    // The head that is enlarged, and the row of its query on the words themselves
    function showHead() {
      const rows = rowsOf(reading, layer, head);
      const row = rows[query()];
      const title = `Layer ${layer + 1}, head ${head + 1}`;
      for (const button of find("heads").querySelectorAll("button")) {
        const { layer: l, head: h } = button.dataset;
        button.ariaPressed = String(Number(l) === layer && Number(h) === head);
      }
      find("title").textContent = `${title}: where “${seen(ids[query()])}” attends`;
      showTokens(row);
      cellAt = drawMap(find("map"), rows, reading.ids.map(seen));
      const [most] = largest(row, 1);
      const finding = `“${seen(ids[query()])}” attends most to “${seen(ids[most])}”, with ${weightText(row[most])}.`;
      find("map").ariaLabel = `${title}: ${rows.length} by ${rows.length} weights. ${finding}`;
      find("readout").textContent = `${finding} Point at the map for other weights.`;
    }

    function showTokens(row) {
      const tokens = find("tokens");
      while (tokens.children.length > reading.ids.length) tokens.lastChild.remove();
      while (tokens.children.length < reading.ids.length) {
        const parts = ["lab-word", "lab-number"].map((name) => element("span", { class: name }));
        tokens.append(
          element(
            "button",
            { type: "button", tabindex: -1, "data-testid": "writer-token" },
            ...parts,
          ),
        );
      }
      const top = Math.max(...row);
      reading.ids.forEach((id, i) => {
        const part = tokens.children[i];
        const isSeen = i < row.length;
        const number = isSeen ? weightText(row[i]) : "–";
        part.className = "lab-token";
        part.classList.toggle("start", id === START_ID);
        part.classList.toggle("written", i >= prompt.length);
        part.classList.toggle("asks", i === query());
        part.classList.toggle("unseen", !isSeen);
        part.dataset.weight = isSeen ? row[i] : "";
        part.ariaPressed = String(i === query());
        part.ariaLabel = `${spoken(id)}, ${isSeen ? `weight ${number}` : "not seen"}`;
        part.style.setProperty("--share", isSeen ? (row[i] / top).toFixed(2) : 0);
        part.firstChild.textContent = seen(id);
        part.lastChild.textContent = number;
      });
      setStop(tokens, tokens.querySelector("[tabindex='0']") ?? tokens.lastChild);
      if (asks === null) tokens.scrollTop = tokens.scrollHeight; // the last is what the next follows
    }

    function tell() {
      const written = decode(model.vocabulary, ids.slice(prompt.length));
      const [best] = largest(shares(), 1);
      const parts = [
        written && `The model wrote: ${written}`,
        find("notice").textContent,
        `Most probable next: ${spoken(best)}, ${find("bars").querySelector("span:last-child").textContent}`,
      ];
      say(parts.filter(Boolean).join(". "));
    }

    // ---- writing

    function append(id) {
      if (!hasSpace()) return;
      ids.push(id);
      asks = null;
      isEnded = false;
      showText();
    }

    function showText() {
      const field = find("text");
      field.value = decode(model.vocabulary, ids.slice(1));
      field.scrollTop = field.scrollHeight;
    }

    function writeOne() {
      const id = draw(shares(), chance(seed, ids.length));
      if (id === START_ID) isEnded = true;
      else append(id);
    }

    function write(n) {
      if (!hasSpace()) return;
      left = n;
      step();
    }

    function step() {
      writeOne();
      left = isEnded || !hasSpace() ? 0 : left - 1;
      update();
      if (left > 0) timer = setTimeout(step, PACE);
    }

    function stop() {
      clearTimeout(timer);
      left = 0;
    }

    // ---- the text that the reader typed

    function readText() {
      stop();
      ids = [START_ID, ...encode(model.vocabulary, find("text").value)];
      prompt = [...ids];
      [asks, isEnded] = [null, false];
      update();
    }

    function begin() {
      find("text").value = PROMPT;
      find("temperature").value = TEMPERATURE;
      seed = SEED;
      showSeed();
      [layer, head] = [0, 0];
      find("temperature-shown").textContent = TEMPERATURE.toFixed(2);
      if (model) readText();
    }

    // ---- the model, when it is needed

    async function withModel(action) {
      if (!model) {
        box.ariaBusy = "true";
        try {
          receive(await load("writer"));
        } catch (error) {
          notify(`The model did not load: ${error.message}`);
          box.ariaBusy = "false";
          return;
        }
      }
      action();
    }

    // Who asked twice while it was loading gets it twice.
    function receive(loaded) {
      if (model) return;
      model = loaded;
      reading = newReading(model);
      const rows = makeHeads(find("heads"), model.config, "button", {
        type: "button",
        tabindex: -1,
        "data-testid": "head",
      });
      setStop(find("heads"), rows[0][0]);
      moveByArrows(find("heads"), () => rows);
      find("shown").hidden = false;
      readText();
    }

    // ---- what the reader does

    const on = (name, kind, action) =>
      find(name).addEventListener(kind, (event) => withModel(() => action(event)));
    on("text", "input", readText);
    on("one", "click", () => {
      stop();
      write(1);
    });
    on("many", "click", () => {
      if (left === 0) return write(MANY);
      stop();
      update();
    });
    on("again", "click", () => {
      stop();
      ids = [...prompt];
      [asks, isEnded] = [null, false];
      showText();
      update();
    });
    on("temperature", "input", () => {
      isEnded = false;
      update();
    });
    on("seed", "input", () => {
      const isSeed = (number) => Number.isInteger(number) && number >= 0 && number <= LARGEST_SEED;
      const number = numberReader.readNumber(find("seed").value, isSeed);
      find("seed").ariaInvalid = String(number === null);
      if (number === null) {
        return notify(
          `Seed: expected a whole number from 0 to ${LARGEST_SEED}; the last one, ${seed}, counts.`,
        );
      }
      seed = number;
      isEnded = false;
      update();
    });
    // What was refused does not stay: the field shows again what counts.
    find("seed").addEventListener("blur", () =>
      afterPress(() => {
        showSeed();
        if (model) showNotice();
      }),
    );
    stepByArrows(find("seed"));

    function showSeed() {
      find("seed").value = seed;
      find("seed").ariaInvalid = "false";
    }
    on("bars", "click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      stop();
      append(Number(button.dataset.id));
      update();
    });
    on("heads", "click", ({ target }) => {
      const button = target.closest("button");
      if (!button) return;
      [layer, head] = [Number(button.dataset.layer), Number(button.dataset.head)];
      showHead();
      say(find("map").ariaLabel);
    });
    on("tokens", "click", ({ target }) => {
      const button = target.closest("button");
      if (button) ask([...find("tokens").children].indexOf(button));
    });
    on("map", "click", (event) => {
      const at = cellAt(event);
      if (at) ask(at[0]);
    });
    find("map").addEventListener("pointermove", (event) => {
      const [i, j] = cellAt(event) ?? [0, 1];
      if (j > i) return;
      const [from, to] = [i, j].map((at) => seen(ids[at]));
      find("readout").textContent =
        `“${from}” attends to “${to}” with ${weightText(rowsOf(reading, layer, head)[i][j])}.`;
    });
    moveByArrows(find("tokens"), () => [[...find("tokens").children]]);

    function ask(place) {
      asks = place;
      showHead();
      say(find("map").ariaLabel);
    }

    onRepaint(() => {
      if (!model) return;
      paintHeads(find("heads"), reading);
      showHead();
    });

    box.hidden = false;
    begin();
    find("reset").addEventListener("click", begin);
    whenNear(box, "300px", () => withModel(() => {}));
  }

  startWriterLab(document.getElementById("writer-lab"));
}
