"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { expected, near, openPage, same } = require("./page.js");

const { words, model } = expected.models.energy;
const FILES = { "../_static/lab-words.js": words, "../_static/lab-energy.js": model };

test("every kind of 16-bit number", () => {
  const { halfToNumber } = openPage().lab.models;
  const { bits, numbers } = expected.halves;
  bits.forEach((half, i) => {
    assert.equal(halfToNumber(half), numbers[i]);
  });
});

test("a file is asked for once, and read in the order of ids", async () => {
  const { lab, requests } = openPage(FILES);
  const [ids] = await Promise.all([lab.models.load("words"), lab.models.load("words")]);
  same(requests, ["../_static/lab-words.js"]);
  same([...ids].slice(0, 5), [
    ["<pad>", 0],
    ["<unk>", 1],
    ["<sep>", 2],
    ["the", 3],
    ["good", 4],
  ]);
});

test("a table of 8 bits is written row by row", async () => {
  const { embedding: wanted, model: script } = expected.models.qkv;
  const { lab } = openPage({ "../_static/lab-qkv.js": script });
  const one = await lab.models.load("qkv");
  near(
    wanted.map((_, row) => one.embedding(row)),
    wanted,
    1e-12,
  );
});

test("a file that did not come is asked for again", async () => {
  const files = {};
  const { lab, requests } = openPage(files);
  await assert.rejects(lab.models.load("words"), { message: /lab-words\.js can't be loaded/ });
  Object.assign(files, FILES);
  assert.ok((await lab.models.load("words")).has("good"));
  assert.equal(requests.length, 2);
});
