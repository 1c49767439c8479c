"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { near, openPage, same } = require("./page.js");

const { lab } = openPage();
const { STEPS, drawn, fitted, frame, layout, modelOf, percent } = lab.walkFrames;
const { caption, plain, rows } = lab.walkTexts;

// Nine words, the most there are, and numbers of both signs
const WORDS = ["a", "slow", "extraordinarily", "film", "it", "disappointingly", "was", "mm", "iii"];
const spread = (i, c) => Math.sin(2.3 * i + 1.7 * c);
const W = (shift) => [0, 1, 2].map((r) => [0, 1].map((c) => 2 * spread(r + shift, c)));
const MATRICES = { W_query: W(1), W_key: W(4), W_value: W(7) };
// These take the first two numbers of a word as they are.
const UNIT = [
  [1, 0],
  [0, 1],
  [0, 0],
];
const FIRST_TWO = { W_query: UNIT, W_key: UNIT, W_value: UNIT };
const model = (n, at = null) =>
  modelOf(
    {
      words: WORDS.slice(0, n),
      x: WORDS.slice(0, n).map((_, i) => [0, 1, 2].map((c) => spread(i, c))),
      ...MATRICES,
    },
    at,
  );
const SCREENS = [[288], [320], [358], [560, 340], [736, 340], [560], [736], [900]];
const ALL = Array.from({ length: STEPS }, (_, i) => i + 1);
const every = (check) => {
  for (const n of [2, 7, 9]) {
    for (const [width, height] of SCREENS) {
      const one = model(n, n - 2);
      const size = layout(width, n, height);
      const frames = ALL.map((step) => frame(step, one, size));
      check(frames, one, size, `${n} words, ${size.W} × ${size.H} pixels`);
    }
  }
};
const parts = (map, kind) => [...map].filter(([, part]) => part.kind === kind);

test("each step has a part for each word, and one of them asks", () => {
  every((frames, { words, at }, _, where) => {
    for (const [k, map] of frames.entries()) {
      const found = [...map.values()].filter((part) => part.word !== undefined);
      same(
        found.map((part) => part.word),
        [...words.keys()],
      );
      same(
        found.filter((part) => part.role === "ink").map((part) => part.word),
        [at],
        `${where}, step ${k + 1}`,
      );
    }
  });
});

test("between two steps something moves: at least the words stay the same things", () => {
  const places = ({ x, y, w, h, curve }) => String([x, y, w, h, curve]);
  every((frames, { words }, _, where) => {
    for (let k = 1; k < STEPS; k += 1) {
      const [before, after] = [frames[k - 1], frames[k]];
      const shared = [...after.keys()].filter((name) => before.has(name));
      assert.ok(shared.length >= words.length, where);
      const comes = [...after.values()].filter((part) => before.has(part.from));
      const moved = shared.filter((name) => places(before.get(name)) !== places(after.get(name)));
      assert.ok(moved.length + comes.length >= words.length, `${where}, step ${k} to ${k + 1}`);
    }
  });
});

test("the last step has every weight that the layer computes, and each row is a whole", () => {
  every((frames, { words, weights, at }, _, where) => {
    const found = [...frames.at(-1).values()].filter((part) => part.data);
    assert.equal(found.length, words.length ** 2, where);
    const map = words.map(() => []);
    for (const { data } of found) map[data.query][data.key] = data.value;
    near(map, weights);
    for (const row of map)
      near(
        row.reduce((sum, weight) => sum + weight, 0),
        1,
      );
    // The row that moves there is the asker's.
    same(
      words.map((_, j) => frames.at(-1).get(`weight${j}`).data.query),
      words.map(() => at),
    );
  });
});

test("arcs are as wide, and the parts of the whole as long, as the shares", () => {
  every((frames, { words, weights, at }) => {
    const widths = words.map((_, j) => frames[0].get(`arc${j}`).width);
    near(
      widths,
      weights[at].map((weight) => 1 + 20 * weight),
    );
    const long = words.map((_, j) => frames[4].get(`part${j}`).w + 2);
    const all = long.reduce((sum, one) => sum + one, 0);
    near(
      long.map((one) => one / all),
      weights[at],
      0.02,
    );
  });
});

test("the chain of shortened values ends at the context vector", () => {
  every((frames, { words, value, weights, context, at }) => {
    // Where the plane puts two points says where it puts all others.
    const map = frames[5];
    const tip = (j) => map.get(`ghost${j}`).curve.slice(6);
    const zero = map.get("ghost0").curve.slice(0, 2);
    const apart = (j) => Math.hypot(tip(j)[0] - zero[0], tip(j)[1] - zero[1]);
    const most = weights[at].indexOf(Math.max(...weights[at])); // which the picture has room for
    const unit = apart(most) / Math.hypot(...value[most]);
    const plane = map.get("plane");
    for (const [j, one] of value.entries()) {
      const { head } = map.get(`ghost${j}`);
      assert.ok(Math.abs(tip(j)[0] - plane.x) < plane.w / 2);
      assert.ok(Math.abs(tip(j)[1] - plane.y) < plane.h / 2);
      const isWhole = Math.abs(apart(j) - unit * Math.hypot(...one)) < 1e-6;
      assert.ok(isWhole || (head === 0 && weights[at][j] < 0.05));
    }
    const place = ([a, b]) => [zero[0] + unit * a, zero[1] - unit * b];
    const { x, y } = map.get("context");
    near([x, y], place(context[at]), 1e-6);
    near(map.get(`sum${words.length - 1}`).curve.slice(6), [x, y], 1e-6);
    const [a, b, ...rest] = map.get("sum1").curve;
    near(
      [rest[4] - a, b - rest[5]],
      value[1].map((one) => one * weights[at][1] * unit),
      1e-6,
    );
  });
});

test("nothing leaves the stage, and no text is smaller than 12 pixels", () => {
  every((frames, _, size, where) => {
    for (const [k, map] of frames.entries()) {
      for (const [name, { x, y, w, h, text, size: letters, turn }] of parts(map, "tile")) {
        const here = `${name}, step ${k + 1}, ${where}`;
        if (text) assert.ok(letters >= 12, `${here}: ${letters}`);
        if (turn) continue;
        assert.ok(x - w / 2 >= -1 && x + w / 2 <= size.W + 1, `${here}: ${x} ± ${w / 2}`);
        assert.ok(y - h / 2 >= -1 && y + h / 2 <= size.H + 1, `${here}: ${y} ± ${h / 2}`);
      }
    }
  });
});

test("no two texts cover each other", () => {
  every((frames, _, __, where) => {
    for (const [k, map] of frames.entries()) {
      const texts = parts(map, "tile").filter(([, { text, turn }]) => text && !turn);
      // A text lies within its tile, and the label of a tile within the label's own box.
      const boxes = texts.map(([name, part]) => {
        const long = part.text.length * 0.5 * part.size;
        return [
          name,
          part.x - long / 2,
          part.x + long / 2,
          part.y - part.size / 2,
          part.y + part.size / 2,
        ];
      });
      for (const [i, [name, a, b, c, d]] of boxes.entries()) {
        for (const [other, p, q, r, s] of boxes.slice(i + 1)) {
          const isApart = b <= p || q <= a || d <= r || s <= c;
          assert.ok(isApart, `${name} and ${other}, step ${k + 1}, ${where}`);
        }
      }
    }
  });
});

test("a word's name beside an arrow is nearer to its own point than to another one", () => {
  let count = 0;
  every((frames, { words }, _, where) => {
    const map = frames[5];
    const { x, y } = map.get("context");
    const points = new Map(words.map((_, j) => [`tip${j}`, map.get(`ghost${j}`).curve.slice(6)]));
    points.set("context.name", [x, y]);
    for (const [name, own] of points) {
      if (!map.has(name) || name === "context.name") continue; // which looks otherwise
      const { x, y } = map.get(name);
      const far = ([u, v]) => Math.hypot(x - u, y - v);
      const least = Math.min(...[...points.values()].map(far));
      assert.ok(far(own) <= least + 1e-6, `${where}: ${name}`);
      count += 1;
    }
  });
  assert.ok(count > 30, `${count} names`);
});

test("the new word has its name in the picture of the sum", () => {
  every((frames, _, { W }, where) => assert.ok(W < 320 || frames[5].has("context.name"), where));
});

test("a part is drawn with numbers alone", () => {
  every((frames) => {
    for (const map of frames) {
      for (const part of map.values()) {
        for (const [, attributes] of drawn(part)) {
          assert.doesNotMatch(JSON.stringify(attributes), /NaN|null|undefined|Infinity/);
        }
      }
    }
  });
});

test("who asks is who takes most from another word, unless that is nearly all", () => {
  const { weights, at } = model(7);
  const most = weights.map((row, i) => Math.max(...row.filter((_, j) => j !== i)));
  const reach = most.map((one) => (one < 0.98 ? one : 0));
  assert.equal(at, reach.indexOf(Math.max(...reach)));
  assert.equal(model(7, 3).at, 3);
  // Here the first word takes all from the second, and the third a little from both.
  const x = [
    [5, 0, 0],
    [8, 0, 0],
    [0, 0.5, 0],
  ];
  const one = modelOf({ words: ["a", "b", "c"], x, ...FIRST_TWO });
  assert.ok(one.weights[0][1] > 0.98);
  assert.equal(one.at, 2);
});

test("a long word is made smaller, and then cut with a sign that it is", () => {
  same(fitted("film", 100, 17), { text: "film", size: 17 });
  const cut = fitted("extraordinarily", 60, 17);
  assert.equal(cut.size, 12);
  assert.match(cut.text, /^extr.*…$/);
  same(fitted("extraordinarily", 115, 17), { text: "extraordinarily", size: 15 });
});

test("a number of a vector leaves its cell some air, if need be with one decimal", () => {
  let count = 0;
  every((frames, _, __, where) => {
    for (const [name, { text, size, w }] of frames.flatMap((map) => [...map])) {
      if (!/^(x|query|key|value)\d+\.\d$/.test(name)) continue;
      same(fitted(text, w - 2, size), { text, size }, `${where}: ${text} in ${w}`);
      count += 1;
    }
  });
  assert.ok(count > 1000, `${count} numbers`);
});

test("captions name the reader's words and numbers", () => {
  const one = model(7, 3);
  const texts = ALL.map((step) => {
    const { title, text, sum } = caption(step, one);
    return `${title} ${plain(text)} ${plain(sum)}`;
  });
  const w = one.weights[3];
  const j = w.indexOf(Math.max(...w));
  assert.ok(texts[0].includes("“film”"));
  assert.ok(texts[0].includes(percent(w[j])));
  assert.ok(texts[0].includes(j === 3 ? "itself" : `“${one.words[j]}”`));
  for (const text of texts) assert.doesNotMatch(text, /NaN|undefined|\[object/);
  const vectors = texts.join().match(/\(−?\d[^()]*, [^()]*\)/g);
  assert.ok(vectors.length > 2);
  for (const vector of vectors) assert.match(vector, /^\((−?\d\.\d\d, )+−?\d\.\d\d\)$/);
  assert.equal(new Set(texts).size, STEPS);
  same(
    rows(one).map((row) => row[0]),
    one.words,
  );
  assert.equal(rows(one)[j][3], percent(w[j]));
});

test("a sum of large powers is short", () => {
  const one = model(7, 3);
  const large = { ...one, scores: one.scores.map((row) => row.map((score) => score + 35)) };
  assert.match(plain(caption(5, large).sum), /\/ \d\.\d\d × 10\^1\d ≈/);
});

test("a share that is nearly nothing is not called nothing", () => {
  same(
    [0, 0.001, 0.0051, 0.534, 1].map((weight) => percent(weight)),
    ["0\u00a0%", "<1\u00a0%", "1\u00a0%", "53\u00a0%", "100\u00a0%"],
  );
});

test("a word that takes equally much from each word is not said to prefer one", () => {
  const x = [
    [0, 0, 0],
    [0, 0, 0],
  ];
  const even = modelOf({ words: ["a", "b"], x, ...FIRST_TWO });
  assert.match(plain(caption(1, even).text), /takes equally much, 50.%, from each\./);
});
