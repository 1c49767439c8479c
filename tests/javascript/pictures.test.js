"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { near, openPage, same } = require("./page.js");

const { dom, plane, ...lab } = openPage().lab;

const WORDS = ["the", "cat"];

test("digits have a real minus sign, and zero has none", () => {
  same([dom.digits(-0.12345), dom.digits(-0.00001), dom.digits(2, 0)], ["−0.1235", "0.0000", "2"]);
});

test("both axes of a picture have the same unit, and 0 is in it", () => {
  const points = [
    [1, 1],
    [3, 2],
  ];
  const place = plane.frame(points, WORDS);
  const [left, bottom] = place([0, 0]);
  const [right, top] = place([3, 3]);
  near(right - left, bottom - top);
  near([left, bottom + place([3, 2])[1]], [20, 270]); // in the middle of the height
});

test("what is high fits in as well as what is wide", () => {
  const at = (point, words = WORDS) => plane.frame([point], words)(point);
  // A margin of 20 above; on the right room for the longest word, 8 pixels from its tip and the edge
  near([at([3, 40])[1], at([40, 3])[0]], [20, 360 - 8 - 3 * 8 - 8]);
  near(at([40, 3], ["extraordinarily"])[0], 360 - 8 - 76 - 8); // or for what is left of it
  near(at([-40, 3])[0], 40); // and on the left, where an arrow points there
});

test("a picture grows with what is dragged beyond its edge, and not before", () => {
  const place = plane.frame([[3, 2]], WORDS);
  const same = plane.grown(place, [[3, 2], place.back([344, 16])]);
  near(same([1, 2]), place([1, 2]));
  for (const out of [
    [500, 100],
    [360, 400],
    [-300, -90],
  ]) {
    const point = place.back(out);
    const more = plane.grown(place, [point]);
    const [x, y] = more(point);
    assert.ok(x > 15.9 && x < 344.1 && y > 15.9 && y < 254.1, `${out}`);
    const [left, bottom] = more([0, 0]);
    const [right, top] = more([1, 1]);
    near(right - left, bottom - top);
    assert.ok(right - left < place([1, 0])[0] - place([0, 0])[0]);
  }
});

test("a single point at 0 has a place, too", () => {
  const [x, y] = plane.frame([[0, 0]], WORDS)([0, 0]);
  assert.ok(x > 0 && x < 360 && y > 0 && y < 270);
});

test("a place in the picture leads back to its point", () => {
  const points = [
    [-1, 2],
    [3, 0.5],
  ];
  const place = plane.frame(points, WORDS);
  near(place.back(place([0.7, -1.3])), [0.7, -1.3]);
});

test("an embedding that is moved gives what was asked for, and moves no further than that takes", () => {
  const { nearestEmbedding } = lab.workbenchPlanes;
  const W = [
    [0.3, 0.5],
    [0.2, -0.7],
    [0.1, 0.9],
  ];
  const x = [0.55, 0.87, 0.66];
  const moved = nearestEmbedding(x, W, [1.2, -0.4]);
  const made = [0, 1].map((c) => W.reduce((sum, row, r) => sum + moved[r] * row[c], 0));
  near(made, [1.2, -0.4], 1e-3); // the embedding has four decimals
  // What is orthogonal to both columns of W changes no query: along it, nothing moves.
  const [a, b] = [W.map((row) => row[0]), W.map((row) => row[1])];
  const across = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  near(
    across.reduce((sum, one, r) => sum + one * (moved[r] - x[r]), 0),
    0,
    1e-3,
  );
});

test("columns that point the same way leave most queries without an embedding", () => {
  const { nearestEmbedding } = lab.workbenchPlanes;
  for (const factor of [0, 2]) {
    const W = [0.3, 0.2, 0.1].map((one) => [one, factor * one]);
    assert.equal(nearestEmbedding([1, 2, 3], W, [1, 1]), null);
  }
});

test("what the row that asks says is said in good English, and equal weights have no favourite", () => {
  const { finding } = lab.workbenchMap;
  const words = ["a", "b", "c"];
  const says = (row) => finding(row, words, 0);
  assert.equal(says([0.25, 0.5, 0.25]), "“a” attends most to “b”, with 0.50.");
  assert.equal(says([0.1, 0.45, 0.45]), "“a” attends most to “b” and “c”, with 0.45 each.");
  assert.equal(says([0.34, 0.33, 0.33]), "“a” attends to all words about equally.");
  assert.equal(says([0, 0, 0]), "“a” attends to nothing, because its whole row is masked.");
  const twins = finding([0.1, 0.45, 0.45], ["a", "b", "b"], 0);
  assert.equal(twins, "“a” attends most to “b”, with 0.45.");
  const small = [...Array(11).fill(0.082), 0.098];
  assert.match(finding(small, [..."abcdefghijkl"], 0), /most to “l”/);
  assert.deepEqual(
    [0, 1, 2].map((n) => lab.workbench.plural(n, "word")),
    ["0 words", "1 word", "2 words"],
  );
});

test("targets that are masked are counted apart from those that make up the loss", () => {
  const { remark } = lab.workbenchLearning;
  const targets = [0, 1, 2, 3].map((i) => [0, i, i]);
  const terms = (n, contexts = []) => ({
    rows: targets.slice(0, n).map(() => ({ js: [0] })),
    contexts,
  });
  const text = (n, ...more) => remark({ targets, contexts: [] }, terms(n, ...more));
  assert.match(text(4), /^The loss is made of 4 target weights alone\. No value/);
  assert.match(text(3), /made of 3 target weights alone\. 1 more target is masked and has no part/);
  assert.match(
    text(1),
    /made of 1 target weight alone\. 3 more targets are masked and have no part/,
  );
  assert.equal(text(0), "All 4 targets are masked, so there is no loss.");
  const one = { targets: [[0, 0, 0]], contexts: [] };
  assert.equal(remark(one, terms(0)), "The only target is masked, so there is no loss.");
  const both = {
    targets: [],
    contexts: [
      [0, 0, 1, 1],
      [0, 1, 1, 1],
    ],
  };
  assert.equal(
    remark(both, terms(0, [{}])),
    "The loss is made of 1 target context vector. 1 more target is masked and has no part in it.",
  );
  assert.match(remark({ targets: [], contexts: [] }, terms(0)), /^Without a target/);
});

test("how many targets have the largest weight of their row, masked ones left out", () => {
  const { leading } = lab.workbenchLearning;
  const heads = [
    {
      weights: [
        [0.7, 0.3],
        [0.6, 0.4],
      ],
    },
  ];
  const targets = [
    [0, 0, 0],
    [0, 1, 1],
  ];
  const words = ["a", "b"];
  const x = [[1], [2]];
  const told = (allowed, ...learned) =>
    leading({ targets, words, x }, { allowed, heads }, ...learned);
  const all = [
    [true, true],
    [true, true],
  ];
  const both =
    "“a” gives “a” 0.70, the most of its row; “b” gives “b” 0.40, not yet the most of its row.";
  assert.equal(told(all), both);
  assert.equal(told(all, true), `${both} More steps may help.`);
  targets.push([0, 0, 1]);
  assert.equal(told(all, true), "1 of 3 targets leads its row. More steps may help.");
  targets.pop();
  const alone = "“a” gives “a” 0.70, the most of its row. 1 more is masked.";
  assert.equal(told([all[0], [true, false]]), alone);
  assert.equal(
    told([all[0], [true, false]], true),
    `${alone} Other rows share the matrices, and moved too.`,
  );
  const unmet = (x) => leading({ targets: [targets[1]], words, x }, { allowed: all, heads }, true);
  const lags = "“b” gives “b” 0.40, not yet the most of its row.";
  assert.equal(unmet([[1], [2]]), `${lags} More steps may help.`);
  // What no step can reach
  assert.equal(unmet([[1], [1]]), `${lags} Equal words get equal weights, here 0.50 at most.`);
  assert.equal(
    told([
      [false, false],
      [false, false],
    ]),
    "",
  );
});

test("a row learns to attend to the next word that has an embedding of its own", () => {
  const { nextOf } = lab.workbenchLearning;
  assert.equal(nextOf({ x: [[1], [2], [3]], at: 0 }), 1);
  assert.equal(nextOf({ x: [[1], [2], [3]], at: 2 }), 0);
  assert.equal(nextOf({ x: [[1], [2], [1], [3]], at: 1 }), 3);
  assert.equal(nextOf({ x: [[1], [1], [2]], at: 2 }), 0); // all others are equal
});

test("words crowd at 0 only where three or more stand there", () => {
  const near = [
    [100, 100],
    [110, 105],
    [95, 90],
  ];
  same(plane.crowdAt([100, 100], [[300, 20], ...near]), [1, 2, 3]);
  same(plane.crowdAt([100, 100], [[300, 20], ...near.slice(1)]), []);
});

test("equal words at one tip share a label", () => {
  const points = [
    [20, 30],
    [90, 40],
    [20, 30],
    [20, 30],
    [60, 30],
  ];
  same(plane.labelled(points, ["the", "cat", "the", "zzz", "the"]), [0, 1, 3, 4]);
});

test("a run that ends by itself says after how many steps, why, and what helps", () => {
  const { ending } = lab.workbenchLearning;
  assert.equal(
    ending(2, "it is so", 10),
    "Learning stopped after 2 steps, because it is so. Undo takes the run back. Try a smaller learning rate, such as 1.",
  );
  assert.match(ending(1, "it is so", 1), /^Learning stopped after 1 step, .* such as 0\.1\.$/);
  assert.equal(
    ending(0, "it is so", 0.05),
    "No step was taken, because it is so. Try a smaller learning rate, such as 0.01.",
  );
  assert.equal(ending(0, "it is so", 0.01), "No step was taken, because it is so.");
});

test("a number is never wider than its cell", () => {
  const { short } = lab.workbench;
  const numbers = [-1.23456, 98.7654, -970.299, 9702.99, -19405.98, 1.9e9, -Infinity];
  same(
    numbers.map((one) => short(one)),
    ["−1.2346", "98.77", "−970.3", "9703", "−19406", "2e9", "−∞"],
  );
  // A phone has room for two decimals, and never shows more than there are.
  same(
    numbers.slice(0, 3).map((one) => short(one, 2)),
    ["−1.23", "98.77", "−970.3"],
  );
});

test("words stand inside the picture, apart from each other, and below no arrow that they can avoid", () => {
  const tips = [10, 11, 12, 13, 130, 258, 259, 260, 261, 262].map((y, i) => [90 + 10 * i, y]);
  const words = tips.map((_, i) => (i % 2 ? "extraordinarily" : "a"));
  const boxes = plane.labelBoxes(tips, words, []);
  for (const [i, [left, top, right, bottom]] of boxes.entries()) {
    assert.ok(left >= 0 && top >= 0 && right <= 360 && bottom <= 270);
    for (const other of boxes.slice(i + 1)) {
      const isApart =
        right <= other[0] || other[2] <= left || bottom <= other[1] || other[3] <= top;
      assert.ok(isApart);
    }
  }
  const [[left]] = plane.labelBoxes(
    [[100, 100]],
    ["one"],
    [
      [
        [180, 100],
        [100, 100],
      ],
    ],
  );
  assert.ok(left < 100); // the arrow comes from the right
});

test("a name stands at a corner of its point, off the arrows and inside the picture", () => {
  const [zero, point] = [
    [180, 135],
    [230, 100],
  ];
  const arrows = [
    [zero, point],
    [zero, [200, 60]], // above it, at the left
  ];
  const box = plane.nameBox("query", point, zero, arrows);
  same(plane.nameBox("query", point, zero, arrows.slice(0, 1)).slice(0, 2), [181, 82]);
  same(box.slice(0, 2), [239, 82]);
  const [left, top, right, bottom] = plane.nameBox("context", [2, 268], zero, []);
  assert.ok(left >= 4 && top >= 1 && right <= 356 && bottom <= 268);
});

test("a hull has the outer points alone", () => {
  const square = [
    [0, 0],
    [2, 0],
    [2, 2],
    [0, 2],
  ];
  const hull = structuredClone(plane.hull([[1, 1], ...square, [1, 0]]));
  assert.deepEqual(hull, square);
});
