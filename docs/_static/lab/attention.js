"use strict";

// The layers of the package, `attention/functional.py`, `pooling.py` and `layers.py`, once more.

// Mᵢⱼ = (j ≤ i): word i may attend to itself and to what stands before it
function causalMask(n) {
  return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => j <= i)); // (n, n)
}

// weights = softmax(Q Kᵀ · scale), context = weights V; without a scale, it is 1/√k
function scaledDotProductAttention(query, key, value, { mask = null, scale = null } = {}) {
  const factor = scale ?? 1 / Math.sqrt(query[0].length);
  const scores = query.map((q, i) =>
    key.map((k, j) => (mask && !mask[i][j] ? -Infinity : dot(q, k) * factor)),
  ); // (n, n)
  const weights = scores.map(softmax); // (n, n)
  return { scores, weights, context: matmul(weights, value) }; // context: (n, v)
}

// e = X w, context = softmax(e) X: one learned question for every text, and no matrix
function energyPooling(x, w) {
  const { weights, context } = scaledDotProductAttention([w], x, x, { scale: 1 });
  return { weights: weights[0], context: context[0] }; // (n,), (d,)
}

// Q = X W_query, K = X W_key, V = X W_value
function selfAttention(x, { W_query, W_key, W_value }, { isCausal = false, scale = null } = {}) {
  const query = matmul(x, W_query); // (n, k)
  const key = matmul(x, W_key); // (n, k)
  const value = matmul(x, W_value); // (n, v)
  const mask = isCausal ? causalMask(x.length) : null;
  return { query, key, value, ...scaledDotProductAttention(query, key, value, { mask, scale }) };
}
