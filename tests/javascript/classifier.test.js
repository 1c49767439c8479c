"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { expected, near, openPage, same } = require("./page.js");

const NAMES = ["tensors", "attention", "tokenizer", "classifier", "models", "dom", "tokens"];
const SINGLE = 1e-5; // the package's positions have 32 bits

async function open(kind) {
  const { words, model } = expected.models[kind];
  const files = { "../_static/lab-words.js": words, [`../_static/lab-${kind}.js`]: model };
  const { lab } = openPage(NAMES, files);
  return { lab, ids: await lab.models.load("words"), model: await lab.models.load(kind) };
}

const meanOfRows = (A) => A[0].map((_, j) => A.reduce((sum, row) => sum + row[j] / A.length, 0));

test("positions are those of the package", () => {
  const { position } = openPage(["tensors", "attention", "classifier"]).lab.classifier;
  const table = expected.positions;
  near(
    table.map((row, p) => position(p, row.length, 1000)),
    table,
    1e-6,
  );
});

for (const kind of Object.keys(expected.models)) {
  test(`${kind} reads every text as the package does`, async () => {
    const { lab, ids, model } = await open(kind);
    for (const one of expected.models[kind].readings) {
      const { read, tokens, ...answer } = lab.tokens.readReview(
        model,
        ids,
        one.text,
        one.distractor,
      );
      same(
        tokens.map((token) => token.id),
        one.ids,
      );
      near(answer.logit, one.logit, SINGLE);
      near(answer.probability, 1 / (1 + Math.exp(-one.logit)), SINGLE);
      if (kind === "qkv") near(answer.map, one.weights, SINGLE);
      const weights = kind === "qkv" ? meanOfRows(one.weights) : one.weights;
      near(answer.weights, weights, SINGLE);
      near(
        read.map((token) => token.weight),
        weights,
        SINGLE,
      );
    }
  });

  test(`${kind} has only its bias to say of an empty text`, async () => {
    const { lab, ids, model } = await open(kind);
    for (const text of ["", "<br />", "12!"]) {
      const answer = lab.tokens.readReview(model, ids, text);
      assert.equal(answer.logit, model.b);
      near(answer.probability, 1 / (1 + Math.exp(-model.b)));
      same([answer.tokens, answer.weights, answer.map], [[], [], null]);
    }
  });
}

test("of a long text the end is read", async () => {
  const { lab, ids, model } = await open("energy");
  const { tokens, read } = lab.tokens.readReview(model, ids, "a b c d e f g h i j");
  same(
    tokens.filter((one) => one.isSkipped).map((one) => one.word),
    ["a", "b"],
  );
  assert.equal(read.map((one) => one.word).join(""), "cdefghij");
  assert.equal(tokens[0].weight, 0);
});

test("a deleted word is not read, and one of a distractor can't be deleted", async () => {
  const { lab, ids, model } = await open("energy");
  const { readReview } = lab.tokens;
  const { tokens, logit } = readReview(model, ids, "the bad film", "", new Set([1]));
  same(
    tokens.map((one) => one.isDeleted),
    [false, true, false],
  );
  assert.equal(logit, readReview(model, ids, "the film").logit);
  const front = readReview(model, ids, "good", "bad film", new Set([0]));
  same(
    front.tokens.map(({ word, part, isDeleted }) => [word, part, isDeleted]),
    [
      ["bad", "distractor", false],
      ["film", "distractor", false],
      ["next review", "separator", false],
      ["good", "review", true],
    ],
  );
});

test("a weight is written with three digits", () => {
  const { weightText } = openPage(NAMES).lab.tokens;
  same([0.3124, 0, 1].map(weightText), [".312", ".000", "1.000"]);
});
