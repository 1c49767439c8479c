"use strict";

// What the explanations of the workbench's numbers share: names, and equations with digits in them.
// Inputs are called x.i.c and W_query.r.c, and so on.

{
  const { digits, quoted } = lab.dom;

  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const rowOf = (name, i, width) => range(width).map((c) => `${name}.${i}.${c}`);
  const columnOf = (name, c, height) => range(height).map((i) => `${name}.${i}.${c}`);
  const column = (A, c) => A.map((row) => row[c]);
  // 0.5500 × 0.2961 + 0.8700 × 0.2517
  const products = (a, b) => a.map((one, i) => `${digits(one)} × ${digits(b[i])}`).join(" + ");
  // 0.3061 − 1.0000, and 0.3061 + 1.0000 where the second is negative
  const difference = (a, b) => `${digits(a)} ${b < 0 ? "+" : "−"} ${digits(Math.abs(b))}`;
  const share = (text, count) => (count > 1 ? `(${text}) / ${count}` : text);
  // Word i's query or context vector; that of the word whose query is shown has a shorter name.
  const nameOf = (role, i, c, { at }) => (i === at ? `${role}.${c}` : `${role}.${i}.${c}`);
  const namesOf = (role, i, state) => [0, 1].map((c) => nameOf(role, i, c, state));

  // Puts all numbers of a matrix. Names, texts and sources depend on row i and column c.
  function putAll(put, matrix, { name, text, sources }) {
    for (const [i, row] of matrix.entries()) {
      for (const [c, value] of row.entries()) {
        const nameHere = typeof name === "string" ? `${name}.${i}.${c}` : name(i, c);
        put(
          nameHere,
          value,
          () => text(i, c, digits(value)),
          () => sources(i, c),
        );
      }
    }
  }

  const quotedWords = ({ words }) => words.map(quoted);

  // Why word i may not attend to word j
  function reasonOf(state, i, j) {
    const { padding, isCausal } = state;
    const words = quotedWords(state);
    if (j >= words.length - padding) return `${words[j]} is padding, and the padding mask hides it`;
    if (isCausal && j > i)
      return `${words[j]} comes after ${words[i]}, and the causal mask hides it`;
    return `you have masked ${words[j]} for the query of ${words[i]}`;
  }

  const names = { columnOf, nameOf, namesOf, range, rowOf };
  lab.benchTexts = { ...names, column, difference, products, putAll, quotedWords, reasonOf, share };
}
