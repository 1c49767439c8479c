"use strict";

// The model that writes, with one button, for the home page: all its heads while it writes.

{
  const { START_ID, decode, encode } = lab.bpe;
  const { load } = lab.models;
  const { speaker } = lab.dom;
  const { chance, draw, logitsAt, newReading, probabilities, read } = lab.writer;
  const { makeHeads, onRepaint, paintHeads } = lab.writerHeads;

  const PROMPT = "The film"; // as in index.md
  const TEMPERATURE = 0.8;
  const TOKENS = 30;
  const PACE = 120; // milliseconds from one written token to the next

  // What the model wrote when the site was built; a row has a digit per weight, of 36.
  const readingOf = ({ layers }) => ({
    layers: layers.map((heads) => ({
      weights: heads[0].map((_, i) =>
        heads.map((rows) => [...rows[i]].map((w) => parseInt(w, 36))),
      ),
    })),
  });

  function startHomeWriter(box, still) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    const isStill = matchMedia("(prefers-reduced-motion: reduce)");
    let model = null;
    let reading = readingOf(still);
    let ids = [];
    let seed = 0; // another text at each press

    const show = () => {
      find("text").textContent = model ? decode(model.vocabulary, ids.slice(1)) : still.text;
      paintHeads(find("heads"), reading);
    };

    function step(left) {
      const logits = logitsAt(model, reading, reading.ids.length - 1); // (v,)
      const id = draw(probabilities(logits, TEMPERATURE), chance(seed, ids.length));
      const isEnd = id === START_ID || left === 0;
      if (!isEnd) {
        ids.push(id);
        read(model, reading, ids);
      }
      if (!isStill.matches || isEnd) show();
      if (!isEnd) return isStill.matches ? step(left - 1) : setTimeout(step, PACE, left - 1);
      find("write").ariaDisabled = "false";
      say(find("text").textContent);
    }

    async function write() {
      if (find("write").ariaDisabled === "true") return;
      find("write").ariaDisabled = "true";
      try {
        model ??= await load("writer");
      } catch (error) {
        find("text").textContent = `The model did not load: ${error.message}`;
        find("write").ariaDisabled = "false";
        return;
      }
      seed += 1;
      if (seed === 1) reading = newReading(model);
      ids = [START_ID, ...encode(model.vocabulary, PROMPT)];
      read(model, reading, ids);
      step(TOKENS);
    }

    const [{ length: num_layers }, { length: num_heads }] = [still.layers, still.layers[0]];
    makeHeads(find("heads"), { num_heads, num_layers }, "div");
    show();
    find("write").addEventListener("click", write);
    onRepaint(show);
    box.hidden = false;
  }

  const still = document.querySelector("script.writer-numbers");
  startHomeWriter(document.getElementById("home-writer"), JSON.parse(still.textContent));
}
