"use strict";

// The review lab in one line, for the home page.

{
  const { KINDS, load } = lab.models;
  const { speaker } = lab.dom;
  const { drawTokens, noticeOf, percentText, readTokens, tokensOf } = lab.tokens;

  function startHome(box) {
    const find = (name) => box.querySelector(`[data-part="${name}"]`);
    const say = speaker(find("spoken"));

    async function update() {
      const [ids, model] = await Promise.all([load("words"), load(KINDS[0])]);
      const text = find("review").value;
      const tokens = tokensOf(ids, text);
      const { probability, shown } = readTokens(model, tokens);
      const isRead = tokens.length > 0;
      const percent = isRead ? `${percentText(probability)} positive` : "";
      find("hint").hidden = text.trim() !== "";
      find("probability").textContent = percent;
      find("probability").dataset.value = isRead ? probability : "";
      drawTokens(find("tokens"), shown, "span", "contribution");
      find("notice").textContent = noticeOf(text, tokens);
      find("notice").hidden = find("notice").textContent === "";
      find("legend").hidden = !isRead;
      say([percent, find("notice").textContent].join(" ").trim());
    }

    find("review").addEventListener("input", () => {
      update().catch((error) => (find("probability").textContent = error.message));
    });
    box.hidden = false;
  }

  startHome(document.getElementById("home-lab"));
}
