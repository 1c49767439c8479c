"use strict";

// A card with the meaning of a term, beside each link to the glossary: it opens for the pointer, for
// the keyboard's focus and for a first tap, and closes with Escape. The link stays a link.
{
  const LINK = 'a[href*="#term-"]:not(.search a)'; // a found page is quoted there
  const DELAY = 150; // ms, so that a pointer on its way opens nothing
  const GAP = 6; // px between a term and its card
  const card = document.createElement("div");
  card.id = "term-card";
  card.popover = "manual";
  card.setAttribute("role", "tooltip");
  let terms;
  let shown = null; // the link whose card is open
  let pointer = "mouse";
  let timer;

  function load() {
    terms ??= new Promise((resolve, reject) => {
      globalThis.receiveTerms = resolve;
      const script = document.createElement("script");
      script.src = `${document.documentElement.dataset.content_root}_static/term-cards.js`;
      script.onerror = () => reject(new Error(`${script.src} can't be read`));
      document.head.append(script);
    });
    return terms;
  }

  function place(link) {
    const box = link.getClientRects()[0]; // of the first line, if the term is broken in two
    const { width, height } = card.getBoundingClientRect();
    const page = document.documentElement.clientWidth;
    const left = Math.max(GAP, Math.min(box.left, page - width - GAP));
    const below = box.bottom + GAP + height < innerHeight;
    card.style.left = `${left}px`;
    card.style.top = `${below ? box.bottom + GAP : Math.max(GAP, box.top - GAP - height)}px`;
  }

  function hide() {
    clearTimeout(timer);
    shown?.removeAttribute("aria-describedby");
    shown = null;
    if (card.isConnected) card.hidePopover();
  }

  async function show(link) {
    const id = decodeURIComponent(link.hash.slice(1));
    const found = (await load())[id];
    const isStillMeant = link.matches(":hover, :focus") || pointer === "touch";
    if (!found || !link.isConnected || !isStillMeant) return;
    hide();
    const [term, meaning] = found;
    const name = document.createElement("strong");
    name.textContent = term;
    const more = document.createElement("small");
    more.textContent = pointer === "touch" ? "Tap the word again to open the glossary." : "";
    card.replaceChildren(name, ` ${meaning} `, more);
    if (!card.isConnected) document.body.append(card);
    card.showPopover();
    place(link);
    link.setAttribute("aria-describedby", card.id);
    shown = link;
  }

  const linkOf = (event) => event.target.closest?.(LINK);
  const leaves = (event) => !event.relatedTarget?.closest?.(`${LINK}, #term-card`);
  addEventListener("pointerdown", (event) => (pointer = event.pointerType), true);
  addEventListener("keydown", (event) => {
    pointer = "keyboard";
    if (event.key === "Escape" && shown) hide();
  });
  document.addEventListener("pointerover", (event) => {
    const link = linkOf(event);
    if (!link || event.pointerType === "touch" || link === shown) return;
    pointer = event.pointerType;
    clearTimeout(timer);
    timer = setTimeout(() => show(link), DELAY);
  });
  document.addEventListener("pointerout", (event) => {
    if (event.pointerType === "touch" || !leaves(event)) return;
    clearTimeout(timer);
    if (shown && !shown.matches(":focus-visible")) hide();
  });
  document.addEventListener("focusin", (event) => {
    const link = linkOf(event);
    if (link && pointer !== "touch") show(link);
  });
  document.addEventListener("focusout", (event) => {
    if (linkOf(event) === shown && leaves(event)) hide();
  });
  document.addEventListener("click", (event) => {
    const link = linkOf(event);
    if (pointer !== "touch") return;
    if (!link || link === shown) {
      if (!card.contains(event.target)) hide();
    } else {
      event.preventDefault();
      show(link);
    }
  });
  addEventListener("scroll", () => shown && place(shown), { passive: true });
}
