"use strict";

// "Where from?" Each number of the workbench knows what it was made of: its own equation with the
// digits filled in, and the names of the numbers that went into it.

{
  const { forward, gradients, loss, lossTerms } = lab.bench;
  const { putErrors, putProducts } = lab.benchGradients;
  const { columnOf, nameOf, namesOf, range, rowOf } = lab.benchTexts;
  const { column, difference, products, putAll, quotedWords } = lab.benchTexts;
  const { reasonOf, share } = lab.benchTexts;
  const { digits } = lab.dom;

  // Returns a Map: name of a number → { value, text, sources }, for the head that is shown. query.c,
  // score.j, scaled.j, weight.j and context.c are those of the word whose query is shown; query.i.c and
  // context.i.c are those of the others.
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
    const made = gradients(state, layer)[state.head];
    putErrors(put, state, layer, made);
    putProducts(put, state, layer, made);
    return numbers;
  }

  // Q = X W_query, K = X W_key, V = X W_value: row i of X times column c of the matrix
  function putProjections(put, state, layer) {
    const { x, heads, head } = state;
    const words = quotedWords(state);
    for (const role of ["query", "key", "value"]) {
      const W = heads[head][`W_${role}`];
      putAll(put, layer.heads[head][role], {
        name: role === "query" ? (i, c) => nameOf(role, i, c, state) : role,
        text: (i, c, value) =>
          `${role} of ${words[i]}, number ${c + 1} = ${words[i]} · column ${c + 1} of W_${role} = ${products(x[i], column(W, c))} ≈ ${value}`,
        sources: (i, c) => [...rowOf("x", i, 3), ...columnOf(`W_${role}`, c, 3)],
      });
    }
  }

  // scores = Q Kᵀ, then times scale / temperature, and −∞ where a mask forbids
  function putScores(put, state, layer) {
    const { at, head, isScaled, temperature } = state;
    const words = quotedWords(state);
    const { query, key, scores, scaled } = layer.heads[head];
    for (const [j, word] of words.entries()) {
      const score = digits(scores[at][j]);
      put(
        `score.${j}`,
        scores[at][j],
        () =>
          `score of ${word} = query of ${words[at]} · key of ${word} = ${products(query[at], key[j])} ≈ ${score}`,
        () => [...namesOf("query", at, state), ...rowOf("key", j, 2)],
      );
      const text = () => {
        if (!layer.allowed[at][j]) return `${reasonOf(state, at, j)}, so its score becomes −∞`;
        const divisors = (isScaled ? " / √2" : "") + (temperature === 1 ? "" : ` / ${temperature}`);
        const equation = divisors
          ? `${score}${divisors} ≈ ${digits(scaled[at][j])}`
          : `${score}, because the scale is off and the temperature is 1`;
        return `scaled score of ${word} = ${equation}`;
      };
      put(`scaled.${j}`, scaled[at][j], text, () => [`score.${j}`]);
    }
  }

  // weights = softmax(scaled), context = weights V
  function putWeights(put, state, layer) {
    const { at, head } = state;
    const words = quotedWords(state);
    const { weights, context, value } = layer.heads[head];
    const each = range(words.length);
    const text = (i, j) => textOfWeight(state, layer, i, j);
    putAll(put, weights, {
      name: "map",
      text,
      sources: (i) => [...namesOf("query", i, state), ...each.flatMap((j) => rowOf("key", j, 2))],
    });
    for (const j of each) {
      const scaled = () => each.map((other) => `scaled.${other}`);
      put(`weight.${j}`, weights[at][j], () => text(at, j), scaled);
    }
    const own = (i) => each.map((j) => (i === at ? `weight.${j}` : `map.${i}.${j}`));
    putAll(put, context, {
      name: (i, c) => nameOf("context", i, c, state),
      text: (i, c, number) =>
        `context of ${words[i]}, number ${c + 1} = weights · column ${c + 1} of the values = ${products(weights[i], column(value, c))} ≈ ${number}`,
      sources: (i, c) => [...own(i), ...columnOf("value", c, words.length)],
    });
  }

  // A weight is a share of the row's powers. Where four decimals can't show the powers, the largest
  // score is subtracted from all of them first, which changes no share.
  function textOfWeight(state, { allowed, heads }, i, j) {
    const { head } = state;
    const words = quotedWords(state);
    const { scaled, weights } = heads[head];
    const who = `weight that ${words[i]} gives to ${words[j]}`;
    if (!allowed[i][j]) return `${who} = 0, because ${reasonOf(state, i, j)}`;
    const largest = Math.max(...scaled[i]);
    const shift = Math.abs(largest) > 8 ? largest : 0;
    const power = shift ? difference(scaled[i][j], shift) : digits(scaled[i][j]);
    // What four decimals show as 0 is written as such: a line has room for twelve of them.
    const shown = (power) => (power < 0.00005 ? "0" : digits(power));
    const powers = scaled[i].map((score) => shown(Math.exp(score - shift)));
    const reason = shift ? ", the row’s largest score being subtracted first" : "";
    return `${who} = exp(${power}) / sum of the row’s exp = ${powers[j]} / (${powers.join(" + ")}) ≈ ${digits(weights[i][j])}${reason}`;
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
      return `loss = ${named} = ${filled} ≈ ${digits(value)}`;
    };
    const isShown = ({ h }) => h === state.head;
    put("loss", value, text, () => [
      ...rows.filter(isShown).flatMap(({ i, js }) => js.map((j) => `map.${i}.${j}`)),
      ...contexts.filter(isShown).flatMap(({ i }) => namesOf("context", i, state)),
    ]);
  }

  lab.bench.explain = explain;
}
