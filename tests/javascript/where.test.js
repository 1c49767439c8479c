"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { expected, near, openPage, same } = require("./page.js");

const { explain } = openPage(["tensors", "attention", "dom", "where"]).lab.where;
const lesson = expected.worked_example;
const STATE = {
  ...lesson,
  words: ["Your", "journey", "starts", "with", "one", "step"],
  at: 1,
  isScaled: true,
  isCausal: false,
};

test("each number is the layer's", () => {
  const { numbers } = explain(STATE);
  const value = (name) => numbers.get(name).value;
  near(value("query.1"), lesson.query[1][1]);
  near(value("key.5.0"), lesson.key[5][0]);
  near(value("value.2.1"), lesson.value[2][1]);
  near(value("score.3"), lesson.scores[1][3]);
  near(value("scaled.3"), lesson.scores[1][3] / Math.SQRT2);
  near(value("weight.4"), lesson.layers.plain.weights[1][4]);
  near(value("mix.4"), lesson.layers.plain.weights[1][4]);
  near(value("map.5.2"), lesson.layers.plain.weights[5][2]);
  near(value("context.0"), lesson.layers.plain.context[1][0]);
});

test("each number says what it was made of", () => {
  const { numbers } = explain(STATE);
  const score = numbers.get("score.1");
  same(score.sources, ["query.0", "query.1", "key.1.0", "key.1.1"]);
  assert.equal(
    score.text,
    "score of journey = query of journey · key of journey = 0.4306 × 0.4433 + 1.4551 × 1.1419 = 1.8524",
  );
  const inputs = /^(x|W_query|W_key|W_value)\./;
  for (const [name, number] of numbers) {
    for (const source of number.sources) {
      assert.ok(numbers.has(source) || inputs.test(source), `${name} comes from ${source}`);
    }
  }
});

test("without the scale a score stays what it is", () => {
  const { numbers } = explain({ ...STATE, isScaled: false });
  near(numbers.get("scaled.3").value, lesson.scores[1][3]);
  near(numbers.get("weight.4").value, lesson.layers.unscaled.weights[1][4]);
});

test("a hidden word says so", () => {
  const { numbers } = explain({ ...STATE, isCausal: true });
  assert.equal(numbers.get("scaled.2").value, -Infinity);
  assert.match(numbers.get("scaled.2").text, /starts stands after journey: the causal mask hides/);
  assert.equal(numbers.get("weight.2").value, 0);
  assert.match(numbers.get("weight.2").text, /starts is hidden/);
  near(numbers.get("map.1.0").value, lesson.layers.causal.weights[1][0]);
});

test("where powers would overflow, the text takes the largest score away first", () => {
  const x = STATE.x.map((row) => row.map((number) => 30 * number));
  const { text, value } = explain({ ...STATE, x }).numbers.get("map.1.1");
  assert.match(text, /exp\(1178\.\d+ − 1178\.\d+\)/);
  assert.ok(text.endsWith(value.toFixed(4)));
});
