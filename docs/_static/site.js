"use strict";

// What can be scrolled must also be reachable from the keyboard.
const BOXES = "div.highlight pre, .math-wrapper, .table-wrapper, .output pre";
function markScrollable() {
  for (const box of document.querySelectorAll(BOXES)) {
    const isCut = getComputedStyle(box).overflowY === "hidden"; // there is more, but not by scrolling
    const scrolls =
      box.scrollWidth > box.clientWidth || (box.scrollHeight > box.clientHeight && !isCut);
    if (scrolls) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
// Without this script, or in a browser that folds all or nothing, a long output stays open.
if (CSS.supports("selector(::details-content)"))
  for (const output of document.querySelectorAll(".long-output")) output.open = false;
addEventListener("DOMContentLoaded", markScrollable);
addEventListener("load", markScrollable); // the font of the maths may have widened an equation
addEventListener("resize", markScrollable);
addEventListener("toggle", markScrollable, true); // what is folded has no size

// Paper can't be unfolded. What the style sheet opens for print in new browsers, this opens in all.
const FOLDED =
  ":is(.closer-look, .folded-code, .long-output, .predicted-result, [data-part=arithmetic]):not([open])";
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll(FOLDED)];
  for (const fold of opened) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of opened) fold.open = false;
});

// A first reading of a lesson leaves out its closer looks. One switch unfolds those of all lessons.
const closerLooks = [...document.querySelectorAll("details.closer-look")];
if (closerLooks.length) {
  const STORE = "attention-closer-looks";
  const change = document.createElement("input");
  change.type = "checkbox";
  const label = document.createElement("label");
  label.className = "closer-looks-switch";
  label.dataset.testid = "closer-looks";
  label.append(change, ` Unfold the ${closerLooks.length} closer looks`);
  document.querySelector("article .run-it-yourself")?.before(label);
  const unfold = (all) => {
    for (const look of closerLooks) look.open = all;
  };
  const openTarget = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (const look of closerLooks)
      if (look.contains(target) || look.parentElement === target) look.open = true;
  };
  try {
    change.checked = localStorage.getItem(STORE) === "open";
  } catch {}
  unfold(change.checked);
  change.addEventListener("change", () => {
    unfold(change.checked);
    try {
      localStorage.setItem(STORE, change.checked ? "open" : "folded");
    } catch {}
  });
  openTarget();
  addEventListener("hashchange", openTarget);
  for (const link of document.querySelectorAll(".toc-tree a"))
    link.classList.toggle("closer", link.textContent.startsWith("Closer look: "));
}

// The sidebar shows the page that one reads, however far down it stands; once more when all is loaded,
// because a style sheet that comes late moves it.
const showOwnPage = () => {
  const own = document.querySelector(".sidebar-tree .current-page");
  const sidebar = own?.closest(".sidebar-scroll");
  if (!sidebar) return;
  const { top, bottom } = own.getBoundingClientRect();
  const frame = sidebar.getBoundingClientRect();
  if (top < frame.top || bottom > frame.bottom)
    sidebar.scrollTop += top - frame.top - frame.height / 2;
};
addEventListener("DOMContentLoaded", showOwnPage);
addEventListener("load", showOwnPage);
