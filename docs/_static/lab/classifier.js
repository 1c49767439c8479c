"use strict";

// The classifier of `attention/sentiment/model.py`, reading one review.

{
  const { add, dot, meanOfRows, sigmoid, softmax } = lab.tensors;
  const { attentionScores, energyPooling, project } = lab.attention;

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
    const words = numbers.slice(0, numbers.length - pairs.length); // (n,)
    for (const [p, places] of pairs.entries()) {
      for (const i of places) words[i] += numbers[words.length + p] / 2;
    }
    return words;
  }

  // The weights of all that is attended to, and the evidence of each: what it adds to the logit per
  // weight. For qkv the weights are the mean over all that attend, and `map` has a row for each.
  function attend(model, x) {
    if (model.config.kind === "qkv") {
      const { query, key, value } = project(x, model); // (m, k), (m, k), (m, v)
      const map = attentionScores(query, key).map(softmax); // (m, m)
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
