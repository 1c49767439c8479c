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

// Speak when the reader pauses, so that a screen reader hears results and not every keystroke.
function speaker(region) {
  let timer;
  return (text) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (region.textContent !== text) region.textContent = text;
    }, 800);
  };
}

// One stop of the Tab key for many parts: the arrow keys go on from there. `lines` are arrays of
// parts that stand beside each other; up and down change the line.
function moveByArrows(box, lines) {
  const parts = lines.flat();
  const first = parts.find((part) => part.tabIndex === 0) ?? parts[0];
  for (const part of parts) part.tabIndex = part === first ? 0 : -1;
  box.onkeydown = (event) => {
    const line = lines.findIndex((parts) => parts.includes(event.target));
    if (line < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const at = lines[line].indexOf(event.target);
    const flat = parts.indexOf(event.target);
    const next = {
      ArrowLeft: parts[flat - 1],
      ArrowRight: parts[flat + 1],
      ArrowUp: lines[line - 1]?.[Math.min(at, lines[line - 1].length - 1)],
      ArrowDown: lines[line + 1]?.[Math.min(at, lines[line + 1].length - 1)],
      Home: lines[line][0],
      End: lines[line].at(-1),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  for (const part of parts) {
    part.onfocus = () => {
      for (const other of parts) other.tabIndex = other === part ? 0 : -1;
    };
  }
}
