"use strict";

// What the tests share: a page without a browser, and numbers that nearly agree.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

const SCRIPTS = path.join(__dirname, "../../docs/_static/lab");

// What the package computes: expected.py
const expected = JSON.parse(fs.readFileSync(path.join(__dirname, "expected.json"), "utf-8"));

// Runs scripts in a fresh global scope, one after the other, and returns what they add to `lab`.
// `files` holds, by address, the scripts that a page may add to itself later.
function openPage(names, files = {}) {
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
  for (const name of names) run(fs.readFileSync(path.join(SCRIPTS, `${name}.js`), "utf-8"));
  return { lab: run("lab"), numberReader: run("globalThis.numberReader"), requests };
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

module.exports = { SCRIPTS, expected, near, openPage, same };
