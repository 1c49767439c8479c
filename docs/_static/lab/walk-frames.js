"use strict";

// The pictures of the walk, without a page. `frame(step, model, layout)` gives a Map from names to parts.
// What is the same thing keeps its name from step to step, and so it moves instead of being drawn anew.
//
// tile: a rounded rectangle in a box [x, y, width, height] around (x, y), and text in its middle; either
//   may be missing
// line: a cubic curve, [x, y] four times in one list, so that any two lines can be mixed
// `from` names what a part comes out of, and goes back into; `delay` is in milliseconds.

{
  const { digits, quoted } = lab.dom;
  const { selfAttention } = lab.attention;

  const STEPS = 7;
  const WIDE = 560; // pixels, as in walk.css, which gives the stage its height
  const DELAY = 400;

  // Each with what it is where no style sheet of the site reaches, as in the book
  const COLOURS = {
    ink: "var(--color-foreground-primary, #16181d)",
    soft: "var(--color-foreground-secondary, #5a5c63)",
    line: "var(--color-foreground-border, #878787)",
    paper: "var(--color-background-primary, #ffffff)",
    query: "var(--lab-query, #b34a00)",
    key: "var(--lab-key, #0072b2)",
    value: "var(--lab-value, #00714f)",
    weight: "var(--lab-weight, #5b3e96)",
    share: "var(--lab-weight-fill, #5b3e96)",
    white: "#ffffff",
  };

  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const number = (one) => digits(one, Math.abs(one) < 9.995 ? 2 : Math.abs(one) < 99.95 ? 1 : 0);
  const largest = (numbers) => Math.max(...numbers.flat().map(Math.abs)) || 1;
  const within = (one, least, most) => Math.min(Math.max(one, least), most);

  function percent(weight, unit = "\u00a0%") {
    return (weight > 0 && weight < 0.005 ? "<1" : Math.round(100 * weight)) + unit;
  }

  // Everything that the steps show, from { words, x, W_query, W_key, W_value }. If nobody has chosen who
  // asks, it is the word that takes most from another one, but hardly ever all.
  function modelOf(numbers, at = null) {
    const layer = selfAttention(numbers.x, numbers);
    const reach = layer.weights.map((row, i) => {
      const most = Math.max(...row.filter((_, j) => j !== i));
      return most < 0.98 ? most : most - 1;
    });
    return { ...numbers, ...layer, at: at ?? reach.indexOf(Math.max(...reach)) };
  }

  // Words stand beside each other where there is room for their vectors, else below each other.
  function layout(width, n) {
    const W = Math.round(width);
    return { W, H: W < WIDE ? 332 : 440, isWide: W >= Math.max(WIDE, 112 + 70 * n) };
  }

  // How wide a text is, in shares of its size: without a page nobody measures it.
  function widthOf(text) {
    const of = (letter) =>
      /[ijl.,'\u00a0 ]/.test(letter) ? 0.3 : /[frt()]/.test(letter) ? 0.4 : 0.6;
    return [...text].reduce((sum, one) => sum + (/[mw%—]/i.test(one) ? 0.9 : of(one)), 0);
  }

  // The text as large as it fits, at least 12 pixels, and then cut
  function fitted(text, width, most) {
    const size = within(width / widthOf(text), 12, most);
    let cut = text;
    while (cut.length > 1 && widthOf(cut) * size > width + 0.5) cut = `${cut.replace(/.…?$/, "")}…`;
    return { text: cut, size, title: text };
  }

  const straight = ([x, y], [u, v]) =>
    [0, 1, 2, 3].flatMap((k) => [x + ((u - x) * k) / 3, y + ((v - y) * k) / 3]);

  function frame(step, model, size) {
    const to = pen(model, size);
    [asks, numbers, roles, fits, shares, sums, map][step - 1](to);
    return to.parts;
  }

  // What the steps draw with. Words go along one axis, and what happens to them along the other one:
  // downwards where words stand beside each other, else to the right.
  function pen(model, { W, H, isWide }) {
    const { words, at, weights } = model;
    const n = words.length;
    const w = weights[at];
    const parts = new Map();
    const [small, plain] = isWide ? [15, 17] : [12.5, 15];
    const late = (j, all = n) => (DELAY * j) / Math.max(all, 2);
    const box = (along, across, ...sizes) =>
      isWide ? [along, across, ...sizes] : [across, along, ...sizes.reverse()];

    const put = (name, part) => parts.set(name, { opacity: 1, ...part });
    const tile = (name, [x, y, wide, high], looks) => {
      const r = Math.min(10, high / 2, wide / 2);
      put(name, {
        kind: "tile",
        layer: 2,
        x,
        y,
        w: wide,
        h: high,
        r,
        tint: 0,
        bold: 600,
        ...looks,
      });
    };
    const label = (name, [x, y], text, ink, textSize = small, looks = {}) =>
      tile(name, [x, y, widthOf(text) * textSize, 1.3 * textSize], {
        text,
        ink,
        size: textSize,
        layer: 3,
        ...looks,
      });
    const line = (name, curve, role, width, looks) =>
      put(name, { kind: "line", layer: 1, curve, role, width, head: 0, ...looks });

    // A step's place for each word, from a margin on, and words at a place across that leaves so much room
    function lane(margin = 0, end = isWide ? W : H, most = isWide ? 190 : 64) {
      const all = end - margin - 8;
      const pitch = Math.min(most, all / n);
      return { pitch, along: (j) => margin + 4 + all / 2 + (j - (n - 1) / 2) * pitch };
    }
    function word(i, x, y, room, high) {
      const wide = within(widthOf(words[i]) * plain + 30, 52, room);
      const [role, ink] = i === at ? ["ink", "paper"] : ["paper", "ink"];
      const looks = { role, ink, tint: 1, edge: "line", r: high / 2, layer: 4, word: i };
      tile(`word${i}`, [x, y, wide, high], { ...looks, ...fitted(words[i], wide - 14, plain) });
    }
    function allWords({ pitch, along }, across, room) {
      const sizes = isWide ? [pitch - 8, 40] : [room, Math.min(40, pitch - 8)];
      for (const i of range(n)) word(i, ...box(along(i), across), ...sizes);
    }

    // A vector as tiles beside each other, or below each other, darker the larger its numbers are
    function vector(name, vector, role, most, [x, y], [wide, high], looks = {}) {
      const { down = false, gap = 4, ...more } = looks;
      // One size for all numbers of a kind: what is smaller would seem to be less.
      const textSize = within((wide - 4) / widthOf("−0.00"), 12, down ? 22 : isWide ? 17 : 15);
      vector.forEach((one, c) => {
        const shift = (c - (vector.length - 1) / 2) * ((down ? high : wide) + gap);
        const place = down ? [x, y + shift, wide, high] : [x + shift, y, wide, high];
        const tint = 0.07 + (role === "ink" ? 0.23 : 0.29) * (Math.abs(one) / most);
        const text = { text: number(one), size: textSize, ink: "ink", bold: 500 };
        tile(`${name}.${c}`, place, { role, tint, ...text, ...more });
      });
    }

    // The tile and the percentage of word j's share
    const tintOf = (weight) => 0.07 + 0.88 * weight;
    const on = (weight) => (tintOf(weight) > 0.77 ? "white" : "ink");
    const share = (j, place, looks) =>
      tile(`weight${j}`, place, { role: "share", tint: tintOf(w[j]), delay: late(j), ...looks });
    const shareText = (j, place, ink, textSize, looks) =>
      label(`share${j}`, place, percent(w[j]), ink, textSize, {
        bold: 700,
        delay: late(j),
        ...looks,
      });

    const draws = { allWords, box, label, lane, line, share, shareText, tile, vector, word };
    return { ...model, W, H, isWide, n, w, parts, small, plain, late, tintOf, on, ...draws };
  }

  // 1. One word asks: an arc from each word that answers, as thick as its share
  function asks({ words, at, w, W, H, isWide, parts, small, late, on, ...draw }) {
    const { allWords, box, label, lane, line, share, shareText } = draw;
    const { pitch, along } = lane();
    const room = Math.min(116, W * 0.31);
    const thick = isWide ? 60 : Math.min(132, W * 0.36);
    const end = isWide ? H - 60 : W - 2 - thick / 2;
    allWords({ pitch, along }, isWide ? 36 : 2 + room / 2, room);
    const start = isWide ? 57 : 2 + room / 2 + parts.get(`word${at}`).w / 2;
    const bend = 0.6 * (end - thick / 2 - start);
    words.forEach((one, j) => {
      const [a, b, stop] = [along(at), along(j), end - thick / 2];
      const curve = [box(a, start), box(a, start + bend), box(b, stop - bend), box(b, stop)].flat();
      const looks = { opacity: 0.4 + 0.45 * w[j], delay: late(j) };
      line(`arc${j}`, curve, "weight", 1 + 20 * w[j], looks);
      share(j, box(b, end, isWide ? Math.min(pitch - 10, 132) : pitch - 8, thick), {
        r: isWide ? 14 : 10,
      });
      shareText(j, isWide ? [b, end] : [W - 28, b], on(w[j]), isWide ? 21 : 16);
      const name = fitted(one, isWide ? pitch - 6 : thick - 66, isWide ? small : 14);
      const place = isWide ? [b, H - 14] : [end - 30, b];
      label(`to${j}`, place, name.text, isWide ? "soft" : on(w[j]), name.size);
    });
  }

  // 2. Each word is three numbers
  function numbers({ x, W, H, isWide, n, late, allWords, box, lane, vector }) {
    const { pitch, along } = lane();
    const room = Math.min(122, W * 0.34);
    allWords({ pitch, along }, isWide ? 44 : 2 + room / 2, room);
    const across = isWide ? (H + 70) / 2 : (W + room + 8) / 2;
    const sizes = isWide
      ? [Math.min(pitch - 12, 124), (H - 130) / 3]
      : [(W - room - 26) / 3, pitch - 8];
    for (const j of range(n)) {
      const looks = { from: `word${j}`, delay: late(j), down: isWide, gap: isWide ? 10 : 4 };
      vector(`x${j}`, x[j], "ink", largest(x), box(along(j), across), sizes, looks);
    }
  }

  // 3. A key and a value for each word, a query for the one that asks
  function roles({ at, W, H, isWide, n, late, ...draw }) {
    const { allWords, box, label, lane, tile, vector } = draw;
    const { pitch, along } = isWide ? lane(112, W - 6) : lane(24);
    allWords({ pitch, along }, isWide ? 36 : 45, 86);
    const start = isWide ? 66 : 92;
    const span = ((isWide ? H - 4 : W) - start) / 3;
    const sizes = isWide ? [Math.min((pitch - 12) / 2, 58), 54] : [span / 2 - 5, pitch - 8];
    const does = { query: "looks for", key: "is found by", value: "hands over" };
    ["query", "key", "value"].forEach((role, k) => {
      const across = start + span * (k + 0.5);
      const band = { role, tint: 0.06, r: 14, layer: 0 };
      tile(`band.${role}`, box((isWide ? W : H) / 2, across, (isWide ? W : H) - 4, span - 8), band);
      const name = isWide ? [58, across - 34] : [across, 15];
      label(`lane.${role}`, name, role, role, isWide ? 17 : 14, { bold: 700 });
      if (isWide) {
        label(`does.${role}`, [58, across - 15], does[role], "soft", 12.5, { bold: 400 });
        drawMatrix(role, across + 4);
      }
      const vectors = role === "query" ? [draw.query[at]] : draw[role];
      vectors.forEach((one, i) => {
        const j = role === "query" ? at : i;
        const looks = { from: `x${j}.1`, delay: late(j), gap: isWide ? 4 : 2 };
        vector(`${role}${j}`, one, role, largest(vectors), box(along(j), across), sizes, looks);
      });
    });
    // The table of learned numbers that makes these vectors out of the words' three numbers
    function drawMatrix(role, y) {
      const matrix = draw[`W_${role}`];
      for (const [r, row] of matrix.entries()) {
        for (const [c, one] of row.entries()) {
          const looks = { role, tint: 0.15 + (0.75 * Math.abs(one)) / largest(matrix), r: 3 };
          tile(`W.${role}.${r}.${c}`, [46.5 + c * 23, y + 15 * r, 20, 12], {
            ...looks,
            delay: late(r, 3),
          });
        }
      }
    }
  }

  // 4. The query beside every key, and the score of both
  function fits({ at, query, key, scores, W, H, isWide, n, late, ...draw }) {
    const { allWords, box, label, lane, line, tile, vector } = draw;
    const s = scores[at];
    const { pitch, along } = isWide ? lane(84) : lane();
    allWords({ pitch, along }, isWide ? 36 : 45, 86);
    const [wide, high] = isWide
      ? [Math.min((pitch - 12) / 2, 58), 42]
      : [43, Math.min(26, (pitch - 8) / 2)];
    const gap = isWide ? 3 : 2;
    const [up, down] = [Math.max(...s, 0), -Math.min(...s, 0)];
    const all = Math.max(up + down, 1);
    const unit = (isWide ? H - 240 : W - 240) / all;
    const zero = isWide ? 206 + (up + (all - up - down) / 2) * unit : 188 + down * unit;
    const ends = isWide ? [box(84, zero), box(W - 8, zero)] : [box(4, zero), box(H - 4, zero)];
    line("zero", straight(...ends), "line", 1.5);
    if (isWide) {
      label("lane.query", [42, 94], "query", "query", 17, { bold: 700 });
      label("lane.key", [42, 138], "key", "key", 17, { bold: 700 });
      label("lane.score", [42, zero], "score", "ink", 17, { bold: 700 });
    }
    for (const j of range(n)) {
      const [x, y] = box(along(j), isWide ? 116 : 137);
      const looks = { gap, delay: late(j) };
      // Each word's own copy of the query; the asker's is the one that there was
      const asked = j === at ? `query${j}` : `asked${j}`;
      const above = { ...looks, from: `query${at}.0` };
      vector(
        asked,
        query[at],
        "query",
        largest(query[at]),
        [x, y - (high + gap) / 2],
        [wide, high],
        above,
      );
      vector(
        `key${j}`,
        key[j],
        "key",
        largest(key),
        [x, y + (high + gap) / 2],
        [wide, high],
        looks,
      );
      const long = Math.max(Math.abs(s[j]) * unit, 2);
      const side = (s[j] < 0 ? -1 : 1) * (isWide ? -1 : 1);
      const bar = box(
        along(j),
        zero + (side * long) / 2,
        Math.min(isWide ? 54 : 24, pitch - 16),
        long,
      );
      const grows = { from: `key${j}.0`, delay: late(j) };
      tile(`bar${j}`, bar, { role: "ink", tint: 0.62, r: Math.min(6, long / 2), ...grows });
      const end = isWide ? [x, zero + side * (long + 15)] : [W - 24, y];
      label(`score${j}`, end, number(s[j]), "ink", isWide ? 18 : 15, { bold: 700, ...grows });
    }
  }

  // 5. The scores as shares of a whole
  function shares({ words, at, w, scores, W, H, isWide, small, late, tintOf, on, ...draw }) {
    const { allWords, box, label, lane, line, share, shareText, tile } = draw;
    const { pitch, along } = isWide ? lane(84) : lane(0, H - 46);
    allWords({ pitch, along }, isWide ? 36 : 45, 86);
    const base = isWide ? H - 84 : 144;
    const unit = (isWide ? base - 138 : W - 58 - base) / Math.max(...w);
    const whole = isWide ? [92, W - 8, H - 30, 46] : [2, W - 2, H - 22, 38];
    if (isWide) {
      line("zero", straight([84, base], [W - 8, base]), "line", 1.5);
      label("lane.score", [42, 80], "score", "ink", 17, { bold: 700 });
      label("lane.share", [42, base - 14], "share", "weight", 17, { bold: 700 });
      label("whole", [42, whole[2]], percent(1), "weight", 17, { bold: 700 });
    }
    let left = whole[0];
    words.forEach((one, j) => {
      const long = Math.max(w[j] * unit, 2);
      const side = isWide ? -1 : 1;
      const thick = isWide ? Math.min(76, pitch - 20) : Math.min(30, pitch - 10);
      const looks = { tint: 0.3 + 0.6 * w[j], r: Math.min(8, long / 2), from: `bar${j}` };
      share(j, box(along(j), base + (side * long) / 2, thick, long), looks);
      const score = { bold: 600, delay: late(j) };
      label(
        `score${j}`,
        box(along(j), isWide ? 80 : 116),
        number(scores[at][j]),
        "ink",
        small + 1,
        score,
      );
      const end = box(along(j), base + side * (long + (isWide ? 16 : 28)));
      shareText(j, end, "weight", isWide ? 20 : 16, { from: `score${j}` });
      // All shares in a row are one whole.
      const wide = (whole[1] - whole[0]) * w[j];
      const text = widthOf(one) * small <= wide - 10 ? one : "";
      const part = { role: "share", tint: tintOf(w[j]), r: Math.min(8, wide / 2), title: one };
      const name = { text, size: small, ink: on(w[j]), from: `weight${j}`, delay: late(j) };
      tile(`part${j}`, [left + wide / 2, whole[2], Math.max(wide - 2, 0.5), whole[3]], {
        ...part,
        ...name,
      });
      left += wide;
    });
  }

  // 6. The values, each shortened to its share, from one tip to the next
  function sums({ words, at, w, value, W, H, isWide, n, small, plain, late, on, ...draw }) {
    const { label, line, share, shareText, tile, vector, word } = draw;
    const pitch = Math.min(66, (H - 8) / n);
    const high = Math.min(isWide ? 44 : 40, pitch - 8);
    const [left, top, right, bottom] = isWide
      ? [Math.max(350, W * 0.44), 4, W - 4, H - 4]
      : [136, 2, W - 2, H - 2];
    for (const j of range(n)) {
      const y = H / 2 + (j - (n - 1) / 2) * pitch;
      word(j, isWide ? 64 : 45, y, isWide ? 124 : 86, high);
      shareText(j, [isWide ? 166 : 112, y], isWide ? on(w[j]) : "weight", isWide ? 17 : 14);
      if (!isWide) continue;
      share(j, [166, y, 64, high], { from: `part${j}` });
      label(`times${j}`, [211, y], "×", "soft", 17);
      const wide = Math.min(72, (left - 250) / 2);
      const looks = { delay: late(j), from: `part${j}` };
      vector(`value${j}`, value[j], "value", largest(value), [228 + wide, y], [wide, high], looks);
    }
    const middle = [(left + right) / 2, (top + bottom) / 2];
    tile("plane", [...middle, right - left, bottom - top], {
      role: "paper",
      tint: 1,
      r: 16,
      layer: 0,
    });

    const chain = [[0, 0]];
    for (const [j, v] of value.entries()) chain.push(v.map((one, c) => chain[j][c] + w[j] * one));
    const reach = [0, 1].map((c) => [...chain, ...value].map((point) => point[c]));
    const [low, top_] = [Math.min, Math.max].map((pick) => reach.map((all) => pick(...all)));
    const room = isWide
      ? [right - left - 112, bottom - top - 88]
      : [right - left - 68, bottom - top - 68];
    const unit = Math.min(...[0, 1].map((c) => room[c] / (top_[c] - low[c] || 1)));
    const place = (point) =>
      point.map((one, c) => middle[c] + (c ? -1 : 1) * unit * (one - (low[c] + top_[c]) / 2));
    const origin = place([0, 0]);
    // A line for each unit, or each half, fifth or tenth of one
    const gap = unit * ([0.1, 0.2, 0.5].find((one) => one * unit > 40) ?? 1);
    const grid = (c, from, to, curve) => {
      for (
        let k = Math.ceil((from + 12 - origin[c]) / gap);
        origin[c] + k * gap < to - 12;
        k += 1
      ) {
        const looks = { opacity: k === 0 ? 0.55 : 0.16, layer: 0 };
        line(`grid${c}.${k}`, curve(origin[c] + k * gap), "line", k === 0 ? 1.5 : 1, looks);
      }
    };
    grid(0, left, right, (x) => straight([x, top + 10], [x, bottom - 10]));
    grid(1, top, bottom, (y) => straight([left + 10, y], [right - 10, y]));

    const end = place(chain.at(-1));
    const taken = [[...end, 18, 18]];
    function arrow(name, from, to, width, head, looks) {
      const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
      const long = Math.hypot(dx, dy);
      const points = range(Math.floor(long / 14)).map((k) => (14 * k) / long);
      taken.push(...points.map((t) => [from[0] + t * dx, from[1] + t * dy, 10, 10]));
      line(name, straight(from, to), "value", width, {
        head: Math.min(head, 0.45 * long),
        ...looks,
      });
      return long;
    }
    // Beside its point, above or below it, or nowhere: no name covers another one, or an arrow.
    function beside(name, [x, y], text, ink, textSize) {
      const [wide, tall] = [widthOf(text) * textSize + 8, textSize * 1.3];
      const far = (x > origin[0] ? 1 : -1) * (wide / 2 + 12);
      const around = [far, 0, 0, -tall - 4, 0, tall + 4, far, -tall, far, tall, -far, 0];
      const places = range(6).map((k) => [
        within(x + around[2 * k], left + wide / 2 + 2, right - wide / 2 - 2),
        within(y + around[2 * k + 1], top + tall, bottom - tall),
      ]);
      const found = places.find(([u, v]) =>
        taken.every(
          ([a, b, c, d]) => Math.abs(u - a) > (wide + c) / 2 || Math.abs(v - b) > (tall + d) / 2,
        ),
      );
      if (!found) return;
      taken.push([...found, wide, tall]);
      label(name, found, text, ink, textSize, { delay: DELAY });
    }
    const long = value.map((v, j) => {
      const looks = { opacity: 0.32, from: `value${j}.0` };
      return arrow(`ghost${j}`, origin, place(v), 3, 9, looks);
    });
    for (const j of range(n)) {
      const width = Math.min(8, 2.5 + (w[j] * long[j]) / 14);
      arrow(`sum${j}`, place(chain[j]), place(chain[j + 1]), width, 15, { delay: late(j) });
    }
    const name = fitted(`new ${quoted(words[at])}`, (right - left) * 0.6, plain);
    beside("context.name", end, name.text, "ink", name.size);
    for (const j of range(n).sort((a, b) => long[b] - long[a])) {
      if (long[j] > 40) beside(`tip${j}`, place(value[j]), words[j], "value", small);
    }
    tile("context", [...end, 18, 18], { role: "ink", tint: 1, r: 9, delay: DELAY });
  }

  // 7. The shares of all words, a row for each
  function map({ words, at, weights, W, H, isWide, n, parts, small, late, tintOf, on, ...draw }) {
    const { label, tile, word } = draw;
    // The last of the slanted names reaches beyond its column.
    const [left, top, right] = isWide ? [132, 40, 6] : [88, 66, 34];
    const wide = Math.min(150, (W - left - right) / n);
    const high = Math.min(84, (H - top - 6) / n);
    const x = (j) => (W + left - right) / 2 + (j - (n - 1) / 2) * wide;
    const y = (i) => (H + top - 6) / 2 + (i - (n - 1) / 2) * high;
    const isFlat = wide > 60;
    words.forEach((one, i) => {
      word(i, 0, y(i), left - 8, Math.min(38, high - 6));
      parts.get(`word${i}`).x = x(0) - wide / 2 - 6 - parts.get(`word${i}`).w / 2;
      const name = fitted(one, isFlat ? wide - 4 : 64, small);
      const head = [x(i), y(0) - high / 2 - (isFlat ? 16 : 8)];
      label(`to${i}`, head, name.text, "soft", name.size, { turn: isFlat ? 0 : -55 });
      weights[i].forEach((weight, j) => {
        const data = { query: i, key: j, value: weight };
        const title = `${one} takes ${percent(weight)} from ${words[j]}`;
        const looks = { role: "share", tint: tintOf(weight), r: 7, data, title };
        const size = isFlat ? 16 : within(wide / 2.2, 12, 15);
        const text = { text: percent(weight, isFlat ? undefined : ""), size, ink: on(weight) };
        const place = [x(j), y(i), wide - 4, high - 4];
        if (i === at) {
          tile(`weight${j}`, place, { ...looks, edge: "ink" });
          label(`share${j}`, place, text.text, text.ink, size, { bold: 700 });
        } else {
          const comes = { from: `weight${j}`, delay: late(Math.abs(i - at)), bold: 500 };
          tile(`map${i}.${j}`, place, { ...looks, ...text, ...comes });
        }
      });
    });
  }

  // ---- a part as shapes: [element, attributes, text], always with the same attributes

  const paint = (fill, stroke) =>
    `fill:${COLOURS[fill] ?? "none"};stroke:${COLOURS[stroke] ?? "none"}`;

  function drawn(part) {
    if (part.kind === "line") return drawnLine(part);
    const { x, y, w, h, r, role, tint, edge, text, size, bold, ink, turn, title } = part;
    const shapes = [];
    if (role) {
      const box = {
        x: x - w / 2,
        y: y - h / 2,
        width: w,
        height: h,
        rx: Math.min(r, w / 2, h / 2),
      };
      const looks = { "fill-opacity": tint, "stroke-width": edge === "ink" ? 2 : 1 };
      shapes.push(["rect", { ...box, ...looks, style: paint(role, edge) }]);
    }
    if (text) {
      const box = { x, y: y + size * 0.36, "text-anchor": turn ? "start" : "middle" };
      const transform = turn ? `rotate(${turn} ${x.toFixed(1)} ${y.toFixed(1)})` : "";
      const looks = { "font-size": size, "font-weight": bold, style: paint(ink) };
      shapes.push(["text", { ...box, transform, ...looks }, text]);
    }
    if (title) shapes.push(["title", {}, title]);
    return shapes;
  }

  // `grown` is how much of the line there is, from its beginning.
  function drawnLine({ curve, role, width, head, grown = 1 }) {
    const [x, y, ...rest] = curve.map((one) => one.toFixed(1));
    const dashes = grown < 1 ? `${grown.toFixed(3)} 2` : "none";
    const looks = { "stroke-width": width, "stroke-dasharray": dashes, style: paint(null, role) };
    const d = `M ${x} ${y} C ${rest.join(" ")}`;
    const shapes = [["path", { d, pathLength: 1, ...looks }]];
    if (head > 1 && grown === 1) {
      const [a, b, u, v] = curve.slice(4);
      const long = Math.hypot(u - a, v - b) || 1;
      const [cx, cy] = [((u - a) * head) / long, ((v - b) * head) / long];
      const at = (ahead, aside) => [u + cx * ahead - cy * aside, v + cy * ahead + cx * aside];
      const points = [at(0.4, 0), at(-1, 0.7), at(-1, -0.7)].map((point) =>
        point.map((one) => one.toFixed(1)),
      );
      shapes.push([
        "path",
        { d: `M ${points.join(" L ").replaceAll(",", " ")} Z`, style: paint(role) },
      ]);
    }
    return shapes;
  }

  lab.walkFrames = { STEPS, drawn, fitted, frame, layout, modelOf, number, percent };
}
