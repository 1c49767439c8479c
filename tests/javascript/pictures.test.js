"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { near, openPage, same } = require("./page.js");

const bench = ["bench", "plane", "workbench", "workbench-map", "workbench-planes"];
const { dom, plane, ...lab } = openPage(["tensors", "attention", "dom", ...bench]).lab;

test("digits have a real minus sign, and zero has none", () => {
  same([dom.digits(-0.12345), dom.digits(-0.00001), dom.digits(2, 0)], ["−0.1235", "0.0000", "2"]);
});

test("both axes of a picture have the same unit, and 0 is in it", () => {
  const place = plane.frame([
    [1, 1],
    [3, 2],
  ]);
  const [left, bottom] = place([0, 0]);
  same([left, bottom], [20, 250]);
  const [right, top] = place([3, 3]);
  near(right - left, bottom - top);
});

test("what is high fits in as well as what is wide", () => {
  const tall = plane.frame([[3, 40]])([3, 40]);
  const wide = plane.frame([[40, 3]])([40, 3]);
  same([tall[1], wide[0]], [20, 256]); // a margin of 20 above; on the right room for words, too
});

test("a single point at 0 has a place, too", () => {
  same(plane.frame([[0, 0]])([0, 0]), [20, 250]);
});

test("a place in the picture leads back to its point", () => {
  const place = plane.frame([
    [-1, 2],
    [3, 0.5],
  ]);
  near(place.back(place([0.7, -1.3])), [0.7, -1.3]);
});

test("an embedding that is moved gives what was asked for, and moves no further than that takes", () => {
  const { nearestEmbedding } = lab.workbenchPlanes;
  const W = [
    [0.3, 0.5],
    [0.2, -0.7],
    [0.1, 0.9],
  ];
  const x = [0.55, 0.87, 0.66];
  const moved = nearestEmbedding(x, W, [1.2, -0.4]);
  const made = [0, 1].map((c) => W.reduce((sum, row, r) => sum + moved[r] * row[c], 0));
  near(made, [1.2, -0.4], 1e-3); // the embedding has four decimals
  // What is orthogonal to both columns of W changes no query: along it, nothing moves.
  const [a, b] = [W.map((row) => row[0]), W.map((row) => row[1])];
  const across = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  near(
    across.reduce((sum, one, r) => sum + one * (moved[r] - x[r]), 0),
    0,
    1e-3,
  );
});

test("columns that point the same way leave most queries without an embedding", () => {
  const { nearestEmbedding } = lab.workbenchPlanes;
  for (const factor of [0, 2]) {
    const W = [0.3, 0.2, 0.1].map((one) => [one, factor * one]);
    assert.equal(nearestEmbedding([1, 2, 3], W, [1, 1]), null);
  }
});

test("what the rows have in common is said in good English, and equal weights have no favourite", () => {
  const { finding } = lab.workbenchMap;
  const words = ["a", "b", "c"];
  const rows = (...list) => list.map((j) => words.map((_, i) => (i === j ? 0.5 : 0.25)));
  const even = [0.3, 0.3, 0.3];
  assert.equal(finding(rows(1, 1, 1), words), "All words attend most to b.");
  assert.equal(finding(rows(0, 1, 1), words), "The largest weights of the rows are on 2 words.");
  assert.match(finding([even, even, even], words), /^No word attends to one word most/);
  const mixed = finding([...rows(0), even, even], words);
  assert.equal(
    mixed,
    "The largest weights of the rows are on 1 word; in 2 rows the largest weights are equal.",
  );
  assert.match(finding([[0, 0, 0]], words), /all weights are 0/);
  assert.deepEqual(
    [0, 1, 2].map((n) => lab.workbench.plural(n, "word")),
    ["0 words", "1 word", "2 words"],
  );
});

test("a number is never wider than its cell", () => {
  const { short } = lab.workbench;
  const numbers = [-1.23456, 98.7654, -970.299, 9702.99, -19405.98, 1.9e9, -Infinity];
  same(numbers.map(short), ["−1.2346", "98.77", "−970.3", "9703", "−19406", "2e9", "−∞"]);
});

test("a hull has the outer points alone", () => {
  const square = [
    [0, 0],
    [2, 0],
    [2, 2],
    [0, 2],
  ];
  const hull = structuredClone(plane.hull([[1, 1], ...square, [1, 0]]));
  assert.deepEqual(hull, square);
});
