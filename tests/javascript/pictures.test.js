"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { near, openPage, same } = require("./page.js");

const { dom, plane } = openPage(["tensors", "dom", "plane"]).lab;

test("digits have a real minus sign, and zero has none", () => {
  same([dom.digits(-0.12345), dom.digits(-0.00001), dom.digits(2, 0)], ["−0.1235", "0.0000", "2"]);
});

test("both axes of a picture have the same unit, and 0 is in it", () => {
  const place = plane.frame([
    [1, 1],
    [3, 2],
  ]);
  const [left, bottom] = place([0, 0]);
  same([left, bottom], [20, 280]);
  const [right, top] = place([3, 3]);
  near(right - left, bottom - top);
});

test("what is high fits in as well as what is wide", () => {
  const tall = plane.frame([[3, 40]])([3, 40]);
  const wide = plane.frame([[40, 3]])([40, 3]);
  same([tall[1], wide[0]], [20, 256]); // a margin of 20 above; on the right room for words, too
});

test("a single point at 0 has a place, too", () => {
  same(plane.frame([[0, 0]])([0, 0]), [20, 280]);
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
