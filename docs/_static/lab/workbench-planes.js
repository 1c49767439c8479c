"use strict";

// The two planes: queries and keys as arrows to drag, and the values with their context vector.

{
  const { add, dot, matmul, transpose } = lab.tensors;
  const { LIMIT } = lab.bench;
  const { quoted, shape } = lab.dom;
  const { arrow, line, mixture, queryName, scoresBelow, shadowsOf } = lab.plane;
  const { movable } = lab.planeDrag;
  const { pair, parts } = lab.workbench;

  const MOVE = 300; // milliseconds
  const mixed = (from, to, t) =>
    to.map((row, i) => row.map((number, c) => from[i][c] + (number - from[i][c]) * t));
  const round = (number) => Number(number.toFixed(4)); // as one types it

  // The embedding nearest to x with x W = wanted: x + (wanted − x W) (Wᵀ W)⁻¹ Wᵀ. Where W has no two
  // independent columns, most points of the plane belong to no embedding, and there is none: null.
  function nearestEmbedding(x, W, wanted) {
    const [[a, b], [, d]] = matmul(transpose(W), W); // (2, 2), symmetric
    const determinant = a * d - b * b;
    if (determinant < 1e-6 * a * d || determinant < 1e-9) return null;
    const missing = wanted.map((number, c) => number - matmul([x], W)[0][c]); // (2,)
    const u = [d * missing[0] - b * missing[1], a * missing[1] - b * missing[0]];
    const change = W.map((row) => dot(row, u) / determinant); // (3,)
    return add(x, change).map(round);
  }

  const clamp = (number) => round(Math.min(LIMIT, Math.max(-LIMIT, number)));

  parts.push((bench) => {
    const { find, set } = bench;
    const drawScores = movable(find("plane-scores"), { move: moveArrow, seize });
    // A target is for learning: elsewhere a click in the plane sets none.
    const press = (point) => bench.density() === "train" && setGoal(point);
    const drawValues = movable(find("plane-values"), {
      move: (_, ...rest) => setGoal(...rest),
      press,
      seize,
    });

    // A handle is "query" or "key.j".
    function moveArrow(name, point, by) {
      const state = bench.state();
      const [role, j] = name.split(".");
      const i = role === "query" ? state.at : Number(j);
      const moved = nearestEmbedding(state.x[i], state.heads[state.head][`W_${role}`], point);
      if (!moved?.every((number) => Math.abs(number) <= LIMIT)) {
        return bench.tell(
          `No embedding within ±${LIMIT} has this ${role}: the columns of W_${role} are nearly parallel.`,
        );
      }
      bench.tell("");
      set({ x: state.x.map((row, at) => (at === i ? moved : row)) }, { by });
    }

    function setGoal(point, by = null) {
      const { contexts, head, at } = bench.state();
      const others = contexts.filter(([h, i]) => h !== head || i !== at);
      set({ contexts: [...others, [head, at, ...point.map(clamp)]] }, { by });
    }

    // What changes at once moves to its new place; what follows a hand is there already.
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    let shown = null; // { words, the vectors that are drawn, and all that will be drawn at last }
    let run = 0;
    let density; // in which it was drawn
    function update({ state, head }) {
      const { words, at } = state;
      const goal = state.contexts.find(([h, i]) => h === state.head && i === at)?.slice(2);
      const { key, value } = head;
      const [query, weights, context] = [head.query[at], head.weights[at], head.context[at]];
      const to = { words, at, goal, vectors: [[query], key, value, [weights], [context]] };
      const from = shown?.words === words && shown.vectors;
      run += 1;
      const isSeen = density === bench.density();
      density = bench.density();
      if (!from || !isSeen || !bench.isDragged())
        for (const one of [drawScores, drawValues]) one.refit();
      if (!from || calm.matches || !bench.isAtOnce()) draw(to);
      else glide(run, performance.now(), from, to);
    }

    function glide(mine, began, from, to) {
      requestAnimationFrame((now) => {
        if (mine !== run) return;
        const t = Math.min(1, Math.max(0, now - began) / MOVE);
        const vectors = to.vectors.map((rows, k) => mixed(from[k], rows, 1 - (1 - t) ** 3));
        draw(to, t < 1 ? vectors : to.vectors);
        if (t < 1) glide(mine, began, from, to);
      });
    }

    // What a hand takes is where it will be. A finger would lose what is drawn anew without need.
    function seize() {
      if (shown.vectors === shown.to.vectors) return;
      run += 1;
      draw(shown.to);
    }

    // A screen reader hears at once where the arrows will be.
    function draw(to, vectors = to.vectors) {
      shown = { words: to.words, vectors, to };
      const { words, at, goal } = to;
      const [[query], keys, values, [weights], [context]] = vectors;
      const [[queryThen], keysThen, , , [contextThen]] = to.vectors;
      drawScores(
        [query, ...keys, ...shadowsOf(query, keys)],
        words,
        (place) => scoresBelow(place, query, keys, words),
        [
          ...keys.map((key, j) => ({
            name: `key.${j}`,
            label: `key of ${quoted(words[j])} ${pair(keysThen[j])}`,
            tip: key,
            shapes: (place) => [arrow(place([0, 0]), place(key), "key")],
          })),
          {
            name: "query",
            label: `query of ${quoted(words[at])} ${pair(queryThen)}`,
            tip: query,
            shapes: (place) => [
              arrow(place([0, 0]), place(query), "query"),
              queryName(place, query, keys),
            ],
          },
        ],
      );
      drawValues(
        [...values, context, ...(goal ? [goal] : [])],
        [...words, "context"],
        (place) => mixture(place, values, weights, context, words),
        goal
          ? [
              {
                name: "goal",
                label: `target for the context vector of ${quoted(words[at])} ${pair(goal)}`,
                tip: goal,
                shapes: goalShapes(goal),
              },
            ]
          : [],
      );
      find("plane-scores").setAttribute(
        "aria-label",
        `The query of ${quoted(words[at])} and the keys of all words, as arrows`,
      );
      find("plane-values").setAttribute(
        "aria-label",
        `The values of all words, the wider the larger their weight, and the context vector of ${quoted(words[at])} ${pair(contextThen)}`,
      );
    }

    function goalShapes(goal) {
      return (place) => {
        const [x, y] = place(goal);
        const cross = [
          line([x - 6, y - 6], [x + 6, y + 6], "goal"),
          line([x - 6, y + 6], [x + 6, y - 6], "goal"),
        ];
        return [...cross, shape("text", { x: x + 9, y: y + 4 }, "target")];
      };
    }

    return { update };
  });

  lab.workbenchPlanes = { nearestEmbedding };
}
