"use strict";

// The model that writes, with one button, for the home page: all its heads while it writes.

{
  const { START_ID, decode, encode } = lab.bpe;
  const { load } = lab.models;
  const { speaker } = lab.dom;
  const { chance, draw, logitsAt, newReading, probabilities, read } = lab.writer;
  const { makeHeads, onRepaint, paintHeads } = lab.writerHeads;

  const PROMPT = "The film";
  const TEMPERATURE = 0.8;
  const TOKENS = 30;
  const PACE = 120; // milliseconds from one written token to the next

  function startHomeWriter(box) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));
    const isStill = matchMedia("(prefers-reduced-motion: reduce)");
    let model = null;
    let reading = null;
    let ids = [];
    let seed = 0; // another text at each press

    const show = () => {
      find("text").textContent = decode(model.vocabulary, ids.slice(1));
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
      reading ??= newReading(model);
      ids = [START_ID, ...encode(model.vocabulary, PROMPT)];
      read(model, reading, ids);
      makeHeads(find("heads"), model.config, "div");
      step(TOKENS);
    }

    makeHeads(find("heads"), { num_heads: 4, num_layers: 4 }, "div"); // empty, until the model comes
    find("text").textContent = PROMPT;
    find("write").addEventListener("click", write);
    onRepaint(() => reading && show());
    box.hidden = false;
  }

  startHomeWriter(document.getElementById("home-writer"));
}
