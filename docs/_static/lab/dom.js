"use strict";

// Small helps for making parts of a page. Text only ever enters as text: no markup is parsed.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children); // strings become text
  return made;
}

// A part of a picture, with its numbers rounded to what can be seen
function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, typeof value === "number" ? value.toFixed(2) : value);
  }
  made.append(...children);
  return made;
}

// −0.1235 with a real minus sign
function digits(number, places = 4) {
  const text = number.toFixed(places);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

// Speak when the reader pauses, so that a screen reader hears results and not every keystroke, and
// nothing before the reader has done something.
function speaker(region) {
  let isAwake = false;
  let timer;
  for (const kind of ["input", "click"]) {
    region.closest(".lab").addEventListener(kind, () => (isAwake = true), { capture: true });
  }
  return (text) => {
    clearTimeout(timer);
    if (!isAwake) return;
    timer = setTimeout(() => {
      if (region.textContent !== text) region.textContent = text;
    }, 800);
  };
}

// One stop of the Tab key for many parts: the arrow keys go on from there. `lines` gives arrays of
// parts that stand beside each other; up and down change the line.
function moveByArrows(box, lines) {
  box.addEventListener("keydown", (event) => {
    const all = lines();
    const at = all.findIndex((parts) => parts.includes(event.target));
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const parts = all.flat();
    const flat = parts.indexOf(event.target);
    const place = all[at].indexOf(event.target);
    const next = {
      ArrowLeft: parts[flat - 1],
      ArrowRight: parts[flat + 1],
      ArrowUp: all[at - 1]?.[Math.min(place, all[at - 1].length - 1)],
      ArrowDown: all[at + 1]?.[Math.min(place, all[at + 1].length - 1)],
      Home: all[at][0],
      End: all[at].at(-1),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
  box.addEventListener("focusin", (event) => setStop(box, event.target));
}

// Let the Tab key stop at this part of the box, and at no other.
function setStop(box, part) {
  for (const other of box.querySelectorAll("[tabindex='0']")) other.tabIndex = -1;
  if (part) part.tabIndex = 0;
}
