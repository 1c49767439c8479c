"use strict";

// What the page does beside its two labs.

// The worked example is for readers without scripts; the sentence lab shows the same and more.
for (const part of document.querySelectorAll(".tag_without-script")) part.hidden = true;

document.querySelector("[data-testid=reset]").addEventListener("click", () => {
  lab.sentenceLab.reset();
  lab.reviewLab.reset();
});
document.querySelector("[data-testid=reset]").hidden = false;
