"use strict";

// What the model reads of a review, word by word. A token is
// { word, id, weight, part: "distractor" | "separator" | "review", place, isDeleted, isSkipped }.

{
  const { SEPARATOR, UNKNOWN, encode, splitWords } = lab.tokenizer;
  const { classify } = lab.classifier;
  const { element } = lab.dom;

  // `deleted` holds the places of words of the review that are left out.
  function readReview(model, ids, review, distractor = "", deleted = new Set()) {
    const token = (part) => (word, place) => {
      const isDeleted = part === "review" && deleted.has(place);
      return {
        word,
        id: encode([word], ids)[0],
        part,
        place,
        isDeleted,
        isSkipped: false,
        weight: 0,
      };
    };
    const tokens = splitWords(review).map(token("review"));
    const before = splitWords(distractor).map(token("distractor"));
    if (before.length > 0) {
      before.push({ ...token("separator")("next review", 0), id: SEPARATOR });
      tokens.unshift(...before);
    }
    const kept = tokens.filter((one) => !one.isDeleted);
    // A model reads so many words and no more: the end, because there the review is.
    const read = kept.slice(-model.config.max_length);
    for (const one of kept.slice(0, kept.length - read.length)) one.isSkipped = true;
    const answer = classify(
      model,
      read.map((one) => one.id),
    );
    for (const [i, one] of read.entries()) one.weight = answer.weights[i];
    return { ...answer, tokens, read };
  }

  // 0.312 as .312, and 1.000 as it is
  const weightText = (weight) => weight.toFixed(3).replace(/^0/, "");

  // One word as a part of the page; `name` is "button" where it can be pressed, else "span".
  function tokenPart(token, largest, name) {
    const kinds = ["lab-token", token.part];
    if (token.id === UNKNOWN) kinds.push("unknown");
    if (token.isDeleted) kinds.push("deleted");
    if (token.isSkipped) kinds.push("skipped");
    const isOut = token.isDeleted || token.isSkipped;
    const made = element(
      name,
      {
        class: kinds.join(" "),
        "data-testid": "token",
        "data-weight": String(token.weight),
        ...(name === "button" && {
          type: "button",
          tabindex: -1,
          "aria-pressed": String(token.isDeleted),
        }),
        ...(token.part !== "review" && name === "button" && { "aria-disabled": "true" }),
      },
      element("span", { class: "lab-word" }, token.word),
      element("span", { class: "lab-weight" }, isOut ? "–" : weightText(token.weight)),
    );
    if (token.id === UNKNOWN)
      made.append(element("span", { class: "visually-hidden" }, "unknown word"));
    if (token.isSkipped) made.append(element("span", { class: "visually-hidden" }, "not read"));
    made.style.setProperty("--share", largest ? (token.weight / largest).toFixed(3) : 0);
    return made;
  }

  lab.tokens = { readReview, tokenPart, weightText };
}
