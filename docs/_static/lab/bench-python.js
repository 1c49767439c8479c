"use strict";

// The workbench's state as a Python script that needs torch alone and computes the same numbers.

{
  const { MATRICES, forward, lossTerms } = lab.bench;

  // As Python writes them. JSON's text and its escapes are Python's, too; a number has a decimal
  // point, since torch makes integers of what has none.
  const text = (word) => JSON.stringify(word);
  const number = (one) => (Number.isInteger(one) ? one.toFixed(1) : String(one));
  const list = (items) => `[${items.join(", ")}]`;
  const row = (numbers) => list(numbers.map(number));

  // A tensor with a row of numbers per line
  function tensor(A, indent, rest = "") {
    const lines = (part, space) =>
      typeof part[0] === "number"
        ? `${space}${row(part)},\n`
        : `${space}[\n${part.map((one) => lines(one, `${space}    `)).join("")}${space}],\n`;
    return `torch.tensor(\n${lines(A, indent)}${rest}) `;
  }

  // The masks that are on, and −∞ where they forbid. A row with nothing but −∞ would become NaN, so a
  // word that may attend to nothing keeps its scores, and its weights are set to 0.
  function maskLines({ words, forbidden, isCausal, padding }, allowed) {
    const n = words.length;
    const rows = words
      .map((_, i) => ({ i, js: forbidden.filter(([row]) => row === i).map(([, j]) => j) }))
      .filter(({ js }) => js.length > 0);
    const masks = [
      isCausal && "allowed = allowed.tril()  # the causal mask",
      padding > 0 && `allowed[:, ${n - padding}:] = False  # the padding mask`,
      ...rows.map(({ i, js }) => `allowed[${i}, ${list(js)}] = False`),
    ].filter(Boolean);
    if (masks.length === 0) return ["weights = torch.softmax(scaled, dim=-1)"];
    const isBlind = allowed.some((keys) => !keys.includes(true));
    const apply = isBlind
      ? [
          "blind = ~allowed.any(dim=-1, keepdim=True)  # a word that may attend to nothing",
          'scaled = scaled.masked_fill(~allowed & ~blind, float("-inf"))',
          "weights = torch.softmax(scaled, dim=-1).masked_fill(blind, 0.0)",
        ]
      : [
          'scaled = scaled.masked_fill(~allowed, float("-inf"))',
          "weights = torch.softmax(scaled, dim=-1)",
        ];
    return [`allowed = torch.ones(${n}, ${n}, dtype=torch.bool)`, ...masks, ...apply];
  }

  // The loss of the targets, a mean per kind; nothing where there are none
  function lossLines({ rows, contexts }, isOne) {
    const [index, key] = isOne ? ["i", "i"] : ["h, i", "(h, i)"];
    const entries = (terms, written) =>
      terms.map((one) => `    ${isOne ? one.i : `(${one.h}, ${one.i})`}: ${written(one)},`);
    const lines = [];
    if (rows.length > 0) {
      lines.push(
        isOne ? "# word i: words to attend to" : "# head h, word i: words to attend to",
        "targets = {",
        ...entries(rows, ({ js }) => list(js)),
        "}",
        "log_weights = torch.log_softmax(scaled, dim=-1)",
        `terms = [-log_weights[${index}, j].mean() for ${key}, j in targets.items()]`,
        "loss = torch.stack(terms).mean()",
      );
    }
    if (contexts.length > 0) {
      const vectors = isOne ? "context" : "heads";
      lines.push(
        isOne
          ? "# word i: where its context vector should go"
          : "# head h, word i: where the context vector should go",
        "goals = {",
        ...entries(contexts, ({ target }) => row(target)),
        "}",
        `errors = [${vectors}[${index}] - torch.tensor(goal) for ${key}, goal in goals.items()]`,
        `loss = ${rows.length > 0 ? "loss + " : ""}torch.stack(errors).square().sum(dim=-1).mean() / 2`,
      );
    }
    return lines;
  }

  // A script that prints the weights and context vectors, and with targets the loss and its gradients
  function toPython(state) {
    const layer = forward(state);
    const [n, H] = [state.words.length, state.heads.length];
    const isOne = H === 1;
    const terms = lossTerms(state, layer);
    const made = lossLines(terms, isOne);
    const isTrained = made.length > 0;
    // Torch leaves the gradient of what has no part in the loss at None; the targets of weights do not
    // depend on the values.
    const reached = terms.contexts.length > 0 ? MATRICES : ["W_query", "W_key"];
    const shape = (...sizes) => `# (${(isOne ? sizes : [H, ...sizes]).join(", ")})`;
    const matrices = MATRICES.map((name) => {
      const all = state.heads.map((head) => head[name]);
      const rest = isTrained ? "    requires_grad=True,\n" : "";
      return `${name} = ${tensor(isOne ? all[0] : all, "    ", rest)} ${shape(3, 2)}`;
    });
    const scale = state.isScaled ? " / 2**0.5" : "";
    const temperature = state.temperature === 1 ? "" : ` / ${number(state.temperature)}`;
    const shown = isTrained ? ".detach()" : "";
    const lines = [
      "import torch",
      "",
      "torch.set_default_dtype(torch.float64)  # the precision of the page",
      "torch.set_printoptions(precision=6, sci_mode=False)",
      "",
      `words = ${list(state.words.map(text))}`,
      `x = ${tensor(state.x, "    ")} # (${n}, 3)`,
      ...matrices,
      "",
      `query, key, value = x @ W_query, x @ W_key, x @ W_value  ${shape(n, 2).replace("(", "each (")}`,
      `scores = query @ key.mT  ${shape(n, n)}`,
      `scaled = scores${scale}${temperature}`,
      ...maskLines(state, layer.allowed),
      ...(isOne
        ? [`context = weights @ value  ${shape(n, 2)}`]
        : [
            `heads = weights @ value  ${shape(n, 2)}`,
            `context = torch.cat([*heads], dim=-1)  # (${n}, ${2 * H})`,
          ]),
      "",
      'print("words:", *words)',
      `print("weights:", weights${shown}, sep="\\n")`,
      `print("context:", context${shown}, sep="\\n")`,
    ];
    if (isTrained) {
      lines.push(
        "",
        ...made,
        "loss.backward()",
        "",
        'print("loss:", loss.item())',
        ...reached.map(
          (name) =>
            `print("gradient of the loss with respect to ${name}:", ${name}.grad, sep="\\n")`,
        ),
      );
    }
    return `${lines.join("\n")}\n`;
  }

  lab.benchPython = { toPython };
}
