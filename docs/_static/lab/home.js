"use strict";

// The review lab in one line, for the home page.

{
  const { load } = lab.models;
  const { speaker } = lab.dom;
  const { readReview, tokenPart } = lab.tokens;

  function startHome(box) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));

    async function update() {
      const [ids, model] = await Promise.all([load("words"), load("energy")]);
      const { tokens, read, probability } = readReview(model, ids, find("review").value);
      const percent = `${(100 * probability).toFixed(0)} % positive`;
      find("probability").textContent = read.length > 0 ? percent : "";
      find("probability").dataset.value = probability;
      const largest = Math.max(0, ...tokens.map((one) => one.weight));
      find("tokens").replaceChildren(...tokens.map((one) => tokenPart(one, largest, "span")));
      find("legend").hidden = read.length === 0;
      say(read.length > 0 ? percent : "");
    }

    find("review").addEventListener("input", () => {
      update().catch((error) => (find("probability").textContent = error.message));
    });
    box.hidden = false;
  }

  startHome(document.getElementById("home-lab"));
}
