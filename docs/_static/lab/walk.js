"use strict";

// The walk: one sentence in seven steps. The pictures are those of walk-frames.js; this file moves from one
// to the next, and keeps sentence, asker and step in the page's address.

{
  const { element, moveByArrows, quoted, setStop, shape, speaker } = lab.dom;
  const { STEPS, drawn, frame, layout, modelOf } = lab.walkFrames;
  const { HEAD, caption, plain, rows } = lab.walkTexts;

  const MOVE = 650; // milliseconds
  const TYPED = 350;
  const PAUSE = 700; // before one who types is told what cannot be read
  const SWIPE = 48; // pixels
  const LENGTH = { least: 2, most: 9, letters: 20 };
  const STATE = /^walk=([1-7])\.(\d)(?:\.(\p{L}+(?:-\p{L}+)+))?$/u;
  const MIXED = ["x", "y", "w", "h", "r", "tint", "size", "opacity", "width", "head", "grown"];

  const mix = (a, b, t) => a + (b - a) * t;
  const eased = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);
  const within = (t) => Math.min(1, Math.max(0, t));
  const slowing = (t) => 1 - (1 - t) ** 3;

  // A part on its way from one picture to the next, of which `soon` is what waits for no other part
  function between(from, to, t, soon) {
    if (t === 1) return to;
    const isOld = t < 0.5 && from.text && to.text && from.text !== to.text;
    const part = { ...to, ...(isOld && { text: from.text, ink: from.ink }) };
    // A tile that becomes smaller does so first: it would cover what it passes.
    const isEarly = (name) => (name === "w" || name === "h") && to[name] < from[name];
    for (const name of MIXED)
      if (name in from && name in to)
        part[name] = mix(from[name], to[name], isEarly(name) ? soon : t);
    if (to.curve) part.curve = to.curve.map((one, i) => mix(from.curve[i], one, t));
    // What comes out of something is seen once it has left it: many numbers in one place can't be read.
    if (from.opacity < to.opacity)
      part.opacity = mix(from.opacity, to.opacity, Math.max(0, (t - 0.3) / 0.7));
    return part;
  }

  // How a part begins that the picture before did not have, and how one ends: within what it comes from
  function hidden(part, origin) {
    if (part.kind === "line") return { ...part, grown: 0, head: 0, opacity: 0 };
    if (origin?.kind !== "tile") return { ...part, opacity: 0 };
    const { x, y, w, h } = origin;
    return { ...part, x, y, w: Math.min(w, part.w), h: Math.min(h, part.h), opacity: 0 };
  }

  function paint(group, part) {
    const shapes = drawn(part);
    group.style.opacity = part.opacity.toFixed(3);
    if (group.childElementCount !== shapes.length) {
      group.replaceChildren(...shapes.map(([name]) => shape(name)));
    }
    for (const [i, [, attributes, text = ""]] of shapes.entries()) {
      const one = group.children[i];
      for (const [name, value] of Object.entries(attributes)) {
        const written = typeof value === "number" ? value.toFixed(2) : value;
        if (one.getAttribute(name) !== written) one.setAttribute(name, written);
      }
      if (one.textContent !== text) one.textContent = text;
    }
  }

  function start(box, given) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const on = (name, kind, action) => find(name)?.addEventListener(kind, action);
    const say = speaker(find("spoken"));
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    const [stage, field] = [find("stage"), find("sentence")];
    const layers = ["ground", "lines", "tiles", "labels"].map(() =>
      shape("g", { "aria-hidden": "true" }),
    );
    layers.push(shape("g")); // words
    const parts = new Map(); // name → { group, part: as it is shown, begins, to, leaves }
    let model = modelOf(given, given.at);
    let step = 1;
    let run = 0; // how often another picture was shown
    let width;
    let isChanged = false;
    let isTyped = false; // since the last Enter
    let pause;

    // ---- from one picture to the next

    function show(duration = MOVE) {
      box.dataset.step = step; // its picture may have more room
      width = stage.parentElement.clientWidth;
      const size = layout(width, model.words.length, stage.parentElement.clientHeight);
      stage.setAttribute("viewBox", `0 0 ${size.W} ${size.H}`);
      const next = frame(step, model, size);
      const before = new Map([...parts].map(([name, { part }]) => [name, part]));
      for (const [name, to] of next) {
        const one = parts.get(name) ?? add(to, before.get(to.from));
        for (const mark of Object.keys(one.group.dataset)) delete one.group.dataset[mark];
        if (to.data) Object.assign(one.group.dataset, { testid: "walk-weight", ...to.data });
        if (to.word !== undefined)
          Object.assign(one.group.dataset, { testid: "walk-word", ask: to.word });
        else if (to.ask !== undefined) one.group.dataset.ask = to.ask;
        const isNew = !before.has(name);
        parts.set(name, Object.assign(one, { begins: one.part, to, isNew, leaves: false }));
      }
      for (const [name, one] of parts) {
        if (next.has(name)) continue;
        const to = { ...hidden(one.to, next.get(one.to.from)), delay: 0 };
        Object.assign(one, { begins: one.part, to, leaves: true });
      }
      run += 1;
      if (duration > 0 && !calm.matches) play(run, performance.now(), duration);
      else move(Number.POSITIVE_INFINITY, MOVE);
      tell();
    }

    function add(to, origin) {
      const isWord = to.word !== undefined;
      const group = shape("g", isWord ? { role: "button", tabindex: "-1" } : {});
      layers[to.layer].append(group);
      // At first the still picture is there already, and its lines are drawn once more.
      const part = run === 0 && to.kind === "tile" ? to : hidden(to, origin);
      paint(group, part);
      return { group, part };
    }

    function move(passed, duration) {
      let isMoving = false;
      for (const [name, one] of parts) {
        const lasts = one.leaves ? duration / 2 : duration;
        const t = within((passed - (one.to.delay ?? 0)) / lasts);
        isMoving ||= t < 1;
        if (one.part !== one.to) {
          const soon = slowing(within((2 * passed) / duration));
          one.part = between(one.begins, one.to, (one.isNew ? slowing : eased)(t), soon);
          paint(one.group, one.part);
        }
        if (!one.leaves || t < 1) continue;
        one.group.remove();
        parts.delete(name);
      }
      return isMoving;
    }

    function play(mine, began, duration) {
      requestAnimationFrame((now) => {
        if (mine === run && move(now - began, duration)) play(mine, began, duration);
      });
    }

    // ---- what stands beside the picture

    const written = (segments) =>
      segments.map((one) =>
        typeof one === "string" ? one : element("b", { class: `walk-${one[1]}` }, one[0]),
      );
    const cell = (text, scope) => element(scope ? "th" : "td", { scope: scope || null }, text);

    function tell() {
      const { words, at } = model;
      const { title, text, sum } = caption(step, model);
      find("title").textContent = title;
      find("text").replaceChildren(...written(text));
      find("sum").replaceChildren(...written(sum));
      say(`${title}. ${plain(text)}`);
      find("count").textContent = `Step ${step} of ${STEPS}`;
      find("count").dataset.value = step;
      find("table").replaceChildren(
        element("caption", {}, `${quoted(words[at])} asks`),
        element("tr", {}, ...HEAD.map((one) => cell(one, "col"))),
        ...rows(model).map((row) =>
          element("tr", {}, ...row.map((one, i) => cell(one, i === 0 && "row"))),
        ),
      );
      find("back").disabled = step === 1;
      find("next").textContent = step === STEPS ? "Restart" : "Next";
      tellIn("told", "");
      mark();
      for (const [i, { firstChild }] of [...find("dots").children].entries()) {
        firstChild.toggleAttribute("aria-current", i === step - 1);
      }
      for (const [i, word] of words.entries()) {
        const { group } = parts.get(`word${i}`);
        group.setAttribute("aria-pressed", i === at);
        group.setAttribute("aria-label", word);
      }
      if (!stage.contains(document.activeElement)) setStop(stage, parts.get(`word${at}`).group);
      const state = { ...lab.benchState.begin(model), at };
      find("bench").hash = `bench=${lab.benchState.encode(state)}`;
      find("python").textContent = lab.benchPython.toPython(state);
      if (step < STEPS) find("code").open = false;
      if (isChanged) history.replaceState(history.state, "", link());
    }

    // ---- the address

    function link() {
      const sentence = field ? `.${model.words.join("-")}` : "";
      return `${location.href.split("#")[0]}#walk=${step}.${model.at}${sentence}`;
    }

    function decoded(text) {
      try {
        return decodeURIComponent(text);
      } catch {
        return text;
      }
    }

    // Back and Forward lead from step to step, with the sentence and the word of now.
    function returnTo() {
      if (!history.state?.walk) return readAddress();
      step = history.state.walk;
      isChanged = true;
      show();
    }

    async function readAddress() {
      const wanted = decoded(location.hash.slice(1).split("&")[0]);
      const found = wanted.match(STATE);
      if (!found && wanted.startsWith("walk=")) tellIn("told", "That link can’t be read.");
      if (!found) return false;
      const sentence = (found[3] ?? given.words.join("-")).replaceAll("-", " ");
      if (field && sentence !== model.words.join(" ")) {
        field.value = sentence;
        if (!(await read(sentence))) return false;
      }
      step = Number(found[1]);
      model = modelOf(model, Math.min(found[2], model.words.length - 1));
      show(0);
      return true;
    }

    // ---- the reader's sentence

    const tellIn = (name, text) => (find(name).textContent = text);

    // What is typed and cannot be read is said above it, and what is shown is then another sentence's. Half
    // a word is no mistake yet.
    function note(text, isRefused = false) {
      clearTimeout(pause);
      const tell = () => {
        tellIn("note", text);
        field.setAttribute("aria-invalid", isRefused);
      };
      if (text && isTyped && field.matches(":focus")) pause = setTimeout(tell, PAUSE);
      else tell();
    }

    function problemOf(words, text) {
      const { least, most, letters } = LENGTH;
      const long = words.find((word) => word.length > letters);
      if (long) return `Expected at most ${letters} letters per word, got ${long.length}.`;
      if (words.length >= least && words.length <= most) return null;
      const isMixed = /[^\p{L}\p{M}\s.,;:!?'’"“”()-]/u.test(text);
      const hint = isMixed ? " Only letters make words." : "";
      return `Expected ${least} to ${most} words, got ${words.length || "none"}.${hint}`;
    }

    // An example is pressed as long as it stands in the field.
    function mark() {
      for (const one of field?.form.querySelectorAll("button") ?? []) {
        one.setAttribute(
          "aria-pressed",
          one.textContent.toLowerCase() === field.value.toLowerCase(),
        );
      }
    }

    // Take a sentence as the new model, and say whether that could be done.
    async function read(text) {
      mark();
      // Words of any script: the model's own rule would take "schöner" for two.
      const words =
        text
          .toLowerCase()
          .normalize()
          .match(/\p{L}+/gu) ?? [];
      const problem = problemOf(words, text);
      note(problem ?? "", Boolean(problem));
      if (problem) return false;
      try {
        const [ids, row] = await Promise.all(["words", "tiny"].map(lab.models.load));
        if (field.value !== text) return false; // a later one is read
        const notes = [
          ["All unknown words share one vector, here", words.filter((word) => !ids.has(word))],
          ["Read as several words", text.match(/\p{L}+(?:['’]\p{L}+)+/gu)],
          ["Left out", text.match(/[\p{N}\p{S}]+/gu)],
        ].flatMap(([what, found]) =>
          found?.length ? [`${what}: ${[...new Set(found)].map(quoted).join(", ")}.`] : [],
        );
        note(notes.join(" "));
        model = modelOf({ ...model, words, x: lab.tokenizer.encode(words, ids).map(row) });
        return true;
      } catch (error) {
        note(`The model's words did not load (${error.message}).`, true);
        return false;
      }
    }

    async function take(text) {
      field.value = text;
      isChanged = true;
      const isRead = await read(text);
      if (isRead) show(TYPED);
      return isRead;
    }

    // ---- what a reader does

    function go(to) {
      if (field?.getAttribute("aria-invalid") === "true") return field.focus(); // it is to be read first
      history.replaceState({ walk: step }, "", link()); // where the browser's Back leads
      step = ((to + STEPS - 1) % STEPS) + 1;
      history.pushState({ walk: step }, "", link());
      show();
      reveal();
    }

    // Scroll as little as shows the picture, what is said of it and the buttons, which a phone has below
    // it, where a thumb is, and at the end the doors.
    function reveal() {
      const [title, sum, end, picture, next] = ["title", "sum", "share", "stage", "next"].map(
        (one) => find(one).getBoundingClientRect(),
      );
      const low = Math.max(sum.bottom, (step === STEPS ? end : picture).bottom);
      const high = Math.min(title.top, picture.top);
      const isBelow = width < 560 && next.left < picture.right;
      const buttons = isBelow ? next.height + 21 : 0;
      const top = Math.min(low + buttons - innerHeight, high - 64);
      if (top > 0 || high < 0) scrollBy({ top, behavior: calm.matches ? "instant" : "smooth" });
    }

    function ask(part) {
      const { ask: word, query = word } = part?.dataset ?? {};
      if (query === undefined) return;
      isChanged = true;
      model = modelOf(model, Number(query));
      show();
    }

    // Before that, what is typed would be put into the middle of the example. A field that was left
    // meanwhile would take the focus back.
    const choose = () => !isTyped && field.matches(":focus") && field.select();
    on("sentence", "focus", () => requestAnimationFrame(choose));
    on("sentence", "blur", () => isTyped && read(field.value));

    const turn = (by) => {
      if (by < 0 || step < STEPS) find(by < 0 ? "back" : "next").click();
    };

    async function copy(text, done, instead) {
      try {
        await navigator.clipboard.writeText(text);
        tellIn("told", done);
      } catch {
        tellIn("told", `Your browser lets no page copy. ${instead}`);
      }
    }

    for (let i = 1; i <= STEPS; i += 1) {
      const name = `Step ${i}: ${caption(i, model).title}`;
      const dot = element("button", { type: "button", "aria-label": name, title: name });
      dot.addEventListener("click", () => go(i));
      find("dots").append(element("li", {}, dot));
    }
    on("back", "click", () => go(step - 1));
    on("next", "click", () => go(step + 1));
    on("sentence", "input", () => {
      isTyped = true;
      take(field.value);
    });
    on("form", "click", ({ target }) => target.matches("button") && take(target.textContent));
    on("form", "submit", async (event) => {
      event.preventDefault();
      const isOwn = isTyped;
      isTyped = false;
      if (!(await take(field.value))) return;
      find("next").focus({ preventScroll: true });
      if (!isOwn) return go(2);
      show(); // the answer to a sentence of one's own comes first
      reveal();
    });
    on("share", "click", () => {
      isChanged = true;
      tell();
      const copied = `Copied: a link to ${quoted(model.words.join(" "))}, asker and step.`;
      copy(link(), copied, "This page's address is the link.");
    });
    on("copy", "click", () =>
      copy(find("python").textContent, "Copied: lines that need torch alone.", "Select the lines."),
    );
    stage.addEventListener("click", ({ target }) =>
      ask(target.closest("[data-ask], [data-query]")),
    );
    stage.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault(); // the space bar would scroll
      event.target.dispatchEvent(new Event("click", { bubbles: true }));
    });
    // Up and down from word to word, because left and right turn to another step
    moveByArrows(stage, () => [...layers[4].children].map((word) => [word]));
    // Before the word that is focused hears of it
    addEventListener(
      "keydown",
      (event) => {
        const { target, altKey, ctrlKey, metaKey } = event;
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        const isOurs = box.contains(target) && !target.matches("input, pre");
        const { top, bottom } = stage.getBoundingClientRect();
        const isSeen = target === document.body && top < innerHeight && bottom > 0;
        if (!by || !(isOurs || isSeen) || altKey || ctrlKey || metaKey) return;
        event.preventDefault();
        event.stopPropagation();
        turn(by);
      },
      true,
    );
    let touch = null;
    stage.addEventListener(
      "pointerdown",
      (event) => (touch = event.pointerType === "mouse" ? null : event),
    );
    stage.addEventListener("pointerup", ({ clientX, clientY }) => {
      const [dx, dy] = touch ? [clientX - touch.clientX, clientY - touch.clientY] : [0, 0];
      if (Math.abs(dx) > SWIPE && Math.abs(dx) > 2 * Math.abs(dy)) turn(-dx);
    });
    addEventListener("hashchange", returnTo);

    stage.replaceChildren(...layers);
    for (const still of [...stage.parentElement.children]) if (still !== stage) still.remove();
    show();
    box.classList.add("is-live");
    new ResizeObserver(() => {
      // On paper, where it is hidden, it has no width.
      if ((stage.parentElement.clientWidth || width) !== width) show(0);
    }).observe(box);
    readAddress().then((isRead) => {
      const isBelow = stage.getBoundingClientRect().bottom > innerHeight;
      if (isRead && isBelow) box.scrollIntoView({ behavior: "instant" });
    });
  }

  const find = (name) => document.querySelector(`script.${name}-numbers`);
  const [numbers] = Object.values(JSON.parse((find("walk") ?? find("workbench")).textContent));
  start(document.getElementById("walk"), numbers);
}
