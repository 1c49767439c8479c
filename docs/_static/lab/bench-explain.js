"use strict";

// "Where from?" Each number of the workbench knows what it was made of: its own equation with the
// digits filled in, and the names of the numbers that went into it. Inputs are called x.i.c and
// W_query.r.c, and so on.

{
  const { forward, gradients, loss, lossTerms, scaleOf } = lab.bench;
  const { dot } = lab.tensors;
  const { digits } = lab.dom;

  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const rowOf = (name, i, width) => range(width).map((c) => `${name}.${i}.${c}`);
  const columnOf = (name, c, height) => range(height).map((i) => `${name}.${i}.${c}`);
  const column = (A, c) => A.map((row) => row[c]);
  // 0.5500 × 0.2961 + 0.8700 × 0.2517
  const products = (a, b) => a.map((one, i) => `${digits(one)} × ${digits(b[i])}`).join(" + ");
  // 0.3061 − 1.0000, and 0.3061 + 1.0000 where the second is negative
  const difference = (a, b) => `${digits(a)} ${b < 0 ? "+" : "−"} ${digits(Math.abs(b))}`;
  const TOWARDS = "gradient of the loss with respect to";
  const share = (text, count) => (count > 1 ? `(${text}) / ${count}` : text);
  // Word i's query or context vector; that of the word whose query is shown has a shorter name.
  const namesOf = (role, i, { at }) => (i === at ? [`${role}.0`, `${role}.1`] : rowOf(role, i, 2));

  // Returns a Map: name of a number → { value, text, sources }, for the head that is shown. query.c,
  // score.j, scaled.j, weight.j and context.c are those of the word whose query is shown.
  function explain(state) {
    const layer = forward(state);
    const numbers = new Map();
    // Texts and sources are made when they are read: a reader asks for one number of hundreds, and all
    // of them change at once.
    const put = (name, value, text, sources) =>
      numbers.set(name, {
        value,
        get text() {
          return text();
        },
        get sources() {
          return sources();
        },
      });
    putProjections(put, state, layer);
    putScores(put, state, layer);
    putWeights(put, state, layer);
    putLoss(put, state, layer);
    putGradients(put, state, layer);
    return numbers;
  }

  // Q = X W_query, K = X W_key, V = X W_value: row i of X times column c of the matrix
  function putProjections(put, { words, x, heads, at, head }, layer) {
    for (const role of ["query", "key", "value"]) {
      const W = heads[head][`W_${role}`];
      for (const [i, word] of words.entries()) {
        for (const [c, value] of layer.heads[head][role][i].entries()) {
          const text = () =>
            `${role} of ${word}, number ${c + 1} = ${word} · column ${c + 1} of W_${role} = ${products(x[i], column(W, c))} = ${digits(value)}`;
          const sources = () => [
            ...rowOf("x", i, x[i].length),
            ...columnOf(`W_${role}`, c, W.length),
          ];
          put(`${role}.${i}.${c}`, value, text, sources);
          if (role === "query" && i === at) put(`query.${c}`, value, text, sources);
        }
      }
    }
  }

  // scores = Q Kᵀ, then times scale / temperature, and −∞ where a mask forbids
  function putScores(put, state, layer) {
    const { words, at, head, isScaled, temperature } = state;
    const { query, key, scores, scaled } = layer.heads[head];
    for (const [j, word] of words.entries()) {
      const score = digits(scores[at][j]);
      put(
        `score.${j}`,
        scores[at][j],
        () =>
          `score of ${word} = query of ${words[at]} · key of ${word} = ${products(query[at], key[j])} = ${score}`,
        () => [...namesOf("query", at, state), ...rowOf("key", j, 2)],
      );
      const text = () => {
        if (!layer.allowed[at][j]) return `${reasonOf(state, at, j)}, so its score becomes −∞`;
        const divisors = (isScaled ? " / √2" : "") + (temperature === 1 ? "" : ` / ${temperature}`);
        const equation = divisors
          ? `${score}${divisors} = ${digits(scaled[at][j])}`
          : `${score}, because the scale is off and the temperature is 1`;
        return `scaled score of ${word} = ${equation}`;
      };
      put(`scaled.${j}`, scaled[at][j], text, () => [`score.${j}`]);
    }
  }

  function reasonOf({ words, padding, isCausal }, i, j) {
    if (j >= words.length - padding) return `${words[j]} is padding, and the padding mask hides it`;
    if (isCausal && j > i)
      return `${words[j]} comes after ${words[i]}, and the causal mask hides it`;
    return `you have masked ${words[j]} for the query of ${words[i]}`;
  }

  // weights = softmax(scaled), context = weights V
  function putWeights(put, state, layer) {
    const { words, at, head } = state;
    const { weights, context, value } = layer.heads[head];
    const n = words.length;
    for (const i of range(n)) {
      for (const j of range(n)) {
        const text = () => textOfWeight(state, layer, i, j);
        put(`map.${i}.${j}`, weights[i][j], text, () => [
          ...namesOf("query", i, state),
          ...range(n).flatMap((l) => rowOf("key", l, 2)),
        ]);
        if (i === at) {
          put(`weight.${j}`, weights[i][j], text, () => range(n).map((l) => `scaled.${l}`));
        }
      }
      for (const [c, number] of context[i].entries()) {
        const text = () =>
          `context of ${words[i]}, number ${c + 1} = weights · column ${c + 1} of the values = ${products(weights[i], column(value, c))} = ${digits(number)}`;
        const values = columnOf("value", c, n);
        put(`context.${i}.${c}`, number, text, () => [...rowOf("map", i, n), ...values]);
        if (i === at) {
          const own = range(n).map((j) => `weight.${j}`);
          put(`context.${c}`, number, text, () => [...own, ...values]);
        }
      }
    }
  }

  // A weight is a share of the row's powers. Where scores are so large that their powers would
  // overflow or all become 0, the largest score is subtracted first, which changes no share.
  function textOfWeight(state, { allowed, heads }, i, j) {
    const { words, head } = state;
    const { scaled, weights } = heads[head];
    const who = `weight that ${words[i]} gives to ${words[j]}`;
    if (!allowed[i][j]) return `${who} = 0, because ${reasonOf(state, i, j)}`;
    const largest = Math.max(...scaled[i]);
    const shift = Math.abs(largest) > 8 ? largest : 0;
    const power = shift ? difference(scaled[i][j], shift) : digits(scaled[i][j]);
    const powers = scaled[i].map((score) => digits(Math.exp(score - shift)));
    return `${who} = exp(${power}) / sum of the row's exp = ${powers[j]} / (${powers.join(" + ")}) = ${digits(weights[i][j])}`;
  }

  // The mean of the rows' terms + the mean of the context vectors' terms
  function putLoss(put, state, layer) {
    const { rows, contexts } = lossTerms(state, layer);
    const value = loss(state, layer);
    const text = () => {
      if (value === null) return "Without a target there is no loss.";
      const logs = rows.map(({ h, i, js }) => {
        const terms = js.map((j) => `−ln ${digits(layer.heads[h].weights[i][j])}`);
        return share(terms.join(" "), terms.length);
      });
      const distances = contexts.map(({ h, i, target }) => {
        const context = layer.heads[h].context[i];
        return `½ (${context.map((number, c) => `(${difference(number, target[c])})²`).join(" + ")})`;
      });
      const means = [
        ["mean of −ln weight over the rows with targets", logs],
        ["mean of ½ distance² over the target vectors", distances],
      ].filter(([, terms]) => terms.length > 0);
      const named = means.map(([name]) => name).join(" + ");
      const filled = means.map(([, terms]) => share(terms.join(" + "), terms.length)).join(" + ");
      return `loss = ${named} = ${filled} = ${digits(value)}`;
    };
    const isShown = ({ h }) => h === state.head;
    put("loss", value, text, () => [
      ...rows.filter(isShown).flatMap(({ i, js }) => js.map((j) => `map.${i}.${j}`)),
      ...contexts.filter(isShown).flatMap(({ i }) => namesOf("context", i, state)),
    ]);
  }

  // The equations beside `gradients` in bench.js
  function putGradients(put, state, layer) {
    const { words, head } = state;
    const { weights, context } = layer.heads[head];
    const { rows, contexts } = lossTerms(state, layer);
    const made = gradients(state, layer)[head];

    for (const [i, word] of words.entries()) {
      const row = rows.find((one) => one.h === head && one.i === i);
      const goal = contexts.find((one) => one.h === head && one.i === i);
      for (const [c, value] of made.dContext[i].entries()) {
        const text = () => {
          const who = `${TOWARDS} the context of ${word}, number ${c + 1}`;
          if (!goal) return `${who} = 0, because it has no target`;
          const error = share(difference(context[i][c], goal.target[c]), contexts.length);
          return `${who} = ${share("context − target", contexts.length)} = ${error} = ${digits(value)}`;
        };
        put(`dContext.${i}.${c}`, value, text, () => [namesOf("context", i, state)[c]]);
      }
      for (const [j, value] of made.dScaled[i].entries()) {
        const text = () => {
          const who = `${TOWARDS} the scaled score of ${words[j]} for the query of ${word}`;
          if (!layer.allowed[i][j]) return `${who} = 0, because ${reasonOf(state, i, j)}`;
          const parts = [];
          if (row) {
            const target = row.js.includes(j) ? 1 / row.js.length : 0;
            parts.push(share(difference(weights[i][j], target), rows.length));
          }
          if (goal) {
            const mean = dot(weights[i], made.dWeights[i]);
            parts.push(`${digits(weights[i][j])} × (${difference(made.dWeights[i][j], mean)})`);
          }
          if (parts.length === 0) return `${who} = 0, because its row has no target`;
          return `${who} = ${parts.join(" + ")} = ${digits(value)}`;
        };
        const errors = goal ? rowOf("dContext", i, 2) : [];
        put(`dScaled.${i}.${j}`, value, text, () => [`map.${i}.${j}`, ...errors]);
      }
    }

    putProducts(put, state, layer, made);
  }

  // Those gradients that are products of matrices: each number is a row or column of the first times a
  // column of the second.
  function putProducts(put, state, layer, made) {
    const { words, x, head } = state;
    const { query, key, weights } = layer.heads[head];
    const n = words.length;
    const scale = `${digits(scaleOf(state))} × `;
    const scaled = "the gradient of the scaled scores";
    const rules = [
      {
        role: "query",
        equation: (word, c) => `scale × row of ${word} in ${scaled} · column ${c} of the keys`,
        digitsOf: (i, c) => `${scale}(${products(made.dScaled[i], column(key, c))})`,
        sources: (i, c) => [...rowOf("dScaled", i, n), ...columnOf("key", c, n)],
      },
      {
        role: "key",
        equation: (word, c) =>
          `scale × column of ${word} in ${scaled} · column ${c} of the queries`,
        digitsOf: (j, c) => `${scale}(${products(column(made.dScaled, j), column(query, c))})`,
        sources: (j, c) => [
          ...columnOf("dScaled", j, n),
          ...range(n).map((i) => namesOf("query", i, state)[c]),
        ],
      },
      {
        role: "value",
        equation: (word, c) =>
          `column of ${word} in the weights · column ${c} of the gradient of the contexts`,
        digitsOf: (j, c) => products(column(weights, j), column(made.dContext, c)),
        sources: (j, c) => [...columnOf("map", j, n), ...columnOf("dContext", c, n)],
      },
    ];
    for (const { role, equation, digitsOf, sources } of rules) {
      const name = `d${role[0].toUpperCase()}${role.slice(1)}`;
      for (const [i, word] of words.entries()) {
        for (const [c, value] of made[name][i].entries()) {
          const text = () =>
            `${TOWARDS} the ${role} of ${word}, number ${c + 1} = ${equation(word, c + 1)} = ${digitsOf(i, c)} = ${digits(value)}`;
          put(`${name}.${i}.${c}`, value, text, () => sources(i, c));
        }
      }
      // W's gradient: Xᵀ times that of what W has made
      for (const [r, numbers] of made[`dW_${role}`].entries()) {
        for (const [c, value] of numbers.entries()) {
          const text = () =>
            `${TOWARDS} W_${role}, row ${r + 1}, number ${c + 1} = column ${r + 1} of the embeddings · column ${c + 1} of ${name} = ${products(column(x, r), column(made[name], c))} = ${digits(value)}`;
          put(`dW_${role}.${r}.${c}`, value, text, () => [
            ...columnOf("x", r, n),
            ...columnOf(name, c, n),
          ]);
        }
      }
    }
  }

  lab.bench.explain = explain;
}
