"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { randomFrom, randomState } = require("./bench-states.js");
const { lesson, openPage, same } = require("./page.js");

const { bench, benchEquation, benchState } = openPage().lab;
const STATE = benchState.begin(lesson);

const textOf = (part) => (typeof part === "string" ? part : part.parts.map(textOf).join(""));
const shown = (name) => benchEquation.typeset(bench.explain(STATE).get(name).text);
// All that looks like this, wherever it stands
const looking = (parts, as) =>
  parts.flatMap((part) => {
    if (typeof part === "string") return [];
    return [...(part.as === as ? [textOf(part)] : []), ...looking(part.parts, as)];
  });

test("an equation that is set on the page reads as its text does", () => {
  const random = randomFrom(5);
  const texts = [
    "no equation: it is given",
    "“(=” = 1 / (“) = ” + 2) = 3",
    "a = b = 1 / 3 ≈ 0.3333",
    "score of “a ≈ b” = 1 / 3 ≈ 0.3333",
  ];
  for (let k = 0; k < 20; k += 1) {
    texts.push(...[...bench.explain(randomState(random)).values()].map(({ text }) => text));
  }
  assert.ok(texts.length > 1000);
  for (const text of texts) assert.equal(benchEquation.typeset(text).map(textOf).join(""), text);
});

test("a weight is set as a share of the row's powers, and a product in the colours of its roles", () => {
  const weight = shown("weight.2");
  const [symbols, filled] = looking(weight, "fraction");
  assert.match(symbols, /^exp\([\d.]+\) \/ sum of the row’s exp$/);
  assert.match(filled, /^[\d.]+ \/ \(([\d.]+ \+ ){5}[\d.]+\)$/);
  same(looking(weight, "unseen"), [" / ", " / ", "(", ")"]);
  assert.match(looking(weight, "result")[0], /^0\.\d{4}$/);
  assert.ok(looking(weight, "step").every((step) => /^[=≈] /.test(step))); // no line ends with it
  const score = shown("score.2");
  same(looking(score, "query").length, 3); // the name, and a number of each of two products
  same(looking(score, "query")[0], "query of “journey”");
  same(looking(score, "key")[0], "key of “starts”");
  const { query, key } = bench.forward(STATE).heads[0];
  same(
    looking(score, "query").slice(1).map(Number),
    query[1].map((q) => Number(q.toFixed(4))),
  );
  same(
    looking(score, "key").slice(1).map(Number),
    key[2].map((k) => Number(k.toFixed(4))),
  );
  same(looking(shown("context.1"), "value")[0], "column 2 of the values");
});
