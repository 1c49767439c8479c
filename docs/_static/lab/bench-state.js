"use strict";

// The state of the workbench: everything that the reader has chosen, and nothing that follows from it.
//
// words: n of them · x: (n, 3) · heads: one or two of { W_query, W_key, W_value }, each (3, 2)
// forbidden: masked cells [i, j] · isCausal · padding: how many words at the end are padding
// isScaled: whether scores are divided by √2 · temperature
// targets: cells [h, i, j], where word i should attend to word j in head h
// contexts: [h, i, a, b], where the context vector of word i should go in head h · rate: learning rate
// at: the word whose query is shown · head: the head that is shown

{
  const { LIMIT, MATRICES } = lab.bench;
  const { hashOf } = lab.tensors;

  const EMBED_DIM = 3;
  const KEY_DIM = 2; // of a query, a key and a value
  const WORDS = { least: 2, most: 12, characters: 20 };
  const HEADS = 2;
  const TEMPERATURE = [0.1, 10];
  const RATE = [0.01, 10];
  const VERSION = "1.";
  const LONGEST = 8000; // characters of a link's state

  const range = (n) => Array.from({ length: n }, (_, i) => i);

  // The state that one begins with, from { words, x, W_query, W_key, W_value, at, rate }
  function begin({ words, x, W_query, W_key, W_value, at = 1, rate = 1 }) {
    return structuredClone({
      words,
      x,
      heads: [{ W_query, W_key, W_value }],
      forbidden: [],
      isCausal: false,
      padding: 0,
      isScaled: true,
      temperature: 1,
      targets: [],
      contexts: [],
      rate,
      at,
      head: 0,
    });
  }

  // Three numbers in [0, 1) that depend on a word's letters alone, so that everyone gets the same:
  // hash the UTF-8 bytes of the lower-cased word followed by the digit 0, 1 or 2, divide the hash's
  // upper 16 bits by 65536, and round down to two decimals.
  function vectorOf(word) {
    return range(EMBED_DIM).map((c) => {
      const hash = hashOf(new TextEncoder().encode(`${word.toLowerCase()}${c}`));
      return Math.floor(((hash >>> 16) / 65536) * 100) / 100;
    }); // (3,)
  }

  // What is wrong with a list of words, in plain words, or null
  function problemOf(words) {
    const { least, most, characters } = WORDS;
    if (words.length < least || words.length > most) {
      return `a sentence here has ${least} to ${most} words, and this one has ${words.length}`;
    }
    const long = words.find((word) => [...word].length > characters);
    if (long) return `a word here has at most ${characters} characters; “${long}” is longer`;
    // Control characters, half of a surrogate pair, and what changes the direction of writing
    if (words.some((word) => /[\p{Cc}\p{Cs}\p{Bidi_Control}]/u.test(word))) {
      return "a word has a character that can't be shown";
    }
    return null;
  }

  // The words of a state whose vectors are those drawn from their letters, each once
  function drawnWords({ words, x }) {
    const drawn = words.filter((word, i) => String(vectorOf(word)) === String(x[i]));
    return [...new Set(drawn)];
  }

  // One vector per word: that of the same word of the state, capital letters aside, or else a new one.
  // A word that stands there several times gets its vectors in turn, and the last for all that follow.
  function vectorsOf(words, state, vector) {
    const known = new Map();
    for (const [i, word] of state.words.entries()) {
      const name = word.toLowerCase();
      known.set(name, [...(known.get(name) ?? []), state.x[i]]);
    }
    return words.map((word) => {
      const vectors = known.get(word.toLowerCase()) ?? [vector(word)];
      return [...(vectors.length > 1 ? vectors.shift() : vectors[0])];
    }); // (n, 3)
  }

  // The state for a sentence that the reader typed. The matrices stay, and so do the vectors of words
  // that were there before; masked cells and targets were those of other words, so they go. `vector` gives
  // new words theirs. Punctuation around a word is no part of it.
  function withWords(state, text, vector = vectorOf) {
    const words = text
      .split(/\s+/u)
      .map((word) => word.replaceAll(/^\p{P}+|\p{P}+$/gu, ""))
      .filter(Boolean);
    const problem = problemOf(words);
    if (problem) throw new Error(`${problem[0].toUpperCase()}${problem.slice(1)}.`);
    const last = words.length - 1;
    return {
      ...structuredClone(state),
      words,
      x: vectorsOf(words, state, vector),
      forbidden: [],
      targets: [],
      contexts: [],
      padding: Math.min(state.padding, last),
      at: Math.min(state.at, last),
    };
  }

  // ---- a state as text, for the page's address

  // "1." and base64url of JSON. Cells are written as one integer each, (h · n + i) · n + j, so that the
  // longest state fits in as well.
  function encode(state) {
    const n = state.words.length;
    const json = JSON.stringify([
      state.words,
      state.x.flat(),
      state.heads.flatMap((head) => MATRICES.flatMap((name) => head[name].flat())),
      state.forbidden.map(([i, j]) => i * n + j),
      state.isCausal,
      state.padding,
      state.isScaled,
      state.temperature,
      state.targets.map(([h, i, j]) => (h * n + i) * n + j),
      state.contexts.map(([h, i, a, b]) => [h * n + i, a, b]),
      state.rate,
      state.at,
      state.head,
    ]);
    const bytes = String.fromCharCode(...new TextEncoder().encode(json));
    const base64 = btoa(bytes).replace(/=+$/, "");
    return VERSION + base64.replaceAll("+", "-").replaceAll("/", "_");
  }

  // The state that `encode` has written. Whatever else stands there throws an Error that says in plain
  // words what is wrong.
  function decode(text) {
    const parts = partsOf(text);
    const refuse = (what) => {
      throw new Error(`This link can't be read: ${what}.`);
    };
    const check = (fits, what) => fits || refuse(what);
    check(Array.isArray(parts) && parts.length === 13, "it doesn't hold the parts of a state");
    const [words, x, matrices, forbidden, isCausal, padding, isScaled] = parts;
    const [temperature, targets, contexts, rate, at, head] = parts.slice(7);

    const areWords = Array.isArray(words) && words.every(isWord);
    check(areWords, "its words are not words");
    const problem = problemOf(words);
    check(problem === null, problem);
    const n = words.length;

    check(isNumbers(x), `an embedding has a number that is not within ±${LIMIT}`);
    check(x.length === EMBED_DIM * n, "its embeddings don't fit its words");
    check(isNumbers(matrices), `a matrix has a number that is not within ±${LIMIT}`);
    const perHead = MATRICES.length * EMBED_DIM * KEY_DIM;
    const H = matrices.length / perHead;
    check(isCount(H, 1, HEADS), "its matrices don't make one or two heads");

    check(areCells(forbidden, n * n), "its masked cells are not cells of the heatmap");
    check(areCells(targets, H * n * n), "its targets are not cells of the heatmap");
    check(Array.isArray(contexts) && contexts.every(isContext), "its targets are not vectors");
    const rows = contexts.map(([row]) => row);
    check(areCells(rows, H * n), "its target vectors belong to no word");

    check(
      typeof isCausal === "boolean" && typeof isScaled === "boolean",
      "a switch is not on or off",
    );
    check(isCount(padding, 0, n - 1), "its padding leaves no word");
    check(isWithin(temperature, TEMPERATURE), `its temperature is not ${between(TEMPERATURE)}`);
    check(isWithin(rate, RATE), `its learning rate is not ${between(RATE)}`);
    check(isCount(at, 0, n - 1) && isCount(head, 0, H - 1), "it shows a query that isn't there");

    return {
      words,
      x: reshape(x, EMBED_DIM), // (n, 3)
      heads: reshape(matrices, perHead).map(headOf),
      forbidden: forbidden.map((cell) => [Math.floor(cell / n), cell % n]),
      isCausal,
      padding,
      isScaled,
      temperature,
      targets: targets.map((cell) => {
        const row = Math.floor(cell / n);
        return [Math.floor(row / n), row % n, cell % n];
      }),
      contexts: contexts.map(([row, a, b]) => [Math.floor(row / n), row % n, a, b]),
      rate,
      at,
      head,
    };
  }

  // The JSON in a link, or an Error
  function partsOf(text) {
    if (typeof text !== "string" || text.length > LONGEST) {
      throw new Error(`This link can't be read: it has more than ${LONGEST} characters.`);
    }
    if (!text.startsWith(VERSION)) {
      throw new Error("This link can't be read: it was made by another version of this page.");
    }
    try {
      const base64 = text.slice(VERSION.length).replaceAll("-", "+").replaceAll("_", "/");
      const bytes = Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
      return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      throw new Error("This link can't be read: a part of it is missing or was changed.");
    }
  }

  const isWord = (word) => typeof word === "string" && /^\S+$/u.test(word);
  const isNumber = (number) => typeof number === "number" && Math.abs(number) <= LIMIT;
  const isNumbers = (numbers) => Array.isArray(numbers) && numbers.every(isNumber);
  const isContext = (one) => isNumbers(one?.slice?.(1)) && one.length === 1 + KEY_DIM;
  const isWithin = (number, [least, most]) => isNumber(number) && number >= least && number <= most;
  const isCount = (number, least, most) =>
    Number.isInteger(number) && isWithin(number, [least, most]);
  const between = ([least, most]) => `between ${least} and ${most}`;

  // Integers from 0 to size − 1, none of them twice
  function areCells(cells, size) {
    if (!Array.isArray(cells) || new Set(cells).size < cells.length) return false;
    return cells.every((cell) => Number.isInteger(cell) && cell >= 0 && cell < size);
  }

  // A list as rows of a width
  function reshape(numbers, width) {
    const rows = numbers.length / width;
    return range(rows).map((i) => numbers.slice(i * width, (i + 1) * width)); // (rows, width)
  }

  function headOf(numbers) {
    const matrices = reshape(numbers, EMBED_DIM * KEY_DIM).map((one) => reshape(one, KEY_DIM)); // each (3, 2)
    return Object.fromEntries(MATRICES.map((name, i) => [name, matrices[i]]));
  }

  lab.benchState = { begin, decode, drawnWords, encode, vectorOf, withWords };
}
