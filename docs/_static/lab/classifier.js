"use strict";

// The classifier of `attention/sentiment/model.py`, reading one review.

{
  const { dot, meanOfRows, sigmoid, softmax } = lab.tensors;
  const { attentionScores, energyPooling, project } = lab.attention;

  const FIRST_WORD = 3; // lower ids are padding, unknown words and separators

  // A word in the scope of a negation, which is the next few words, is read as another word: its id
  // is moved by `shift`. The scope ends where a clause starts, and at some words, such as "but".
  function mark({ negators, scope, scope_ends, shift }, ids, starts) {
    let left = 0; // so many words are still in the scope
    return ids.map((id, i) => {
      const isNegator = negators.includes(id);
      if (scope_ends.includes(id) || starts[i]) left = 0;
      const isMarked = left > 0 && id >= FIRST_WORD && !isNegator;
      left = isNegator ? scope : Math.max(left - 1, 0);
      return isMarked ? id + shift : id;
    });
  }

  // The weight of each word, and its evidence: what it adds to the logit per weight. For qkv the
  // weight is the mean that a word receives, and `map` has a row for each word that attends.
  function attend(model, x) {
    const { kind } = model.config;
    if (kind === "qkv") {
      const { query, key, value } = project(x, model); // (n, k), (n, k), (n, v)
      const map = attentionScores(query, key).map(softmax); // (n, n)
      return { weights: meanOfRows(map), evidence: value.map((v) => dot(v, model.w)), map };
    }
    const weights =
      kind === "energy" ? energyPooling(x, model.energy).weights : x.map(() => 1 / x.length);
    return { weights, evidence: x.map((one) => dot(one, model.w)), map: null }; // (n,), (n,)
  }

  // logit = Σᵢ contributionᵢ + b, where contributionᵢ = weightᵢ · evidenceᵢ. This is context · w + b,
  // since the context is the mean of the values that the weights take. `starts` tells of each word
  // whether a clause starts with it.
  function classify(model, ids, starts) {
    if (ids.length === 0) {
      const nothing = { weights: [], contributions: [], marked: [], map: null };
      return { logit: model.b, probability: sigmoid(model.b), ...nothing };
    }
    const marked = mark(model.config, ids, starts); // (n,)
    const { weights, evidence, map } = attend(model, marked.map(model.embedding)); // (n,), (n,), (n, n)
    const contributions = weights.map((weight, i) => weight * evidence[i]); // (n,)
    const logit = contributions.reduce((sum, one) => sum + one, model.b);
    return { logit, probability: sigmoid(logit), weights, contributions, marked, map };
  }

  lab.classifier = { classify };
}
