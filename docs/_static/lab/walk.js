"use strict";

// The walk: one sentence in seven steps. The pictures are those of walk-frames.js; this file moves from one
// to the next, and keeps sentence, asker and step in the page's address.

{
  const { element, moveByArrows, quoted, shape, speaker } = lab.dom;
  const { STEPS, drawn, frame, layout, modelOf } = lab.walkFrames;
  const { HEAD, caption, plain, rows } = lab.walkTexts;

  const MOVE = 650; // milliseconds
  const TYPED = 350;
  const LENGTH = { least: 2, most: 9, letters: 20 };
  const STATE = /^walk=([1-7])\.(\d)(?:\.([a-z]+(?:-[a-z]+)+))?$/;
  const MIXED = ["x", "y", "w", "h", "r", "tint", "size", "opacity", "width", "head", "grown"];

  const mix = (a, b, t) => a + (b - a) * t;
  const eased = (t) => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);

  // The part on its way from one to the other
  function between(from, to, t) {
    if (t >= 1) return to;
    const part =
      t < 0.5 && from.text && to.text ? { ...to, text: from.text, ink: from.ink } : { ...to };
    for (const name of MIXED) {
      if (name in from && name in to) part[name] = mix(from[name], to[name], t);
    }
    if (to.curve) part.curve = to.curve.map((one, i) => mix(from.curve[i], one, t));
    return part;
  }

  // Where a part comes from, or goes to, that is not in the other picture
  function absent(part, origin) {
    if (part.kind === "line")
      return { ...part, grown: 0, head: 0, opacity: origin ? part.opacity : 0 };
    if (origin?.kind !== "tile") return { ...part, opacity: 0 };
    const { x, y, w, h } = origin;
    return { ...part, x, y, w: Math.min(w, part.w), h: Math.min(h, part.h), opacity: 0 };
  }

  function paint(group, part) {
    group.style.opacity = part.opacity.toFixed(3);
    const shapes = drawn(part);
    if (group.childElementCount !== shapes.length)
      group.replaceChildren(...shapes.map(([name]) => shape(name)));
    shapes.forEach(([, attributes, text], i) => {
      const one = group.children[i];
      for (const [name, value] of Object.entries(attributes)) {
        const written = typeof value === "number" ? value.toFixed(2) : value;
        if (one.getAttribute(name) !== written) one.setAttribute(name, written);
      }
      if (text !== undefined && one.textContent !== text) one.textContent = text;
      if (one.localName === "path" && !("stroke-dasharray" in attributes))
        one.removeAttribute("stroke-dasharray");
    });
  }

  // What lets a reader press a part, and a test read it
  function describe(group, { word, ask, data, title }) {
    if (title) group.append(shape("title", {}, title));
    if (data) {
      group.dataset.testid = "walk-weight";
      for (const [name, value] of Object.entries(data)) group.dataset[name] = value;
    }
    if (ask !== undefined) group.dataset.ask = ask;
    if (word === undefined) return group.setAttribute("aria-hidden", true);
    Object.assign(group.dataset, { ask: word, testid: "walk-word" });
    group.setAttribute("role", "button");
    group.tabIndex = -1;
  }

  function start(box, given) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    const stage = find("stage");
    const layers = [0, 1, 2, 3].map(() => shape("g")); // grounds, lines, tiles, words
    const parts = new Map(); // name → { group, part: as it is shown, to, leaves }
    const field = find("sentence");
    const own = given.words.join(" ");
    let model = modelOf(given, given.at);
    let chosen = given.at ?? null; // the asker that the reader has pressed
    let step = 1;
    let run = 0;
    let size = null;
    let isChanged = false;

    // ---- from one picture to the next

    function show(duration = MOVE) {
      size = layout(stage.parentElement.clientWidth, model.words.length);
      stage.setAttribute("viewBox", `0 0 ${size.W} ${size.H}`);
      const next = frame(step, model, size);
      const now = new Map([...parts].map(([name, { part }]) => [name, part]));
      for (const [name, to] of next) {
        let one = parts.get(name);
        if (one && one.part.kind !== to.kind) {
          one.group.remove();
          one = null;
        }
        if (!one) {
          one = { group: shape("g"), part: absent(to, now.get(to.from)) };
          layers[to.layer].append(one.group);
        }
        const old = one.described;
        const made = JSON.stringify([to.word, to.ask, to.data, to.title]);
        if (old !== made) {
          for (const name of Object.keys(one.group.dataset)) delete one.group.dataset[name];
          one.group.querySelector("title")?.remove();
        }
        paint(one.group, one.part);
        if (old !== made) describe(one.group, to);
        Object.assign(one, { described: made, begins: one.part, to, leaves: false });
        parts.set(name, one);
      }
      for (const [name, one] of parts) {
        if (next.has(name)) continue;
        const to = absent(one.to, next.get(one.to.from));
        Object.assign(one, {
          begins: one.part,
          to: { ...to, delay: 0, from: one.to.from },
          leaves: true,
        });
      }
      run += 1;
      if (duration > 0 && !calm.matches) play(run, performance.now(), duration);
      else move(Number.POSITIVE_INFINITY, MOVE);
      tell();
    }

    function move(passed, duration) {
      let isMoving = false;
      for (const [name, one] of parts) {
        const t = Math.min(
          1,
          Math.max(0, (passed - (one.to.delay ?? 0)) / (one.leaves ? duration / 2 : duration)),
        );
        isMoving ||= t < 1;
        if (one.leaves && t === 1) {
          one.group.remove();
          parts.delete(name);
        } else if (one.t !== t || t < 1) {
          one.part = between(one.begins, one.to, eased(t));
          paint(one.group, one.part);
        }
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
        Array.isArray(one) ? element("b", { class: `walk-${one[1]}` }, one[0]) : one,
      );

    function fill(table) {
      const cells = (name, all) =>
        element(
          "tr",
          {},
          ...all.map((text) => element(name, name === "th" ? { scope: "col" } : {}, text)),
        );
      const body = rows(model).map(([first, ...rest]) => {
        const row = cells("td", rest);
        row.prepend(element("th", { scope: "row" }, first));
        return row;
      });
      table.replaceChildren(
        element("caption", {}, `${quoted(model.words[model.at])} asks`),
        element("thead", {}, cells("th", HEAD)),
        element("tbody", {}, ...body),
      );
    }

    function tell() {
      const { title, text, sum } = caption(step, model);
      Object.assign(find("count").dataset, { value: step });
      find("count").textContent = `Step ${step} of ${STEPS}`;
      find("title").textContent = title;
      find("text").replaceChildren(...written(text));
      find("sum").replaceChildren(...written(sum));
      fill(find("table"));
      say(`${title}. ${plain(text)}`);
      find("back").disabled = step === 1;
      find("next").textContent = step === STEPS ? "Start again" : "Next";
      [...find("dots").children].forEach((dot, i) => {
        dot.firstChild.toggleAttribute("aria-current", i === step - 1);
      });
      for (const one of stage.querySelectorAll("[data-testid=walk-word]")) {
        const i = Number(one.dataset.ask);
        one.setAttribute("aria-pressed", i === model.at);
        one.setAttribute("aria-label", model.words[i]);
        if (!stage.contains(document.activeElement)) one.tabIndex = i === model.at ? 0 : -1;
      }
      box.dataset.step = step;
      const state = { ...lab.benchState.begin(model), at: model.at };
      find("bench").hash = `bench=${lab.benchState.encode(state)}`;
      find("python").textContent = lab.benchPython.toPython(state);
      if (isChanged) history.replaceState(history.state, "", link());
    }

    // ---- the address

    function link() {
      const sentence = field ? `.${model.words.join("-")}` : "";
      const others = location.hash
        .slice(1)
        .split("&")
        .filter((part) => part.startsWith("bench="));
      const hash = [`walk=${step}.${model.at}${sentence}`, ...others].join("&");
      return `${location.href.split("#")[0]}#${hash}`;
    }

    async function readAddress() {
      const found = location.hash
        .slice(1)
        .split("&")
        .map((part) => part.match(STATE))
        .find(Boolean);
      if (!found) return false;
      const [, to, at, sentence = own] = found;
      const text = sentence.replaceAll("-", " ");
      if (field && text !== model.words.join(" ")) {
        if (!(await read(text))) return false;
        field.value = text;
      }
      [step, chosen] = [Number(to), Math.min(Number(at), model.words.length - 1)];
      model = modelOf(model, chosen);
      show(0);
      return true;
    }

    // ---- the reader's sentence

    function note(text) {
      find("note").textContent = text;
    }

    // Take a sentence as the new model, or say why not.
    async function read(text) {
      const words = lab.tokenizer.splitWords(text);
      const { least, most, letters } = LENGTH;
      const long = words.find((word) => word.length > letters);
      if (long)
        note(
          `A word here has at most ${letters} letters; ${quoted(`${long.slice(0, 12)}…`)} is longer.`,
        );
      else if (words.length < least || words.length > most)
        note(`A sentence here has ${least} to ${most} words, and this one has ${words.length}.`);
      else {
        try {
          const [ids, row] = await Promise.all(
            ["words", "tiny"].map((name) => lab.models.load(name)),
          );
          if (field.value !== text && document.activeElement === field) return false; // a later one is read
          const strange = [...new Set(words.filter((word) => !ids.has(word)))];
          note(
            strange.length > 0 ? `The model does not know ${strange.map(quoted).join(", ")}.` : "",
          );
          const x = lab.tokenizer.encode(words, ids).map(row);
          model = modelOf({ ...model, words, x }, null);
          chosen = null;
          return true;
        } catch (error) {
          note(`The model's words did not load (${error.message}).`);
        }
      }
      return false;
    }

    async function take(text) {
      isChanged = true;
      if (await read(text)) show(TYPED);
    }

    // ---- what a reader does

    function go(to) {
      isChanged = true;
      step = ((to + STEPS - 1) % STEPS) + 1;
      show();
    }

    function ask(i) {
      isChanged = true;
      chosen = i;
      model = modelOf(model, i);
      show();
    }

    const dots = Array.from({ length: STEPS }, (_, i) => {
      const dot = element("button", {
        type: "button",
        "aria-label": `Step ${i + 1}: ${caption(i + 1, model).title}`,
      });
      dot.addEventListener("click", () => go(i + 1));
      return element("li", {}, dot);
    });
    find("dots").append(...dots);
    find("back").addEventListener("click", () => go(step - 1));
    find("next").addEventListener("click", () => go(step + 1));
    if (field) {
      field.value = own;
      field.addEventListener("input", () => take(field.value));
      find("form").addEventListener("submit", (event) => {
        event.preventDefault();
        if (find("note").textContent.startsWith("A ")) return;
        find("next").focus();
        go(2);
      });
      find("form").addEventListener("click", ({ target }) => {
        if (!target.matches("button")) return;
        field.value = target.textContent;
        take(field.value);
      });
    }
    stage.addEventListener("click", ({ target }) => {
      const pressed = target.closest("[data-ask]");
      if (pressed) ask(Number(pressed.dataset.ask));
    });
    stage.addEventListener("keydown", (event) => {
      if ((event.key !== "Enter" && event.key !== " ") || !event.target.dataset.ask) return;
      event.preventDefault();
      ask(Number(event.target.dataset.ask));
    });
    moveByArrows(stage, () => [[...layers[3].children]]);
    document.addEventListener("keydown", (event) => {
      const { target, key, defaultPrevented, altKey, ctrlKey, metaKey } = event;
      const isOurs =
        target === document.body ||
        (box.contains(target) && !target.matches("input, textarea, [data-ask]"));
      if (!isOurs || defaultPrevented || altKey || ctrlKey || metaKey) return;
      const turn = { ArrowLeft: -1, ArrowRight: 1 }[key];
      const { top, bottom } = stage.getBoundingClientRect();
      if (!turn || bottom < 0 || top > innerHeight || step + turn < 1 || step + turn > STEPS)
        return;
      event.preventDefault();
      go(step + turn);
    });
    let touch = null;
    stage.addEventListener(
      "pointerdown",
      (event) => (touch = event.pointerType === "mouse" ? null : event),
    );
    stage.addEventListener("pointerup", (event) => {
      if (!touch) return;
      const [dx, dy] = [event.clientX - touch.clientX, event.clientY - touch.clientY];
      const to = step - Math.sign(dx);
      if (Math.abs(dx) > 48 && Math.abs(dx) > 2 * Math.abs(dy) && to >= 1 && to <= STEPS) go(to);
    });
    find("share").addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(link());
        note("The link is copied. It holds your sentence, who asks, and the step.");
      } catch {
        isChanged = true;
        history.replaceState(history.state, "", link());
        note("Your browser lets no page copy. The page's address is the link.");
      }
    });
    addEventListener("hashchange", readAddress);
    new ResizeObserver(() => {
      if (stage.parentElement.clientWidth !== size.W) show(0);
    }).observe(stage.parentElement);

    stage.replaceChildren(...layers);
    show();
    box.classList.add("is-live");
    readAddress().then((isRead) => {
      if (isRead && box.getBoundingClientRect().bottom > innerHeight)
        box.scrollIntoView({ behavior: "instant" });
    });
  }

  const [text] = document.querySelectorAll("script.walk-numbers, script.workbench-numbers");
  const [numbers] = Object.values(JSON.parse(text.textContent));
  start(document.getElementById("walk"), numbers);
}
