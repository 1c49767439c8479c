"use strict";

// The judge of the puzzles without a page. That it agrees with Python's on random numbers and on all
// solutions is tested on the built page, which has the puzzles: tests/site/test_puzzles.py.

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { near, openPage, same } = require("./page.js");

const { puzzleJudge } = openPage().lab;
const { countNumbers, forward, judge, judgeClaim, read, write } = puzzleJudge;

const FIRST = {
  features: ["noun", "position", "one"],
  words: { cat: [1, 0, 1], dog: [0.5, 0, 1] },
  positions: [
    [0, 0, 0],
    [0, 1, 0],
    [0, 2, 0],
  ],
  shown: "cat dog",
  others: ["dog cat", "dog dog cat"],
  start: { W_query: [[0], [0], [0]], W_key: [[0], [0], [0]], mask: "none", temperature: 1 },
  settable: ["W_query", "W_key", "mask", "temperature"],
  goal: { kind: "weight", of: "first", at_least: 0.9 },
  praise: "Well.",
};
const set = (changes) => ({ ...FIRST.start, ...changes });
const SOLVED = set({ W_query: [[0], [0], [1]], W_key: [[0], [-4], [0]] });

test("the goal holds for all sentences, or the judge says where it does not", () => {
  assert.equal(judge(FIRST, SOLVED).reason, "solved");
  same(judge(FIRST, FIRST.start), {
    reason: "here",
    text: "“cat” gives the first word a weight of 0.500; at least 0.9 is asked.",
    isSolved: false,
  });
  const byWord = set({ W_query: [[0], [0], [1]], W_key: [[9], [0], [0]] });
  same(judge(FIRST, byWord), {
    reason: "word",
    text: "In “dog cat”: “dog” attends to “cat” because of its embedding, not because of its position.",
    isSolved: false,
    words: ["dog", "cat"],
  });
});

test("weights are a softmax under the mask and the temperature", () => {
  const state = set({ W_query: [[0], [0], [1]], W_key: [[0], [-4], [0]], temperature: 2 });
  near(forward(FIRST, state, ["cat", "dog"]).heads[0].weights[0][0], 1 / (1 + Math.exp(-2)));
  const masked = forward(FIRST, { ...state, mask: "not itself" }, ["cat", "dog"]).heads[0];
  near(masked.weights, [
    [0, 1],
    [1, 0],
  ]);
  const causal = forward(FIRST, { ...state, mask: "causal" }, ["cat", "dog"]).heads[0];
  near(causal.weights[0], [1, 0]);
});

test("what is set is counted", () => {
  assert.equal(countNumbers(FIRST, FIRST.start), 0);
  assert.equal(countNumbers(FIRST, SOLVED), 2);
  assert.equal(countNumbers(FIRST, { ...SOLVED, mask: "causal", temperature: 0.5 }), 4);
});

test("a claim is right for the right reason alone", () => {
  const impossible = { claims: ["a", "b", "c"], answers: ["A", "B", "C"], right: 1 };
  same(judgeClaim({ impossible }, 1), { reason: "impossible", text: "B", isSolved: true });
  same(judgeClaim({ impossible }, 2), { reason: "claim", text: "C", isSolved: false });
  const possible = { claims: ["a", "b", "c"], answers: ["A", "B", "C"] };
  same(judgeClaim({ impossible: possible }, 0), {
    reason: "possible",
    text: "A",
    isSolved: false,
  });
});

test("an address holds everything that may be set, and nothing else", () => {
  const puzzles = { first: FIRST };
  const state = { ...SOLVED, mask: "not itself", temperature: 0.5 };
  const text = write("first", FIRST, state);
  assert.equal(text, "first&W_query=0,0,1&W_key=0,-4,0&mask=not-itself&temperature=0.5");
  same(read(text, puzzles), { name: "first", state });
  same(read("first", puzzles).state, FIRST.start);
  for (const [bad, message] of [
    ["second", /names no puzzle/],
    ["constructor", /names no puzzle/],
    ["first&W_value=1,2,3", /lets one set no W_value/],
    ["first&W_key=1,2", /W_key has 3 numbers/],
    ["first&W_key=1,2,x", /W_key has numbers from -99 to 99/],
    ["first&W_key=1,,3", /W_key has numbers from -99 to 99/],
    ["first&temperature=0", /temperature has numbers from 0.05 to 10/],
    ["first&mask=all", /no such mask/],
  ]) {
    assert.throws(() => read(bad, puzzles), { message });
  }
});
