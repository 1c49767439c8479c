"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { lesson, near, openPage } = require("./page.js");

const { benchEquation, lessonNumbers, tensors } = openPage().lab;
const { NAMED, STOPS, learn, sumOf } = lessonNumbers;

test("a sum names its factors, and ends with what the products add up to", () => {
  const [a, b] = [lesson.x[1], tensors.transpose(lesson.W_query)[0]];
  const text = sumOf("number 1 of query_2", "x_2 · column 1 of W_query", a, b, 4);
  const [name, factors, products, result] = text.split(/ = | ≈ /);
  assert.equal(name, "number 1 of query_2");
  assert.equal(factors, "x_2 · column 1 of W_query");
  assert.equal(Number(result).toFixed(4), tensors.dot(a, b).toFixed(4));
  const pairs = products.split(" + ").map((one) => one.split(" × ").map(Number));
  near(
    pairs,
    a.map((one, i) => [one, b[i]]),
    5e-5,
  );
  assert.equal(benchEquation.typeset(text).length, 2); // a subject, and an equation
});

test("a negative number has a real minus sign", () => {
  assert.match(sumOf("s", "a · b", [1, -1], [0.5, 0.25], 2), /−1.00 × 0.25 ≈ 0.25$/);
});

test("the stops rise from 0 to 2000, by those with a name", () => {
  assert.equal(STOPS[0], 0);
  assert.equal(STOPS.at(-1), 2000);
  assert.ok(NAMED.every((stop) => STOPS.includes(stop)));
  assert.ok(STOPS.every((stop, i) => i === 0 || stop > STOPS[i - 1]));
});

test("training begins with the lesson's weights and is gradient descent", () => {
  const seen = learn(lesson);
  near(seen[0].weights, lesson.layers.plain.weights);
  for (const { weights, mean, loss } of seen) {
    const onTargets = weights.map((row, i) => row[(i + 1) % row.length]);
    near(mean, onTargets.reduce((a, b) => a + b) / onTargets.length);
    near(loss, -onTargets.reduce((sum, weight) => sum + Math.log(weight), 0) / onTargets.length);
  }
  assert.ok(seen.at(-1).loss < seen[0].loss / 2);
});

test("the first step subtracts the gradient, here by finite differences", () => {
  const { matmul, softmax, transpose } = tensors;
  const weightsOf = ({ x, W_query, W_key }) =>
    matmul(matmul(x, W_query), transpose(matmul(x, W_key))).map((row) =>
      softmax(row.map((score) => score / Math.SQRT2)),
    );
  const lossOf = (numbers) =>
    weightsOf(numbers).reduce((sum, row, i) => sum - Math.log(row[(i + 1) % 6]) / 6, 0);
  const moved = (name, r, c, by) => {
    const changed = lesson[name].map((row) => [...row]);
    changed[r][c] += by;
    return { ...lesson, [name]: changed };
  };
  const slope = (name, r, c) =>
    (lossOf(moved(name, r, c, 1e-5)) - lossOf(moved(name, r, c, -1e-5))) / 2e-5;
  const after = (name) =>
    lesson[name].map((row, r) => row.map((number, c) => number - slope(name, r, c) / 2));
  const stepped = { ...lesson, W_query: after("W_query"), W_key: after("W_key") };
  near(learn(lesson)[1].weights, weightsOf(stepped), 1e-8);
});
