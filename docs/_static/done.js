"use strict";

// What a reader has done, and the marks of the lessons wherever one links to them.

{
  // For this browser alone: labels of exercises and questions, and for each question which answer was
  // chosen first, as label/number. A browser may refuse to keep anything, and then marks last as long
  // as the page.
  const STORE = "attention-done";
  const LAST = "attention-last-lesson";
  const done = new Set();
  const listeners = [];

  function kept(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  }

  function keep(name, text) {
    try {
      localStorage.setItem(name, text);
    } catch {}
  }

  const tell = () => {
    for (const listener of listeners) listener();
  };

  function read(text) {
    done.clear();
    for (const label of JSON.parse(text ?? "[]")) done.add(label);
  }

  function mark(label, isDone = true) {
    if (done.has(label) === isDone) return;
    if (isDone) done.add(label);
    else done.delete(label);
    keep(STORE, JSON.stringify([...done]));
    tell();
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

  try {
    read(kept(STORE));
  } catch {}
  addEventListener("storage", (event) => {
    if (event.key !== STORE) return;
    read(event.newValue);
    tell();
  });
  globalThis.doneStore = { done, mark, onChange, showMark };

  // ---- the lessons

  const root = new URL(document.documentElement.dataset.content_root, location.href).href;
  const pageOf = (address) => address.replace(root, "").replace(/\.html.*$/, "");
  if (pageOf(location.href) in LESSON_TASKS) keep(LAST, pageOf(location.href));

  function showLessons() {
    for (const link of document.querySelectorAll(":is(.sidebar-tree, .lesson-map, .stops) a")) {
      const page = pageOf(link.href);
      const tasks = LESSON_TASKS[page];
      if (!tasks) continue;
      const solved = tasks.filter((label) => done.has(label)).length;
      const isDone = solved === tasks.length;
      link.classList.toggle("done", isDone);
      if (link.closest(".sidebar-tree")) showMark(link, isDone && "✓");
      if (!link.closest(".lesson-map")) continue;
      const isHere = page === kept(LAST);
      link.classList.toggle("here", isHere);
      const share = isDone ? "✓ done" : solved > 0 && `${solved} of ${tasks.length} done`;
      showMark(link, [share, isHere && "you are here"].filter(Boolean).join(", "));
    }
    const soFar = document.querySelector(".so-far");
    const n = document.querySelectorAll(".stops .done").length;
    if (soFar) soFar.textContent = n > 0 ? ` · ${n} done` : "";
  }
  onChange(showLessons);

  // Whoever points at a lesson of the map sees which lessons it needs.
  for (const map of document.querySelectorAll(".lesson-map")) {
    const show = ({ target }) => {
      const needs = target.closest?.("li")?.dataset.needs.split(" ") ?? [];
      for (const link of map.querySelectorAll("a")) {
        link.classList.toggle("needed", needs.includes(pageOf(link.href)));
      }
    };
    for (const kind of ["pointerover", "pointerleave", "focusin", "focusout"]) {
      map.addEventListener(kind, show);
    }
  }
}
