"use strict";

const { test } = require("node:test");
const { openPage, same } = require("./page.js");

const { countUnread, encode, splitWords, SEPARATOR, UNKNOWN } = openPage().lab.tokenizer;

for (const [name, text, words] of [
  ["nothing", "", []],
  ["no letters", " 12 345 … ?!\t\n", []],
  ["capital letters", "GOOD Film", ["good", "film"]],
  ["an apostrophe and a digit", "don't 2good", ["don", "t", "good"]],
  ["the two characters \\n", String.raw`good\nbad\n\nnew`, ["good", "bad", "new"]],
  ["tags", "good<br />bad <b class='x'>film</b>", ["good", "bad", "film"]],
  ["a tag over two lines", "good<br\n>bad", ["good", "bad"]],
  ["signs that are no tags", "a < b, c > d <> e", ["a", "b", "c", "d", "e"]],
  ["a heart and a comparison", "I <3 this film and 10 > 5", ["i", "this", "film", "and"]],
  ["comments and closing tags", "a<!-- b -->c</p>d<\u212ae>f", ["a", "c", "d", "f"]],
  ["dropped apostrophes", "It isnt, DONT cant", ["it", "isn", "t", "don", "t", "can", "t"]],
  ["longer words that hold one", "isnts cantata event", ["isnts", "cantata", "event"]],
  [
    "dropped apostrophes after \\n and a tag",
    String.raw`a\nwont<b>didnt`,
    ["a", "won", "t", "didn", "t"],
  ],
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

test("what is in no word is counted, punctuation and spaces apart", () => {
  const count = (text) => countUnread(text, splitWords(text));
  same(count("A good film, isn't it?"), { all: 15, unread: 0 });
  same(count("10/10 фильм ❤️"), { all: 10, unread: 10 });
  same(count("\u0130t is \u212aeen <br />"), { all: 12, unread: 4 });
});
