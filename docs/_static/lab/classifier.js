"use strict";

// The classifier of `attention/sentiment/model.py`, reading one review.

{
  const { add, dot, matmul, meanOfRows, sigmoid, softmax } = lab.tensors;
  const { attentionScores, energyPooling, project } = lab.attention;

  // S_{p, 2i} = sin(p / base^{2i/d}), S_{p, 2i+1} = cos(p / base^{2i/d})
  function position(p, d, base) {
    return Array.from({ length: d }, (_, j) => {
      const angle = p / base ** ((2 * Math.floor(j / 2)) / d);
      return j % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }); // (d,)
  }

  // logit = context · w + b, where the context is one vector for the whole review.
  // Positions count from the end: the last word has 0. Returns the weight of each word; for qkv
  // that is the mean weight it receives, and `map` holds all of them, a row for each word that asks.
  function classify(model, ids) {
    const { base, kind } = model.config;
    const n = ids.length;
    if (n === 0) return { logit: model.b, probability: sigmoid(model.b), weights: [], map: null };
    const x = ids.map((id, i) => {
      const vector = model.embedding(id); // (d,)
      return add(vector, position(n - 1 - i, vector.length, base));
    }); // (n, d)
    let context, weights;
    let map = null;
    if (kind === "energy") {
      ({ context, weights } = energyPooling(x, model.energy)); // (d,), (n,)
    } else {
      const { query, key, value } = project(x, model); // (n, k), (n, k), (n, v)
      map = attentionScores(query, key).map(softmax); // (n, n)
      weights = meanOfRows(map); // (n,)
      // The mean of all contexts, mean(map V), is mean(map) V: one row times V in place of n.
      context = matmul([weights], value)[0]; // (v,)
    }
    const logit = dot(context, model.w) + model.b;
    return { logit, probability: sigmoid(logit), weights, map };
  }

  lab.classifier = { classify, position };
}
