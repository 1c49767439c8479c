"use strict";

// What the workbench computes: attention with one or two heads, the loss of the reader's targets,
// its gradients by hand, and steps of gradient descent. A state is described in bench-state.js;
// a layer is what `forward` returns, h counts heads, and H is their number.

{
  const { add, dot, logSoftmax, matmul, transpose } = lab.tensors;
  const { causalMask, selfAttention } = lab.attention;

  const MATRICES = ["W_query", "W_key", "W_value"];
  const LIMIT = 99; // the largest number that a state may hold

  const mean = (numbers) => numbers.reduce((total, number) => total + number, 0) / numbers.length;
  const minus = (a, b) => a.map((number, i) => number - b[i]);
  const times = (a, factor) => a.map((number) => number * factor);
  const zeros = (rows, columns) => Array.from({ length: rows }, () => Array(columns).fill(0));

  // allowedᵢⱼ: whether word i may attend to word j, by the causal mask, the padding mask, and the cells
  // that the reader has masked
  function allowedKeys({ words, forbidden, isCausal, padding }) {
    const n = words.length;
    const masked = new Set(forbidden.map(([i, j]) => i * n + j));
    return causalMask(n).map((row, i) =>
      row.map((isPast, j) => (isPast || !isCausal) && j < n - padding && !masked.has(i * n + j)),
    ); // (n, n)
  }

  // 1/√k · 1/temperature, where k = 2, and without the scale 1/temperature
  function scaleOf({ isScaled, temperature }) {
    return (isScaled ? Math.SQRT1_2 : 1) / temperature;
  }

  // weights = softmax(Q Kᵀ · scale / temperature) and context = weights V in each head; the heads'
  // context vectors are concatenated.
  function forward(state) {
    const allowed = allowedKeys(state); // (n, n)
    const options = { mask: allowed, scale: scaleOf(state) };
    const heads = state.heads.map((matrices) => {
      const { scores: scaled, ...layer } = selfAttention(state.x, matrices, options);
      return { ...layer, scores: matmul(layer.query, transpose(layer.key)), scaled };
    });
    const context = state.words.map((_, i) => heads.flatMap((head) => head.context[i])); // (n, 2 H)
    return { allowed, heads, context };
  }

  // The rows (h, i) that have targets, each with its words j. A masked cell can't be a target.
  function targetRows({ targets }, { allowed }) {
    const rows = new Map();
    for (const [h, i, j] of targets.filter(([, i, j]) => allowed[i][j])) {
      const row = rows.get(`${h}.${i}`) ?? { h, i, js: [] };
      row.js.push(j);
      rows.set(`${h}.${i}`, row);
    }
    return [...rows.values()];
  }

  // The context vectors (h, i) that have a target. A word that may attend to nothing has none.
  function targetContexts({ contexts }, { allowed }) {
    return contexts
      .filter(([, i]) => allowed[i].includes(true))
      .map(([h, i, ...target]) => ({ h, i, target }));
  }

  // The terms of the loss: −mean log weightₕᵢⱼ over the targets j of each row (h, i), and
  // ½ ‖contextₕᵢ − target‖² for each target of a context vector
  function lossTerms(state, { allowed, heads }) {
    const rows = targetRows(state, { allowed }).map((row) => {
      const logs = logSoftmax(heads[row.h].scaled[row.i]); // (n,)
      return { ...row, term: -mean(row.js.map((j) => logs[j])) };
    });
    const contexts = targetContexts(state, { allowed }).map((one) => {
      const error = minus(heads[one.h].context[one.i], one.target); // (2,)
      return { ...one, error, term: dot(error, error) / 2 };
    });
    return { rows, contexts };
  }

  // loss = mean of the rows' terms + mean of the context vectors' terms; null without a target
  function loss(state, layer) {
    const terms = Object.values(lossTerms(state, layer)).filter((some) => some.length > 0);
    if (terms.length === 0) return null;
    return terms.map((some) => mean(some.map(({ term }) => term))).reduce((a, b) => a + b);
  }

  // The gradient of the loss by each part of each head; dA stands for ∂loss/∂A and has A's shape.
  function gradients(state, layer) {
    const { rows, contexts } = lossTerms(state, layer);
    const n = state.words.length;
    return layer.heads.map(({ query, key, value, weights }, h) => {
      // context vectors: (context − target) / their number
      const dContext = zeros(n, value[0].length); // (n, v)
      for (const { i, error } of contexts.filter((one) => one.h === h)) {
        dContext[i] = add(dContext[i], times(error, 1 / contexts.length));
      }
      // context = weights V
      const dWeights = matmul(dContext, transpose(value)); // (n, n)
      const dValue = matmul(transpose(weights), dContext); // (n, v)
      // weights = softmax(scaled): weights ∘ (dWeights − rowsum(dWeights ∘ weights))
      const dScaled = weights.map((row, i) => {
        const sum = dot(dWeights[i], row);
        return row.map((weight, j) => weight * (dWeights[i][j] - sum));
      }); // (n, n)
      // −log of the softmax: (weights − target) / number of rows, the row's targets sharing a total of 1
      for (const { i, js } of rows.filter((row) => row.h === h)) {
        const target = Array(n).fill(0); // (n,)
        for (const j of js) target[j] += 1 / js.length;
        dScaled[i] = add(dScaled[i], times(minus(weights[i], target), 1 / rows.length));
      }
      // scaled = Q Kᵀ · scale / temperature
      const dScores = dScaled.map((row) => times(row, scaleOf(state))); // (n, n)
      const dQuery = matmul(dScores, key); // (n, k)
      const dKey = matmul(transpose(dScores), query); // (n, k)
      // Q = X W_query, K = X W_key, V = X W_value
      const [dW_query, dW_key, dW_value] = [dQuery, dKey, dValue].map((made) =>
        matmul(transpose(state.x), made),
      ); // each (d, k)
      const made = { dContext, dWeights, dScaled, dQuery, dKey, dValue };
      return { ...made, dW_query, dW_key, dW_value };
    });
  }

  // W ← W − rate · dW for the three matrices of each head
  function descend(state, layer) {
    const all = gradients(state, layer);
    const heads = state.heads.map((head, h) => {
      const moved = MATRICES.map((name) => [
        name,
        head[name].map((row, r) => minus(row, times(all[h][`d${name}`][r], state.rate))),
      ]);
      return Object.fromEntries(moved);
    });
    return { ...state, heads };
  }

  // Takes `count` steps of gradient descent. Returns { state, losses, stopped }: losses[t] is the loss
  // after step t + 1, and `stopped` says why there were fewer steps than asked for, or is null.
  function step(state, count = 1) {
    const losses = [];
    let layer = forward(state);
    if (loss(state, layer) === null) {
      return {
        state,
        losses,
        stopped: "there is no loss without a target",
      };
    }
    for (let t = 0; t < count; t += 1) {
      const next = descend(state, layer);
      const numbers = next.heads.flatMap((head) => MATRICES.flatMap((name) => head[name].flat()));
      // NaN fits nothing, and neither does ∞.
      if (!numbers.every((number) => Math.abs(number) <= LIMIT)) {
        return { state, losses, stopped: `the next step would take a number beyond ±${LIMIT}` };
      }
      state = next;
      layer = forward(state);
      losses.push(loss(state, layer));
    }
    return { state, losses, stopped: null };
  }

  lab.bench = { LIMIT, MATRICES, forward, gradients, loss, lossTerms, scaleOf, step };
}
