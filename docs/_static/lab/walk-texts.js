"use strict";

// What the walk says beside its pictures, in the reader's own words: text, and [text, role] where a word
// has the colour of its role.

{
  const { quoted } = lab.dom;
  const { number, percent } = lab.walkFrames;

  const vector = (numbers) => `(${numbers.map(number).join(", ")})`;

  function caption(step, { words, at, x, query, key, scores, weights, context, vectors }) {
    const asker = quoted(words[at]);
    const [s, w, q] = [scores[at], weights[at], query[at]];
    const j = w.indexOf(Math.max(...w));
    const most = j === at ? "itself" : quoted(words[j]);
    const sum = s.reduce((total, one) => total + Math.exp(one), 0);
    const product = q.flatMap((one, c) => [
      ...(c > 0 ? [" + "] : []),
      [number(one), "query"],
      " × ",
      [number(key[j][c]), "key"],
    ]);
    return [
      {
        title: "A word asks the others",
        text: [
          `${asker} collects information from all ${words.length} words, and takes most, ${percent(w[j])}, from ${most}. `,
          "The next steps show why. Press another word, and it asks.",
        ],
        sum: ["The thicker an arc is, the larger is its share."],
      },
      {
        title: "Words become numbers",
        text: [
          vectors
            ? "The model knows each word as three numbers, which it learned from film reviews. "
            : "Each word is three numbers. These were made up by hand, whereas a model learns its own. ",
          "A word has the same three in every sentence.",
        ],
        sum: [`${asker} = ${vector(x[at])}`],
      },
      {
        title: "Three roles",
        text: [
          `Three tables of ${vectors ? "learned" : "random"} numbers turn each word into a `,
          ["key", "key"],
          ", by which it is found, and a ",
          ["value", "value"],
          `, which it hands over. ${asker} also gets a `,
          ["query", "query"],
          ", which says what it looks for.",
        ],
        sum: [
          ["query", "query"],
          ` = ${asker} × `,
          ["table", "query"],
          " = ",
          [vector(q), "query"],
        ],
      },
      {
        title: "Does the key fit?",
        text: [
          `The `,
          ["query", "query"],
          ` of ${asker} meets each `,
          ["key", "key"],
          ": multiply number by number, add, and divide by √2. The better the key fits, the higher is its score.",
        ],
        sum: [`${quoted(words[j])}: (`, ...product, `) / √2 ≈ ${number(s[j])}`],
      },
      {
        title: "Scores become shares",
        text: [
          "The softmax raises e to each score and divides by the sum, so that all shares are positive and add up to 100\u00a0%. ",
          "Higher scores get much more.",
        ],
        sum: [
          `${quoted(words[j])}: e^${number(s[j])} / ${number(sum)} ≈ `,
          [percent(w[j]), "weight"],
        ],
      },
      {
        title: "Everybody hands over a share",
        text: [
          "Each ",
          ["value", "value"],
          ` is shortened to its share, and the short ones are added, one behind the other. They end at the new ${asker}, a word that knows its context.`,
        ],
        sum: [`new ${asker} = ${vector(context[at])}`],
      },
      {
        title: "All words ask at once",
        text: [
          "Every word asks, one row each. That is one attention head; a large model has hundreds of them. ",
          "Press a row, and its word asks.",
        ],
        sum: ["softmax(", ["Q", "query"], " ", ["Kᵀ", "key"], " / √2) ", ["V", "value"]],
      },
    ][step - 1];
  }

  const plain = (segments) => segments.map((one) => (Array.isArray(one) ? one[0] : one)).join("");

  // A row for each word that answers
  const HEAD = ["word", "key", "score", "share", "value"];
  function rows({ words, at, key, scores, weights, value }) {
    return words.map((word, j) => [
      word,
      vector(key[j]),
      number(scores[at][j]),
      percent(weights[at][j]),
      vector(value[j]),
    ]);
  }

  lab.walkTexts = { HEAD, caption, plain, rows };
}
