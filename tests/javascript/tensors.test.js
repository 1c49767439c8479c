"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { near, openPage, same } = require("./page.js");

const { add, dot, matmul, meanOfRows, sigmoid, softmax, transpose } = openPage(["tensors"]).lab
  .tensors;

test("products and sums", () => {
  assert.equal(dot([1, 2, 3], [4, 5, 6]), 32);
  same(add([1, 2], [10, 20]), [11, 22]);
  same(
    transpose([
      [1, 2, 3],
      [4, 5, 6],
    ]),
    [
      [1, 4],
      [2, 5],
      [3, 6],
    ],
  );
  same(
    matmul(
      [[1, 2]],
      [
        [3, 4, 5],
        [6, 7, 8],
      ],
    ),
    [[15, 18, 21]],
  ); // (1, 2) times (2, 3)
  same(
    meanOfRows([
      [1, 10],
      [3, 30],
    ]),
    [2, 20],
  );
});

test("softmax gives shares, whatever is added to all scores", () => {
  const shares = [Math.E / (Math.E + 2), 1 / (Math.E + 2), 1 / (Math.E + 2)];
  near(softmax([1, 0, 0]), shares);
  near(softmax([1001, 1000, 1000]), shares); // exp(1001) is no number any more
});

test("softmax of masked scores", () => {
  near(softmax([0, -Infinity, 0]), [0.5, 0, 0.5]);
  same(softmax([-Infinity, -Infinity]), [0, 0]);
});

test("sigmoid", () => {
  assert.equal(sigmoid(0), 0.5);
  near(sigmoid(2), 0.8807970779778823);
  assert.equal(sigmoid(-1000), 0);
});
