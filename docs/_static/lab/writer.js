"use strict";

// The causal transformer of `attention/language.py`, reading one token after the other. Under the
// causal mask no later token changes what an earlier one computed, so all of it is kept: keys and values
// (the KV cache), weights, and the last layer's output. Vectors are typed arrays, because they are
// quick, and a matrix is one array, row after row.

{
  const { fromBase64, receive } = lab.models;
  const { readVocabulary } = lab.bpe;
  const { hashOf, softmax } = lab.tensors;

  const BASE = 10_000; // of the rotation
  const EPS = 1e-5;

  // (W x)ᵢ = Σⱼ Wᵢⱼ xⱼ
  function linear(W, x) {
    const y = new Float64Array(W.length / x.length);
    for (let i = 0, at = 0; i < y.length; i += 1) {
      let sum = 0;
      for (let j = 0; j < x.length; j += 1, at += 1) sum += W[at] * x[j];
      y[i] = sum;
    }
    return y;
  }

  // norm(x)ⱼ = wⱼ (xⱼ − mean) / √(variance + ε)
  function norm(x, w) {
    const mean = x.reduce((sum, one) => sum + one, 0) / x.length;
    const variance = x.reduce((sum, one) => sum + (one - mean) ** 2, 0) / x.length;
    return x.map((one, j) => (w[j] * (one - mean)) / Math.sqrt(variance + EPS));
  }

  // erf(x) = 2/√π ∫₀ˣ exp(−t²) dt, to 1.5e-7: Abramowitz and Stegun (1964), 7.1.26
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
    const sum = factors.reduce((total, factor) => (total + factor) * t, 0);
    return Math.sign(x) * (1 - sum * Math.exp(-x * x));
  }

  // gelu(x) = x Φ(x) = x (1 + erf(x/√2)) / 2
  const gelu = (x) => (x * (1 + erf(x / Math.SQRT2))) / 2;

  // In each head, number i of the first half and number i of the second are turned by the angle
  // p θᵢ, where θᵢ = base^(−2i/k).
  function rotate(x, p, k) {
    const half = k / 2;
    for (let i = 0; i < half; i += 1) {
      const angle = p * BASE ** (-i / half);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let a = i; a < x.length; a += k) {
        const b = a + half;
        [x[a], x[b]] = [x[a] * cos - x[b] * sin, x[a] * sin + x[b] * cos];
      }
    }
    return x;
  }

  // context = softmax(q Kᵀ / √k) V for each head of one token, which sees itself and all before it.
  // Neighbouring heads share keys and values.
  function attend({ num_heads, num_kv_heads }, query, keys, values) {
    const k = query.length / num_heads;
    const context = new Float64Array(query.length);
    const weights = Array.from({ length: num_heads }, (_, head) => {
      const shared = Math.floor((head * num_kv_heads) / num_heads) * k;
      const own = head * k;
      const scores = Float64Array.from(keys, (key) => {
        let sum = 0;
        for (let c = 0; c < k; c += 1) sum += query[own + c] * key[shared + c];
        return sum / Math.sqrt(k);
      }); // (i + 1,)
      const row = softmax(scores); // (i + 1,)
      for (const [j, value] of values.entries()) {
        for (let c = 0; c < k; c += 1) context[own + c] += row[j] * value[shared + c];
      }
      return row;
    }); // (h, i + 1)
    return { context, weights };
  }

  // ---- reading

  // What the model has read: the ids, for each layer keys, values and weights of each token, and the
  // vectors after the last layer.
  function newReading({ config }) {
    const layers = Array.from({ length: config.num_layers }, () => ({
      keys: [],
      values: [],
      weights: [],
    }));
    return { ids: [], layers, hidden: [] };
  }

  function readToken(model, reading, id) {
    const { config, embedding } = model;
    const k = config.embed_dim / config.num_heads;
    const p = reading.ids.length;
    let x = Float64Array.from(
      embedding.subarray(id * config.embed_dim, (id + 1) * config.embed_dim),
    ); // (d,)
    const add = (y) => (x = x.map((one, j) => one + y[j]));
    model.blocks.forEach((block, l) => {
      const { keys, values, weights } = reading.layers[l];
      const normed = norm(x, block.norm1); // (d,)
      const query = rotate(linear(block.W_query, normed), p, k); // (h · k,)
      keys.push(rotate(linear(block.W_key, normed), p, k)); // (kv heads · k,)
      values.push(linear(block.W_value, normed)); // (kv heads · k,)
      const attended = attend(config, query, keys, values);
      weights.push(attended.weights);
      add(linear(block.W_out, attended.context));
      add(linear(block.W_2, linear(block.W_1, norm(x, block.norm2)).map(gelu)));
    });
    reading.ids.push(id);
    reading.hidden.push(norm(x, model.norm)); // (d,)
  }

  // Read these ids and no others. Those that the reading begins with already are not read again.
  function read(model, reading, ids) {
    const differs = reading.ids.findIndex((id, i) => id !== ids[i]);
    const n = differs < 0 ? reading.ids.length : differs;
    const lists = reading.layers.flatMap((layer) => Object.values(layer));
    for (const list of [reading.ids, reading.hidden, ...lists]) list.length = n;
    for (const id of ids.slice(n)) readToken(model, reading, id);
  }

  // logits = E x: a token is likely where its vector is similar to the output
  const logitsAt = (model, reading, i) => linear(model.embedding, reading.hidden[i]); // (v,)

  // ---- drawing

  // pᵢ = softmax(logits / T)ᵢ; where T is 0, the most likely token has all of it
  function probabilities(logits, temperature) {
    if (temperature > 0) return softmax(logits.map((logit) => logit / temperature)); // (v,)
    const best = logits.indexOf(Math.max(...logits));
    return logits.map((_, i) => (i === best ? 1 : 0)); // (v,)
  }

  // The number in [0, 1) that decides about the token at a position. It depends on nothing else, so the
  // same text, temperature and seed are continued in the same way, whatever happened before.
  const chance = (seed, position) =>
    hashOf(new TextEncoder().encode(`${seed} ${position}`)) / 2 ** 32;

  // The first id at which the sum of all probabilities so far is above the number
  function draw(shares, number) {
    let sum = 0;
    const found = shares.findIndex((share) => {
      sum += share;
      return sum > number;
    });
    return found < 0 ? shares.indexOf(Math.max(...shares)) : found; // where the sum rounds below 1
  }

  // ---- the model, as the build wrote it

  function receiveWriter(config, vocabulary, tensors) {
    const floats = (name) => new Float32Array(fromBase64(tensors[name]).buffer);
    // Rows of whole numbers from −127 to 127, and what to multiply each row by
    const matrix = (name) => {
      const whole = new Int8Array(fromBase64(tensors[name]).buffer);
      const scale = floats(`${name}.scale`); // (rows,)
      const width = whole.length / scale.length;
      return Float32Array.from(whole, (one, at) => one * scale[Math.floor(at / width)]);
    };
    const blocks = Array.from({ length: config.num_layers }, (_, l) => {
      const at = (name) => `${l}.${name}`;
      return {
        norm1: floats(at("norm1")), // (d,)
        W_query: matrix(at("attention.W_query")), // (h · k, d)
        W_key: matrix(at("attention.W_key")), // (kv heads · k, d)
        W_value: matrix(at("attention.W_value")), // (kv heads · k, d)
        W_out: matrix(at("attention.W_out")), // (d, h · k)
        norm2: floats(at("norm2")), // (d,)
        W_1: matrix(at("feed_forward.0")), // (hidden, d)
        W_2: matrix(at("feed_forward.3")), // (d, hidden)
      };
    });
    receive("writer", {
      config,
      vocabulary: readVocabulary(vocabulary),
      embedding: matrix("embedding"), // (v, d)
      blocks,
      norm: floats("norm"), // (d,)
    });
  }

  Object.assign(globalThis, { receiveWriter });
  lab.writer = { chance, draw, erf, logitsAt, newReading, probabilities, read };
}
