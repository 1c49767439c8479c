"use strict";

// Check numbers in the page, open what a question hides, and mark what is done.

{
  const { readingsOfMany, readingsOfOne } = numberReader;
  const { done, mark, onChange, showMark } = doneStore;

  // What can be a list or a matrix of what was typed, as torch takes it: whole numbers alone make a
  // tensor of 64-bit integers, all others one of 32-bit floats.
  const tensorsOf = (typed) =>
    readingsOfMany(typed)
      .map(({ value, isWhole }) => tensorOf(value, isWhole))
      .filter(Boolean);

  function tensorOf(numbers, isWhole) {
    const shape = shapeOf(numbers);
    const flat = [numbers].flat(9);
    const isTooLarge = isWhole && flat.some((x) => x >= 2 ** 63 || x < -(2 ** 63));
    if (shape === null || isTooLarge) return null;
    return { shape, flat: isWhole ? flat : flat.map(Math.fround) };
  }

  // The sizes of a nested list; null if its rows differ in length.
  function shapeOf(part) {
    if (!Array.isArray(part)) return [];
    const shapes = part.map(shapeOf);
    if (shapes.some((shape) => shape === null || `${shape}` !== `${shapes[0]}`)) return null;
    return [part.length, ...(shapes[0] ?? [])];
  }

  // Numbers as Python writes them. Halfway between two roundings, JavaScript takes the one further
  // from 0, and Python the one whose last digit is even: `tie` captures the digits up to there.
  function halfToEven(exact, tie, otherwise) {
    const [, kept, power] = exact.match(tie) ?? [];
    return kept && Number(kept.at(-1)) % 2 === 0 ? kept + power : otherwise;
  }

  const nonFinite = (x) => `${x}`.replace("Infinity", "inf").replace("NaN", "nan");
  const withoutZeros = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

  // f"{x:g}": six digits, without zeros at the end
  function general(x) {
    if (!Number.isFinite(x)) return nonFinite(x);
    const tie = /^(-?\d\.\d{5})50*(e.*)$/;
    const text = halfToEven(x.toExponential(100), tie, x.toExponential(5));
    const [mantissa, power] = text.split("e");
    const exponent = Number(power);
    if (exponent >= -4 && exponent < 6) return withoutZeros(Number(text).toFixed(5 - exponent));
    return `${withoutZeros(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }

  // repr(round(x, 4)) of a float, as which the judge reads integers, too
  function fourDecimals(x) {
    if (!Number.isFinite(x)) return nonFinite(x);
    const tie = /^(-?\d+\.\d{4})50*()$/;
    const near = Number(halfToEven(x.toFixed(100), tie, x.toFixed(4)));
    if (!Number.isInteger(near)) return `${near}`;
    if (Math.abs(near) >= 1e16) return near.toExponential();
    return Object.is(near, -0) ? "-0.0" : `${near}.0`;
  }

  const sizeOf = (shape) =>
    shape.length === 1
      ? `${shape[0]} number${shape[0] === 1 ? "" : "s"}`
      : `shape (${shape.join(", ")})`;
  const fill = (sentence, words) => sentence.replace(/\{(\w+)\}/g, (_, name) => words[name]);

  // As attention/exercises/judging.py judges one number: returns what is wrong, or null.
  function problemOfNumber(value, { right, slips, tolerance, sentences }) {
    if (Number.isNaN(value)) return sentences.NaN;
    const isNear = (other) => Math.abs(value - other) <= tolerance;
    if (isNear(right)) return null;
    const slip = slips.find(([, number]) => isNear(number));
    const words = { value: general(value), tolerance: general(tolerance) };
    return slip ? slip[0] : fill(sentences["another number"], words);
  }

  // As the same file judges several
  function problemOfNumbers({ shape, flat }, { right, slips, tolerance, sentences }) {
    const wanted = shapeOf(right);
    if (`${shape}` !== `${wanted}`) {
      return fill(sentences.shape, { right: sizeOf(wanted), given: sizeOf(shape) });
    }
    const isSame = (others) =>
      [others].flat(9).every((x, i) => Math.abs(flat[i] - x) <= tolerance) &&
      `${shapeOf(others)}` === `${wanted}`;
    if (isSame(right)) return null;
    const slip = slips.find(([, numbers]) => isSame(numbers));
    const listed = `[${flat.map(fourDecimals).join(", ")}]`;
    const words = { value: listed, tolerance: general(tolerance) };
    return slip ? slip[0] : fill(sentences["other numbers"], words);
  }

  // Where Python would name the type of what is no number, the page says what to type. Of several
  // readings the right one counts, or else the first one of the right shape.
  function judge(typed, key, hint) {
    const isMany = Array.isArray(key.right);
    const readings = isMany ? tensorsOf(typed) : readingsOfOne(typed);
    if (readings.length === 0) return { isRight: false, message: hint };
    const problemOf = isMany ? problemOfNumbers : problemOfNumber;
    const wanted = `${shapeOf(key.right)}`;
    const fitting = readings.find(({ shape = [] }) => `${shape}` === wanted) ?? readings[0];
    const isRight = readings.some((answer) => problemOf(answer, key) === null);
    const { right, wrong } = key.sentences;
    const message = isRight ? fill(right, key) : fill(wrong, { problem: problemOf(fitting, key) });
    return { isRight, message };
  }

  // Beside each exercise and question, and as numbers where they are counted
  function showMarks() {
    for (const title of document.querySelectorAll(".exercise > .admonition-title")) {
      showMark(title, done.has(title.parentElement.id) && "✓ solved");
    }
    document.querySelectorAll(".prediction").forEach(showChoice);
    for (const box of document.querySelectorAll("input[data-task]")) {
      box.checked = done.has(box.dataset.task);
    }
    for (const count of document.querySelectorAll("[data-tasks]")) {
      const labels = count.dataset.tasks.split(" ");
      count.textContent = labels.filter((label) => done.has(label)).length;
    }
  }

  // Beside the answers, which one was chosen first and which one is right
  function showChoice(question) {
    const answers = [...question.querySelectorAll("details")];
    const isRight = (answer) => answer.classList.contains("right");
    const chosen = answers.find((_, i) => done.has(`${question.id}/${i}`));
    for (const answer of answers) {
      const right = chosen && isRight(answer) && "✓ the right answer";
      const own = isRight(answer) ? "✓ your answer is right" : "✗ your answer is wrong";
      showMark(answer.querySelector("summary"), answer === chosen ? own : right);
    }
    const word = chosen && isRight(chosen) ? "✓ answered" : "answered";
    showMark(question.querySelector(".prediction-title"), done.has(question.id) && word);
  }

  for (const form of document.querySelectorAll("form.answer")) {
    const key = JSON.parse(atob(form.dataset.key));
    const verdict = form.querySelector("[role=status]");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const typed = form.querySelector("input, textarea").value;
      const { isRight, message } = judge(typed, key, form.dataset.hint);
      verdict.replaceChildren(message);
      form.dataset.verdict = isRight ? "right" : "wrong";
      if (isRight) mark(form.dataset.task);
    });
    form.hidden = false;
  }

  for (const box of document.querySelectorAll("input[data-task]")) {
    box.addEventListener("change", () => mark(box.dataset.task, box.checked));
    box.closest(".answer").hidden = false;
  }

  // Whoever has chosen an answer sees what the code printed.
  for (const question of document.querySelectorAll(".prediction")) {
    const result = document.querySelector(`[data-question="${question.id}"]`);
    if (result) result.open = done.has(question.id);
    question.querySelectorAll("details").forEach((answer, i) => {
      answer.addEventListener("toggle", () => {
        if (!answer.open) return;
        if (result) result.open = true;
        if (!done.has(question.id)) mark(`${question.id}/${i}`);
        mark(question.id);
      });
    });
  }

  for (const counts of document.querySelectorAll(".marks")) {
    counts.querySelector("button").addEventListener("click", () => {
      for (const label of [...done]) mark(label, false);
      counts.querySelector("[role=status]").replaceChildren("Nothing is marked as done.");
    });
    counts.hidden = false;
  }

  onChange(showMarks);
}
