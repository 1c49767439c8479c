"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { randomFrom, randomState, range } = require("./bench-states.js");
const { lesson, openPage, same } = require("./page.js");

const { begin, decode, drawnWords, encode, vectorOf, withWords } = openPage().lab.benchState;
const STATE = structuredClone(begin(lesson));

test("a lesson's state is a copy of its numbers, with nothing masked and no targets", () => {
  const numbers = structuredClone(lesson);
  const state = begin(numbers);
  state.heads[0].W_query[0][0] = 5;
  state.words[0] = "My";
  same([numbers.W_query[0][0], numbers.words[0]], [lesson.W_query[0][0], "Your"]);
  const { isCausal, padding, isScaled, temperature, targets, contexts, forbidden } = STATE;
  same([isCausal, padding, isScaled, temperature], [false, 0, true, 1]);
  same([targets, contexts, forbidden], [[], [], []]);
});

// ---- vectors of words

test("a word's vector is that of the stated rule", () => {
  // The rule once more, with integers of any length: FNV-1a, MurmurHash3's finaliser, upper 16 bits
  const byRule = (word) =>
    [0, 1, 2].map((c) => {
      let hash = 2166136261n;
      for (const byte of Buffer.from(word.toLowerCase() + c, "utf-8")) {
        hash = ((hash ^ BigInt(byte)) * 16777619n) % 2n ** 32n;
      }
      hash = ((hash ^ (hash >> 16n)) * 0x85ebca6bn) % 2n ** 32n;
      hash = ((hash ^ (hash >> 13n)) * 0xc2b2ae35n) % 2n ** 32n;
      hash ^= hash >> 16n;
      return Number(((hash >> 16n) * 100n) / 65536n) / 100;
    });
  for (const word of [
    "a",
    "the",
    "don't",
    "Ärger",
    "naïve",
    "слово",
    "日本語",
    "كلمة",
    "🎓",
    "…",
  ]) {
    same(vectorOf(word), byRule(word));
  }
});

for (const [word, vector] of Object.entries({
  cat: [0.37, 0.37, 0.25],
  Straße: [0.06, 0.34, 0.5],
  слово: [0.95, 0.12, 0.37],
  日本語: [0.37, 0.62, 0.91],
  "🎓": [0.49, 0.25, 0.01],
})) {
  test(`the vector of ${word} stays the same for everyone`, () => same(vectorOf(word), vector));
}

test("capital letters do not count", () => {
  same(vectorOf("СЛОВО"), structuredClone(vectorOf("слово")));
  same(vectorOf("The"), structuredClone(vectorOf("the")));
});

test("vectors lie evenly between 0 and 1, and their components are independent", () => {
  const vectors = range(3000).map((i) => vectorOf(`w${i}`));
  const columns = [0, 1, 2].map((c) => vectors.map((vector) => vector[c]));
  const mean = (numbers) => numbers.reduce((a, b) => a + b) / numbers.length;
  for (const [c, column] of columns.entries()) {
    assert.ok(column.every((one) => one >= 0 && one < 1 && Number(one.toFixed(2)) === one));
    assert.ok(Math.abs(mean(column) - 0.495) < 0.02);
    const next = columns[(c + 1) % 3];
    const covariance = mean(column.map((one, i) => one * next[i])) - mean(column) * mean(next);
    assert.ok(Math.abs(covariance * 12) < 0.06, `components ${c} and the next: ${covariance * 12}`);
  }
});

// ---- sentences that the reader types

const FULL = {
  ...STATE,
  forbidden: [[0, 1]],
  targets: [[0, 1, 2]],
  contexts: [[0, 1, 2, 3]],
  padding: 4,
  at: 5,
  temperature: 0.5,
  isCausal: true,
};

test("a typed sentence keeps the matrices and switches, and drops masked cells and targets", () => {
  const state = withWords(FULL, "  The cat\tsat\n");
  same(state.words, ["The", "cat", "sat"]);
  same(state.x, structuredClone(["the", "cat", "sat"].map(vectorOf)));
  same([state.heads, state.temperature, state.isCausal], [STATE.heads, 0.5, true]);
  same([state.forbidden, state.targets, state.contexts], [[], [], []]);
  same([state.padding, state.at], [2, 2]);
  assert.notEqual(state.heads, FULL.heads);
  same(decode(encode(state)), structuredClone(state));
});

test("words that were there before keep their vectors, and only new words get drawn ones", () => {
  const state = withWords(FULL, "one STEP back");
  same(state.x, [FULL.x[4], FULL.x[5], structuredClone(vectorOf("back"))]);
  same(drawnWords(state), ["back"]);
  same(drawnWords(STATE), []);
  state.x[0][0] = 9; // a copy
  assert.notEqual(FULL.x[4][0], 9);
});

test("a word that stands there twice has its vectors in turn", () => {
  const [first, second] = [
    [1, 2, 3],
    [4, 5, 6],
  ];
  const state = { ...STATE, words: ["so", "so"], x: [first, second] };
  same(withWords(state, "so and so so").x, [
    first,
    structuredClone(vectorOf("and")),
    second,
    second,
  ]);
  same(drawnWords(withWords(state, "and so and so")), ["and"]);
});

for (const [text, message] of [
  ["", /^A sentence here has 2 to 12 words, and this one has 0\.$/],
  [" \n\t", /has 0/],
  ["word", /has 1/],
  ["w ".repeat(13), /has 13/],
  [`short ${"l".repeat(21)}`, /^A word here has at most 20 characters; “l{21}” is longer\.$/],
  ["a b\u0000c", /can't be shown/],
  ["a b\u202Ec", /can't be shown/],
  ["a \uD800", /can't be shown/],
]) {
  test(`a sentence is refused: ${JSON.stringify(text)}`, () => {
    assert.throws(() => withWords(STATE, text), { message });
  });
}

test("twelve words of twenty characters are welcome, emoji counted as one each", () => {
  const words = range(12).map((i) => "🎓".repeat(18) + String(i).padStart(2, "0"));
  same(withWords(STATE, words.join(" ")).words, words);
});

// ---- links

test("a link holds a state exactly", () => {
  const random = randomFrom(2);
  const words = ["日本語", 'say"', "back\\slash", "don't", "🎓", "é", "a,b", "<b>", "слово", "1.5"];
  for (let i = 0; i < 300; i += 1) {
    const state = randomState(random, { size: i % 2 ? 99 : 1e-7 });
    state.words = state.words.map((word, j) => words[(i + j) % words.length] ?? word);
    const link = encode(state);
    assert.match(link, /^1\.[A-Za-z0-9_-]+$/);
    same(decode(link), state);
  }
});

// Everything that a state can hold, in numbers as long as they get
function longest() {
  const number = -1.2345678901234567e-6;
  assert.equal(String(number).length, 25);
  const matrix = (rows, columns) => range(rows).map(() => Array(columns).fill(number));
  const head = { W_query: matrix(3, 2), W_key: matrix(3, 2), W_value: matrix(3, 2) };
  const cells = range(12).flatMap((i) => range(12).map((j) => [i, j]));
  return {
    ...STATE,
    words: range(12).map(() => "🎓".repeat(20)),
    x: matrix(12, 3),
    heads: [head, head],
    forbidden: cells,
    padding: 11,
    temperature: 1.2345678901234567,
    targets: [0, 1].flatMap((h) => cells.map((cell) => [h, ...cell])),
    contexts: [0, 1].flatMap((h) => range(12).map((i) => [h, i, number, number])),
    rate: 1.2345678901234567,
    at: 11,
    head: 1,
  };
}

test("the longest state fits into a link", () => {
  const link = encode(longest());
  assert.ok(link.length <= 8000, `${link.length} characters`);
  same(decode(link), longest());
});

const jsonOf = (state) => Buffer.from(encode(state).slice(2), "base64url").toString();
const text = (value) => `1.${Buffer.from(value).toString("base64url")}`;
// The link of a state in which one part is another. The order is that of `encode`.
const PARTS = ["words", "x", "matrices", "forbidden", "isCausal", "padding", "isScaled"];
PARTS.push("temperature", "targets", "contexts", "rate", "at", "head");
function changed(part, value) {
  const parts = JSON.parse(jsonOf(STATE));
  parts[PARTS.indexOf(part)] = value;
  return text(JSON.stringify(parts));
}
const x = STATE.x.flat();
const W = Array(18).fill(0.5);

test("a link with one part replaced by itself is still read", () => {
  same(decode(changed("x", x)), STATE);
  same(decode(changed("matrices", [...W, ...W])).heads.length, 2);
});

const HOSTILE = {
  "nothing at all": ["", /version/],
  "no text": [null, /characters/],
  "an unknown version": [encode(STATE).replace("1.", "2."), /another version/],
  "the version alone": ["1.", /missing or was changed/],
  "too many characters": [`1.${"A".repeat(8000)}`, /8000 characters/],
  "what is not base64": ["1.@@@@", /missing or was changed/],
  "bytes that are not UTF-8": [text(Buffer.from([0x22, 0xff, 0x22])), /missing or was changed/],
  "what is not JSON": [text("alert(1)"), /missing or was changed/],
  "half of a link": [encode(STATE).slice(0, 200), /missing or was changed/],
  "JSON that is no list": [text('{"words": ["a", "b"]}'), /parts/],
  "a null": [text("null"), /parts/],
  "too few parts": [text("[[]]"), /parts/],
  "too many parts": [text(JSON.stringify(Array(14).fill(0))), /parts/],
  "nested brackets": [text("[".repeat(2900) + "]".repeat(2900)), /parts/],
  "words that are one text": [changed("words", "Your journey"), /not words/],
  "a word that is a number": [changed("words", [1, 2, 3, 4, 5, 6]), /not words/],
  "an empty word": [changed("words", ["", "b", "c", "d", "e", "f"]), /not words/],
  "a word with a space": [changed("words", ["a b", "b", "c", "d", "e", "f"]), /not words/],
  "a word with a line break": [changed("words", ["a\nb", "b", "c", "d", "e", "f"]), /not words/],
  "a word that is too long": [changed("words", ["a".repeat(21), "b", "c"]), /20 characters/],
  "a control character": [changed("words", ["\u0007", "b", "c", "d", "e", "f"]), /can't be shown/],
  "half a surrogate pair": [
    changed("words", ["\uDC00", "b", "c", "d", "e", "f"]),
    /can't be shown/,
  ],
  "text that turns round": [changed("words", ["\u202Ea", "b", "c", "d", "e", "f"]), /can't be/],
  "one word": [changed("words", ["a"]), /2 to 12 words/],
  "thirteen words": [changed("words", Array(13).fill("a")), /2 to 12 words/],
  "embeddings of other words": [changed("words", ["a", "b"]), /don't fit/],
  "an embedding that is a text": [changed("x", ["0.5", ...x.slice(1)]), /not within ±99/],
  "an embedding that is null": [changed("x", [null, ...x.slice(1)]), /not within ±99/],
  "a number beyond 99": [changed("x", [99.5, ...x.slice(1)]), /not within ±99/],
  "an infinite number": [text(jsonOf(STATE).replace("0.43", "1e999")), /not within ±99/],
  "nested embeddings": [changed("x", STATE.x), /not within ±99/],
  "a matrix too few": [changed("matrices", W.slice(6)), /one or two heads/],
  "no head": [changed("matrices", []), /one or two heads/],
  "three heads": [changed("matrices", [...W, ...W, ...W]), /one or two heads/],
  "a matrix beyond 99": [changed("matrices", [-100, ...W.slice(1)]), /not within ±99/],
  "a masked cell outside": [changed("forbidden", [36]), /masked cells/],
  "a masked cell below 0": [changed("forbidden", [-1]), /masked cells/],
  "half a masked cell": [changed("forbidden", [0.5]), /masked cells/],
  "a cell masked twice": [changed("forbidden", [3, 3]), /masked cells/],
  "too many masked cells": [changed("forbidden", range(37)), /masked cells/],
  "cells that are a text": [changed("forbidden", "012"), /masked cells/],
  "a target in a head that is not there": [changed("targets", [36]), /targets/],
  "a target twice": [changed("targets", [1, 1]), /targets/],
  "a target vector of one number": [changed("contexts", [[0, 1]]), /not vectors/],
  "a target vector of three numbers": [changed("contexts", [[0, 1, 1, 1]]), /not vectors/],
  "a target vector that is a text": [changed("contexts", ["000"]), /not vectors/],
  "a target vector that is null": [changed("contexts", [null]), /not vectors/],
  "a target vector beyond 99": [changed("contexts", [[0, 1, 100]]), /not vectors/],
  "a target vector of no word": [changed("contexts", [[6, 1, 1]]), /no word/],
  "two target vectors of one word": [
    changed(
      "contexts",
      [0, 0].map((i) => [i, 1, 1]),
    ),
    /no word/,
  ],
  "a switch that is a number": [changed("isCausal", 1), /switch/],
  "a scale that is a text": [changed("isScaled", "true"), /switch/],
  "nothing but padding": [changed("padding", 6), /padding/],
  "padding below 0": [changed("padding", -1), /padding/],
  "a temperature of 0": [changed("temperature", 0), /temperature/],
  "a temperature above 10": [changed("temperature", 10.5), /temperature/],
  "a learning rate of 0": [changed("rate", 0), /learning rate/],
  "a learning rate that is a list": [changed("rate", [1]), /learning rate/],
  "the query of a word that is not there": [changed("at", 6), /query/],
  "half a word": [changed("at", 0.5), /query/],
  "a head that is not there": [changed("head", 1), /query/],
};

for (const [name, [link, message]] of Object.entries(HOSTILE)) {
  test(`a link is refused in plain words: ${name}`, () => {
    assert.throws(
      () => decode(link),
      (error) => {
        assert.match(error.message, /^This link can't be read: .*\.$/);
        assert.match(error.message, message);
        return true;
      },
    );
  });
}

test("no damage to a link leads to anything but a state or a plain message", () => {
  const random = randomFrom(3);
  let read = 0;
  for (let i = 0; i < 3000; i += 1) {
    const json = [...jsonOf(FULL)];
    const sign = '0123456789-.,[]"eE{}:tf'[Math.floor(random() * 23)];
    json.splice(Math.floor(random() * json.length), Math.floor(random() * 3), sign);
    try {
      const state = decode(text(json.join("")));
      same(decode(encode(state)), structuredClone(state));
      read += 1;
    } catch (error) {
      assert.match(error.message, /^This link can't be read: /);
    }
  }
  assert.ok(read > 300, `${read} were still states`);
});
