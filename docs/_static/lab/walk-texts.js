"use strict";

// What the walk says beside its pictures, in the reader's own words. A caption is a list of segments, text
// or [text, role], whose colour is that of the role.

{
  const { quoted } = lab.dom;
  const { number, percent } = lab.walkFrames;

  const vector = (numbers) => `(${numbers.map((one) => number(one)).join(", ")})`;

  // 16.4, or 2.04 × 10 to the power of 15
  function large(one) {
    if (one < 1e5) return number(one);
    const [digits, power] = one.toExponential(2).split("e+");
    return `${digits} × 10{power: ${power}}`;
  }

  // "{key}" and "{query: 0.5}" are segments with a role; a reader's word has no brackets.
  function segmentsOf(text) {
    const parts = text.split(/\{(\w+)(?:: ([^}]+))?\}/);
    return parts.flatMap((part, i) =>
      i % 3 === 0 ? [part] : i % 3 === 1 ? [[parts[i + 1] ?? part, part]] : [],
    );
  }

  // The title, the sentence and the equation of a step
  function caption(step, { words, at, x, query, key, scores, weights, context, vectors }) {
    const asker = quoted(words[at]);
    const [s, w, q] = [scores[at], weights[at], query[at]];
    const j = w.indexOf(Math.max(...w));
    const [best, most] = [quoted(words[j]), percent(w[j])];
    const takes =
      w[j] - Math.min(...w) < 0.005
        ? `equally much, ${most}, from each`
        : `most, ${most}, from ${j === at ? "itself" : best}`;
    const total = s.reduce((sum, one) => sum + Math.exp(one), 0);
    const products = q.map((one, c) => `{query: ${number(one)}} × {key: ${number(key[j][c])}}`);
    const numbers = vectors
      ? "The model knows each word as three numbers, which it learned from film reviews."
      : "Each word is three numbers. These were made up by hand, whereas a model learns its own.";
    const [title, text, sum] = [
      [
        "A word asks the others",
        `${asker} collects information from all ${words.length} words, and takes ${takes}. The next steps show why. Press another word, and it asks.`,
        "The thicker an arc, the larger its share.",
      ],
      [
        "Words become numbers",
        `${numbers} A word has the same three in every sentence.`,
        `${asker} = ${vector(x[at])}`,
      ],
      [
        "Three roles",
        `Three tables of ${vectors ? "learned" : "random"} numbers turn each word into a {key}, by which it is found, and a {value}, which it hands over. ${asker} also gets a {query}, which says what it looks for.`,
        `{query} = ${asker} × {query: table} = {query: ${vector(q)}}`,
      ],
      [
        "Does the key fit?",
        `The {query} of ${asker} meets each {key}: multiply number by number, add, and divide by √2. The better the fit, the higher this scaled score.`,
        `${best}: (${products.join(" + ")}) / √2\u00a0≈\u00a0${number(s[j])}`,
      ],
      [
        "Scores become shares",
        "The softmax raises e to each score and divides by the sum, so that all shares are positive and add up to 100\u00a0%. Higher scores get much more.",
        `${best}: e{power: ${number(s[j])}} / ${large(total)} ≈ {weight: ${most}}`,
      ],
      [
        "Everybody hands over a share",
        `Each {value} is shortened to its share, and the short ones are added, one behind the other. They end at the new ${asker}, a word that knows its context.`,
        `new ${asker} = ${vector(context[at])}`,
      ],
      [
        "All words ask at once",
        `Every word asks, one row each. This is an attention head; a large model has hundreds. ${asker} takes ${takes}. Press another row.`,
        "{weight: shares} = softmax({query: Q}{key: Kᵀ}/√2); new words = {weight: shares} {value: V}",
      ],
    ][step - 1];
    return { title, text: segmentsOf(text), sum: segmentsOf(sum) };
  }

  const plain = (segments) =>
    segments
      .map((one) => (typeof one === "string" ? one : (one[1] === "power" ? "^" : "") + one[0]))
      .join("");

  // A row for each word that answers
  const HEAD = ["word", "key", "scaled score", "share", "value"];
  const rows = ({ words, at, key, scores, weights, value }) =>
    words.map((word, j) => {
      const score = number(scores[at][j]);
      return [word, vector(key[j]), score, percent(weights[at][j]), vector(value[j])];
    });

  lab.walkTexts = { HEAD, caption, plain, rows };
}
