"use strict";

// "Where from?" Each number of the sentence lab knows what it was made of: its own equation with
// the digits filled in, and the names of the numbers that went into it.

{
  const { matmul, transpose } = lab.tensors;
  const { causalMask, selfAttention } = lab.attention;
  const { digits } = lab.dom;

  const times = (a, b) => a.map((number, i) => `${digits(number)} × ${digits(b[i])}`).join(" + ");
  const rowOf = (name, i, n) => Array.from({ length: n }, (_, j) => `${name}.${i}.${j}`);
  const columnOf = (name, j, n) => Array.from({ length: n }, (_, i) => `${name}.${i}.${j}`);

  // Returns a Map: name of a number → { value, text, sources }. `at` is the word that asks.
  function explain({ words, x, W_query, W_key, W_value, at, isScaled, isCausal }) {
    const scale = isScaled ? null : 1;
    const mask = isCausal ? causalMask(words.length) : null;
    const layer = selfAttention(x, { W_query, W_key, W_value }, { mask, scale });
    const [n, d, k] = [x.length, x[0].length, W_key[0].length];
    const unscaled = matmul(layer.query, transpose(layer.key)); // (n, n)
    const numbers = new Map();
    const put = (name, value, text, sources) => numbers.set(name, { value, text, sources });

    // row i of X times column c of the matrix
    const putProjection = (name, role, i, W, made) => {
      for (let c = 0; c < W[0].length; c += 1) {
        const column = W.map((row) => row[c]);
        const text = `${role} of ${words[i]}, number ${c + 1} = ${words[i]} · column ${c + 1} of W_${role} = ${times(x[i], column)} = ${digits(made[i][c])}`;
        put(`${name}.${c}`, made[i][c], text, [
          ...rowOf("x", i, d),
          ...columnOf(`W_${role}`, c, d),
        ]);
      }
    };
    putProjection("query", "query", at, W_query, layer.query);
    for (let j = 0; j < n; j += 1) {
      putProjection(`key.${j}`, "key", j, W_key, layer.key);
      putProjection(`value.${j}`, "value", j, W_value, layer.value);
      const score = unscaled[at][j];
      const hidden = isCausal && j > at;
      put(
        `score.${j}`,
        score,
        `score of ${words[j]} = query of ${words[at]} · key of ${words[j]} = ${times(layer.query[at], layer.key[j])} = ${digits(score)}`,
        [...Array.from({ length: k }, (_, c) => `query.${c}`), ...rowOf("key", j, k)],
      );
      put(
        `scaled.${j}`,
        layer.scores[at][j],
        hidden
          ? `${words[j]} stands after ${words[at]}: the causal mask hides it, so its score becomes −∞`
          : isScaled
            ? `${digits(score)} / √${k} = ${digits(score)} / ${digits(Math.sqrt(k))} = ${digits(layer.scores[at][j])}, where k = ${k} is the width of a key`
            : `the scale is off: the score stays ${digits(score)}`,
        [`score.${j}`],
      );
      // The same number stands twice: beside the scores it comes from, and the value it mixes.
      for (const name of ["weight", "mix"]) {
        put(
          `${name}.${j}`,
          layer.weights[at][j],
          share(words, layer, at, j),
          columnNames("scaled", n),
        );
      }
    }
    for (let c = 0; c < W_value[0].length; c += 1) {
      const column = layer.value.map((row) => row[c]);
      const text = `context of ${words[at]}, number ${c + 1} = weights · column ${c + 1} of the values = ${times(layer.weights[at], column)} = ${digits(layer.context[at][c])}`;
      put(`context.${c}`, layer.context[at][c], text, [
        ...columnNames("mix", n),
        ...columnOf("value", c, n),
      ]);
    }
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j < n; j += 1) {
        put(`map.${i}.${j}`, layer.weights[i][j], share(words, layer, i, j), rowOf("map", i, n));
      }
    }
    return { ...layer, numbers };
  }

  const columnNames = (name, n) => Array.from({ length: n }, (_, j) => `${name}.${j}`);

  // A weight is a share of the powers in its row. Where scores are so large that their powers would
  // be no numbers any more, the largest is taken from all of them first: that changes no share.
  function share(words, layer, i, j) {
    const largest = Math.max(...layer.scores[i]);
    const shift = largest > 50 ? largest : 0;
    const less = shift ? ` − ${digits(shift)}` : "";
    const powers = layer.scores[i].map((score) => Math.exp(score - shift));
    const sum = powers.reduce((total, power) => total + power, 0);
    const who = `weight that ${words[i]} gives to ${words[j]}`;
    if (layer.scores[i][j] === -Infinity)
      return `${who} = 0: ${words[j]} is hidden, and exp(−∞) = 0`;
    const parts = powers.map((power) => digits(power)).join(" + ");
    return `${who} = exp(${digits(layer.scores[i][j])}${less}) / sum of the row's exp = ${digits(powers[j])} / (${parts}) = ${digits(powers[j] / sum)}`;
  }

  lab.where = { explain };
}
