"use strict";

const { test } = require("node:test");
const { openPage, same } = require("./page.js");

const { encode, splitWords, SEPARATOR, UNKNOWN } = openPage(["tensors", "tokenizer"]).lab.tokenizer;

for (const [name, text, words] of [
  ["nothing", "", []],
  ["no letters", " 12 345 … ?!\t\n", []],
  ["capital letters", "GOOD Film", ["good", "film"]],
  ["an apostrophe and a digit", "don't 2good", ["don", "t", "good"]],
  ["the two characters \\n", String.raw`good\nbad\n\nnew`, ["good", "bad", "new"]],
  ["tags", "good<br />bad <b class='x'>film</b>", ["good", "bad", "film"]],
  ["a tag over two lines", "good<br\n>bad", ["good", "bad"]],
  ["signs that are no tags", "a < b, c > d <> e", ["a", "d", "e"]],
  ["letters of other alphabets", "naïve \u212Aelvin Привет", ["na", "ve", "kelvin"]],
]) {
  test(`words of ${name}`, () => same(splitWords(text), words));
}

test("unknown words share one id", () => {
  const ids = new Map([
    ["good", 3],
    ["bad", 4],
  ]);
  same(encode(["good", "zebra", "bad", "constructor"], ids), [3, 1, 4, 1]);
  same([UNKNOWN, SEPARATOR], [1, 2]);
  same(encode([], ids), []);
});
