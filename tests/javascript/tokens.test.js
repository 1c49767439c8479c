"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { near, openModel, openPage, same } = require("./page.js");

const { dom, tokens } = openPage().lab;
const NONE = new Map(); // no word is known

test("of a long text the end is read", async () => {
  const { ids, lab, model } = await openModel("mean");
  const { readTokens, tokensOf } = lab.tokens;
  const { read, shown, skipped } = readTokens(model, tokensOf(ids, "a b c d e f g h i j"));
  assert.equal(skipped, 2);
  assert.equal(shown.map((one) => one.word).join(""), "cdefghij");
  assert.equal(read.length, 8);
});

test("a deleted word makes room for one at the beginning", async () => {
  const { ids, lab, model } = await openModel("mean");
  const { readTokens, tokensOf } = lab.tokens;
  const some = tokensOf(ids, "a b c d e f g h i j", "", new Set([4]));
  const { read, shown, skipped } = readTokens(model, some);
  assert.equal(skipped, 1);
  assert.equal(shown.map((one) => one.word).join(""), "bcdefghij");
  assert.equal(read.map((one) => one.word).join(""), "bcdfghij");
});

test("a deleted word is not read, and one of a distractor can't be deleted", async () => {
  const { ids, lab, model } = await openModel("mean");
  const { readTokens, tokensOf } = lab.tokens;
  const { logit, shown } = readTokens(model, tokensOf(ids, "the bad film", "", new Set([1])));
  same(
    shown.map((one) => one.isDeleted),
    [false, true, false],
  );
  assert.equal(logit, readTokens(model, tokensOf(ids, "the film")).logit);
  same(
    tokensOf(ids, "good", "bad film", new Set([0])).map((one) => [
      one.word,
      one.part,
      one.isDeleted,
    ]),
    [
      ["bad", "distractor", false],
      ["film", "distractor", false],
      ["next review", "separator", false],
      ["good", "review", true],
    ],
  );
});

for (const [name, before, after, places] of [
  ["stay where nothing changes", "a b", "a b", [0, 1]],
  ["move on when others are typed in front", "a b", "x y a b", [2, 3]],
  ["stay when others are typed behind", "a b", "a b x", [0, 1]],
  ["close a gap", "a b c", "a c", [0, null, 1]],
  ["survive two changes at once", "a b c d e", "x b c y e", [null, 1, 2, null, 4]],
  ["are found among the same words", "the a the b the", "the b the", [0, null, null, 1, 2]],
  ["are gone with all others", "a b", "", [null, null]],
  ["are new after nothing", "", "a b", []],
]) {
  test(`words ${name}`, () => {
    const found = tokens.follow(before.match(/\w+/g) ?? [], after.match(/\w+/g) ?? []);
    const old = before.match(/\w+/g) ?? [];
    same(
      old.map((_, i) => found.get(i) ?? null),
      places,
    );
  });
}

// By trying everything
function longest([a, ...before], [b, ...after]) {
  if (a === undefined || b === undefined) return 0;
  if (a === b) return 1 + longest(before, after);
  return Math.max(longest(before, [b, ...after]), longest([a, ...before], after));
}

test("as many words as possible are followed, each in its order", () => {
  let seed = 1;
  const draw = () => {
    seed = (seed * 16807) % (2 ** 31 - 1);
    return "abc"[seed % 3];
  };
  for (let i = 0; i < 300; i += 1) {
    const [before, after] = [i % 8, i % 7].map((n) => Array.from({ length: n }, draw));
    const places = [...tokens.follow(before, after)].sort(([a], [b]) => a - b);
    assert.equal(places.length, longest(before, after));
    for (const [from, to] of places) assert.equal(before[from], after[to]);
    const targets = places.map(([, to]) => to);
    same(
      targets,
      [...new Set(targets)].sort((a, b) => a - b),
    );
  }
});

test("numbers have a sign, and digits that tell", () => {
  const { signed } = tokens;
  const { weightText } = dom;
  same([0.3124, 0, 1].map(weightText), [".312", ".000", "1.000"]);
  same(
    [0.3124, -0.3124, 0, 12].map((one) => signed(one)),
    ["+0.31", "−0.31", "0.00", "+12.00"],
  );
  same(
    [0.000123, -0.00987].map((one) => signed(one)),
    ["+0.00012", "−0.0099"],
  );
});

test("a share is neither 0 nor all when it is nearly so", () => {
  const { percentText } = tokens;
  same(
    [0.5, 0.0001, 0.0007, 0.9993, 0.99996].map((one) => percentText(one)),
    ["50 %", "< 0.1 %", "0.1 %", "99.9 %", "> 99.9 %"],
  );
  same(
    [0, 1].map((one) => percentText(one)),
    ["0 %", "100 %"],
  );
});

test("two shares that differ are written so that they do", () => {
  const { percentText } = tokens;
  const both = (a, b) => [percentText(a, b), percentText(b, a)];
  same(both(0.5, 0.7), ["50 %", "70 %"]);
  same(both(0.99991, 0.99994), ["99.991 %", "99.994 %"]);
  same(both(0.3, 0.3), ["30 %", "30 %"]);
});

test("a text that can't be read is said to be one", () => {
  const { noticeOf, tokensOf } = tokens;
  const notice = (text) => noticeOf(text, tokensOf(NONE, text));
  for (const text of ["素晴らしい映画", "Отличный фильм", "👍🏽👍🏽", "10/10", "!!", "<br />"]) {
    assert.match(notice(text), /can't read it, and there is no probability/);
  }
  assert.equal(notice("A good film."), "");
  assert.equal(notice("  "), "");
  assert.match(
    notice("good 映画"),
    /: 2 of the 6 letters, digits and symbols here \(33 %\) are not/,
  );
  assert.match(notice("I <3 it"), /: 2 of the 5 /);
});

test("weights and contributions of tokens that nobody read are 0", () => {
  const [one] = tokens.tokensOf(NONE, "film");
  near([one.weight, one.contribution], [0, 0]);
});
