"use strict";

// From text to ids, by the rule of `attention/sentiment/tokenizer.py`: the two characters \n are a line's
// end, letters become small, tags become spaces, and whatever is not one of the 26 letters
// separates words. A tag begins with < and a letter, / or !, so "<3" and "10 > 5" are none.

{
  const UNKNOWN = 1; // the id of a word that the vocabulary does not hold
  const SEPARATOR = 2; // stands between a distractor and the review

  // Each word, and whether a mark of punctuation stands between it and the word before it
  function splitClauses(text) {
    const clean = text
      .replaceAll("\\n", " ")
      .toLowerCase()
      .replaceAll(/<[a-z/!][^>]*>/g, " ");
    let end = 0;
    return Array.from(clean.matchAll(/[a-z]+/g), ({ 0: word, index }) => {
      const startsClause = /[.,;:!?]/.test(clean.slice(end, index));
      end = index + word.length;
      return { word, startsClause };
    });
  }

  function splitWords(text) {
    return splitClauses(text).map(({ word }) => word);
  }

  // ids: a Map from a word to its id
  function encode(words, ids) {
    return words.map((word) => ids.get(word) ?? UNKNOWN);
  }

  // How many letters, digits and symbols of any script a text has, and how many of them are in no
  // word. Punctuation, spaces and accents that are written after their letter do not count.
  function countUnread(text, words) {
    const all = text.match(/[\p{L}\p{N}\p{S}]/gu)?.length ?? 0;
    return { all, unread: all - words.reduce((sum, word) => sum + word.length, 0) };
  }

  lab.tokenizer = { SEPARATOR, UNKNOWN, countUnread, encode, splitClauses, splitWords };
}
