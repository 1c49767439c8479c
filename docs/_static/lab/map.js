"use strict";

// The n × n weights as a picture: row i holds those of the query of word i, a column per word that
// it attends to.
// Dark (or, on a dark page, light) is the largest weight. Returns a function that says which row
// and column an event of the pointer is at.

{
  const { element } = lab.dom;

  // The colours of the smallest and of the largest weight, which the theme chooses
  function coloursOf(part) {
    const style = getComputedStyle(part);
    const { backgroundColor } = getComputedStyle(document.body);
    return [backgroundColor, style.getPropertyValue("--weight")].map((color) =>
      color.match(/\d+/g).map(Number),
    );
  }

  const mixed = ([low, high], share) => low.map((part, c) => part + (high[c] - part) * share);

  // White or black: of both, one contrasts with any colour by 4.5 or more.
  function contrasting(color) {
    const [r, g, b] = color.map((part) => {
      const c = part / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "black" : "white";
  }

  // One pixel per weight, to be drawn larger: quick for 65,536 of them too. Under a causal mask a row
  // ends at its own word, and what follows stays empty.
  function paint(canvas, map, [low, high]) {
    const n = map.length;
    canvas.width = canvas.height = n;
    const pixels = new ImageData(n, n);
    const largest = Math.max(...map.map((row) => Math.max(...row)));
    map.forEach((row, i) => {
      row.forEach((weight, j) => {
        const at = 4 * (i * n + j);
        const share = weight / largest;
        for (let c = 0; c < 3; c += 1) pixels.data[at + c] = low[c] + (high[c] - low[c]) * share;
        pixels.data[at + 3] = 255;
      });
    });
    canvas.getContext("2d").putImageData(pixels, 0, 0);
  }

  function drawMap(canvas, map, words) {
    const n = map.length;
    const ratio = window.devicePixelRatio || 1;
    const side = Math.min(canvas.parentElement.clientWidth, 560, 74 + 48 * n);
    const cell = side / n;
    const labels = cell >= 14 ? 74 : 0; // room for words beside the rows, where they can be read
    canvas.width = canvas.height = Math.round(side * ratio);
    canvas.style.width = canvas.style.height = `${side}px`;
    const small = element("canvas");
    paint(small, map, coloursOf(canvas));
    const style = getComputedStyle(canvas);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, labels, labels, side - labels, side - labels);
    if (labels) {
      context.fillStyle = style.color;
      context.font = `${Math.min(13, cell * 0.8)}px ${style.fontFamily}`;
      const step = (side - labels) / n;
      words.forEach((word, i) => {
        context.textAlign = "right";
        context.fillText(word, labels - 5, labels + (i + 0.7) * step, labels - 6);
        context.save();
        context.translate(labels + (i + 0.7) * step, labels - 5);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(word, 0, 0, labels - 6);
        context.restore();
      });
    }
    // Which row and column does a pointer at this event touch?
    return (event) => {
      const box = canvas.getBoundingClientRect();
      const [j, i] = [event.clientX - box.left, event.clientY - box.top].map((at) =>
        Math.floor(((at - labels) / (side - labels)) * n),
      );
      return i >= 0 && j >= 0 && i < n && j < n ? [i, j] : null;
    };
  }

  lab.map = { coloursOf, contrasting, drawMap, mixed, paint };
}
