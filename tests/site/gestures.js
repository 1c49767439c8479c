// What test_gestures.py asks of pages, in which these functions are put: one for each promise. A name
// begins with its page's address.

const is = (actual, wanted, what = "") => {
  const [a, b] = [actual, wanted].map((one) => JSON.stringify(one));
  if (a !== b) throw new Error(`${what}: ${a} instead of ${b}`);
};
const all = (selector) => [...document.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
const part = (name) => one(`#workbench [data-part="${name}"]`);
const type = (field, text) => {
  field.focus();
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
};
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const until = async (fits) => {
  for (let i = 0; i < 600 && !fits(); i += 1) await frame();
  is(Boolean(fits()), true, String(fits));
};
const state = () => lab.workbench.bench.state();
const right = (box) => box.getBoundingClientRect().right;

const gestures = {
  "index.html: a long review says that it is read in part": async () => {
    type(one("#home-lab [data-part=review]"), "dull ".repeat(600) + "wonderful ".repeat(300));
    await until(() => one("#home-lab [data-part=notice]").textContent.includes("first 644 are"));
  },
  "index.html: a link that covers a card is named by the card": () => {
    const names = all(".sd-stretched-link").map((link) => link.textContent);
    is(
      names.filter((name) => /[/#]|html/.test(name)),
      [],
    );
    is(names.length, 3);
  },
  "index.html: no size is named that the book does not have": () => {
    is(/\d+ MB/.test(one("article").textContent), false);
  },
  "index.html: the sidebar names each page once, and shortly": () => {
    const names = all(".sidebar-tree a").map((link) => link.textContent);
    is(
      names.filter((name, i) => names.indexOf(name) < i || /: |^Exercises on/.test(name)),
      [],
    );
    is(names.length > 40, true);
  },
  "results.html: three points are three": () => {
    const before = all("article p").find((text) => text.textContent.startsWith("These three"));
    is(before.nextElementSibling.children.length, 3);
  },
  "gallery/core/plot_1_qkv_derivation.html: nothing plays by itself, and a press moves one step on":
    () => {
      is(all("img[src^='data:image/gif']").length, 0);
      const step = () => one("[data-testid=walk-step]").dataset.value;
      is(step(), "1");
      one("[data-testid=walk-next]").click();
      is(step(), "2");
    },
  "glossary.html#term-softmax: a link within a long page leads there at once": () => {
    is(getComputedStyle(document.documentElement).scrollBehavior, "auto");
  },
  "glossary.html: nothing floats over the text, and the way to the top stands below it":
    async () => {
      for (const top of [3000, 2000]) {
        scrollTo({ top, behavior: "instant" });
        await frame();
      }
      const fixed = all(".main *").filter((box) => getComputedStyle(box).position === "fixed");
      is(
        fixed.filter((box) => box.getClientRects().length > 0).map((box) => box.className),
        [],
      );
      const [link] = all("footer a").filter((each) => each.textContent === "Back to top");
      link.click();
      await until(() => scrollY === 0);
    },
  "playground.html: check boxes and sliders follow the theme's switch": () => {
    for (const theme of ["dark", "light"]) {
      document.body.dataset.theme = theme;
      const looks = all(".lab input").map((field) => getComputedStyle(field));
      is([...new Set(looks.map((look) => look.colorScheme))], [theme]);
      const brand = getComputedStyle(part("undo")).accentColor;
      is([...new Set(looks.map((look) => look.accentColor))], [brand]);
      is(brand === "auto", false);
    }
  },
  "playground.html: words in the planes end in dots, and all of them stand in the picture":
    async () => {
      const long = ["disappointing", "extraordinarily", "mmmmmmmmmmmm", "unforgettable"];
      type(part("sentence"), `an ${long.join(" ")} film`);
      await until(() => state().words.includes("film") && state().words.includes("an"));
      for (const plane of ["plane-scores", "plane-values"]) {
        const edge = part(plane).getBoundingClientRect();
        const labels = [...part(plane).querySelectorAll("text")];
        for (const label of labels) {
          const { top, bottom, right } = label.getBoundingClientRect();
          is(
            [right <= edge.right, top >= edge.top, bottom <= edge.bottom + 1],
            [true, true, true],
            label.textContent,
          );
        }
        const cut = labels.filter((label) => label.textContent.includes("…"));
        is(cut.length > 0 && cut.every((label) => label.querySelector("title")), true);
        const whole = (label) => label.querySelector("title")?.textContent ?? label.textContent;
        const said = labels.map(whole).join(" "); // also of those that share a line
        is(
          long.filter((word) => !said.includes(word)),
          [],
        );
      }
      const drawn = lab.workbenchShare.drawing(lab.workbench.bench, "light");
      const picture = new DOMParser().parseFromString(drawn, "image/svg+xml").documentElement;
      one("article").prepend(picture);
      const { left } = picture.getBoundingClientRect();
      for (const label of picture.querySelectorAll("text"))
        is(label.getBoundingClientRect().left >= left, true, label.textContent);
    },
  "playground.html: a saved picture has the masks, the targets and the context vectors": () => {
    lab.workbench.bench.set({
      forbidden: [
        [0, 1],
        [2, 2],
      ],
      targets: [[0, 3, 4]],
    });
    const picture = new DOMParser().parseFromString(
      lab.workbenchShare.drawing(lab.workbench.bench, "light"),
      "image/svg+xml",
    );
    is(picture.querySelectorAll("rect[fill='url(#masked)']").length, 2);
    is(picture.querySelectorAll("pattern#masked path[stroke^='#']").length, 1);
    const texts = [...picture.querySelectorAll("text")].map((text) => text.textContent);
    is(picture.querySelectorAll("rect.target").length, 1);
    for (const row of lab.workbench.bench.view().head.context)
      for (const number of row) is(texts.includes(lab.dom.digits(number, 2)), true, number);
  },
  "playground.html: a number field takes what people type and Python prints": () => {
    const field = one("[data-name='x.1.0'][data-step]");
    const typed = { "0,5": 0.5, "−2": -2, "1,234": 1.234, "tensor(0.25)": 0.25, "(0.75)": 0.75 };
    for (const [text, number] of Object.entries(typed)) {
      type(field, text);
      is([field.getAttribute("aria-invalid"), state().x[1][0]], [null, number], text);
    }
    for (const text of ["1/2", "0,5,5", "1 000", "nan", "two"]) {
      type(field, text);
      is([field.getAttribute("aria-invalid"), state().x[1][0]], ["true", 0.75], text);
    }
    for (const [name, text, value] of [
      ["rate", "0,5", 0.5],
      ["padding", " 2 ", 2],
    ]) {
      type(part(name), text);
      is(state()[name], value, name);
    }
  },
  "playground.html: a long number is not cut in its field, and whole where one types": async () => {
    part("matrices").open = true;
    const field = one("[data-name='W_key.0.0'][data-step]");
    type(field, "-42.8467");
    field.blur();
    await until(() => field.value === "−42.85");
    is(field.scrollWidth <= field.clientWidth, true);
    field.focus();
    is(field.value, "−42.8467");
  },
  "playground.html: punctuation is no part of a word": async () => {
    type(part("sentence"), "Cats, “cats” are cats.");
    await until(() => state().words.length === 4); // the model's vectors have come
    is(state().words, ["Cats", "cats", "are", "cats"]);
    is([state().x[1], state().x[3]], [state().x[0], state().x[0]]);
  },
  "playground.html: Reset takes back what a click does": () => {
    const tools = all("[name=bench-tool]");
    tools[1].click();
    part("reset").click();
    is(
      tools.map((tool) => tool.checked),
      [false, false, true], // training begins with a target
    );
  },
  "your_review.html: weights of all models are coloured on one scale, and no row of words is cut":
    async () => {
      one("#review-lab").scrollIntoView();
      await until(() => all(".lab-model .lab-token").length > 75);
      await until(() => one("#review-lab").ariaBusy === "false");
      for (const box of all(".lab-model .lab-tokens"))
        is(box.scrollHeight <= box.clientHeight, true);
      one("[name=measure][value=weight]").click();
      await until(() => one("#review-lab").ariaBusy === "false");
      const tokens = all(".lab-model .lab-token").map((token) => [
        Number(token.dataset.weight),
        Number(token.style.getPropertyValue("--share")),
      ]);
      const most = Math.max(...tokens.map(([weight]) => weight));
      for (const [weight, share] of tokens)
        is(Math.abs(share - weight / most) < 0.006, true, weight);
    },
  "your_review.html: a word in a sentence stands in quotation marks": async () => {
    one("#review-lab").scrollIntoView();
    const readout = one("#review-lab [data-part=map-readout]");
    await until(() => /“[a-z]+” attends to “[a-z]+” with/.test(readout.textContent));
    type(one("#review-lab [data-part=review]"), "zzzz");
    const notice = one("#review-lab [data-part=notice]");
    await until(() => notice.textContent === "The models do not know this word.");
  },
  "writer.html: a seed that is none is refused, and the last one counts": async () => {
    one("#writer-lab").scrollIntoView();
    await until(() => !one("#writer-lab [data-part=shown]").hidden);
    const [seed, notice] = ["seed", "notice"].map((name) => one(`#writer-lab [data-part=${name}]`));
    type(seed, "7");
    for (const text of ["-5", "99999", "1.5", "", "1,5"]) {
      type(seed, text);
      is([seed.ariaInvalid, notice.hidden], ["true", false], text);
      is(
        notice.textContent,
        "Seed: expected a whole number from 0 to 9999; the last one, 7, counts.",
      );
    }
    seed.blur();
    await until(() => seed.value === "7" && notice.hidden);
  },
};
