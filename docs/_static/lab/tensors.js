"use strict";

// A vector is an array of numbers, a matrix an array of its rows. Shapes stand behind the lines
// that make them, as in the package: n words of width d, queries and keys of width k, values of
// width v.

// These are classic scripts, since modules do not load from a folder on a disk. Each keeps its names
// inside one block, adds what others may use to this object, and says first what it takes from it.
const lab = {};

{
  // a · b = Σᵢ aᵢ bᵢ
  function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
    return sum;
  }

  // (Aᵀ)ᵢⱼ = Aⱼᵢ
  function transpose(A) {
    return A[0].map((_, j) => A.map((row) => row[j]));
  }

  // (A B)ᵢⱼ = Σₗ Aᵢₗ Bₗⱼ: row i of A times column j of B
  function matmul(A, B) {
    const columns = transpose(B);
    return A.map((row) => columns.map((column) => dot(row, column)));
  }

  // (a + b)ᵢ = aᵢ + bᵢ
  function add(a, b) {
    return a.map((number, i) => number + b[i]);
  }

  // mean(A)ⱼ = 1/n Σᵢ Aᵢⱼ
  function meanOfRows(A) {
    return A.reduce(add).map((sum) => sum / A.length);
  }

  // softmax(s)ᵢ = exp(sᵢ) / Σⱼ exp(sⱼ)
  // Taking the largest score from all of them first changes no weight, and no exp overflows.
  // A score of −∞ gets the weight 0; where there is nothing but −∞, all weights are 0.
  function softmax(scores) {
    const largest = Math.max(...scores);
    if (largest === -Infinity) return scores.map(() => 0);
    const powers = scores.map((score) => Math.exp(score - largest));
    const sum = powers.reduce((total, power) => total + power, 0);
    return powers.map((power) => power / sum);
  }

  // σ(x) = 1 / (1 + exp(−x))
  function sigmoid(x) {
    return 1 / (1 + Math.exp(-x));
  }

  lab.tensors = { add, dot, matmul, meanOfRows, sigmoid, softmax, transpose };
}
