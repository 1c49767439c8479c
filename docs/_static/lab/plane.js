"use strict";

// Two pictures of the plane, in the colours of `attention/plotting/`.

{
  const { dot, transpose } = lab.tensors;
  const { shape } = lab.dom;

  const WIDTH = 360;
  const HEIGHT = 300;
  const LABELS = 84; // room on the right for words

  // A map from the plane to the picture, with equal units on both axes, that shows all points and 0
  function frame(points) {
    const [xs, ys] = transpose([[0, 0], ...points]);
    const left = Math.min(...xs);
    const bottom = Math.min(...ys);
    const wide = Math.max(...xs) - left || 1;
    const high = Math.max(...ys) - bottom || 1;
    const unit = Math.min((WIDTH - LABELS - 40) / wide, (HEIGHT - 40) / high);
    return ([x, y]) => [20 + (x - left) * unit, HEIGHT - 20 - (y - bottom) * unit];
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

  // Words in a column on the right, each tied to its point: close points stay readable.
  function wordColumn(points, words) {
    const x = WIDTH - LABELS + 6;
    const order = points.map((_, i) => i).sort((i, j) => points[i][1] - points[j][1]);
    const heights = [];
    for (const i of order) heights.push(Math.max(points[i][1], (heights.at(-1) ?? -Infinity) + 17));
    const below = Math.max(heights.at(-1) - (HEIGHT - 8), 0);
    return order.flatMap((i, place) => {
      const y = heights[place] - below;
      return [line(points[i], [x - 4, y], "leader"), shape("text", { x, y: y + 4 }, words[i])];
    });
  }

  function axes(place) {
    const [x, y] = place([0, 0]);
    const right = WIDTH - LABELS - 8;
    return [line([8, y], [right, y], "axis"), line([x, 8], [x, HEIGHT - 8], "axis")];
  }

  // Scores as shadows: where each key lands on the line of the query. The distance from 0 to there,
  // times the query's length, is the score.
  function drawScores(picture, query, keys, words) {
    const length = Math.hypot(...query) || 1;
    const direction = query.map((number) => number / length); // (2,)
    const shadows = keys.map((key) => direction.map((number) => number * dot(key, direction))); // (n, 2)
    const place = frame([query, ...keys, ...shadows]);
    const zero = place([0, 0]);
    const tips = keys.map(place);
    const name = place(query);
    picture.replaceChildren(
      ...axes(place),
      ...shadows.map((shadow) => line(zero, place(shadow), "query-line")),
      ...wordColumn(tips, words),
      ...tips.flatMap((tip, i) => [
        line(tip, place(shadows[i]), "shadow"),
        arrow(zero, tip, "key"),
        dotAt(place(shadows[i]), "landing", 3),
      ]),
      arrow(zero, name, "query"),
      shape("text", { x: Math.max(name[0] - 8, 50), y: name[1] - 6, class: "query-name" }, "query"),
    );
  }

  // Values as arrows, the wider the larger their weight; the context vector is their weighted sum,
  // so it lies in the region between their tips.
  function drawMixture(picture, values, weights, context, words) {
    const place = frame([...values, context]);
    const zero = place([0, 0]);
    const tips = values.map(place);
    const middle = place(context);
    const arrows = tips.map((tip, i) => {
      const made = arrow(zero, tip, "value");
      made.style.setProperty("--width", `${(0.75 + 8 * weights[i]).toFixed(2)}px`);
      return made;
    });
    picture.replaceChildren(
      ...axes(place),
      shape("polygon", { points: corners(hull(tips)), class: "hull" }),
      ...wordColumn(tips, words),
      ...arrows,
      dotAt(middle, "context", 5),
      shape(
        "text",
        { x: Math.max(middle[0] - 10, 58), y: middle[1] - 8, class: "context-name" },
        "context",
      ),
    );
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

  lab.plane = { drawMixture, drawScores, frame, hull };
}
