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
  const WIDE = 560; // pixels, as in walk.css
  const DELAY = 400;

  // Each with what it is where no style sheet of the site reaches, as in the book
  const COLOURS = {
    ink: "var(--color-foreground-primary, #16181d)",
    soft: "var(--color-foreground-secondary, #5a5c63)",
    line: "var(--color-foreground-border, #878787)",
    paper: "var(--color-background-primary, #ffffff)",
    query: "var(--query, #a83e06)",
    key: "var(--key, #0070c9)",
    value: "var(--value, #0a6b58)",
    weight: "var(--weight, #5a2ca0)",
    share: "var(--weight-fill, #5a2ca0)",
    white: "#ffffff",
  };

  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const number = (one, places = 2) =>
    digits(one, Math.abs(one) < 9.995 ? places : Math.abs(one) < 99.95 ? 1 : 0);
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
  function layout(width, n, height = width < WIDE ? 332 : 440) {
    const W = Math.round(width);
    return { W, H: Math.round(height), isWide: W >= Math.max(WIDE, 112 + 70 * n) };
  }

  // How wide a text is, in shares of its size: without a page nobody measures it.
  const NARROW = {
    i: 0.3,
    j: 0.3,
    l: 0.3,
    ".": 0.3,
    " ": 0.3,
    "\u00a0": 0.3,
    f: 0.4,
    r: 0.4,
    t: 0.4,
  };
  const widthOf = (text) =>
    [...text].reduce((sum, one) => sum + (/[mw%]/i.test(one) ? 0.9 : (NARROW[one] ?? 0.6)), 0);

  // The text in the largest size that fits, and cut where none does
  const SIZES = [21, 17, 15, 12]; // pixels
  function fitted(text, width, most) {
    const fits = (shown, size) => widthOf(shown) * size <= width + 0.5;
    const size = SIZES.find((one) => one <= most && fits(text, one)) ?? 12;
    let cut = text;
    while (cut.length > 1 && !fits(cut, size)) cut = `${cut.replace(/.…?$/, "")}…`;
    return { text: cut, size, ...(cut !== text && { title: text }) };
  }

  const straight = ([x, y], [u, v]) =>
    [0, 1, 2, 3].flatMap((k) => [x + ((u - x) * k) / 3, y + ((v - y) * k) / 3]);

  function frame(step, model, { W, H, isWide }) {
    const { words, at, x: embeddings, query, key, value, scores, weights } = model;
    const n = words.length;
    const [s, w] = [scores[at], weights[at]];
    const by = (wide, narrow) => (isWide ? wide : narrow);
    const [small, plain, big] = by([15, 17, 21], [12, 15, 17]);
    const parts = new Map();
    let delay = 0;
    [asks, numbers, roles, fits, shares, sums, map][step - 1]();
    return parts;

    // ---- what the steps draw with

    // Words go along one axis, and what happens to them along the other one: downwards where words stand
    // beside each other, else to the right.
    function box(along, across, ...sizes) {
      return isWide ? [along, across, ...sizes] : [across, along, ...sizes.reverse()];
    }
    // One word after the other
    function each(draw) {
      for (const j of range(n)) {
        delay = (DELAY * j) / n;
        draw(j);
      }
      delay = 0;
    }
    function tile(name, [x, y, wide, high], looks) {
      const place = { x, y, w: wide, h: high, r: Math.min(10, high / 2, wide / 2) };
      const rest = { kind: "tile", layer: 2, tint: 0, bold: 700, opacity: 1, delay };
      parts.set(name, { ...rest, ...place, ...looks });
    }
    function label(name, [x, y], text, ink, size = plain, looks = {}) {
      const place = [x, y, widthOf(text) * size, 1.3 * size];
      tile(name, place, { text, ink, size, layer: 3, ...looks });
    }
    function line(name, curve, role, width, looks) {
      const rest = { kind: "line", layer: 1, head: 0, opacity: 1, grown: 1, delay };
      parts.set(name, { ...rest, curve, role, width, ...looks });
    }
    // A place for each word, from a margin on
    function lane(margin = 0, end = by(W, H)) {
      const all = end - margin - 8;
      const pitch = Math.min(by(190, 64), all / n);
      return { pitch, along: (j) => margin + 4 + all / 2 + (j - (n - 1) / 2) * pitch };
    }
    // All words of a step in one size, or the longest would look like the least
    function sizeOf(room) {
      return Math.min(...words.map((one) => fitted(one, room - 12, plain).size));
    }
    function word(i, x, y, room, high, size = sizeOf(room)) {
      const wide = within(widthOf(words[i]) * plain + 30, 52, room);
      const [role, ink] = i === at ? ["ink", "paper"] : ["paper", "ink"];
      const looks = { role, ink, tint: 1, edge: "line", r: high / 2, layer: 4, word: i, delay: 0 };
      const text = fitted(words[i], wide - 12, size);
      tile(`word${i}`, [x, y, wide, high], { ...looks, bold: 600, ...text });
    }
    function allWords({ pitch, along }, across, room = 86) {
      const sizes = by([pitch - 8, 40], [room, Math.min(40, pitch - 8)]);
      for (const i of range(n)) word(i, ...box(along(i), across), ...sizes);
    }
    // A vector as tiles beside each other, or below each other, darker the larger its numbers are
    function vector(name, numbers, role, most, [x, y], [wide, high], looks = {}) {
      const { down = false, gap = 4, ...more } = looks;
      // One size for all numbers of a kind: what is smaller would seem to be less.
      const { size } = fitted("−0.00", wide - 8, down ? big : plain);
      for (const [c, one] of numbers.entries()) {
        const shift = (c - (numbers.length - 1) / 2) * ((down ? high : wide) + gap);
        const place = down ? [x, y + shift, wide, high] : [x + shift, y, wide, high];
        const tint = 0.07 + (role === "ink" ? 0.23 : 0.29) * (Math.abs(one) / most);
        const text = { text: number(one, wide < 36 ? 1 : 2), size, ink: "ink", bold: 500 };
        tile(`${name}.${c}`, place, { role, tint, ...text, ...more });
      }
    }
    function tintOf(weight) {
      return 0.07 + 0.88 * weight;
    }
    function inkOn(weight) {
      return tintOf(weight) > 0.72 ? "white" : "ink";
    }
    // The tile of word j's share, and its percentage
    function share(j, place, looks) {
      tile(`weight${j}`, place, { role: "share", tint: tintOf(w[j]), ...looks });
    }
    function percentage(j, place, ink, size, looks) {
      label(`share${j}`, place, percent(w[j]), ink, size, looks);
    }

    // ---- the steps

    // 1. One word asks: an arc from each word that answers, as thick as its share
    function asks() {
      const { pitch, along } = lane();
      const room = Math.min(116, W * 0.31);
      const thick = by(60, Math.min(132, W * 0.36));
      const end = by(H - 60, W - 2 - thick / 2);
      allWords({ pitch, along }, by(36, 2 + room / 2), room);
      const start = by(57, 2 + room / 2 + parts.get(`word${at}`).w / 2);
      const stop = end - thick / 2;
      const bend = 0.6 * (stop - start);
      each((j) => {
        const [a, b] = [along(at), along(j)];
        const curve = [box(a, start), box(a, start + bend), box(b, stop - bend), box(b, stop)];
        line(`arc${j}`, curve.flat(), "weight", 1 + 20 * w[j], { opacity: 0.4 + 0.45 * w[j] });
        share(j, box(b, end, by(Math.min(pitch - 10, 132), pitch - 8), thick), { ask: j });
        percentage(j, by([b, end], [W - 34, b]), inkOn(w[j]), big);
        const { text, size } = fitted(words[j], by(pitch - 6, thick - 66), small);
        const ink = by("soft", inkOn(w[j]));
        label(`to${j}`, by([b, H - 14], [end - 30, b]), text, ink, size, { bold: 600 });
      });
    }

    // 2. Each word is three numbers
    function numbers() {
      const { pitch, along } = lane();
      const room = Math.min(122, W * 0.34);
      allWords({ pitch, along }, by(44, 2 + room / 2), room);
      const across = by((H + 70) / 2, (W + room + 8) / 2);
      const high = by((H - 130) / 3, (W - room - 26) / 3);
      const sizes = by([Math.min(pitch - 12, 124), high], [high, pitch - 8]);
      each((j) => {
        const looks = { from: `word${j}`, down: isWide, gap: by(10, 4) };
        vector(
          `x${j}`,
          embeddings[j],
          "ink",
          largest(embeddings),
          box(along(j), across),
          sizes,
          looks,
        );
      });
    }

    // 3. A key and a value for each word, a query for the one that asks
    function roles() {
      const { pitch, along } = isWide ? lane(112, W - 6) : lane(24);
      allWords({ pitch, along }, by(36, 45));
      const start = by(66, 92);
      const span = (by(H - 4, W) - start) / 3;
      const sizes = by(
        [Math.min(pitch - 14, 96), Math.min(44, span / 2 - 10)],
        [span / 2 - 5, pitch - 8],
      );
      const lanes = [
        ["query", "looks for", [query[at]]],
        ["key", "is found by", key],
        ["value", "hands over", value],
      ];
      for (const [k, [role, does, vectors]] of lanes.entries()) {
        const across = start + span * (k + 0.5);
        const whole = box(by(W, H) / 2, across, by(W, H) - 4, span - 8);
        tile(`band.${role}`, whole, { role, tint: 0.06, r: 14, layer: 0 });
        label(
          `lane.${role}`,
          by([58, across - Math.min(34, span / 2 - 15)], [across, 15]),
          role,
          role,
        );
        if (isWide) {
          label(`does.${role}`, [58, across - 13], does, "soft", 12, { bold: 400 });
          matrix(role, across + 4);
        }
        each((j) => {
          if (role === "query" && j !== at) return;
          const looks = { from: `x${j}.1`, down: isWide, gap: by(4, 2) };
          const one = vectors[role === "query" ? 0 : j];
          vector(`${role}${j}`, one, role, largest(vectors), box(along(j), across), sizes, looks);
        });
      }
    }
    // The learned numbers that make vectors of this role out of the words' three numbers
    function matrix(role, y) {
      const W = model[`W_${role}`];
      for (const [k, one] of W.flat().entries()) {
        const place = [46.5 + (k % 2) * 23, y + 15 * Math.floor(k / 2), 20, 12];
        tile(`W.${role}.${k}`, place, {
          role,
          tint: 0.15 + (0.75 * Math.abs(one)) / largest(W),
          r: 3,
        });
      }
    }

    // 4. The query beside every key, and the score of both
    function fits() {
      const { pitch, along } = isWide ? lane(84) : lane();
      allWords({ pitch, along }, by(36, 45));
      const sizes = by([Math.min((pitch - 12) / 2, 58), 42], [43, Math.min(26, (pitch - 8) / 2)]);
      const gap = by(3, 2);
      const apart = (sizes[1] + gap) / 2;
      const [up, down] = [Math.max(...s, 0), -Math.min(...s, 0)];
      const all = Math.max(up + down, 1);
      const unit = (by(H, W) - 240) / all;
      const zero = by(206 + (up + (all - up - down) / 2) * unit, 188 + down * unit);
      line("zero", straight(box(by(84, 4), zero), box(by(W - 8, H - 4), zero)), "line", 1.5);
      if (isWide) {
        label("lane.query", [42, 94], "query", "query");
        label("lane.key", [42, 138], "key", "key");
        label("lane.score", [42, zero], "score/√2", "ink");
      }
      each((j) => {
        const [x, y] = box(along(j), by(116, 137));
        // Each word's own copy of the query; the asker's is the one that there was
        const copy = j === at ? `query${j}` : `asked${j}`;
        const looks = { gap, from: `query${at}.0` };
        vector(copy, query[at], "query", largest(query[at]), [x, y - apart], sizes, looks);
        vector(`key${j}`, key[j], "key", largest(key), [x, y + apart], sizes, { gap });
        const long = Math.max(Math.abs(s[j]) * unit, 2);
        const side = (s[j] < 0 ? -1 : 1) * by(-1, 1);
        const place = box(
          along(j),
          zero + (side * long) / 2,
          Math.min(by(54, 24), pitch - 16),
          long,
        );
        const from = `key${j}.0`;
        tile(`bar${j}`, place, { role: "ink", tint: 0.62, r: Math.min(6, long / 2), from });
        const end = by([x, zero + side * (long + 15)], [W - 24, y]);
        label(`score${j}`, end, number(s[j]), "ink", plain, { from });
      });
    }

    // 5. The scores as shares of a whole
    function shares() {
      const { pitch, along } = isWide ? lane(84) : lane(0, H - 46);
      allWords({ pitch, along }, by(36, 45));
      const base = by(H - 84, 144);
      const unit = by(base - 138, W - 58 - base) / Math.max(...w);
      const [first, last, y, high] = by([92, W - 8, H - 30, 46], [2, W - 2, H - 22, 38]);
      if (isWide) {
        line("zero", straight([84, base], [W - 8, base]), "line", 1.5);
        label("lane.score", [42, 80], "score/√2", "ink");
        label("lane.share", [42, base - 14], "share", "weight");
        label("whole", [42, y], percent(1), "weight");
      }
      let left = first;
      each((j) => {
        const long = Math.max(w[j] * unit, 2);
        const thick = Math.min(by(76, 30), pitch - by(20, 10));
        const looks = { tint: 0.3 + 0.6 * w[j], r: Math.min(8, long / 2), from: `bar${j}` };
        share(j, box(along(j), base + (by(-1, 1) * long) / 2, thick, long), looks);
        label(`score${j}`, box(along(j), by(80, 116)), number(s[j]), "ink", by(17, 12), {
          bold: 600,
        });
        const end = box(along(j), base + by(-long - 16, long + 28));
        percentage(j, end, "weight", big, { from: `score${j}` });
        // All shares in a row are one whole.
        const wide = (last - first) * w[j];
        const text = widthOf(words[j]) * small <= wide - 10 ? words[j] : "";
        const name = { text, size: small, ink: inkOn(w[j]), title: words[j], from: `weight${j}` };
        const place = [left + wide / 2, y, Math.max(wide - 2, 0.5), high];
        tile(`part${j}`, place, { role: "share", tint: tintOf(w[j]), ...name });
        left += wide;
      });
    }

    // 6. The values, each shortened to its share, from one tip to the next
    function sums() {
      const pitch = Math.min(66, (H - 8) / n);
      const high = Math.min(by(44, 40), pitch - 8);
      const area = by([Math.max(350, W * 0.44), 4, W - 4, H - 4], [136, 2, W - 2, H - 2]);
      each((j) => {
        const y = H / 2 + (j - (n - 1) / 2) * pitch;
        word(j, by(64, 45), y, by(124, 86), high);
        percentage(j, [by(166, 112), y], by(inkOn(w[j]), "weight"), plain);
        if (!isWide) return;
        share(j, [166, y, 64, high], { from: `part${j}` });
        label(`times${j}`, [211, y], "×", "soft");
        const sizes = [Math.min(72, (area[0] - 250) / 2), high];
        const place = [228 + sizes[0], y];
        vector(`value${j}`, value[j], "value", largest(value), place, sizes, { from: `part${j}` });
      });
      plane(...area);
    }
    function plane(left, top, right, bottom) {
      const [wide, high] = [right - left, bottom - top];
      const middle = [left + wide / 2, top + high / 2];
      tile("plane", [...middle, wide, high], { role: "paper", tint: 1, r: 16, layer: 0 });
      const chain = [[0, 0]];
      for (const [j, v] of value.entries()) chain.push(v.map((one, c) => chain[j][c] + w[j] * one));
      const reach = [0, 1].map((c) => [...chain, ...value].map((point) => point[c]));
      const [low, upper] = [Math.min, Math.max].map((pick) => reach.map((all) => pick(...all)));
      const room = [wide - by(96, 68), high - by(88, 68)];
      const unit = Math.min(...room.map((one, c) => one / (upper[c] - low[c] || 1)));
      const place = (point) =>
        point.map((one, c) => middle[c] + (c ? -1 : 1) * unit * (one - (low[c] + upper[c]) / 2));
      const [origin, end] = [place([0, 0]), place(chain[n])];
      // A line for each unit, or each half, fifth or tenth of one
      const gap = unit * ([0.1, 0.2, 0.5].find((one) => one * unit > 40) ?? 1);
      const grid = (c, from, to, curve) => {
        const first = Math.ceil((from + 12 - origin[c]) / gap);
        for (const i of range(Math.ceil((to - 12 - origin[c]) / gap - first))) {
          const at = curve(origin[c] + (first + i) * gap);
          const opacity = first + i ? 0.16 : 0.6; // the axis stands out
          line(`grid${c}.${first + i}`, at, "line", 1, { opacity, layer: 0 });
        }
      };
      grid(0, left, right, (x) => straight([x, top + 10], [x, bottom - 10]));
      grid(1, top, bottom, (y) => straight([left + 10, y], [right - 10, y]));

      const taken = [[...end, 18, 18]];
      function arrow(name, from, to, width, head, looks) {
        const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
        const long = Math.hypot(dx, dy);
        for (let t = 0; t < long; t += 14)
          taken.push([from[0] + (dx * t) / long, from[1] + (dy * t) / long, 10, 10]);
        line(name, straight(from, to), "value", width, {
          head: Math.min(head, 0.45 * long),
          ...looks,
        });
        return long;
      }
      // Around its point, outwards first, or nowhere: no name covers another one, or an arrow.
      function beside(name, [x, y], text, ink, size) {
        const [a, b] = [widthOf(text) * size + 8, size * 1.3];
        const outwards = Math.atan2(y - origin[1], x - origin[0]);
        const places = range(48).map((k) => {
          const angle = outwards + (k % 2 ? k : -k) / 4;
          const [u, v] = [(a + k) / 2 + 10, (b + k) / 2 + 10];
          return [
            within(x + u * Math.cos(angle), left + a / 2, right - a / 2),
            within(y + v * Math.sin(angle), top + b, bottom - b),
          ];
        });
        const isApart = ([u, v], [p, q, c, d]) =>
          Math.abs(u - p) > (a + c) / 2 || Math.abs(v - q) > (b + d) / 2;
        const covered = (one) => taken.filter((other) => !isApart(one, other)).length;
        const isOwn = (one) => points.every((p) => apart(one, [x, y]) <= apart(one, p));
        // The new word has its name wherever that covers least; another one is nearest to its own point.
        const found =
          ink === "ink"
            ? places.toSorted((a, b) => covered(a) - covered(b))[0]
            : places.find((one) => covered(one) === 0 && isOwn(one));
        if (!found) return;
        taken.push([...found, a, b]);
        label(name, found, text, ink, size, { delay: DELAY });
      }
      const tips = value.map(place);
      const points = [end, ...tips];
      const apart = ([x, y], [u, v]) => Math.hypot(x - u, y - v);
      const long = tips.map((tip, j) => {
        const looks = { opacity: 0.32, from: `value${j}.0` };
        return arrow(`ghost${j}`, origin, tip, 3, 9, looks);
      });
      each((j) => {
        const [from, to] = [place(chain[j]), place(chain[j + 1])];
        arrow(`sum${j}`, from, to, Math.min(8, 2.5 + (w[j] * long[j]) / 14), 15);
      });
      const { text, size } = fitted(`new ${quoted(words[at])}`, wide * 0.6, plain);
      beside("context.name", end, text, "ink", size);
      for (const j of range(n).sort((a, b) => long[b] - long[a])) {
        if (long[j] > 20 && words.indexOf(words[j]) === j)
          beside(`tip${j}`, tips[j], words[j], "value", small);
      }
      tile("context", [...end, 18, 18], { role: "ink", tint: 1, r: 9, delay: DELAY });
    }

    // 7. The shares of all words, a row for each
    function map() {
      // The last of the slanted names reaches beyond its column.
      const [left, top, right] = by([132, 40, 6], [88, 66, 34]);
      const wide = Math.min(150, (W - left - right) / n);
      const high = Math.min(84, (H - top - 6) / n);
      const x = (j) => (W + left - right) / 2 + (j - (n - 1) / 2) * wide;
      const y = (i) => (H + top - 6) / 2 + (i - (n - 1) / 2) * high;
      const isFlat = wide > 60;
      each((i) => {
        const room = Math.min(left - 8, Math.max(52, widthOf(words[i]) * plain + 30));
        const place = [x(0) - wide / 2 - 6 - room / 2, y(i)];
        word(i, ...place, room, Math.min(38, high - 6), sizeOf(left - 8));
        const { text, size } = fitted(words[i], isFlat ? wide - 4 : 64, small);
        const head = [x(i), y(0) - high / 2 - (isFlat ? 16 : 8)];
        label(`to${i}`, head, text, "soft", size, { turn: isFlat ? 0 : -55, bold: 600 });
        for (const [j, weight] of weights[i].entries()) {
          const data = { query: i, key: j, value: weight };
          const title = `${words[i]} takes ${percent(weight)} from ${words[j]}`;
          const looks = { role: "share", tint: tintOf(weight), r: 7, data, title };
          const shown = percent(weight, isFlat ? undefined : "");
          const letters = {
            text: shown,
            size: fitted("100", wide - 4, isFlat ? 17 : 15).size,
            ink: inkOn(weight),
          };
          const cell = [x(j), y(i), wide - 4, high - 4];
          if (i === at) {
            tile(`weight${j}`, cell, { ...looks, edge: "ink" });
            label(`share${j}`, cell, shown, letters.ink, letters.size);
          } else
            tile(`map${i}.${j}`, cell, { ...looks, ...letters, bold: 500, from: `weight${j}` });
        }
      });
    }
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
  function drawnLine({ curve, role, width, head, grown }) {
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
      const points = [...at(0.4, 0), ...at(-1, 0.7), ...at(-1, -0.7)].map((one) => one.toFixed(1));
      shapes.push(["path", { d: `M ${points.join(" ")} Z`, style: paint(role) }]);
    }
    return shapes;
  }

  lab.walkFrames = { STEPS, drawn, fitted, frame, layout, modelOf, number, percent };
}
