"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { openPage } = require("./page.js");

const names = ["tensors", "attention", "dom", "numbers", "bench", "bench-state", "workbench"];
const { lab } = openPage([...names, "workbench-missions"]);
const of = (name) => lab.workbenchMissions.MISSIONS.find((one) => one.name === name);

const NONE = [
  [0, 0],
  [0, 0],
  [0, 0],
];
const W = [
  [1, 0],
  [0, 1],
  [0, 0],
];

// What the workbench knows of a state
function viewOf(words, x, changes = {}, { curve = [], W_query = W } = {}) {
  const given = { words, x, W_query, W_key: W, W_value: W };
  const state = { ...lab.benchState.begin(given), ...changes };
  const layer = lab.bench.forward(state);
  return { state, layer, head: layer.heads[0], curve };
}

const TWO = [
  [9, 0, 0],
  [9, 9, 0],
];

test("a word that stands twice has two equal rows", () => {
  const view = (words) => viewOf(words, [...TWO, TWO[0]]);
  assert.ok(of("twice").isDone(view(["a", "b", "A"])));
  assert.ok(!of("twice").isDone(view(["a", "b", "c"])));
  const last = viewOf(["a", "b", "a"], [...TWO, TWO[0]], { isCausal: true });
  assert.ok(!of("twice").isDone(last)); // they see different words
});

test("a weight of 0.9 of the second word on the last counts where no mask made it", () => {
  const words = ["a", "b"];
  const goal = of("only");
  assert.ok(
    !goal.isDone(
      viewOf(words, [
        [9, 0, 0],
        [0, 0, 0],
      ]),
    ),
  );
  assert.ok(
    goal.isDone(
      viewOf(words, [
        [5, 0, 0],
        [9, 0, 0],
      ]),
    ),
  );
  assert.ok(
    !goal.isDone(
      viewOf(words, [
        [5, 0, 0],
        [4, 0, 0],
      ]),
    ),
  );
  assert.ok(
    !goal.isDone(
      viewOf(
        words,
        [
          [5, 0, 0],
          [9, 0, 0],
        ],
        { forbidden: [[1, 0]] },
      ),
    ),
  );
});

test("the causal mask gives the first word all of its own weight", () => {
  const view = (isCausal) => viewOf(["a", "b"], TWO, { isCausal });
  assert.ok(of("mask").isDone(view(true)));
  assert.ok(!of("mask").isDone(view(false)));
});

test("equal weights count where no mask made them", () => {
  const none = { W_query: NONE };
  assert.ok(of("equal").isDone(viewOf(["a", "b"], TWO, {}, none)));
  assert.ok(!of("equal").isDone(viewOf(["a", "b"], TWO)));
  assert.ok(
    !of("equal").isDone(viewOf(["a", "b", "c"], [...TWO, TWO[0]], { forbidden: [[0, 1]] }, none)),
  );
});

test("a target that was met before any step of learning is no deed", () => {
  const met = { targets: [[0, 0, 1]] };
  const x = [
    [5, 0, 0],
    [9, 0, 0],
  ];
  assert.ok(!of("target").isDone(viewOf(["a", "b"], x, met)));
  assert.ok(of("target").isDone(viewOf(["a", "b"], x, met, { curve: [1, 0.1] })));
  assert.ok(
    !of("target").isDone(viewOf(["a", "b"], x, { targets: [[0, 0, 0]] }, { curve: [1, 0.1] })),
  );
});
