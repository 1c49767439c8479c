"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { randomFrom, randomState } = require("./bench-states.js");
const { lesson, near, openPage, same } = require("./page.js");

const { bench, benchState, tensors } = openPage().lab;
const { forward, gradients, loss, step } = bench;
const STATE = benchState.begin(lesson);

for (const [name, changed] of Object.entries({
  plain: {},
  causal: { isCausal: true },
  unscaled: { isScaled: false },
  "unscaled, by the temperature alone": { temperature: Math.SQRT1_2 },
})) {
  test(`the first lesson's numbers, ${name}`, () => {
    const { heads, context } = forward({ ...STATE, ...changed });
    for (const one of ["query", "key", "value", "scores"]) near(heads[0][one], lesson[one]);
    const wanted = lesson.layers[name.split(",")[0]];
    near(heads[0].weights, wanted.weights);
    near(heads[0].context, wanted.context);
    near(context, wanted.context);
  });
}

test("two heads stand beside each other in the context", () => {
  const [head] = STATE.heads;
  const other = { ...head, W_value: head.W_query };
  const { heads, context } = forward({ ...STATE, heads: [head, other] });
  same(
    context,
    lesson.words.map((_, i) => [...heads[0].context[i], ...heads[1].context[i]]),
  );
  near(context[2].slice(0, 2), lesson.layers.plain.context[2]);
});

test("all three masks count, and a word that may attend to nothing gets zeros", () => {
  const forbidden = [
    [0, 0],
    [3, 1],
  ];
  const { allowed, heads } = forward({ ...STATE, forbidden, isCausal: true, padding: 2 });
  const rows = ["000000", "110000", "111000", "101100", "111100", "111100"];
  same(
    allowed.map((row) => row.map(Number).join("")),
    rows,
  );
  same(heads[0].scaled[0], Array(6).fill(-Infinity));
  same([heads[0].weights[0], heads[0].context[0]], [Array(6).fill(0), [0, 0]]);
  near(heads[0].scores[0], lesson.scores[0]); // a mask leaves the scores themselves alone
});

test("softmax and its logarithm where an exponential overflows or underflows", () => {
  const shares = [Math.E / (Math.E + 2), 1 / (Math.E + 2), 1 / (Math.E + 2)];
  near(tensors.softmax([1001, 1000, 1000]), shares);
  near(tensors.logSoftmax([0, 0, -Infinity]), [Math.log(0.5), Math.log(0.5), -Infinity]);
  same(tensors.logSoftmax([5000, 0]), [0, -5000]);
});

test("the loss is the mean over rows, in which targets share evenly", () => {
  const weights = lesson.layers.plain.weights;
  const logs = (i, ...js) => js.map((j) => -Math.log(weights[i][j]));
  const targets = [
    [0, 1, 2],
    [0, 4, 0],
    [0, 4, 3],
  ];
  const wanted = (logs(1, 2)[0] + (logs(4, 0)[0] + logs(4, 3)[0]) / 2) / 2;
  const state = { ...STATE, targets };
  near(loss(state, forward(state)), wanted);
  const [a, b] = lesson.layers.plain.context[3];
  const contexts = [
    [0, 3, a + 1, b - 2],
    [0, 5, ...lesson.layers.plain.context[5]],
  ];
  const both = { ...state, contexts };
  near(loss(both, forward(both)), wanted + (1 + 4) / 2 / 2);
});

test("what is masked has no part in the loss", () => {
  const targets = [
    [0, 0, 5],
    [0, 5, 5],
  ];
  const contexts = [[0, 2, 9, 9]];
  const forbidden = lesson.words.map((_, j) => [2, j]);
  const state = { ...STATE, targets, contexts, forbidden, isCausal: true };
  near(loss(state, forward(state)), -Math.log(lesson.layers.causal.weights[5][5]));
  const nothing = { ...state, targets: targets.slice(0, 1) };
  assert.equal(loss(nothing, forward(nothing)), null);
});

test("without targets the loss is null and every gradient 0", () => {
  const layer = forward(STATE);
  assert.equal(loss(STATE, layer), null);
  for (const one of Object.values(gradients(STATE, layer)[0])) {
    assert.ok(one.flat().every((number) => number === 0));
  }
});

// (loss(W + ε) − loss(W − ε)) / 2ε for each number of the matrices
function slopes(state) {
  const epsilon = 1e-5;
  const lossWith = (h, name, r, c, shift) => {
    const moved = structuredClone(state);
    moved.heads[h][name][r][c] += shift;
    return loss(moved, forward(moved)) ?? 0;
  };
  return state.heads.map((head, h) =>
    ["W_query", "W_key", "W_value"].map((name) =>
      head[name].map((row, r) =>
        row.map((_, c) => {
          const rise = lossWith(h, name, r, c, epsilon) - lossWith(h, name, r, c, -epsilon);
          return rise / (2 * epsilon);
        }),
      ),
    ),
  );
}

test("gradients are the slopes of the loss", () => {
  const random = randomFrom(1);
  let trained = 0;
  for (let i = 0; i < 60; i += 1) {
    const state = { ...randomState(random, { size: 1 }), temperature: 0.5 + random() };
    const found = gradients(state, forward(state));
    const wanted = slopes(state);
    found.forEach((one, h) => {
      near([one.dW_query, one.dW_key, one.dW_value], wanted[h], 1e-7);
    });
    if (loss(state, forward(state)) !== null) trained += 1;
  }
  assert.ok(trained > 40, `${trained} of 60 states have a loss`);
});

const TARGETS = { ...STATE, targets: [[0, 1, 3]], contexts: [[0, 2, 1, 0]] };

test("steps go down the slope, and leave the state they began with alone", () => {
  const before = structuredClone(TARGETS);
  const { state, losses, stopped } = step(TARGETS, 100);
  same(TARGETS, before);
  assert.equal(stopped, null);
  assert.equal(losses.length, 100);
  near(losses.at(-1), loss(state, forward(state)));
  assert.ok(losses.every((one, t) => t === 0 || one < losses[t - 1]));
  assert.ok(losses[0] < loss(TARGETS, forward(TARGETS)));
  same({ ...state, heads: null }, { ...before, heads: null });
});

test("one step is rate times the gradient", () => {
  const rate = 0.3;
  const { state } = step({ ...TARGETS, rate });
  const [{ dW_key }] = gradients(TARGETS, forward(TARGETS));
  near(
    state.heads[0].W_key,
    lesson.W_key.map((row, r) => row.map((number, c) => number - rate * dW_key[r][c])),
  );
});

test("many steps are the same as one after the other", () => {
  let state = TARGETS;
  for (let t = 0; t < 5; t += 1) ({ state } = step(state));
  same(step(TARGETS, 5).state, structuredClone(state));
});

test("training stops before a number leaves the range, and says so", () => {
  const far = { ...TARGETS, contexts: [[0, 2, 99, -99]], rate: 10 };
  const { state, losses, stopped } = step(far, 100);
  assert.equal(stopped, "the next step would take a number beyond ±99");
  assert.ok(losses.length < 100);
  const numbers = Object.values(state.heads[0]).flat(2);
  assert.ok(numbers.every((number) => Math.abs(number) <= 99));
  near(step(state).state.heads[0].W_value, state.heads[0].W_value, 0);
});

test("without a target nothing is trained", () => {
  const { state, losses, stopped } = step(STATE, 3);
  same([state, losses], [STATE, []]);
  assert.match(stopped, /without a target/);
});
