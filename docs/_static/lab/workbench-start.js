"use strict";

// Starts the page's workbench with the numbers that the page holds: one entry per preset, in order.

{
  const texts = [...document.querySelectorAll("script.workbench-numbers")];
  const numbers = Object.assign({}, ...texts.map((one) => JSON.parse(one.textContent)));
  Object.assign(lab.workbench, lab.workbench.start(document.getElementById("workbench"), numbers));
}
