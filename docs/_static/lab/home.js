"use strict";

// The review lab of the home page: one model, and a review on which it is wrong.

{
  const { KINDS, load } = lab.models;
  const { keep, kept, speaker, whenNear } = lab.dom;
  const { drawTokens, limitOf, noticeOf, percentText, readTokens, tokensOf } = lab.tokens;

  const SAMPLE = "The worst thing about it is that it ends.";

  function startHome(box) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));

    async function update() {
      const [ids, model] = await Promise.all([load("words"), load(KINDS[0])]);
      const text = find("review").value;
      const tokens = tokensOf(ids, text);
      const { probability, shown, skipped } = readTokens(model, tokens);
      const isRead = tokens.length > 0;
      const percent = isRead ? `${percentText(probability)} positive` : "";
      find("probability").textContent = percent;
      find("probability").dataset.value = isRead ? probability : "";
      drawTokens(find("tokens"), shown, "span", "contribution");
      const notes = [noticeOf(text, tokens), limitOf(model, skipped)];
      find("notice").textContent = notes.filter(Boolean).join(" ");
      find("notice").hidden = find("notice").textContent === "";
      say([percent, find("notice").textContent].join(" ").trim());
    }

    const read = () => update().catch((error) => (find("probability").textContent = error.message));
    find("review").addEventListener("input", () => {
      keep("review", find("review").value); // for the page with three models, and for the way back
      read();
    });
    box.hidden = false;
    find("review").value = kept("review") || SAMPLE;
    whenNear(box, "100px", read);
  }

  startHome(document.getElementById("home-lab"));
}
