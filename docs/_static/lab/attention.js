"use strict";

// The layers of the package, `attention/functional.py` and `attention/layers/`, once more.

{
  const { dot, matmul, softmax } = lab.tensors;

  // Mᵢⱼ = (j ≤ i): word i may attend to itself and to what stands before it
  function causalMask(n) {
    return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => j <= i)); // (n, n)
  }

  // scores = Q Kᵀ · scale, and −∞ where the mask forbids; without a scale, it is 1/√k
  function attentionScores(query, key, { mask = null, scale = null } = {}) {
    const factor = scale ?? 1 / Math.sqrt(query[0].length);
    return query.map((q, i) =>
      key.map((k, j) => (mask && !mask[i][j] ? -Infinity : dot(q, k) * factor)),
    ); // (n, n)
  }

  // e = X w, weights = softmax(e), context = weights X: one learned question for every text
  function energyPooling(x, w) {
    const weights = softmax(x.map((word) => dot(word, w))); // (n,)
    return { weights, context: matmul([weights], x)[0] }; // context: (d,)
  }

  // Q = X W_query, K = X W_key, V = X W_value
  function project(x, { W_query, W_key, W_value }) {
    return { query: matmul(x, W_query), key: matmul(x, W_key), value: matmul(x, W_value) };
  }

  // context = weights V, for every word; with all that led there
  function selfAttention(x, matrices, { isCausal = false, scale = null } = {}) {
    const { query, key, value } = project(x, matrices); // (n, k), (n, k), (n, v)
    const mask = isCausal ? causalMask(x.length) : null;
    const scores = attentionScores(query, key, { mask, scale }); // (n, n)
    const weights = scores.map(softmax); // (n, n)
    return { query, key, value, scores, weights, context: matmul(weights, value) }; // context: (n, v)
  }

  lab.attention = { attentionScores, causalMask, energyPooling, project, selfAttention };
}
