"use strict";

// What the tests share: a page without a browser, and numbers that nearly agree.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const SCRIPTS = path.join(__dirname, "../../docs/_static/lab");
// Those that start nothing as soon as they are read, each behind what it takes something from
const first = ["tensors", "attention", "tokenizer", "classifier", "models", "dom", "tokens"];
const texts = ["bench-texts", "bench-explain-gradients", "bench-explain", "bench-equation"];
const bench = ["bench", ...texts, "bench-state", "bench-python"];
const parts = "sentence map planes numbers options learning share missions".split(" ");
const workbench = ["plane", "plane-drag", "workbench", ...parts.map((part) => `workbench-${part}`)];
const writing = ["bpe", "writer", "writer-heads"];
const walk = ["walk-frames", "walk-texts", "lesson-numbers", "puzzle-judge", "puzzle-maps"];
const NAMES = [...first, "numbers", "map", ...bench, ...workbench, ...writing, ...walk];

// What the package computes: expected.py
const expected = JSON.parse(fs.readFileSync(path.join(__dirname, "expected.json"), "utf-8"));
const words = ["Your", "journey", "starts", "with", "one", "step"];
const lesson = { words, ...expected.worked_example };

// Runs all scripts in a fresh global scope, one after the other, and returns what they add to `lab`.
// `files` holds, by address, the scripts that a page may add to itself later.
function openPage(files = {}) {
  const requests = [];
  const run = (code) => vm.runInContext(code, page);
  const append = (script) => {
    requests.push(script.src);
    queueMicrotask(() => {
      if (!(script.src in files)) return script.onerror();
      run(files[script.src]);
      script.onload();
    });
  };
  const documentElement = { dataset: { content_root: "../" } };
  const document = { createElement: () => ({}), documentElement, head: { append } };
  const page = vm.createContext({
    TextDecoder,
    TextEncoder,
    addEventListener() {},
    atob,
    btoa,
    document,
    structuredClone,
  });
  for (const name of NAMES) run(fs.readFileSync(path.join(SCRIPTS, `${name}.js`), "utf-8"));
  return { lab: run("lab"), numberReader: run("globalThis.numberReader"), requests };
}

// A page with a small model of this kind, and the words that it knows
async function openModel(kind) {
  const { words, model } = expected.models[kind];
  const files = { "../_static/lab-words.js": words, [`../_static/lab-${kind}.js`]: model };
  const { lab } = openPage(files);
  return { lab, ids: await lab.models.load("words"), model: await lab.models.load(kind) };
}

// Arrays of another scope have another prototype: compare copies.
function same(actual, wanted) {
  assert.deepEqual(structuredClone(actual), wanted);
}

function near(actual, wanted, tolerance = 1e-9) {
  if (typeof wanted === "number") {
    const isNear = actual === wanted || Math.abs(actual - wanted) <= tolerance;
    assert.ok(isNear, `expected ${wanted}, got ${actual}`);
    return;
  }
  assert.equal(actual.length, wanted.length);
  wanted.forEach((one, i) => {
    near(actual[i], one, tolerance);
  });
}

module.exports = { NAMES, SCRIPTS, expected, lesson, near, openModel, openPage, same };
