"use strict";

// The judge of the puzzles, as in attention/exercises/puzzles.py: what a puzzle computes, and whether
// its goal holds for the sentence that is shown and for the others. No page is needed here.

{
  const { matmul, softmax, transpose } = lab.tensors;

  const LIMIT = 99;
  const RANGES = { temperature: [0.05, 10], angle: [-180, 180] };
  const MASKS = ["none", "causal", "not itself"];
  const WHOM = {
    best: "the word that fits best",
    first: "the first word",
    itself: "itself",
    previous: "the word before",
    "two before": "the word two before",
    twin: "the same word elsewhere",
    padding: "the padding",
  };
  const BY_POSITION = ["first", "previous", "two before"]; // the others go by the word

  const range = (n) => Array.from({ length: n }, (_, i) => i);
  const digits = (number, places = 3) => number.toFixed(places).replace("-", "−");
  const join = (a, b) => a.map((row, i) => [...row, ...b[i]]);

  // Whether word i may attend to word j
  function isAllowed(mask, i, j) {
    if (mask === "causal") return j <= i;
    return mask !== "not itself" || j !== i;
  }

  // The vector (2,) of word i, turned by i times an angle
  function turned(vectors, degrees) {
    return vectors.map(([a, b], i) => {
      const angle = (i * degrees * Math.PI) / 180;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      return [a * cos - b * sin, a * sin + b * cos];
    }); // (n, 2)
  }

  // The embeddings (n, d), and in each head queries, keys, scores, weights and context
  function forward(puzzle, state, words) {
    const x = words.map((word, i) => {
      const place = puzzle.positions?.[i];
      return puzzle.words[word].map((number, c) => number + (place ? place[c] : 0));
    }); // (n, d)
    const heads = ("W_query_1" in state ? ["_1", "_2"] : [""]).map((end) => {
      let query = matmul(x, state[`W_query${end}`]); // (n, k)
      let key = matmul(x, state[`W_key${end}`]); // (n, k)
      if (state.b_key) key = key.map((row) => row.map((number, c) => number + state.b_key[c]));
      if ("angle" in state)
        [query, key] = [query, key].map((vectors) => turned(vectors, state.angle));
      const W_value = state[`W_value${end}`];
      const value = W_value ? matmul(x, W_value) : x; // (n, v)
      const scale = 1 / Math.sqrt(key[0].length) / (state.temperature ?? 1);
      const scores = matmul(query, transpose(key)); // (n, n)
      const weights = scores.map((row, i) =>
        softmax(row.map((score, j) => (isAllowed(state.mask, i, j) ? score * scale : -Infinity))),
      ); // (n, n)
      return { query, key, value, scores, weights, context: matmul(weights, value) };
    });
    return { x, heads };
  }

  // The words that word i should attend to, or not; none where nothing is asked of it
  function whom(of, i, words, scores) {
    const all = range(words.length);
    if (of === "padding") return all.filter((j) => words[j] === "<pad>" && words[i] !== "<pad>");
    if (of === "twin") return all.filter((j) => words[j] === words[i] && j !== i);
    if (of === "best") return [scores[i].indexOf(Math.max(...scores[i]))];
    const j = { first: 0, itself: i, previous: i - 1, "two before": i - 2 }[of];
    return j >= 0 ? [j] : [];
  }

  const within = (i, what, value, wanted, { within: most }, at = null) => ({
    i,
    what,
    value,
    low: wanted - most,
    high: wanted + most,
    asked: `${digits(wanted)} is asked, give or take ${most}`,
    on: [],
    at,
  });

  const KINDS = {
    weight(goal, words, { heads: [{ scores, weights }] }) {
      const isLeast = "at_least" in goal;
      const asked = isLeast ? `at least ${goal.at_least}` : `at most ${goal.at_most}`;
      return range(words.length)
        .filter((i) => (goal.from ?? words[i]) === words[i])
        .map((i) => ({ i, on: whom(goal.of, i, words, scores) }))
        .filter(({ on }) => on.length > 0)
        .map(({ i, on }) => ({
          i,
          on,
          // What it should attend to has the largest weight, but perhaps not enough.
          leads:
            Math.max(...on.map((j) => weights[i][j])) >
            Math.max(0, ...weights[i].filter((_, j) => !on.includes(j))) + 1e-9,
          what: `gives ${"from" in goal ? `“${words[on[0]]}”` : WHOM[goal.of]} a weight of {}`,
          value: on.reduce((sum, j) => sum + weights[i][j], 0),
          low: goal.at_least ?? 0,
          high: (goal.at_most ?? 1) + 1e-9,
          asked: `${asked} is asked`,
        }));
    },
    alike(goal, words, { heads: [{ weights }] }) {
      const n = words.length;
      return range(n).flatMap((i) => {
        const m = goal.of === "past" ? i + 1 : n;
        return range(n).map((j) =>
          within(
            i,
            `gives “${words[j]}” a weight of {}`,
            weights[i][j],
            j < m ? 1 / m : 0,
            goal,
            j,
          ),
        );
      });
    },
    map(goal, words, { heads: [{ weights }] }, puzzle, state) {
      const { W_query, W_key } = goal;
      const wanted = forward(puzzle, { ...state, W_query, W_key }, words).heads[0].weights;
      return range(words.length).flatMap((i) =>
        words.map((word, j) =>
          within(i, `gives “${word}” a weight of {}`, weights[i][j], wanted[i][j], goal, j),
        ),
      );
    },
    copy(goal, words, { x, heads }, puzzle) {
      const c = puzzle.features.indexOf(goal.feature);
      const context = heads.map((head) => head.context).reduce(join); // (n, v)
      const place = heads.length > 1 ? "from head" : "as context";
      return range(words.length).flatMap((i) =>
        goal.of.map((of, number) => {
          const wanted = x[of === "first" ? 0 : words.length - 1][c];
          return within(i, `receives {} ${place} ${number + 1}`, context[i][number], wanted, goal);
        }),
      );
    },
    point(goal, words, { heads: [{ context }] }) {
      const i = words.indexOf(goal.word);
      return goal.point.map((wanted, number) =>
        within(i, `receives {} as context ${number + 1}`, context[i][number], wanted, goal),
      );
    },
    tone(goal, words, { x, heads: [{ context }] }, puzzle) {
      const c = puzzle.features.indexOf(goal.feature);
      const least = goal.at_least;
      return range(words.length)
        .filter((i) => x[i][c] > 0)
        .map((i) => {
          const isFlipped = i > 0 && words[i - 1] === goal.flip;
          const bounds = isFlipped
            ? { low: -Infinity, high: -least, asked: `at most −${least} is asked` }
            : { low: least, high: Infinity, asked: `at least ${least} is asked` };
          return { i, on: [], what: "comes out at {}", value: x[i][c] + context[i][0], ...bounds };
        });
    },
  };

  // The numbers that the goal bounds in one sentence
  function checks(puzzle, state, words) {
    return KINDS[puzzle.goal.kind](
      puzzle.goal,
      words,
      forward(puzzle, state, words),
      puzzle,
      state,
    );
  }

  const holds = ({ value, low, high }) => low <= value && value <= high;
  // As many digits as tell a value that misses from its bound
  const missing = (value, low, high) =>
    [3, 4, 5, 6].find((places) => {
      const rounded = Number(value.toFixed(places));
      return rounded < low || rounded > high;
    }) ?? 6;
  function inWords({ i, what, value, low, high, asked, leads }, words) {
    const more = leads && value < low ? " It leads, but not by enough." : "";
    return `“${words[i]}” ${what.replace("{}", digits(value, missing(value, low, high)))}; ${asked}.${more}`;
  }

  // What misleads the head in a sentence that was not shown
  function diagnose(puzzle, state, words, check) {
    const { goal } = puzzle;
    const shown = puzzle.shown.split(" ");
    const sentence = `In “${words.join(" ")}”: `;
    if (goal.kind === "weight" && "at_least" in goal) {
      const weights = forward(puzzle, state, words).heads[0].weights[check.i];
      const most = weights.indexOf(Math.max(...weights));
      const right = checks(puzzle, state, shown).flatMap(({ on }) => on);
      const isShown =
        right.some((j) => shown[j] === words[most]) &&
        check.on.every((j) => words[j] !== words[most]);
      if (BY_POSITION.includes(goal.of) && isShown) {
        const text = `“${words[check.i]}” attends to “${words[most]}” because of its embedding, not because of its position.`;
        return { reason: "word", text: sentence + text };
      }
      if (goal.of === "twin" && right.includes(most)) {
        const text = `“${words[check.i]}” attends to word ${most + 1}, “${words[most]}”, because of its position or its own embedding, and not because it is the same word.`;
        return { reason: "position", text: sentence + text };
      }
    }
    const text = `Right here, but not everywhere. ${sentence}${inWords(check, words)}`;
    return { reason: "elsewhere", text };
  }

  // { reason, text, isSolved }: `state` holds all that is set
  function judge(puzzle, state) {
    const shown = puzzle.shown.split(" ");
    const here = checks(puzzle, state, shown).find((check) => !holds(check));
    if (here) return { reason: "here", text: inWords(here, shown), isSolved: false };
    for (const sentence of puzzle.others) {
      const words = sentence.split(" ");
      const failed = checks(puzzle, state, words).find((check) => !holds(check));
      if (failed) return { ...diagnose(puzzle, state, words, failed), isSolved: false, words };
    }
    return { reason: "solved", text: puzzle.praise, isSolved: true };
  }

  // Whether no numbers do it, for one of the three reasons given
  function judgeClaim({ impossible }, claim) {
    const text = impossible.answers[claim];
    if (!("right" in impossible)) return { reason: "possible", text, isSolved: false };
    const isSolved = claim === impossible.right;
    return { reason: isSolved ? "impossible" : "claim", text, isSolved };
  }

  // What is set: numbers that are not 0, and what is not as it would be without setting
  function countNumbers({ settable }, state) {
    const plain = { temperature: 1, mask: "none" };
    const differs = (name) => (one) => one !== (plain[name] ?? 0);
    return settable.flatMap((name) => [state[name]].flat(2).filter(differs(name))).length;
  }

  // ---- a state in an address: first-word&W_query=0,0,0,1&W_key=0,0,-5,0

  function write(name, { settable }, state) {
    const parts = settable.map((part) => `${part}=${[state[part]].flat(2).join(",")}`);
    return [name, ...parts].join("&").replaceAll(" ", "-");
  }

  const shaped = (like, numbers) =>
    Array.isArray(like) ? like.map((one) => shaped(one, numbers)) : numbers.shift();

  // { name, state }, or an Error that says what is wrong
  function read(text, puzzles) {
    const [name, ...parts] = text.split("&");
    const refuse = (what) => {
      throw new Error(`This link can't be read: ${what}.`);
    };
    const puzzle = Object.hasOwn(puzzles, name) ? puzzles[name] : refuse("it names no puzzle");
    const state = structuredClone(puzzle.start);
    for (const part of parts) {
      const [key, value = ""] = part.split("=");
      if (!puzzle.settable.includes(key)) refuse(`this puzzle lets one set no ${key}`);
      if (key === "mask") {
        state.mask =
          MASKS.find((mask) => mask === value.replace("-", " ")) ?? refuse("there is no such mask");
        continue;
      }
      const numbers = value.split(",").map((one) => (one.trim() === "" ? NaN : Number(one)));
      const [low, high] = RANGES[key] ?? [-LIMIT, LIMIT];
      const count = [state[key]].flat(2).length;
      if (numbers.length !== count) refuse(`${key} has ${count} numbers`);
      if (!numbers.every((one) => one >= low && one <= high))
        refuse(`${key} has numbers from ${low} to ${high}`);
      state[key] = shaped(state[key], numbers);
    }
    return { name, state };
  }

  const judging = { checks, isAllowed, countNumbers, forward, holds, judge, judgeClaim };
  lab.puzzleJudge = { LIMIT, MASKS, RANGES, ...judging, read, write };
}
