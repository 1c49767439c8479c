"use strict";

// What a reader typed as numbers: as people write them, with a decimal comma or a minus sign of their
// language, and as Python prints them, as tensor([0.5, 1.], grad_fn=<…>) or (0.5, 1.0). Whatever can be
// read in several ways has several readings, and who asks for a number knows which of them fits.

{
  const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?(nan|inf)$/i;
  const WHOLE = /^[+-]?\d+$/;
  const THOUSANDS = /^[+-]?[1-9]\d{0,2}([\s,_'’])\d{3}(\1\d{3})*(\.\d*)?$/;
  const DECIMAL_COMMA = /^[+-]?(\d{1,3}([.\s'’])\d{3}(\2\d{3})*|\d*),\d+(e[+-]?\d+)?$/i;
  // The parts of Python's text: what wraps numbers, brackets, and what stands between separators
  const CALL = /^((torch|np|numpy)\.)?(tensor|array|size|parameter|float\d*|u?int\d*)\($/i;
  const WORDS = /[a-z][\w.]*\(|[[\]()]|[^\s,[\]()]+/gi;
  const KEYWORD = /,\s*(dtype|device|grad_fn|requires_grad)=(<[^>]*>|'[^']*'|[\w.]+)/g;

  // Hyphens and dashes as "-", the raised point as ".", 17 % as 17e-2, and nothing that can't be seen
  const clean = (typed) =>
    typed
      .replaceAll(/[\u200b\u2060\ufeff]/g, "")
      .replaceAll(/[\u2010-\u2015\u2212\ufe63\uff0d]/g, "-")
      .replaceAll(/(?<=\d)·(?=\d)/g, ".")
      .replaceAll(/(?<=[\d.])(?<!e[+-]?\d+)\s*%/gi, "e-2")
      .replace(/^\s*Parameter containing:/, "")
      .replaceAll(KEYWORD, "")
      .trim();

  function numberOf(word) {
    const text = word.toLowerCase();
    if (text.endsWith("nan")) return Number.NaN;
    return Number(text.replace("inf", "Infinity"));
  }

  // Takes the words of one value from the front: a number, a list, or either in a call. Throws where
  // there is none.
  function takeValue(words) {
    const word = words.shift();
    if (word === "[" || word === "(") {
      const items = [];
      while (words[0] !== (word === "[" ? "]" : ")")) items.push(takeValue(words));
      words.shift();
      return items;
    }
    if (word !== undefined && CALL.test(word)) {
      const value = takeValue(words);
      if (words.shift() !== ")") throw new SyntaxError(word);
      return value;
    }
    if (word === undefined || !NUMBER.test(word)) throw new SyntaxError(word);
    return numberOf(word);
  }

  // Without brackets, several lines of several numbers are the rows of a matrix, and a semicolon ends
  // a line.
  function withBrackets(text) {
    const lines = text.split(/[\n;]/).filter((line) => line.trim());
    const isMatrix = lines.length > 1 && lines.some((line) => line.trim().match(/[\s,]+\S/));
    return `[${isMatrix ? lines.map((line) => `[${line}]`).join("") : lines.join(" ")}]`;
  }

  // { value, isWhole }, or null. In Python a number in round brackets is the number.
  function read(text) {
    const words = text.match(WORDS) ?? [];
    const isNumber = (word) => !CALL.test(word) && !"[]()".includes(word);
    try {
      const value = takeValue(words);
      if (words.length > 0) return null;
      const all = text.match(WORDS).filter(isNumber);
      return { value, isWhole: all.every((word) => WHOLE.test(word)) };
    } catch {
      return null;
    }
  }

  // All that a text can mean where one number is asked for
  function readingsOfOne(typed) {
    const text = clean(typed).replace(/^([+-])\s+/, "$1");
    const texts = [text];
    if (THOUSANDS.test(text)) texts.push(text.replaceAll(/[\s,_'’]/g, ""));
    if (DECIMAL_COMMA.test(text)) texts.push(text.replaceAll(/[.\s'’]/g, "").replace(",", "."));
    const values = texts.map((one) => read(one)?.value);
    const numbers = values.map((value) =>
      Array.isArray(value) && value.length === 1 ? value[0] : value,
    );
    return numbers.filter((value) => typeof value === "number");
  }

  // The number that was typed, if one of its readings fits; else null
  const readNumber = (typed, fits) => readingsOfOne(typed).find(fits) ?? null;

  // All that a text can mean where a list or a matrix is asked for, each as { value, isWhole }: a comma
  // between two digits may separate numbers, or begin decimals where no point does.
  function readingsOfMany(typed) {
    const text = clean(typed);
    const texts = [text];
    if (/\d,\d/.test(text) && !text.includes("."))
      texts.push(text.replaceAll(/(?<=\d),(?=\d)/g, "."));
    const isBare = (one) => NUMBER.test(one) || /^([[(]|[a-z][\w.]*\()/i.test(one);
    return texts.map((one) => read(isBare(one) ? one : withBrackets(one))).filter(Boolean);
  }

  globalThis.numberReader = { readNumber, readingsOfMany, readingsOfOne };
}
