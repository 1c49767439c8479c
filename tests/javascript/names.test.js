"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { NAMES, SCRIPTS, openPage } = require("./page.js");

// Those that start something on a page do so as soon as they are read: they need the page.
const STARTERS = [
  "home",
  "home-writer",
  "lesson-figures",
  "puzzle",
  "review-lab",
  "walk",
  "workbench-start",
  "writer-lab",
];
const ALL = fs.readdirSync(SCRIPTS).filter((name) => name.endsWith(".js"));

test("what a script takes from another is there", () => {
  assert.equal(NAMES.length + STARTERS.length, ALL.length);
  const { lab } = openPage();
  for (const file of ALL) {
    const source = fs.readFileSync(path.join(SCRIPTS, file), "utf-8");
    for (const [, taken, from] of source.matchAll(/const \{ (.*) \} = lab\.(\w+);/g)) {
      for (const name of taken.split(", ")) {
        assert.ok(name in lab[from], `${file} takes ${name} from lab.${from}`);
      }
    }
  }
});
