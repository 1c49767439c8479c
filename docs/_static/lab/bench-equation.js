"use strict";

// An explanation as it is set on the page: what is explained, then each step behind its sign. The last
// is ≈ where it was computed from more digits than are shown.
// Quotients become fractions, and the factors of a product have the colours of their roles. Only the
// look changes: together the texts, which a screen reader says, are what they were.
// A part is a text, or { as, parts } where a part of it looks like something.

{
  const { element } = lab.dom;

  const ROLES = {
    query: /quer(y|ies)/,
    key: /keys?(?![a-z])/,
    value: /values?(?![a-z])/,
    weight: /weights?\b/,
  };
  const RESULT = /^(−?[\d.]+)?/; // what follows it is a reason
  const PRODUCT = /(−?[\d.]+) × (−?[\d.]+)/;

  // Splits where the separator stands outside all brackets and quotation marks.
  function splitOutside(text, separator) {
    const parts = [""];
    let depth = 0;
    let isQuoted = false;
    for (let i = 0; i < text.length; i += 1) {
      if ("“”".includes(text[i])) isQuoted = text[i] === "“";
      if (!isQuoted) depth += { "(": 1, ")": -1 }[text[i]] ?? 0;
      if (depth === 0 && !isQuoted && text.startsWith(separator, i)) {
        parts.push("");
        i += separator.length - 1;
      } else parts[parts.length - 1] += text[i];
    }
    return parts;
  }

  function roleOf(text) {
    const unquoted = text.replace(/“[^”]*”/g, "");
    return Object.keys(ROLES).find((role) => ROLES[role].test(unquoted)) ?? null;
  }

  const join = (lists, separator) => lists.flatMap((list, i) => (i ? [separator, ...list] : list));
  const inRole = (text, role) => (role ? { as: role, parts: [text] } : text);

  // 0.5500 × 0.2961, where the first factor is of one role and the second of another
  function products(text, roles) {
    const found = PRODUCT.exec(text);
    if (!found) return [text];
    const [both, a, b] = found;
    const end = found.index + both.length;
    const factors = [inRole(a, roles[0]), " × ", inRole(b, roles[1])];
    return [text.slice(0, found.index), ...factors, ...products(text.slice(end), roles)];
  }

  // Above or below the line of a fraction no brackets are needed.
  function level(text, roles) {
    const isOne = text.startsWith("(") && splitOutside(text, ")")[1] === "";
    if (!isOne) return { as: "level", parts: products(text, roles) };
    const [open, close] = [..."()"].map((bracket) => ({ as: "unseen", parts: [bracket] }));
    return { as: "level", parts: [open, ...products(text.slice(1, -1), roles), close] };
  }

  function quotient(text, roles) {
    const [above, below, ...more] = splitOutside(text, " / ");
    if (below === undefined) return products(text, roles);
    const line = { as: "unseen", parts: [" / "] };
    const parts = [level(above, roles), line, level(below, roles)];
    return join([[{ as: "fraction", parts }], ...more.map((one) => [one])], " / ");
  }

  function typeset(text) {
    const [exact, ...rounded] = splitOutside(text, " ≈ ");
    const [subject, ...steps] = [...splitOutside(exact, " = "), ...rounded];
    if (steps.length === 0) return [text];
    let roles = [];
    const set = steps.map((step, i) => {
      if (i === steps.length - 1) {
        const [number] = RESULT.exec(step);
        const sign = rounded.length > 0 ? "≈ " : "= ";
        return [sign, { as: "result", parts: [number] }, step.slice(number.length)];
      }
      const factors = splitOutside(step, " · ");
      if (factors.length === 2) {
        roles = factors.map(roleOf);
        const named = factors.map((factor, f) => [inRole(factor, roles[f])]);
        return ["= ", ...join(named, " · ")];
      }
      const terms = splitOutside(step, " + ").map((one) => quotient(one, roles));
      return ["= ", ...join(terms, " + ")];
    });
    const spaced = set.flatMap((parts) => [" ", { as: "step", parts }]);
    return [
      { as: "subject", parts: [subject] },
      { as: "equation", parts: spaced },
    ];
  }

  const draw = (part) =>
    typeof part === "string" ? part : element("span", { class: part.as }, ...part.parts.map(draw));

  lab.benchEquation = { typeset, nodes: (text) => typeset(text).map(draw) };
}
