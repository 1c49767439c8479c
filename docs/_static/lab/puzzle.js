"use strict";

// The page of the puzzles: one puzzle at a time, with only what it lets one set, and the verdict of
// puzzle-judge.js after every change. A reader's numbers are one state, whose history Undo goes back.

{
  const { element, keep, kept, moveByArrows, setStop, speaker, stepByArrows, typed } = lab.dom;
  const { LIMIT, MASKS, RANGES, countNumbers, forward } = lab.puzzleJudge;
  const { judge, judgeClaim, read, write } = lab.puzzleJudge;
  const { mapsOf, showTables } = lab.puzzleMaps;
  const { readNumber } = numberReader;
  const { done, mark, onChange, showMark } = globalThis.doneStore;

  const PAUSE = 400; // milliseconds without a change, before the address follows
  const UNITS = { temperature: "temperature", angle: "angle per position, in degrees" };
  const START = /^#puzzle=(.*)$/;
  const TIERS = ["Easy", "Harder", "Hard"]; // of as many puzzles each
  const BEGUN = /^[+\-−]?[.,]?$/; // of a number that is being typed

  function start(box, puzzles) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    const names = Object.keys(puzzles);
    const fields = new Map(); // name of a number, as W_query.0.1 → its field
    let name;
    let puzzle;
    let state;
    let history; // { past, undone }: states, the latest last
    let gesture = null; // changes of one gesture are undone together
    let claimed = null; // the verdict on a claim, until something is set
    let used = null; // the number that the slider moves
    let timer;
    let isTyping = false;
    const histories = new Map(); // of each puzzle that was open

    // ---- the state

    function change(next, by = null) {
      if (by === null || by !== gesture) history.past.push(state);
      history.undone = [];
      gesture = by;
      claimed = null;
      state = next;
      find("claim-verdict").textContent = "";
      update();
      remember();
    }

    // What was set before in this tab is there again, unless a link brings other numbers.
    function open(wanted, next = null) {
      name = wanted;
      puzzle = puzzles[name];
      state = structuredClone(next ?? before() ?? puzzle.start);
      history = histories.get(name) ?? { past: [], undone: [] };
      histories.set(name, history);
      gesture = claimed = used = null;
      build();
      update();
    }

    function before() {
      try {
        return read(kept(labelOf(name)), puzzles).state;
      } catch {
        return null; // nothing is kept, or what another version kept
      }
    }

    const labelOf = (one) => `puzzle-${one}`;
    const numberAt = (field) => {
      const [part, ...at] = field.split(".");
      return at.reduce((inner, index) => inner[index], state[part]);
    };

    function set(field, number, by = field) {
      const [part, ...at] = field.split(".");
      const next = structuredClone(state);
      if (at.length === 0) next[part] = number;
      else {
        const last = at.pop();
        at.reduce((inner, index) => inner[index], next[part])[last] = number;
      }
      change(next, by);
    }

    const rangeOf = (field) => RANGES[field] ?? [-LIMIT, LIMIT];
    const numberOf = (one) => Number(one.toFixed(4));
    const written = (one) => typed(numberOf(one));

    // ---- what one may set

    function field(key, label) {
      const made = element("input", {
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        "aria-label": label,
        "data-name": key,
        "data-step": { temperature: 0.05, angle: 5 }[key] ?? 0.5,
      });
      made.addEventListener("focus", () => use(key));
      made.addEventListener("input", () => {
        const [low, high] = rangeOf(key);
        const number = readNumber(made.value, (one) => one >= low && one <= high);
        const isWrong = number === null && !BEGUN.test(made.value.trim());
        if (isWrong) made.setAttribute("aria-invalid", "true");
        else made.removeAttribute("aria-invalid");
        find("problem").textContent = isWrong
          ? `${label}: expected a number from ${low} to ${high}.`.replaceAll("-", "−")
          : "";
        find("verdict").classList.toggle("outdated", isWrong); // it is about the last number
        isTyping = true; // what is being typed is not written anew
        if (number !== null) set(key, number);
        isTyping = false;
      });
      made.addEventListener("blur", () => {
        if (fields.get(key) !== made) return; // another puzzle is open
        made.removeAttribute("aria-invalid");
        find("problem").textContent = "";
        find("verdict").classList.remove("outdated");
        made.value = written(numberAt(key));
      });
      fields.set(key, made);
      return made;
    }

    // The slider of the temperature holds its logarithm, because the small ones matter most.
    const isLog = (key) => key === "temperature";

    function use(key) {
      used = key;
      const label = fields.get(key).getAttribute("aria-label");
      find("slider-name").textContent = `${label}: ${written(numberAt(key))}`;
      const most = Math.abs(numberAt(key)) > 20 ? LIMIT : 20;
      const ends = RANGES[key] ?? [-most, most];
      const [low, high] = isLog(key) ? ends.map(Math.log10) : ends;
      const slider = find("slider");
      Object.assign(slider, {
        min: low,
        max: high,
        step: { angle: 1, temperature: 0.01 }[key] ?? 0.05,
      });
      if (slider !== document.activeElement)
        slider.value = isLog(key) ? Math.log10(numberAt(key)) : numberAt(key);
    }

    // A matrix with its features at the left: numbers to set, or to look at
    function table(part, numbers = state[part], title = part) {
      const isSettable = numbers === state[part] && puzzle.settable.includes(part);
      const isVector = !Array.isArray(numbers[0]);
      const rows = isVector ? [numbers] : numbers;
      const role = ["query", "key", "value"].find((one) => part.includes(one));
      const body = rows.map((row, r) => {
        const feature = isVector ? "bias" : puzzle.features[r];
        const cells = row.map((number, c) => {
          const key = isVector ? `${part}.${c}` : `${part}.${r}.${c}`;
          const label = `${part}, ${feature}, number ${c + 1}`;
          return element("td", {}, isSettable ? field(key, label) : written(number));
        });
        return element("tr", {}, element("th", { scope: "row" }, feature), ...cells);
      });
      const caption = element("caption", {}, title, isSettable ? "" : " (given)");
      const made = element("table", { class: `lab-${role}` }, caption, ...body);
      if (isSettable) {
        moveByArrows(made, () => [...made.rows].map((row) => [...row.querySelectorAll("input")]));
        setStop(made, made.querySelector("input"));
      }
      return made;
    }

    function embeddings(words) {
      const { x } = forward(puzzle, state, words); // (n, d)
      const head = puzzle.features.map((one) => element("th", { scope: "col" }, one));
      const rows = x.map((row, i) => {
        const cells = row.map((number) => element("td", {}, written(number)));
        return element("tr", {}, element("th", { scope: "row" }, words[i]), ...cells);
      });
      const caption = element("caption", {}, "Embeddings X (given)");
      return element(
        "table",
        { class: "puzzle-given" },
        caption,
        element("thead", {}, element("tr", {}, element("td"), ...head)),
        element("tbody", {}, ...rows),
      );
    }

    function option(part) {
      if (part === "mask") {
        const isSettable = puzzle.settable.includes("mask");
        const choice = element("select", { "data-name": "mask", disabled: !isSettable });
        choice.append(...MASKS.map((one) => element("option", { value: one }, one)));
        choice.addEventListener("change", () => change({ ...state, mask: choice.value }));
        return element("label", {}, isSettable ? "mask " : "mask (given) ", choice);
      }
      return element("label", {}, `${UNITS[part]} `, field(part, UNITS[part]));
    }

    // The maps of the sentence that is shown and, below, of another one in which the goal does not hold
    function showMaps(failed) {
      showTables(find("maps"), mapsOf(puzzle, state, puzzle.shown.split(" ")));
      const other = failed ? mapsOf(puzzle, state, failed, `In “${failed.join(" ")}”`) : [];
      showTables(find("elsewhere"), failed ? [...other, embeddings(failed)] : []);
    }

    // ---- building and showing

    function build() {
      fields.clear();
      const index = names.indexOf(name);
      box.dataset.name = name;
      find("title").textContent = `${index + 1}. ${puzzle.title}`;
      find("task").textContent = puzzle.task;
      find("note").textContent = puzzle.note ?? "";
      const link = element("a", { href: `gallery/${puzzle.lesson}.html` }, puzzle.lesson_title);
      find("lesson").replaceChildren("Goes with the lesson ", link, `, ${puzzle.minutes} minutes`);
      find("problem").textContent = "";
      find("claim-verdict").textContent = "";
      find("spoken").textContent = "";
      find("copied").textContent = "";
      const parts = Object.keys(puzzle.start);
      const isOption = (part) => !Array.isArray(puzzle.start[part]);
      find("options").replaceChildren(...parts.filter(isOption).map(option));
      find("tables").replaceChildren(
        embeddings(puzzle.shown.split(" ")),
        ...parts.filter((part) => !isOption(part)).map((part) => table(part)),
        ...oldMatrices(),
      );
      find("next").hidden = index === names.length - 1;
      buildHints();
      find("claim").hidden = !puzzle.impossible;
      find("claims").replaceChildren(
        ...(puzzle.impossible?.claims ?? []).map((text, i) =>
          element(
            "label",
            {},
            element("input", { type: "radio", name: "puzzle-claim", value: i }),
            ` ${text}`,
          ),
        ),
      );
      use(fields.keys().next().value);
    }

    // What made the wanted map, where the goal is one
    function oldMatrices() {
      if (puzzle.goal.kind !== "map") return [];
      const parts = ["W_query", "W_key"];
      return parts.map((part) => table(part, puzzle.goal[part], `${part} before`));
    }

    // Each hint has the next one behind it.
    function buildHints() {
      const hints = puzzle.hints.map((text, i) => {
        const title = element("summary", {}, i === 0 ? "Hint" : `Hint ${i + 1}`);
        const made = element(
          "details",
          { "data-testid": "puzzle-hint" },
          title,
          element("p", {}, text),
        );
        made.hidden = i > 0;
        return made;
      });
      hints.forEach((hint, i) => {
        hint.addEventListener("toggle", () => {
          if (hint.open && hints[i + 1]) hints[i + 1].hidden = false;
        });
      });
      find("hints").replaceChildren(...hints);
    }

    function update() {
      for (const [key, made] of fields) {
        if (made !== document.activeElement || !isTyping) made.value = written(numberAt(key));
      }
      const choice = box.querySelector("select");
      if (choice) choice.value = state.mask;
      if (used) use(used);
      const verdict = claimed ?? judge(puzzle, state);
      showMaps(verdict.words);
      showVerdict(verdict);
      find("undo").disabled = history.past.length === 0;
      find("redo").disabled = history.undone.length === 0;
      find("claim-it").disabled = false;
      const count = countNumbers(puzzle, state);
      const known = verdict.reason === "solved" ? `; shortest known: ${puzzle.shortest}` : "";
      find("count").textContent =
        `Yours: ${count} ${count === 1 ? "number" : "numbers"} set${known}.`;
      clearTimeout(timer);
    }

    // What a reader has set, or taken back, is kept and stands in the address.
    function remember() {
      keep(labelOf(name), write(name, puzzle, state));
      timer = setTimeout(() => writeAddress(), PAUSE);
    }

    function showVerdict({ reason, text, isSolved }) {
      const part = find("verdict");
      part.dataset.solved = isSolved;
      part.dataset.reason = reason;
      find("mark").textContent = isSolved ? "✓ Solved." : "Not yet.";
      find("reason").textContent = text;
      say(`${find("mark").textContent} ${text}`);
      if (isSolved && (history.past.length > 0 || claimed)) mark(labelOf(name)); // opening a link is no deed
    }

    function showList() {
      const made = names.map((one, i) => {
        const button = element("button", { type: "button", title: puzzles[one].title }, `${i + 1}`);
        const isDone = done.has(labelOf(one));
        button.ariaLabel = `Puzzle ${i + 1}, ${puzzles[one].title}${isDone ? ", solved" : ""}`;
        if (one === name) button.ariaCurrent = "true";
        button.classList.toggle("done", isDone);
        if (isDone) showMark(button, "✓");
        button.addEventListener("click", () => go(one));
        return element("li", {}, button);
      });
      const size = names.length / TIERS.length;
      const tiers = TIERS.map((title, t) => {
        const [first, last] = [t * size, (t + 1) * size];
        const minutes = names
          .slice(first, last)
          .reduce((sum, one) => sum + puzzles[one].minutes, 0);
        const list = element("ol", { start: first + 1 }, ...made.slice(first, last));
        return element("section", {}, element("p", {}, `${title}, ${minutes} minutes`), list);
      });
      find("list").replaceChildren(...tiers);
      const solved = names.filter((one) => done.has(labelOf(one))).length;
      find("progress").textContent = `${solved} of ${names.length} solved`;
    }

    function go(wanted) {
      clearTimeout(timer);
      open(wanted);
      writeAddress(true);
      showList();
      find("title").focus({ preventScroll: true });
      box.scrollIntoView({ behavior: "instant" });
    }

    // ---- the address

    const address = () => `#puzzle=${write(name, puzzle, state)}`;

    // Going to another puzzle is a step that the browser can go back; setting numbers is none.
    function writeAddress(isStep = false) {
      globalThis.history[isStep ? "pushState" : "replaceState"](null, "", address());
    }

    function readAddress() {
      const [, text] = location.hash.match(START) ?? [];
      if (text === undefined) return false;
      try {
        const found = read(decodeURIComponent(text), puzzles);
        open(found.name, found.state);
      } catch (error) {
        if (name === undefined) open(names[0]);
        find("problem").textContent = error.message;
      }
      showList();
      box.scrollIntoView({ behavior: "instant" });
      return true;
    }

    find("slider").addEventListener("input", ({ target: { valueAsNumber: at } }) =>
      set(used, isLog(used) ? Number((10 ** at).toFixed(2)) : at),
    );
    for (const [part, from, to] of [
      ["undo", "past", "undone"],
      ["redo", "undone", "past"],
    ]) {
      find(part).addEventListener("click", () => {
        history[to].push(state);
        state = history[from].pop();
        gesture = claimed = null;
        update();
        remember();
        if (find(part).disabled) find("reset").focus(); // a button that is off loses the focus
      });
    }
    find("reset").addEventListener("click", () => change(structuredClone(puzzle.start)));
    find("next").addEventListener("click", () => go(names[names.indexOf(name) + 1]));
    find("link").addEventListener("click", async () => {
      writeAddress();
      try {
        await navigator.clipboard.writeText(location.href);
        find("copied").textContent = "The link is copied. It holds the puzzle and your numbers.";
      } catch {
        find("copied").textContent =
          "Your browser lets no page copy. The address above is the link.";
      }
    });
    find("claim-it").addEventListener("click", () => {
      const chosen = box.querySelector("[name=puzzle-claim]:checked");
      if (chosen) {
        claimed = judgeClaim(puzzle, Number(chosen.value));
        showVerdict(claimed);
        find("claim-it").disabled = !claimed.isSolved; // no guessing through all three
      }
      const again = claimed?.isSolved === false ? " Try some numbers before you claim again." : "";
      find("claim-verdict").textContent = chosen
        ? `${find("mark").textContent} ${claimed.text}${again}`
        : "Choose one of the three reasons first.";
    });
    stepByArrows(find("set"));
    addEventListener("hashchange", readAddress);
    box.hidden = false;
    if (!readAddress()) open(names.find((one) => !done.has(labelOf(one))) ?? names[0]);
    onChange(showList);
    return { open };
  }

  const box = document.getElementById("puzzle");
  const text = document.querySelector("script.puzzles").textContent;
  lab.puzzle = start(box, JSON.parse(text));
  for (const part of document.querySelectorAll(".tag_without-script")) part.hidden = true;
}
