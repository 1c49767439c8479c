"use strict";

// What a reader has done, and the marks of the lessons wherever one links to them.

{
  // For this browser alone: labels of exercises and questions, and for each question which answer was
  // chosen first, as label/number. A browser may refuse to keep anything, and then marks last as long
  // as the page.
  const STORE = "attention-done";
  const READ = "attention-read"; // pages of lessons, the one that was read last at the end
  const done = new Set();
  let lessons = []; // those that were read
  const listeners = [];

  const tell = () => {
    for (const listener of listeners) listener();
  };

  function read(text) {
    done.clear();
    for (const label of JSON.parse(text ?? "[]")) done.add(label);
  }

  function keep(store, all) {
    try {
      localStorage.setItem(store, JSON.stringify(all));
    } catch {}
    tell();
  }

  function mark(label, isDone = true) {
    if (done.has(label) === isDone) return;
    if (isDone) done.add(label);
    else done.delete(label);
    keep(STORE, [...done]);
  }

  // Called now, and again whenever something is done, here or in another window
  function onChange(listener) {
    listeners.push(listener);
    listener();
  }

  function showMark(place, text) {
    place.querySelector(".mark")?.remove();
    if (!text) return;
    const badge = document.createElement("span");
    badge.className = "mark";
    badge.append(` ${text}`);
    place.append(badge);
  }

  const readLessons = (text) => (lessons = [...JSON.parse(text ?? "[]")]);

  try {
    read(localStorage.getItem(STORE));
    readLessons(localStorage.getItem(READ));
  } catch {}
  addEventListener("storage", ({ key, newValue }) => {
    if (key === STORE) read(newValue);
    else if (key === READ) readLessons(newValue);
    else return;
    tell();
  });
  globalThis.doneStore = { done, mark, onChange, showMark };

  // ---- the lessons

  const root = new URL(document.documentElement.dataset.content_root, location.href).href;
  const pageOf = (address) => address.replace(root, "").replace(/\.html.*$/, "");
  const isSolved = (label) => done.has(label);

  function showLessons() {
    // One is at the first lesson that is neither read nor done, from the one that was read last.
    const pages = Object.keys(LESSON_TASKS);
    const isLeft = (page) => !lessons.includes(page) && !LESSON_TASKS[page].every(isSolved);
    const last = Math.max(pages.indexOf(lessons.at(-1)), 0);
    const here = pages.slice(last).find(isLeft) ?? pages.find(isLeft);
    const places = ".sidebar-tree a, .lesson-map a, .stops [data-page]";
    for (const link of document.querySelectorAll(places)) {
      const page = link.dataset.page ?? pageOf(link.href);
      const tasks = LESSON_TASKS[page];
      if (!tasks) continue;
      const solved = tasks.filter(isSolved).length;
      const isDone = solved === tasks.length;
      link.classList.toggle("done", isDone);
      if (link.closest(".sidebar-tree")) showMark(link, isDone && "✓");
      const isRead = lessons.includes(page);
      link.classList.toggle("read", isRead);
      if (!link.closest(".lesson-map")) continue;
      link.classList.toggle("here", page === here);
      link.ariaCurrent = page === here ? "step" : null;
      const share = isDone ? "✓ done" : solved > 0 && `${solved} of ${tasks.length} done`;
      const puzzles = LESSON_PUZZLES[page] ?? [];
      const found = puzzles.filter(isSolved).length;
      const puzzled = found > 0 && `${found} of ${puzzles.length} puzzles`;
      const hasBegun = lessons.length > 0 || Object.values(LESSON_TASKS).flat().some(isSolved);
      const next = hasBegun ? "next" : "start here";
      const rest = page === here ? next : isRead && "read";
      showMark(link, [share, puzzled].filter(Boolean).join(", ") || rest);
    }
    const solved = document.querySelector(".lesson-map .solved");
    const [filled, all] = [".done", "a"].map((kind) =>
      document.querySelectorAll(`.lesson-map ${kind}`),
    );
    const read = document.querySelectorAll(".lesson-map .read").length;
    if (solved)
      solved.textContent = `${read} of ${all.length} lessons read (tinted), ${filled.length} with all exercises solved (filled).`;
    const soFar = document.querySelector(".so-far");
    const n = document.querySelectorAll(".stops .done").length;
    if (soFar) soFar.textContent = n > 0 ? ` · ${n} done` : "";
  }
  onChange(showLessons);

  // Whoever comes to a lesson's takeaways has read it.
  const page = pageOf(location.href);
  const end = page in LESSON_TASKS && document.getElementById("takeaways");
  if (end)
    new IntersectionObserver(([{ isIntersecting }], observer) => {
      if (!isIntersecting) return;
      observer.disconnect();
      lessons = [...lessons.filter((one) => one !== page), page];
      keep(READ, lessons);
    }).observe(end);

  const nameOf = (link) => link.querySelector("span").textContent;

  // What a lesson shows, how long it takes, and after which others
  function summary(link, needed) {
    const { about, minutes } = link.querySelector("small").dataset;
    const names = needed
      .map(nameOf)
      .join(", ")
      .replace(/, ([^,]*)$/, " and $1");
    const texts = {
      strong: nameOf(link),
      span: about,
      small: `${minutes} min${names && ` · after ${names}`}`,
    };
    const lines = Object.entries(texts).map(([tag, text]) => {
      const line = document.createElement(tag);
      line.append(text);
      return line;
    });
    const picture = link.querySelector("img");
    return link.closest("section + section") ? [picture.cloneNode(), ...lines] : lines;
  }

  // Whoever points at a lesson of the map sees what it shows, and which lessons it needs.
  for (const map of document.querySelectorAll(".lesson-map")) {
    const links = [...map.querySelectorAll("a")];
    const needsOf = (link) => link.closest("li").dataset.needs.split(" ");
    const needed = (by) => links.filter((link) => needsOf(by).includes(pageOf(link.href)));
    // What these need in turn is on the way to the lesson, too.
    const before = (all) => all.flatMap((link) => [link, ...before(needed(link))]);
    let pointed = null;
    let focused = null;
    const about = map.querySelector(".about");
    let shown = null;
    const show = () => {
      const link = pointed ?? focused;
      const first = link ? needed(link) : [];
      const way = new Set(before(first));
      for (const one of links) {
        one.classList.toggle("needed", first.includes(one));
        one.classList.toggle("on-the-way", way.has(one));
      }
      const lineOf = (part) => part.closest("[data-line]").dataset.line;
      const lines = link ? [link, ...way].map(lineOf) : [];
      for (const line of map.querySelectorAll("path"))
        line.classList.toggle("on-the-way", lines.includes(lineOf(line)));
      // At rest, the lesson where one begins or goes on
      const told = link ?? map.querySelector(".here");
      about.classList.toggle("rests", told !== link);
      if (told === shown) return; // a press on what is drawn anew would be no click
      shown = told;
      about.replaceChildren(...(told ? summary(told, needed(told)) : []));
    };
    onChange(() => {
      // Whoever goes on in a branch sees it.
      if (map.querySelector("section + section .here")) map.classList.remove("folded", "always");
      show();
    });
    about.addEventListener("click", () => {
      if (about.matches(".rests")) map.querySelector(".here").click();
    });
    const linkOf = ({ target }) => target.closest("li")?.querySelector("a") ?? null;
    const follow = (kind, keep) =>
      map.addEventListener(kind, (event) => {
        keep(event);
        show();
      });
    follow("pointerover", (event) => (pointed = linkOf(event)));
    follow("pointerleave", () => (pointed = null));
    // Whom a press has brought to a lesson asks for none yet.
    follow(
      "focusin",
      (event) => (focused = event.target.matches(":focus-visible") ? linkOf(event) : null),
    );
    follow("focusout", () => (focused = null));
    // Where nobody points, what a lesson needs is a button that leads there.
    map.addEventListener("click", ({ target }) => {
      if (!target.matches(".needs")) return;
      target.focus();
      const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      const behavior = isCalm ? "instant" : "smooth";
      needed(linkOf({ target }))[0].scrollIntoView({ behavior, block: "center" });
    });
    for (const link of links) {
      link.ariaDescription = link.title;
      link.title = ""; // would cover what is shown
    }
    map.addEventListener("keydown", ({ key, target, altKey, ctrlKey, metaKey, shiftKey }) => {
      if (!links.includes(target) || altKey || ctrlKey || metaKey || shiftKey) return;
      const seen = links.filter((link) => link.checkVisibility());
      seen[seen.indexOf(target) + { ArrowLeft: -1, ArrowRight: 1 }[key]]?.focus();
    });
    map.querySelector(".more")?.addEventListener("click", () => {
      map.classList.remove("folded", "always");
      links.find((link) => link.closest("section") !== links[0].closest("section")).focus();
    });
  }
}
