// What can be scrolled sideways must also be reachable from the keyboard.
"use strict";
const boxes = "div.highlight pre, .math-wrapper, .table-wrapper, .sphx-glr-script-out pre";
function markScrollable() {
  for (const box of document.querySelectorAll(boxes)) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", markScrollable);
addEventListener("load", markScrollable); // the maths font may have widened an equation
addEventListener("resize", markScrollable);
