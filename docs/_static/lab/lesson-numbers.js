"use strict";

// What the figures of the first lesson say: the sum behind a number, and the weights on the way
// through the training at its end.

{
  const { digits } = lab.dom;
  const { forward, loss, step } = lab.bench;

  // name = a · b = a₁ × b₁ + a₂ × b₂ + … ≈ result, which bench-equation.js sets on the page. The numbers
  // of a are an embedding's, which have two decimals.
  function sumOf(name, factors, a, b, places) {
    const products = a.map((one, i) => `${digits(one, 2)} × ${digits(b[i], places)}`);
    const total = a.reduce((sum, one, i) => sum + one * b[i], 0);
    return `${name} = ${factors} = ${products.join(" + ")} ≈ ${digits(total, places)}`;
  }

  // 0, 1, 2, …, 2000: each a twelfth further than the one before, since the first steps change most,
  // and with those that the scale of the slider names
  const NAMED = [0, 10, 100, 2000];
  const STOPS = [0];
  while (STOPS.at(-1) < NAMED.at(-1)) {
    const [last, named] = [STOPS.at(-1), NAMED.find((stop) => stop > STOPS.at(-1))];
    STOPS.push(Math.min(named, Math.max(last + 1, Math.round(last * 1.08))));
  }

  // The state of the workbench in which each word is to attend to the next, and the last to the first
  function nextWordState({ words, x, W_query, W_key, W_value }) {
    const targets = words.map((_, i) => [0, i, (i + 1) % words.length]);
    const plain = { forbidden: [], isCausal: false, padding: 0, isScaled: true, temperature: 1 };
    const heads = [{ W_query, W_key, W_value }];
    return { words, x, heads, targets, contexts: [], ...plain, rate: 0.5 };
  }

  // Gradient descent by the gradient of the loss; the weights, their mean on the targets and the loss
  // at each stop
  function learn(numbers) {
    let state = nextWordState(numbers);
    return STOPS.map((stop, i) => {
      if (stop > 0) state = step(state, stop - STOPS[i - 1]).state;
      const layer = forward(state);
      const [{ weights }] = layer.heads; // (n, n)
      const onTargets = state.targets.map(([, i, j]) => weights[i][j]); // (n,)
      const mean = onTargets.reduce((sum, weight) => sum + weight, 0) / onTargets.length;
      return { stop, weights, mean, loss: loss(state, layer) };
    });
  }

  lab.lessonNumbers = { NAMED, STOPS, learn, sumOf };
}
