"use strict";

// Byte-level byte-pair encoding, as `docs/experiments/language/data.py` trains it: a text is cut into
// pieces, each piece is spelled in bytes, and neighbouring tokens merge, those that were learned first
// before all others.

{
  const START = "<start>"; // precedes every text; its id is 0
  const START_ID = 0;

  // A word or a number with the space before it, other signs, spaces. White_Space is what Python's
  // side means by \s; that of JavaScript differs from it in two characters.
  const PIECES = / ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+/gu;

  // Each byte as a letter that can be seen: itself, or else the next one from Ā (256) on
  const isSeen = (byte) =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let unseen = 256;
  const LETTERS = Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(isSeen(byte) ? byte : unseen++),
  );
  const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));

  // `alphabet` holds the 256 letters in the order of their ids, from 1 on, and `merges` a line for each
  // merge, the earliest first: two tokens with a space between them.
  function readVocabulary({ alphabet, merges }) {
    const ids = new Map([START, ...alphabet].map((token, id) => [token, id]));
    const pairs = merges.split("\n").map((line) => line.split(" "));
    for (const [a, b] of pairs) if (!ids.has(a + b)) ids.set(a + b, ids.size);
    const ranks = new Map(
      pairs.map(([a, b], rank) => [`${ids.get(a)} ${ids.get(b)}`, { rank, id: ids.get(a + b) }]),
    );
    return { ids, tokens: [...ids.keys()], ranks };
  }

  // Of all neighbours the pair with the lowest rank merges, the leftmost where there are several, until
  // there is none left.
  function mergePiece({ ids, ranks }, piece) {
    const spelled = Array.from(new TextEncoder().encode(piece), (byte) => ids.get(LETTERS[byte]));
    const mergeAt = (i) => ranks.get(`${spelled[i]} ${spelled[i + 1]}`) ?? { rank: Infinity };
    const merges = spelled.slice(1).map((_, i) => mergeAt(i));
    while (merges.length > 0) {
      let best = 0;
      for (let i = 1; i < merges.length; i += 1) if (merges[i].rank < merges[best].rank) best = i;
      if (merges[best].rank === Infinity) break;
      spelled.splice(best, 2, merges[best].id);
      merges.splice(best, 1);
      if (best > 0) merges[best - 1] = mergeAt(best - 1);
      if (best < merges.length) merges[best] = mergeAt(best);
    }
    return spelled;
  }

  // The ids of a text, without the <start> before it. One that is written out is read like any text.
  function encode(vocabulary, text) {
    return (text.match(PIECES) ?? []).flatMap((piece) => mergePiece(vocabulary, piece));
  }

  const bytesOf = ({ tokens }, id) =>
    id === START_ID
      ? [...new TextEncoder().encode(START)]
      : Array.from(tokens[id], (letter) => BYTES.get(letter));

  // The text of some ids. Bytes at the end that are not a whole character yet are left out.
  function decode(vocabulary, ids) {
    const bytes = ids.flatMap((id) => bytesOf(vocabulary, id));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes), {
      stream: true,
    });
  }

  lab.bpe = { START, START_ID, bytesOf, decode, encode, readVocabulary };
}
