"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { expected, near, openPage, same } = require("./page.js");

const { script, readings } = expected.writer;
const SINGLE = 1e-4; // the package computes in 32 bits

async function open() {
  const { lab } = openPage({ "../_static/lab-writer.js": script });
  return { ...lab.writer, ...lab.bpe, model: await lab.models.load("writer") };
}

const last = (reading) => reading.ids.length - 1;

test("every text is read as the package reads it: logits, and the weights of all heads", async () => {
  const { encode, logitsAt, model, newReading, read } = await open();
  for (const { text, ids, logits, weights } of readings) {
    same([0, ...encode(model.vocabulary, text)], ids);
    const reading = newReading(model);
    read(model, reading, ids);
    logits.toReversed().forEach((row, back) => {
      near(logitsAt(model, reading, last(reading) - back), row, SINGLE);
    });
    weights.forEach((heads, l) => {
      heads.forEach((rows, h) => {
        rows.forEach((row, i) => {
          const seen = reading.layers[l].weights[i][h];
          assert.equal(seen.length, i + 1); // none after itself
          near(seen, row.slice(0, i + 1), SINGLE);
        });
      });
    });
  }
  assert.equal(readings.filter(({ ids, logits }) => logits.length === ids.length).length, 2);
});

test("what is read on is what is read at once, also after a part was taken back", async () => {
  const { model, newReading, read } = await open();
  const long = readings.at(-1).ids;
  const other = readings.at(-2).ids;
  const reading = newReading(model);
  for (const ids of [long.slice(0, 1), long.slice(0, 4), long, other, long.slice(0, 2), long]) {
    const fresh = newReading(model);
    read(model, fresh, ids);
    read(model, reading, ids);
    same(reading.ids, ids);
    same(reading, structuredClone(fresh));
  }
});

test("what was read is not read again", async () => {
  const { model, newReading, read } = await open();
  const reading = newReading(model);
  read(model, reading, [0, 5, 6, 7]);
  const before = [...reading.hidden];
  read(model, reading, [0, 5, 6, 8, 9]);
  assert.equal(reading.hidden.length, 5);
  for (const i of [0, 1, 2]) assert.equal(reading.hidden[i], before[i]);
  assert.notEqual(reading.hidden[3], before[3]);
});

test("erf has six digits", async () => {
  const { erf } = await open();
  const known = [0, 0.5, 1, 2, 3.5].map((x) => erf(x));
  near(known, [0, 0.5204998778, 0.8427007929, 0.995322265, 0.9999992569], 1.5e-7);
  near(erf(-1), -0.8427007929, 1.5e-7);
});

test("a low temperature favours likely tokens, a high one makes them more equal", async () => {
  const { probabilities } = await open();
  const logits = Float64Array.from([1, 3, 2]);
  const shares = (temperature) => [...probabilities(logits, temperature)];
  same(shares(0), [0, 1, 0]);
  const powers = [1, 3, 2].map((logit) => Math.exp(logit / 0.5));
  const sum = powers.reduce((total, one) => total + one, 0);
  near(
    shares(0.5),
    powers.map((power) => power / sum),
  );
  const tops = [0, 0.05, 0.5, 1, 2].map((temperature) => shares(temperature)[1]);
  same(
    tops,
    [...tops].sort((a, b) => b - a),
  );
  assert.ok(tops.at(-1) > 1 / 3);
});

test("a draw falls on each token as often as its probability says", async () => {
  const { chance, draw } = await open();
  const shares = Float64Array.from([0.1, 0, 0.6, 0.3]);
  same(
    [0, 0.0999, 0.1, 0.6999, 0.7, 0.99999].map((number) => draw(shares, number)),
    [0, 0, 2, 2, 3, 3],
  );
  assert.equal(draw(Float64Array.from([0.25, 0.25]), 0.9), 0); // numbers that sum to less than 1
  const counts = [0, 0, 0, 0];
  const n = 4000;
  for (let i = 0; i < n; i += 1) counts[draw(shares, chance(i % 40, Math.floor(i / 40)))] += 1;
  // Three standard deviations of a count are at most 3 √(n / 4).
  near(
    counts.map((count) => count / n),
    [...shares],
    (3 * Math.sqrt(n / 4)) / n,
  );
});

test("chance depends on seed and position, and on nothing else", async () => {
  const { chance } = await open();
  assert.equal(chance(7, 12), chance(7, 12));
  const some = [0, 1, 2].flatMap((seed) => [1, 2, 3, 11].map((at) => chance(seed, at)));
  assert.equal(new Set(some).size, some.length);
  for (const one of some) assert.ok(one >= 0 && one < 1);
});
