"use strict";

// The reader's own sentence, and the vectors of its words: those of the trained model, where the numbers
// of one are shown, and else vectors drawn from letters.

{
  const { drawnWords, vectorOf, withWords } = lab.benchState;
  const { parts } = lab.workbench;

  // A word's row of a trained table, whose words have the ids of `ids`. What the tokenizer takes for
  // several words, or for none, is unknown to the model.
  function trainedVectors(ids, table) {
    const { UNKNOWN, splitWords } = lab.tokenizer;
    return (word) => {
      const [first, ...more] = splitWords(word);
      return table(more.length === 0 ? (ids.get(first) ?? UNKNOWN) : UNKNOWN);
    };
  }

  parts.push((bench) => {
    const { find, on, refuse, accept } = bench;
    const field = find("sentence");
    let trained = null; // a word → its vector, once it has come
    let failure = "";

    async function load() {
      try {
        trained = trainedVectors(
          ...(await Promise.all(["words", "tiny"].map((name) => lab.models.load(name)))),
        );
        failure = "";
      } catch (error) {
        failure = `The trained vectors did not load (${error.message}). `;
      }
    }

    function read(text) {
      const vector = (bench.origin().vectors && trained) || vectorOf;
      // A word that is half typed is no other word: what counts is the sentence before the gesture.
      try {
        bench.change(withWords(bench.before("sentence"), text, vector), { by: "sentence" });
        accept(field);
      } catch (problem) {
        refuse(field, problem.message);
      }
    }

    // Whoever has a sentence of their own keeps it when they turn to a trained model.
    on("preset", "change", async ({ target }) => {
      const next = bench.origins.get(target.value);
      const sentence = bench.state().words.join(" ");
      const isGiven = [...bench.origins.values()].some(
        ({ name, state }) => name !== "link" && state.words.join(" ") === sentence,
      );
      if (isGiven || !next.vectors) return bench.begin(next);
      if (!trained) await load();
      bench.begin(
        next,
        trained ? withWords({ ...next.state, words: [], x: [] }, sentence, trained) : next.state,
      );
    });
    on("sentence", "focus", () => {
      if (bench.origin().vectors && !trained) load();
    });
    on("sentence", "input", async () => {
      const text = field.value;
      if (bench.origin().vectors && !trained) {
        await load();
        if (field.value !== text) return; // a later one is read
      }
      read(text);
    });
    bench.onLeave([field], () => show(bench.state()));

    function show(state) {
      if (document.activeElement !== field) field.value = state.words.join(" ");
      const drawn = drawnWords(state);
      const unknown = trained ? String(trained("")) : null;
      const isUnknown = (i) => bench.origin().vectors && String(state.x[i]) === unknown;
      const strange = new Set(state.words.filter((_, i) => isUnknown(i)));
      const isAll = state.words.every((word) => drawn.includes(word));
      const notes = [
        bench.origin().name === "link" && "These numbers came from a link.",
        drawn.length > 0 &&
          `${failure}Vectors drawn from letters: ${isAll ? "all words" : drawn.join(", ")}.`,
        strange.size > 0 && `All unknown words share one vector, here: ${[...strange].join(", ")}.`,
      ];
      find("drawn").textContent = notes.filter(Boolean).join(" ");
    }

    return { update: ({ state }) => show(state) };
  });

  lab.workbenchSentence = { trainedVectors };
}
