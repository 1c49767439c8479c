"use strict";

// Two pictures of the plane, in the colours of `attention/plotting/`.

{
  const { dot, transpose } = lab.tensors;
  const { shape } = lab.dom;

  // The pixels of the picture that is being drawn; this many where it has no room of its own
  let [W, H] = [360, 270];
  let reach = 8; // from a tip to its word, beyond the tip's disc
  const LABELS = 84; // room on the right for words
  const LINE = 15; // the height of a word
  const LETTER = 8; // the width of one, on an average
  const EDGE = 16; // of the picture, which no disc that is dragged leaves
  const GAP = 3; // between words, and between a word and an arrow
  const CROWDED = 32; // nearer to 0, words would lie on one another

  // A pixel of the page is one of the picture, so that its words have one size everywhere.
  function measure(picture, beyond) {
    const { width, height } = picture.getBoundingClientRect();
    if (width) picture.setAttribute("viewBox", `0 0 ${Math.round(width)} ${Math.round(height)}`);
    ({ width: W, height: H } = picture.viewBox.baseVal);
    reach = beyond;
  }

  const within = (number, least, most) => Math.min(Math.max(number, least), most);

  // A map from the plane to the picture, with equal units on both axes, that shows all points in the
  // middle of the room between the margins
  function fit(points, left, right, above) {
    const [xs, ys] = transpose(points);
    const least = [Math.min(...xs), Math.min(...ys)];
    const wide = Math.max(...xs) - least[0] || 1;
    const high = Math.max(...ys) - least[1] || 1;
    const unit = Math.min((W - left - right) / wide, (H - 2 * above) / high);
    const x0 = (W - right + left - wide * unit) / 2;
    const y0 = (H + high * unit) / 2;
    const place = ([x, y]) => [x0 + (x - least[0]) * unit, y0 - (y - least[1]) * unit];
    place.back = ([x, y]) => [(x - x0) / unit + least[0], (y0 - y) / unit + least[1]];
    return place;
  }

  // One with 0 and with room for words, on the left only where an arrow points there
  function frame(points, words) {
    const isLeft = points.some(([x]) => x < 0);
    const longest = Math.max(...words.map((word) => Array.from(word).length));
    const room = reach + Math.min(LETTER * longest, LABELS - 8) + 8;
    return fit([[0, 0], ...points], isLeft ? room : 20, room, 20);
  }

  // The same map while all points are in sight, and one that shows more where a point has left it
  function grown(place, points) {
    const ends = [place.back([EDGE, H - EDGE]), place.back([W - EDGE, EDGE])];
    return fit([...ends, ...points], EDGE, EDGE, EDGE);
  }

  function line(from, to, kind) {
    return shape("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], class: kind });
  }

  function dotAt([x, y], kind, r = 4) {
    return shape("circle", { cx: x, cy: y, r, class: kind });
  }

  function arrow(from, to, kind) {
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const length = Math.hypot(dx, dy);
    if (length < 1) return dotAt(to, kind, 2);
    const [ux, uy] = [dx / length, dy / length];
    const head = Math.min(9, length);
    const [bx, by] = [to[0] - head * ux, to[1] - head * uy];
    const tip = [to, [bx - 4 * uy, by + 4 * ux], [bx + 4 * uy, by - 4 * ux]];
    return shape(
      "g",
      { class: kind },
      line(from, [bx, by], "shaft"),
      shape("polygon", { points: corners(tip), class: "head" }),
    );
  }

  function corners(points) {
    return points.map((point) => point.map((number) => number.toFixed(2)).join(",")).join(" ");
  }

  const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const PARTS = Array.from({ length: 61 }, (_, i) => i / 60); // of an arrow, to see what it crosses
  const crosses = ([[x, y], [u, v]], [left, top, right, bottom]) =>
    PARTS.some((t) => {
      const [a, b] = [x + t * (u - x), y + t * (v - y)];
      return left < a && a < right && top < b && b < bottom;
    });

  // The box of each word beside its point: as near as keeps it inside the picture and apart from the
  // others and from what is `taken`, and below as few arrows as can be
  function labelBoxes(points, words, arrows, taken = []) {
    const boxes = [];
    const order = points.map((_, i) => i).sort((i, j) => points[i][1] - points[j][1]);
    for (const i of order) {
      const [x, y] = points[i];
      const wide = Math.min(LETTER * Array.from(words[i]).length, LABELS - 8);
      const others = [...taken, ...boxes.filter(Boolean)];
      let least = Infinity;
      for (let by = 0; by < Math.min(least, H); by += 3) {
        for (const [side, off] of [1, -1].flatMap((side) => [
          [side, by],
          [side, -by],
        ])) {
          const left = side > 0 ? within(x + reach, 4, W - 4 - wide) : x - reach - wide;
          const top = within(y, 12, H - 12) + off - LINE / 2;
          if (left < 0 || top < 2 || top + LINE > H - 2) continue;
          const box = [left, top, left + wide, top + LINE];
          const around = [left - GAP, top - GAP, left + wide + GAP, top + LINE + GAP];
          const cost =
            by +
            (side > 0 ? 0 : 8) +
            H * others.filter((one) => overlap(one, around)).length +
            30 * arrows.filter((one) => crosses(one, around)).length;
          if (cost < least) [least, boxes[i]] = [cost, box];
        }
      }
    }
    return boxes;
  }

  // The box of "query" or "context": at a corner of its point, away from 0 and below as few arrows as
  // can be
  function nameBox(name, [x, y], zero, arrows) {
    const wide = LETTER * name.length;
    const [outer, inner] = y > zero[1] ? [y + 4, y - 18] : [y - 18, y + 4];
    const spots = [x - reach - 1 - wide, x + reach + 1].flatMap((left) => [
      [left, outer],
      [left, inner],
    ]);
    const boxes = spots.map(([left, top]) => {
      const at = [within(left, 4, W - 4 - wide), within(top, 5, H - 5 - LINE)];
      return [...at, at[0] + wide, at[1] + LINE];
    });
    const covered = boxes.map((box) => arrows.filter((one) => crosses(one, box)).length);
    return boxes[covered.indexOf(Math.min(...covered))];
  }
  const nameAt = (name, ...where) => {
    const [left, , right, bottom] = nameBox(name, ...where);
    const middle = { x: (left + right) / 2, y: bottom - 3, "text-anchor": "middle" };
    return shape("text", { ...middle, class: `${name}-name` }, name);
  };

  // Which of some points stand so close to 0 that their words would cover one another
  function crowdAt(zero, points) {
    const near = points.map((_, i) => i).filter((i) => distance(points[i], zero) < CROWDED);
    return near.length < 3 ? [] : near;
  }
  const distance = ([x, y], [u, v]) => Math.hypot(x - u, y - v);

  // Which points have a label of their own: equal words at one tip share it
  function labelled(points, words) {
    const isFirst = (i) =>
      !words.slice(0, i).some((word, j) => word === words[i] && distance(points[i], points[j]) < 1);
    return points.map((_, i) => i).filter(isFirst);
  }

  // Words beside their points, and those of a crowd at 0 in one line below. What stands further off is
  // tied to its own.
  function wordsBeside(points, words, arrows, taken) {
    const own = labelled(points, words);
    const near = crowdAt(
      arrows[0][0],
      own.map((i) => points[i]),
    ).map((k) => own[k]);
    const apart = own.filter((i) => !near.includes(i));
    const below = [8, H - 18, W - 8, H];
    const boxes = labelBoxes(
      apart.map((i) => points[i]),
      apart.map((i) => words[i]),
      arrows,
      near.length ? [...taken, below] : taken,
    );
    const together = () => {
      const all = `near 0: ${near.map((i) => words[i]).join(", ")}`;
      const place = { x: 8, y: H - 6, class: "crowd" };
      const made = shape("text", place, clipped(all), shape("title", {}, all));
      made.words = near.map((i) => words[i]);
      return made;
    };
    const beside = boxes.flatMap(([left, top, right], k) => {
      const i = apart[k];
      const [x, y] = points[i];
      const isLeft = left < x;
      const middle = top + LINE / 2;
      const label = { x: isLeft ? right : left, y: middle + 5, class: "word" };
      const made = shape("text", { ...label, "text-anchor": isLeft ? "end" : "start" }, words[i]);
      if (Math.abs(middle - y) < 8) return [made];
      return [line([x, y], [isLeft ? right + 3 : left - 3, middle], "leader"), made];
    });
    return near.length ? [...beside, together()] : beside;
  }

  function clipped(words) {
    const most = Math.floor((W - 16) / LETTER); // letters in a line
    return words.length > most ? `${words.slice(0, most - 1)}…` : words;
  }

  // Words that are too wide end in "…", and say all of themselves under a pointer.
  const fitting = new Map(); // word → what of it fits
  const fitted = (word) => fitting.get(word) ?? word;
  function fitWords(picture) {
    // Other pictures have the words of a shared line each by itself.
    const trials = [...picture.querySelectorAll("text.crowd")].flatMap(({ words }) =>
      words.map((word) => shape("text", { class: "word" }, word)),
    );
    picture.append(...trials);
    for (const label of picture.querySelectorAll("text.word")) {
      const word = label.textContent;
      const letters = Array.from(word);
      if (!fitting.has(word)) {
        if (label.getComputedTextLength() === 0) continue; // it is in nobody's sight
        while (label.getComputedTextLength() > LABELS - 8 && letters.length > 1) {
          letters.pop();
          label.textContent = `${letters.join("")}…`;
        }
        fitting.set(word, label.textContent);
      }
      if (fitting.get(word) === word) continue;
      label.textContent = fitting.get(word);
      label.append(shape("title", {}, word));
    }
    for (const trial of trials) trial.remove();
  }

  function axes(place) {
    const [x, y] = place([0, 0]);
    return [line([8, y], [W - 8, y], "axis"), line([x, 8], [x, H - 8], "axis")];
  }

  // Scores as shadows: where each key lands on the line of the query. The distance from 0 to there,
  // times the query's length, is the score.
  function shadowsOf(query, keys) {
    const length = Math.hypot(...query) || 1;
    const direction = query.map((number) => number / length); // (2,)
    return keys.map((key) => direction.map((number) => number * dot(key, direction))); // (n, 2)
  }

  const arrowsTo = (place, query, keys) =>
    [...keys, query].map((tip) => [place([0, 0]), place(tip)]);
  const queryName = (place, query, keys) =>
    nameAt("query", place(query), place([0, 0]), arrowsTo(place, query, keys));

  // What lies under the arrows of the query and the keys
  function scoresBelow(place, query, keys, words) {
    const zero = place([0, 0]);
    const tips = keys.map(place);
    const lands = shadowsOf(query, keys).map(place);
    const arrows = arrowsTo(place, query, keys);
    return [
      ...axes(place),
      ...lands.map((land) => line(zero, land, "query-line")),
      ...wordsBeside(tips, words, arrows, [
        nameBox("query", place(query), zero, arrows),
        ...lands.map(([x, y]) => [x - 3, y - 3, x + 3, y + 3]),
        ...[...tips, place(query)].map(([x, y]) => [
          x - reach + 5,
          y - reach + 5,
          x + reach - 5,
          y + reach - 5,
        ]),
      ]),
      ...tips.flatMap((tip, j) => [
        line(tip, lands[j], "shadow"),
        dotAt(lands[j], "query-landing", 3),
      ]),
    ];
  }

  // Values as arrows, the wider the larger their weight; the context vector is their weighted sum,
  // so it lies in the region between their tips.
  function mixture(place, values, weights, context, words) {
    const zero = place([0, 0]);
    const tips = values.map(place);
    const [x, y] = place(context);
    const arrows = tips.map((tip) => [zero, tip]);
    const made = tips.map((tip, j) => {
      const one = arrow(zero, tip, "value");
      one.style.setProperty("--width", `${(0.75 + 8 * weights[j]).toFixed(2)}px`);
      return one;
    });
    return [
      ...axes(place),
      shape("polygon", { points: corners(hull(tips)), class: "value-hull" }),
      ...made,
      ...wordsBeside(tips, words, arrows, [nameBox("context", [x, y], zero, arrows)]),
      dotAt([x, y], "context", 5),
      nameAt("context", [x, y], zero, arrows),
    ];
  }

  // The corners of the smallest convex region that holds all points: lower edge, then upper edge
  // (Andrew's monotone chain)
  function hull(points) {
    const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const turnsLeft = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0]);
    const edge = (points) => {
      const kept = [];
      for (const point of points) {
        while (kept.length > 1 && !turnsLeft(kept.at(-2), kept.at(-1), point)) kept.pop();
        kept.push(point);
      }
      return kept;
    };
    return [...edge(sorted).slice(0, -1), ...edge(sorted.reverse()).slice(0, -1)];
  }

  const shapes = { arrow, dotAt, hull, line, mixture, queryName, scoresBelow };
  lab.plane = {
    ...shapes,
    crowdAt,
    fitWords,
    fitted,
    frame,
    grown,
    labelBoxes,
    measure,
    nameBox,
    shadowsOf,
    labelled,
  };
}
