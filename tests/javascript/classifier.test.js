"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { expected, near, openModel, same } = require("./page.js");

const ROUNDING = 1e-9;

const sum = (numbers) => numbers.reduce((total, one) => total + one, 0);

for (const kind of ["mean", "energy", "qkv"]) {
  test(`${kind} reads every text as the package does`, async () => {
    const { lab, ids, model } = await openModel(kind);
    for (const one of expected.models[kind].readings) {
      const tokens = lab.tokens.tokensOf(ids, one.text, one.distractor);
      const answer = lab.tokens.readTokens(model, tokens);
      same(
        tokens.map((token) => token.id),
        one.ids,
      );
      same(answer.marked, one.marked);
      same(
        answer.read.map((token) => token.isNegated),
        one.marked.map((id, i) => id !== one.ids.slice(-one.marked.length)[i]),
      );
      near(answer.logit, one.logit, ROUNDING);
      near(answer.probability, 1 / (1 + Math.exp(-one.logit)), ROUNDING);
      for (const name of ["weights", "contributions"]) near(answer[name], one[name], ROUNDING);
      near(
        answer.read.map((token) => [token.weight, token.contribution]),
        one.weights.map((weight, i) => [weight, one.contributions[i]]),
        ROUNDING,
      );
      if (one.map) near(answer.map, one.map, ROUNDING);
      else assert.equal(answer.map, null);
    }
  });

  test(`the contributions of ${kind} and its bias sum to the logit, its weights to 1`, async () => {
    const { lab, ids, model } = await openModel(kind);
    for (const { text, distractor } of expected.models[kind].readings) {
      const tokens = lab.tokens.tokensOf(ids, text, distractor);
      const { contributions, logit, map, weights } = lab.tokens.readTokens(model, tokens);
      near(sum(contributions) + model.b, logit, 1e-12);
      if (weights.length > 0) near(sum(weights), 1, 1e-12);
      for (const row of map ?? []) near(sum([...row]), 1, 1e-12);
    }
  });

  test(`${kind} has only its bias to say of an empty text`, async () => {
    const { lab, ids, model } = await openModel(kind);
    for (const text of ["", "<br />", "12!"]) {
      const answer = lab.tokens.readTokens(model, lab.tokens.tokensOf(ids, text));
      assert.equal(answer.logit, model.b);
      near(answer.probability, 1 / (1 + Math.exp(-model.b)));
      same([answer.shown, answer.weights, answer.map], [[], [], null]);
    }
  });
}

test("where the first word of a clause is deleted, the next one starts it", async () => {
  const { lab, ids, model } = await openModel("mean");
  const tokens = lab.tokens.tokensOf(ids, "never the old plot! Good film", "", new Set([4]));
  const { read } = lab.tokens.readTokens(model, tokens);
  same(
    read.filter((one) => one.isNegated).map((one) => one.word),
    ["the", "old", "plot"],
  );
});
