"use strict";

const { test } = require("node:test");
const { expected, near, openPage, same } = require("./page.js");

const { attentionScores, causalMask, energyPooling, selfAttention } = openPage([
  "tensors",
  "attention",
]).lab.attention;
const lesson = expected.worked_example;

test("queries, keys, values and scores of the first lesson", () => {
  const layer = selfAttention(lesson.x, lesson, { scale: 1 });
  for (const name of ["query", "key", "value", "scores"]) near(layer[name], lesson[name]);
});

for (const [name, options] of Object.entries({
  plain: {},
  causal: { mask: causalMask(6) },
  unscaled: { scale: 1 },
})) {
  test(`weights and contexts of the first lesson, ${name}`, () => {
    const layer = selfAttention(lesson.x, lesson, options);
    near(layer.weights, lesson.layers[name].weights);
    near(layer.context, lesson.layers[name].context);
  });
}

test("the numbers that the lesson prints", () => {
  const { weights, context } = selfAttention(lesson.x, lesson);
  near(weights[1], [0.15, 0.2264, 0.2199, 0.1311, 0.0906, 0.182], 6e-5);
  near(context[1], [0.3061, 0.821], 6e-5);
});

test("a mask hides, and a word may see itself and what stands before it", () => {
  same(causalMask(3), [
    [true, false, false],
    [true, true, false],
    [true, true, true],
  ]);
  const x = [[1], [2]];
  same(attentionScores(x, x, { mask: causalMask(2) }), [
    [1, -Infinity],
    [2, 4],
  ]);
});

test("energy pooling", () => {
  const { weights, context } = energyPooling(lesson.x, lesson.energy.w);
  near(weights, lesson.energy.weights);
  near(context, lesson.energy.context);
});
