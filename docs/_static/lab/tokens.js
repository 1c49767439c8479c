"use strict";

// What a model reads of a review, word by word. A token is { word, id, part: "distractor" |
// "separator" | "review", place, startsClause, isDeleted, isNegated, weight, contribution }.

{
  const { SEPARATOR, UNKNOWN, countUnread, encode, splitClauses } = lab.tokenizer;
  const { classify } = lab.classifier;
  const { digits, element, weightText } = lab.dom;

  // `deleted` holds the places of words of the review that are left out.
  function tokensOf(ids, review, distractor = "", deleted = new Set()) {
    const part = (name, words) =>
      words.map(({ word, startsClause }, place) => {
        const [id] = encode([word], ids);
        const isDeleted = name === "review" && deleted.has(place);
        const nothing = { isNegated: false, weight: 0, contribution: 0 };
        return { word, id, part: name, place, startsClause, isDeleted, ...nothing };
      });
    const before = part("distractor", splitClauses(distractor));
    if (before.length > 0) {
      const [separator] = part("separator", [{ word: "next review", startsClause: true }]);
      before.push({ ...separator, id: SEPARATOR });
    }
    return [...before, ...part("review", splitClauses(review))];
  }

  // A model reads so many words and no more: the end, because there the review is. Returns its
  // answer, the tokens that it read, those that can be shown (the read ones and the deleted words
  // among them), and how many before them it skipped.
  function readTokens(model, tokens) {
    const kept = [...tokens.keys()].filter((i) => !tokens[i].isDeleted);
    const skipped = Math.max(0, kept.length - model.config.max_length);
    const first = skipped > 0 ? kept[skipped] : 0;
    const shown = tokens.slice(first).map((one) => ({ ...one }));
    const read = shown.filter((one) => !one.isDeleted);
    const answer = classify(
      model,
      read.map((one) => one.id),
      clauseStarts(shown),
    );
    for (const [i, one] of read.entries()) {
      one.weight = answer.weights[i];
      one.contribution = answer.contributions[i];
      one.isNegated = answer.marked[i] !== one.id;
    }
    return { ...answer, read, shown, skipped };
  }

  // Of each word that is read, whether a clause starts with it: where the first words of a clause
  // are deleted, the next one starts it.
  function clauseStarts(tokens) {
    const starts = [];
    let isPending = false;
    for (const { isDeleted, startsClause } of tokens) {
      isPending ||= startsClause;
      if (isDeleted) continue;
      starts.push(isPending);
      isPending = false;
    }
    return starts;
  }

  // Where the words of one list are in another: the longest common subsequence of both, as a Map
  // from old places to new ones. What both begin or end with needs no search.
  // length[i][j] = the longest for old[i…] and new[j…]
  //              = length[i + 1][j + 1] + 1 if oldᵢ = newⱼ, else the larger of the two beside it
  function follow(before, after) {
    const places = new Map();
    const shorter = Math.min(before.length, after.length);
    let start = 0;
    while (start < shorter && before[start] === after[start]) places.set(start, start++);
    let end = 0;
    while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) {
      end += 1;
      places.set(before.length - end, after.length - end);
    }
    const from = before.slice(start, before.length - end);
    const to = after.slice(start, after.length - end);
    const length = Array.from({ length: from.length + 1 }, () => new Uint16Array(to.length + 1));
    for (let i = from.length - 1; i >= 0; i -= 1) {
      for (let j = to.length - 1; j >= 0; j -= 1) {
        length[i][j] =
          from[i] === to[j]
            ? length[i + 1][j + 1] + 1
            : Math.max(length[i + 1][j], length[i][j + 1]);
      }
    }
    for (let i = 0, j = 0; i < from.length && j < to.length; ) {
      if (from[i] === to[j]) places.set(start + i++, start + j++);
      else if (length[i + 1][j] >= length[i][j + 1]) i += 1;
      else j += 1;
    }
    return places;
  }

  // What a reader must know about a text that the models read in part, or can't read at all
  function noticeOf(text, tokens) {
    const words = tokens.filter((one) => one.part === "review").map((one) => one.word);
    const { all, unread } = countUnread(text, words);
    const rule = "The models read words of the letters a to z and nothing else";
    if (words.length === 0 && text.trim() !== "") {
      return `${rule}. This text has none, so they can't read it, and there is no probability.`;
    }
    if (unread === 0) return "";
    const share = `${unread} of the ${all} letters, digits and symbols`;
    return `${rule}: ${share} here (${percentText(unread / all)}) are not read.`;
  }

  // What a model that read the end of a text says of the rest
  function limitOf(model, skipped) {
    if (skipped === 0) return "";
    const most = model.config.max_length;
    return `The model reads at most ${most} words, so the first ${skipped} are left out.`;
  }

  // +0.31 or −0.31, with at least so many digits that two of them are no leading zeros
  function signed(number, places = 2) {
    const leading = number === 0 ? 0 : -Math.floor(Math.log10(Math.abs(number)));
    const text = digits(number, Math.min(12, Math.max(places, leading + 1)));
    return number > 0 ? `+${text}` : text;
  }

  // A share in per cent, with as few digits as tell it from 0 and 1, or all that it takes to tell it
  // from another share
  function percentText(share, other = null) {
    if (other === null && share > 0 && share < 0.0005) return "< 0.1 %";
    if (other === null && share < 1 && share > 0.9995) return "> 99.9 %";
    const at = (number, places) => `${(100 * number).toFixed(places)} %`;
    const isClear = (places) =>
      other === null
        ? !["0 %", "100 %"].includes(`${Number((100 * share).toFixed(places))} %`)
        : at(share, places) !== at(other, places);
    const enough = Array.from({ length: 11 }, (_, places) => places).find(isClear);
    return at(share, enough ?? 0);
  }

  // ---- words as parts of the page

  function makeToken(name) {
    return element(
      name,
      { "data-testid": "token", ...(name === "button" && { type: "button", tabindex: -1 }) },
      element("span", { class: "lab-word" }),
      element("span", { class: "lab-number" }),
      element("span", { class: "visually-hidden" }),
    );
  }

  // Change what differs, because a change of nothing costs the browser as much as any other.
  function put(part, attributes, texts) {
    for (const [name, value] of Object.entries(attributes)) {
      if (part.getAttribute(name) !== value) part.setAttribute(name, value);
    }
    for (const [i, text] of texts.entries()) {
      if (part.children[i].textContent !== text) part.children[i].textContent = text;
    }
  }

  // The parts of the words that stayed, and new ones for the others, in order
  function arrange(box, words, name) {
    const before = [...box.children];
    const places = follow(
      before.map((part) => part.firstChild.textContent),
      words,
    );
    const parts = new Array(words.length);
    for (const [i, part] of before.entries()) {
      if (places.has(i)) parts[places.get(i)] = part;
      else part.remove();
    }
    for (const i of words.keys()) {
      parts[i] ??= box.insertBefore(
        makeToken(name),
        i > 0 ? parts[i - 1].nextSibling : box.firstChild,
      );
    }
    return parts;
  }

  // Draws tokens into a box that may hold some; `name` is "button" where a word can be pressed, else
  // "span", and `measure` is "contribution" or "weight". `full` is the number with the full colour.
  function drawTokens(box, tokens, name, measure, full = null) {
    const parts = arrange(
      box,
      tokens.map((one) => one.word),
      name,
    );
    const largest = Math.max(0, ...tokens.map((one) => Math.abs(one[measure]))) || 1;
    const places = largest < 0.1 ? 3 : 2;
    const text = (number) =>
      measure === "weight"
        ? weightText(number)
        : `${number > 0 ? "+" : ""}${digits(number, places)}`;
    for (const [i, one] of tokens.entries()) {
      const number = one[measure];
      const isUnknown = one.id === UNKNOWN;
      const kinds = ["lab-token", one.part];
      if (measure === "contribution") kinds.push(number < 0 ? "against" : "for");
      if (isUnknown) kinds.push("unknown");
      if (one.isDeleted) kinds.push("deleted");
      if (one.isNegated) kinds.push("negated");
      const remark = [isUnknown && "unknown word", one.isNegated && "after a negation"];
      const pressed = {
        "aria-pressed": String(one.isDeleted),
        "aria-disabled": String(one.part !== "review"),
      };
      put(
        parts[i],
        {
          class: kinds.join(" "),
          "data-contribution": String(one.contribution),
          "data-weight": String(one.weight),
          style: `--share: ${(Math.abs(number) / (full || largest)).toFixed(2)}`,
          ...(name === "button" && pressed),
        },
        [one.word, one.isDeleted ? "–" : text(number), remark.filter(Boolean).join(", ")],
      );
    }
  }

  lab.tokens = {
    drawTokens,
    follow,
    limitOf,
    noticeOf,
    percentText,
    readTokens,
    signed,
    tokensOf,
  };
}
