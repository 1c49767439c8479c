"use strict";

// Random states of the workbench, the same ones in every run.

// Numbers in [0, 1) (Marsaglia's xorshift with 32 bits)
function randomFrom(seed) {
  let bits = seed;
  return () => {
    bits ^= bits << 13;
    bits ^= bits >>> 17;
    bits ^= bits << 5;
    return (bits >>> 0) / 2 ** 32;
  };
}

const range = (n) => Array.from({ length: n }, (_, i) => i);

// A state with every kind of choice in it: words, heads, masks, scale, temperature, targets
function randomState(random, { size = 3 } = {}) {
  const below = (n) => Math.floor(random() * n);
  const isLikely = (probability) => random() < probability;
  const matrix = (rows, columns) =>
    range(rows).map(() => range(columns).map(() => (random() * 2 - 1) * size));
  const n = 2 + below(11);
  const heads = range(1 + below(2)).map(() => ({
    W_query: matrix(3, 2),
    W_key: matrix(3, 2),
    W_value: matrix(3, 2),
  }));
  const [masked, aimed] = [random() * 0.5, random() * 0.4];
  const cells = range(n).flatMap((i) => range(n).map((j) => [i, j]));
  const ofHeads = (list) => heads.flatMap((_, h) => list.map((one) => [h, ...one]));
  return {
    words: range(n).map((i) => `word${i}`),
    x: matrix(n, 3),
    heads,
    forbidden: cells.filter(() => isLikely(masked)),
    isCausal: isLikely(0.4),
    padding: isLikely(0.4) ? below(n) : 0,
    isScaled: isLikely(0.6),
    temperature: isLikely(0.3) ? 1 : 10 ** (random() * 2 - 1),
    targets: isLikely(0.7) ? ofHeads(cells).filter(() => isLikely(aimed)) : [],
    contexts: isLikely(0.7)
      ? ofHeads(range(n).map((i) => [i]))
          .filter(() => isLikely(aimed))
          .map((one) => [...one, ...matrix(1, 2)[0]])
      : [],
    rate: 10 ** (random() * 3 - 2),
    at: below(n),
    head: below(heads.length),
  };
}

module.exports = { randomFrom, randomState, range };
