"use strict";

// From text to ids, by the rule of `attention/sentiment/tokenizer.py`: the two characters \n are a line's
// end, letters become small, tags become spaces, and whatever is not one of the 26 letters
// separates words.

{
  const UNKNOWN = 1; // the id of a word that the vocabulary does not hold
  const SEPARATOR = 2; // stands between a distractor and the review

  function splitWords(text) {
    const clean = text
      .replaceAll("\\n", " ")
      .toLowerCase()
      .replaceAll(/<[^>]+>/g, " ");
    return clean.match(/[a-z]+/g) ?? [];
  }

  // ids: a Map from a word to its id
  function encode(words, ids) {
    return words.map((word) => ids.get(word) ?? UNKNOWN);
  }

  lab.tokenizer = { SEPARATOR, UNKNOWN, encode, splitWords };
}
