"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { expected, openPage, same } = require("./page.js");

const { script, tokens, encoded } = expected.writer;

async function open() {
  const { lab } = openPage({ "../_static/lab-writer.js": script });
  return { ...lab.bpe, vocabulary: (await lab.models.load("writer")).vocabulary };
}

test("the vocabulary follows from letters and merges", async () => {
  const { vocabulary } = await open();
  same(vocabulary.tokens, tokens);
});

test("200 texts of many scripts have the ids of the package", async () => {
  const { encode, vocabulary } = await open();
  assert.equal(encoded.length, 200);
  for (const [text, ids] of encoded) same(encode(vocabulary, text), ids);
});

test("ids lead back to their text", async () => {
  const { decode, vocabulary } = await open();
  for (const [text, ids] of encoded) assert.equal(decode(vocabulary, ids), text);
});

test("the first bytes of a character wait for the others", async () => {
  const { bytesOf, decode, encode, vocabulary } = await open();
  const ids = encode(vocabulary, "a😀");
  same(
    [1, 2, 3].map((n) => decode(vocabulary, ids.slice(0, n))),
    ["a", "a", "a"],
  );
  assert.equal(decode(vocabulary, ids), "a😀");
  same(bytesOf(vocabulary, ids[1]), [0xf0]);
});

test("<start> in a text is read like any text", async () => {
  const { START_ID, decode, encode, vocabulary } = await open();
  const ids = encode(vocabulary, "<start> a");
  assert.ok(!ids.includes(START_ID));
  assert.equal(decode(vocabulary, ids), "<start> a");
});

test("half a character becomes what stands for one that can't be read", async () => {
  const { encode, vocabulary } = await open();
  same(encode(vocabulary, "a\ud83d"), [...encode(vocabulary, "a\ufffd")]);
});

test("a long word takes no long time", async () => {
  const { encode, vocabulary } = await open();
  const start = process.cpuUsage().user;
  encode(vocabulary, "the".repeat(2000));
  assert.ok(process.cpuUsage().user - start < 3e6); // microseconds; a tenth of it on a quick machine
});
