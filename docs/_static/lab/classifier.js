"use strict";

// The classifier of `attention/sentiment/model.py`, reading one review.

{
  const { add, dot, sigmoid } = lab.tensors;
  const { energyPooling, project } = lab.attention;

  const FIRST_WORD = 3; // lower ids are padding, unknown words and separators: they form no pairs

  // S_{p, 2i} = sin(p / base^{2i/d}), S_{p, 2i+1} = cos(p / base^{2i/d})
  function position(p, d, base) {
    return Array.from({ length: d }, (_, j) => {
      const angle = p / base ** ((2 * Math.floor(j / 2)) / d);
      return j % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
    }); // (d,)
  }

  // bucket = (1,000,003 · first + 7,919 · second) mod (2³¹ − 1) mod buckets, exact below 2⁵³
  function bucketOf(first, second, buckets) {
    return ((1_000_003 * first + 7_919 * second) % (2 ** 31 - 1)) % buckets;
  }

  // Pairs of words at most `span` words apart, as [place of the first, place of the second]
  function pairsOf(ids, span) {
    const places = [...ids.keys()].filter((i) => ids[i] >= FIRST_WORD);
    return places.flatMap((second) =>
      Array.from({ length: span }, (_, i) => second - 1 - i)
        .filter((first) => ids[first] >= FIRST_WORD)
        .map((first) => [first, second]),
    ); // (p, 2)
  }

  // What is attended to: a vector per word, then one per pair. Positions count from the end, where
  // the last word has 0, and a pair has that of its second word.
  function inputs({ config, embedding, bigrams }, ids) {
    const { base, bigram_buckets, bigram_span, embed_dim, positions } = config;
    const table =
      positions === "end" ? ids.map((_, i) => position(ids.length - 1 - i, embed_dim, base)) : null;
    const place = (vector, i) => (table ? add(vector, table[i]) : vector);
    const pairs = bigram_buckets ? pairsOf(ids, bigram_span) : [];
    const words = ids.map((id, i) => place(embedding(id), i)); // (n, d)
    const vectors = pairs.map(([first, second]) =>
      place(bigrams(bucketOf(ids[first], ids[second], bigram_buckets)), second),
    ); // (p, d)
    return { x: [...words, ...vectors], pairs }; // x: (n + p, d)
  }

  // Half of what a pair has goes to each of its two words.
  function perWord(numbers, pairs) {
    const n = numbers.length - pairs.length;
    const words = numbers.slice(0, n); // (n,)
    for (let p = 0; p < pairs.length; p += 1) {
      const [first, second] = pairs[p];
      words[first] += numbers[n + p] / 2;
      words[second] += numbers[n + p] / 2;
    }
    return words;
  }

  // weightsᵢⱼ = softmaxⱼ(qᵢ · kⱼ / √k), as `attention.js` has it for a few words. A text of 256 words
  // has up to 2.4 million of these numbers, so each row is computed in place.
  function selfWeights(query, key) {
    const scale = 1 / Math.sqrt(key[0].length);
    return query.map((q) => {
      const row = new Float64Array(key.length);
      let largest = -Infinity;
      for (let j = 0; j < row.length; j += 1) {
        row[j] = dot(q, key[j]) * scale;
        if (row[j] > largest) largest = row[j];
      }
      let sum = 0;
      for (let j = 0; j < row.length; j += 1) sum += row[j] = Math.exp(row[j] - largest);
      for (let j = 0; j < row.length; j += 1) row[j] /= sum;
      return row;
    }); // (m, m)
  }

  // mean(A)ⱼ = 1/m Σᵢ Aᵢⱼ
  function meanOfRows(A) {
    const mean = new Array(A[0].length).fill(0);
    for (const row of A) for (let j = 0; j < mean.length; j += 1) mean[j] += row[j] / A.length;
    return mean; // (m,)
  }

  // The weights of all that is attended to, and the evidence of each: what it adds to the logit per
  // weight. For qkv the weights are the mean over all that attend, and `map` has a row for each.
  function attend(model, x) {
    if (model.config.kind === "qkv") {
      const { query, key, value } = project(x, model); // (m, k), (m, k), (m, v)
      const map = selfWeights(query, key); // (m, m)
      return { weights: meanOfRows(map), evidence: value.map((v) => dot(v, model.w)), map };
    }
    const { kind } = model.config;
    const weights =
      kind === "energy" ? energyPooling(x, model.energy).weights : x.map(() => 1 / x.length);
    return { weights, evidence: x.map((one) => dot(one, model.w)), map: null }; // (m,), (m,)
  }

  // logit = Σᵢ contributionᵢ + b, where contributionᵢ = weightᵢ · evidenceᵢ. This is context · w + b,
  // since the context is the mean of the values that the weights take.
  function classify(model, ids) {
    if (ids.length === 0) {
      const nothing = { weights: [], contributions: [], map: null };
      return { logit: model.b, probability: sigmoid(model.b), ...nothing };
    }
    const { x, pairs } = inputs(model, ids); // (m, d), with m = n + p
    const { weights, evidence, map } = attend(model, x);
    const contributions = weights.map((weight, i) => weight * evidence[i]); // (m,)
    const logit = contributions.reduce((sum, one) => sum + one, model.b);
    return {
      logit,
      probability: sigmoid(logit),
      weights: perWord(weights, pairs), // (n,)
      contributions: perWord(contributions, pairs), // (n,)
      map: map?.slice(0, ids.length).map((row) => perWord(row, pairs)) ?? null, // (n, n)
    };
  }

  lab.classifier = { bucketOf, classify, position };
}
