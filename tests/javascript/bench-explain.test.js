"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { randomFrom, randomState } = require("./bench-states.js");
const { lesson, near, openPage, same } = require("./page.js");

const { bench, benchState } = openPage().lab;
const STATE = benchState.begin(lesson);
const TRAINED = {
  ...STATE,
  targets: [
    [0, 1, 2],
    [0, 1, 3],
    [0, 4, 0],
  ],
  contexts: [
    [0, 1, 1, -1],
    [0, 2, 0, 0],
  ],
};

test("each number is the layer's or one of the gradients", () => {
  const random = randomFrom(4);
  for (let k = 0; k < 40; k += 1) {
    const state = randomState(random);
    const { at, head } = state;
    const layer = bench.forward(state);
    const own = layer.heads[head];
    const made = bench.gradients(state, layer)[head];
    const matrices = { key: own.key, value: own.value, map: own.weights };
    for (const name of ["dContext", "dScaled", "dQuery", "dKey", "dValue"]) {
      matrices[name] = made[name];
    }
    for (const role of ["query", "key", "value"]) matrices[`dW_${role}`] = made[`dW_${role}`];
    const wanted = new Map([["loss", bench.loss(state, layer)]]);
    for (const [name, matrix] of Object.entries(matrices)) {
      for (const [i, row] of matrix.entries()) {
        for (const [j, value] of row.entries()) wanted.set(`${name}.${i}.${j}`, value);
      }
    }
    const lists = { score: own.scores[at], scaled: own.scaled[at], weight: own.weights[at] };
    for (const [name, list] of Object.entries(lists)) {
      for (const [j, value] of list.entries()) wanted.set(`${name}.${j}`, value);
    }
    for (const name of ["query", "context"]) {
      for (const [i, row] of own[name].entries()) {
        const first = i === at ? name : `${name}.${i}`;
        for (const [c, value] of row.entries()) wanted.set(`${first}.${c}`, value);
      }
    }
    const numbers = bench.explain(state);
    same([...numbers.keys()].sort(), [...wanted.keys()].sort());
    for (const [name, { value }] of numbers) assert.equal(value, wanted.get(name), name);
  }
});

test("the digits of every text lead to its number", () => {
  // "… = 0.5500 × 0.2961 + … ≈ 0.4306": what stands before the last sign, worked out
  const workOut = (equation) =>
    Function(
      `return ${equation
        .replaceAll("²", "**2")
        .replaceAll("−", "-")
        .replaceAll("×", "*")
        .replaceAll("½ ", "0.5*")
        .replaceAll(/√(\d+)/g, "Math.sqrt($1)")
        .replaceAll(/ln ([\d.]+)/g, "Math.log($1)")
        .replaceAll(/exp\(/g, "Math.exp(")}`,
    )();
  let worked = 0;
  for (const changed of [
    {},
    { isScaled: false },
    { temperature: 0.5 },
    { isCausal: true, padding: 1 },
    { at: 4, forbidden: [[4, 1]] },
  ]) {
    for (const [name, { value, text }] of bench.explain({ ...TRAINED, ...changed })) {
      const parts = text.split(/ = | ≈ /);
      if (parts.length < 3) {
        assert.match(text, /= 0, because|−∞|the scale is off and the temperature is 1/, name);
      } else {
        near(workOut(parts.at(-2)), value, 2e-3);
        near(Number(parts.at(-1).replace("−", "-")), value, 6e-5);
        worked += 1;
      }
    }
  }
  assert.ok(worked > 500, `${worked} texts`);
});

test("every source is a number of the page or an input", () => {
  const inputs = /^x\.\d+\.[012]$|^W_(query|key|value)\.[012]\.[01]$/;
  const numbers = bench.explain(TRAINED);
  for (const [name, { sources }] of numbers) {
    assert.ok(sources.length > 0 && !sources.includes(name), name);
    for (const source of sources) {
      assert.ok(numbers.has(source) || inputs.test(source), `${name} comes from ${source}`);
    }
  }
});

test("a number depends on its sources alone, and on every input among them", () => {
  // The inputs that a number goes back to are those that change it.
  const state = { ...TRAINED, isCausal: true, at: 2 };
  const numbers = bench.explain(state);
  const origins = (name) => (numbers.get(name)?.sources ?? [name]).flatMap(own);
  const own = (source) => (numbers.has(source) ? origins(source) : [source]);
  const names = ["query.1", "key.3.0", "score.4", "context.1", "value.2.0", "map.4.2", "weight.1"];
  for (const input of ["x.0.0", "x.4.2", "W_query.1.1", "W_key.0.0", "W_value.2.1"]) {
    const [matrix, i, c] = input.split(".");
    const moved = structuredClone(state);
    (matrix === "x" ? moved.x : moved.heads[0][matrix])[i][c] += 0.1;
    const after = bench.explain(moved);
    for (const name of names) {
      const isChanged = after.get(name).value !== numbers.get(name).value;
      if (isChanged) assert.ok(origins(name).includes(input), `${name} depends on ${input}`);
    }
  }
  same(structuredClone(numbers.get("query.1").sources), [
    ...["x.2.0", "x.2.1", "x.2.2"],
    ...["W_query.0.1", "W_query.1.1", "W_query.2.1"],
  ]);
});

test("the gradient by a key comes from a column of the scores and of the queries", () => {
  same(structuredClone(bench.explain(TRAINED).get("dKey.3.1").sources), [
    ...lesson.words.map((_, i) => `dScaled.${i}.3`),
    ...lesson.words.map((_, i) => (i === 1 ? "query.1" : `query.${i}.1`)),
  ]);
});

const textOf = (changed, name) => bench.explain({ ...STATE, ...changed }).get(name).text;

test("the equations of the first lesson", () => {
  assert.equal(
    textOf({}, "score.1"),
    "score of “journey” = query of “journey” · key of “journey” = 0.4306 × 0.4433 + 1.4551 × 1.1419 ≈ 1.8524",
  );
  assert.equal(textOf({}, "scaled.1"), "scaled score of “journey” = 1.8524 / √2 ≈ 1.3098");
  assert.equal(
    textOf({ temperature: 0.5 }, "scaled.1"),
    "scaled score of “journey” = 1.8524 / √2 / 0.5 ≈ 2.6197",
  );
  assert.equal(
    textOf({ isScaled: false }, "scaled.1"),
    "scaled score of “journey” = 1.8524, because the scale is off and the temperature is 1",
  );
});

test("a masked word says which mask hides it", () => {
  for (const [changed, reason] of [
    [{ isCausal: true }, "“with” comes after “journey”, and the causal mask hides it"],
    [{ padding: 3, isCausal: true }, "“with” is padding, and the padding mask hides it"],
    [{ forbidden: [[1, 3]] }, "you have masked “with” for the query of “journey”"],
  ]) {
    assert.equal(textOf(changed, "scaled.3"), `${reason}, so its score becomes −∞`);
    assert.equal(
      textOf(changed, "weight.3"),
      `weight that “journey” gives to “with” = 0, because ${reason}`,
    );
    const trained = { ...changed, targets: TRAINED.targets };
    assert.ok(textOf(trained, "dScaled.1.3").endsWith(`= 0, because ${reason}`));
  }
});

test("where powers would overflow or all be 0, the largest score is subtracted first", () => {
  for (const factor of [30, -30]) {
    const W_query = lesson.W_query.map((row) => row.map((number) => factor * 3 * number));
    const state = { ...STATE, heads: [{ ...STATE.heads[0], W_query }] };
    const { text, value } = bench.explain(state).get("map.1.1");
    assert.match(text, factor > 0 ? /exp\(117\.\d+ − 117\.\d+\)/ : /exp\(−117\.\d+ \+ \d+\.\d+\)/);
    const reason = ", the row’s largest score being subtracted first";
    assert.ok(text.endsWith(` ≈ ${value.toFixed(4)}${reason}`));
  }
});

test("the loss without a target, with one, and with both kinds", () => {
  assert.equal(textOf({}, "loss"), "Without a target there is no loss.");
  assert.equal(
    textOf({ targets: [[0, 1, 2]] }, "loss"),
    "loss = mean of −ln weight over the rows with targets = −ln 0.2199 ≈ 1.5147",
  );
  const { text, sources } = bench.explain(TRAINED).get("loss");
  assert.match(text, /\(−ln 0\.2199 −ln 0\.1311\) \/ 2 \+ −ln 0\.1610\) \/ 2 \+ \(½ \(/);
  same(structuredClone(sources), [
    ...["map.1.2", "map.1.3", "map.4.0"],
    ...["context.0", "context.1", "context.2.0", "context.2.1"],
  ]);
});

test("the head that is shown is explained", () => {
  const [head] = STATE.heads;
  const heads = [head, { ...head, W_query: head.W_value }];
  const state = { ...STATE, heads, head: 1, targets: [[0, 1, 2]] };
  const numbers = bench.explain(state);
  assert.equal(numbers.get("query.0").value, bench.forward(state).heads[1].query[1][0]);
  assert.equal(numbers.get("dW_query.0.0").value, 0);
  same(structuredClone(numbers.get("loss").sources), []);
});
