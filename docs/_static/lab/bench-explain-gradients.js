"use strict";

// Where the gradients come from; the equations are beside `gradients` in bench.js.

{
  const { lossTerms, scaleOf } = lab.bench;
  const { dot } = lab.tensors;
  const { digits } = lab.dom;
  const { columnOf, nameOf, range, rowOf } = lab.benchTexts;
  const { column, difference, products, putAll, quotedWords } = lab.benchTexts;
  const { reasonOf, share } = lab.benchTexts;

  const TOWARDS = "gradient of the loss with respect to";

  // The gradients that come straight from the loss
  function putErrors(put, state, layer, { dContext, dWeights, dScaled }) {
    const { head } = state;
    const words = quotedWords(state);
    const { weights, context } = layer.heads[head];
    const { rows, contexts } = lossTerms(state, layer);
    const ofWord = (terms, i) => terms.find((one) => one.h === head && one.i === i);
    putAll(put, dContext, {
      name: "dContext",
      text: (i, c, value) => {
        const who = `${TOWARDS} the context of ${words[i]}, number ${c + 1}`;
        const goal = ofWord(contexts, i);
        if (!goal) return `${who} = 0, because it has no target`;
        const error = share(difference(context[i][c], goal.target[c]), contexts.length);
        return `${who} = ${share("context − target", contexts.length)} = ${error} ≈ ${value}`;
      },
      sources: (i, c) => [nameOf("context", i, c, state)],
    });
    putAll(put, dScaled, {
      name: "dScaled",
      text: (i, j, value) => {
        const who = `${TOWARDS} the scaled score of ${words[j]} for the query of ${words[i]}`;
        if (!layer.allowed[i][j]) return `${who} = 0, because ${reasonOf(state, i, j)}`;
        const row = ofWord(rows, i);
        const target = row?.js.includes(j) ? 1 / row.js.length : 0;
        const mean = dot(weights[i], dWeights[i]);
        const parts = [
          ...(row ? [share(difference(weights[i][j], target), rows.length)] : []),
          ...(ofWord(contexts, i)
            ? [`${digits(weights[i][j])} × (${difference(dWeights[i][j], mean)})`]
            : []),
        ].join(" + ");
        return `${who} = ${parts ? `${parts} ≈ ${value}` : "0, because its row has no target"}`;
      },
      sources: (i, j) => [`map.${i}.${j}`, ...(ofWord(contexts, i) ? rowOf("dContext", i, 2) : [])],
    });
  }

  // The gradients that are products of matrices: each number is a row or column of the first times a
  // column of the second.
  function putProducts(put, state, layer, made) {
    const { x, head } = state;
    const words = quotedWords(state);
    const { query, key, weights } = layer.heads[head];
    const n = words.length;
    const scale = digits(scaleOf(state));
    const scaled = "the gradient of the scaled scores";
    const rules = {
      query: {
        equation: (word, c) => `scale × row of ${word} in ${scaled} · column ${c} of the keys`,
        filled: (i, c) => `${scale} × (${products(made.dScaled[i], column(key, c))})`,
        sources: (i, c) => [...rowOf("dScaled", i, n), ...columnOf("key", c, n)],
      },
      key: {
        equation: (word, c) =>
          `scale × column of ${word} in ${scaled} · column ${c} of the queries`,
        filled: (j, c) => `${scale} × (${products(column(made.dScaled, j), column(query, c))})`,
        sources: (j, c) => [
          ...columnOf("dScaled", j, n),
          ...range(n).map((i) => nameOf("query", i, c, state)),
        ],
      },
      value: {
        equation: (word, c) =>
          `column of ${word} in the weights · column ${c} of the gradient of the contexts`,
        filled: (j, c) => products(column(weights, j), column(made.dContext, c)),
        sources: (j, c) => [...columnOf("map", j, n), ...columnOf("dContext", c, n)],
      },
    };
    for (const [role, { equation, filled, sources }] of Object.entries(rules)) {
      const name = { query: "dQuery", key: "dKey", value: "dValue" }[role];
      putAll(put, made[name], {
        name,
        text: (i, c, value) =>
          `${TOWARDS} the ${role} of ${words[i]}, number ${c + 1} = ${equation(words[i], c + 1)} = ${filled(i, c)} ≈ ${value}`,
        sources,
      });
      // W's gradient is Xᵀ times that of what W has made.
      putAll(put, made[`dW_${role}`], {
        name: `dW_${role}`,
        text: (r, c, value) =>
          `${TOWARDS} W_${role}, row ${r + 1}, number ${c + 1} = column ${r + 1} of the embeddings · column ${c + 1} of ${name} = ${products(column(x, r), column(made[name], c))} ≈ ${value}`,
        sources: (r, c) => [...columnOf("x", r, n), ...columnOf(name, c, n)],
      });
    }
  }

  lab.benchGradients = { putErrors, putProducts };
}
