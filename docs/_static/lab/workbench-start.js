"use strict";

// Starts the page's workbench with the numbers that the page holds, one entry per preset: with the preset
// that the address names, with a trained model, where weights mean something, or with the first.

{
  const texts = [...document.querySelectorAll("script.workbench-numbers")];
  const numbers = Object.assign({}, ...texts.map((one) => JSON.parse(one.textContent)));
  const named = location.hash.match(/bench=(\w+)$/)?.[1];
  const preset = [named, "trained"].find((name) => Object.hasOwn(numbers, name));
  const box = document.getElementById("workbench");
  Object.assign(lab.workbench, lab.workbench.start(box, numbers, { preset }));
  // A lesson leads to its own numbers.
  for (const link of document.querySelectorAll("[data-part=onward] a")) link.hash = "bench=lesson";
  // What is for readers without scripts: the workbench shows the same and more.
  for (const part of document.querySelectorAll(".tag_without-script")) part.hidden = true;
}
