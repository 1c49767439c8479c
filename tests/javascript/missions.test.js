"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { openPage } = require("./page.js");

const { lab } = openPage();
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

test("a weight of 0.9 of the word that asks counts where no mask made it", () => {
  const words = ["b", "a"]; // of two words the first is the other one
  const isDone = (first, second, changes) =>
    of("only").isDone(
      viewOf(
        words,
        [
          [first, 0, 0],
          [second, 0, 0],
        ],
        changes,
      ),
    );
  assert.ok(isDone(9, 5));
  assert.ok(!isDone(4, 5));
  assert.ok(!isDone(0, 9)); // all on itself
  assert.ok(!isDone(9, 5, { forbidden: [[1, 1]] }));
});

test("the mission on one weight names two words that no reader can confuse", () => {
  const x = [
    [1, 0, 0],
    [0, 1, 0],
    [1, 1, 0],
  ];
  const said = (...words) => of("only").text(viewOf(words, x.slice(0, words.length)), () => false);
  assert.match(said("a", "b", "c"), /^Make “b” attend only to “c”: .* Now it is 0\.\d\d\.$/);
  assert.match(said("c", "b", "B"), /^Make “b” attend only to “c”/);
  assert.match(said("a", "b"), /^Make “b” attend only to “a”/);
  const unknown = of("only").text(viewOf(["p", "q"], [x[0], x[0]]), () => false);
  assert.match(unknown, /^Add a word that occurs once/);
  // of two equal words none can have all of the weight
  for (const words of [
    ["b", "b"],
    ["a", "b", "a"],
  ]) {
    assert.match(said(...words), /^Add a word that occurs once, and make “b” attend only/);
    const far = viewOf(words, [[99, 0, 0], ...x.slice(1, words.length)]);
    assert.ok(!of("only").isDone(far) && !of("only").isUndone(far));
  }
  const other = viewOf(["a", "b", "c"], x, { at: 2 });
  assert.match(
    of("only").text(other, () => false),
    /^Make “c” attend only to “b”/,
  );
});

test("where a key moved with its query and takes the lead, another one is to be dragged", () => {
  const x = [
    [1, 0, 0],
    [2, 0, 0],
    [0, 0, 0],
  ];
  const says = (moved, changes) =>
    of("only").text(viewOf(["a", "b", "c"], x, changes), (i) => i === moved);
  assert.match(says(1), /^“b” gives itself 0\.\d\d, “c” 0\.\d\d: now drag the key of “c”\.$/);
  assert.match(says(2), /^Make “b” attend only to “c”/);
  assert.match(says(1, { forbidden: [[1, 2]] }), /^Make “b” attend only to “c”/);
});

test("a mask does not undo what a row does by itself", () => {
  const x = [
    [9, 0, 0],
    [9, 0, 0],
    [0, 0, 0],
  ];
  const isUndone = (changes) => of("only").isUndone(viewOf(["b", "a", "c"], x, changes));
  assert.ok(isUndone({}));
  assert.ok(!isUndone({ isCausal: true })); // which hides the third word from the second
  assert.ok(!isUndone({ at: 2, isCausal: true, forbidden: [[2, 0]] }));
});

test("a weight just below 0.9 is not said to be 0.90", () => {
  const x = [
    [0, 0, 0],
    [1.77, 1.77, 0],
  ];
  const view = viewOf(["a", "b"], x.toReversed(), { at: 1 });
  view.head.weights[1][0] = 0.8999;
  assert.ok(
    of("only")
      .text(view, () => false)
      .endsWith("Now it is 0.89."),
  );
  assert.ok(!of("only").isDone(view));
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

test("whoever trained for a target reads which pair of words reached it", () => {
  const { answer } = of("target");
  const x = [
    [5, 0, 0],
    [9, 0, 0],
  ];
  const view = (targets) => viewOf(["a", "b"], x, { targets }, { curve: [1, 0.1] });
  assert.match(answer(view([[0, 0, 1]])), /^The query of “a” and the key of “b” were/);
  assert.match(
    answer(
      view([
        [0, 0, 0],
        [0, 1, 1],
      ]),
    ),
    /^The query of “b” and the key of “b” were/,
  ); // the largest
  for (const none of [[], [[0, 0, 0]]]) assert.match(answer(view(none)), /^The query of one word/);
  const untrained = viewOf(["a", "b"], x, { targets: [[0, 0, 1]] });
  assert.match(answer(untrained), /^The query of one word/); // a mask may have done it
});
