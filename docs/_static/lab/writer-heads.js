"use strict";

// The wall of all heads of the model that writes: a map of weights for each, a row of maps per layer.

{
  const { element } = lab.dom;
  const { coloursOf, paint } = lab.map;

  const range = (n) => Array.from({ length: n }, (_, i) => i);

  // Each map is in an element of this kind, and buttons have the names of heads and layers around them.
  // Returns the elements, a row per layer.
  function makeHeads(box, { num_heads, num_layers }, kind, names = {}) {
    box.style.setProperty("--heads", num_heads);
    const rows = range(num_layers).map((l) =>
      range(num_heads).map((h) => {
        const place = { class: "writer-head", "data-layer": l, "data-head": h, ...names };
        if (kind === "button") place["aria-label"] = `layer ${l + 1}, head ${h + 1}`;
        return element(kind, place, element("canvas"));
      }),
    );
    if (kind !== "button") box.replaceChildren(...rows.flat());
    else {
      box.replaceChildren(
        element("span"),
        ...range(num_heads).map((h) => element("span", {}, `head ${h + 1}`)),
        ...rows.flatMap((row, l) => [element("span", {}, `layer ${l + 1}`), ...row]),
      );
    }
    return rows;
  }

  const rowsOf = (reading, l, h) => reading.layers[l].weights.map((heads) => heads[h]); // (n, i + 1)

  function paintHeads(box, reading) {
    const colours = coloursOf(box);
    for (const head of box.querySelectorAll(".writer-head")) {
      const { layer, head: h } = head.dataset;
      paint(head.firstChild, rowsOf(reading, Number(layer), Number(h)), colours);
    }
  }

  // The maps are painted once: paint them again when the page's width or colours change.
  function onRepaint(repaint) {
    addEventListener("resize", repaint);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
    new MutationObserver(repaint).observe(document.body, { attributeFilter: ["data-theme"] });
  }

  lab.writerHeads = { makeHeads, onRepaint, paintHeads, rowsOf };
}
