"use strict";

// The trained models, as the build wrote them: `lab-words.js`, `lab-energy.js`, `lab-qkv.js`.
// A page opened from a folder may not fetch files, but it may add scripts. Each of these calls
// one of the two `receive` functions below, which are global for that reason.

{
  const received = new Map();
  const loading = new Map();

  // Add the script once; afterwards the promise gives what it brought.
  function load(name) {
    if (!loading.has(name)) {
      loading.set(
        name,
        new Promise((resolve, reject) => {
          const script = document.createElement("script");
          script.src = `${document.documentElement.dataset.content_root}_static/lab-${name}.js`;
          script.onload = () => resolve(received.get(name));
          script.onerror = () => {
            loading.delete(name); // so that the next try is one
            reject(new Error(`${script.src} can't be loaded`));
          };
          document.head.append(script);
        }),
      );
    }
    return loading.get(name);
  }

  // Words stand in the order of their ids, from the most frequent to the rarest.
  function receiveWords(words) {
    received.set("words", new Map(words.split(" ").map((word, id) => [word, id])));
  }

  function receiveModel(config, tensors) {
    const number = Object.fromEntries(
      Object.entries(tensors).map(([name, text]) => [name, halves(text)]),
    );
    // Row i of a matrix of this width
    const row = (name, i, width) =>
      Array.from({ length: width }, (_, j) => number[name](i * width + j));
    const matrix = (name, width) =>
      Array.from({ length: config.embed_dim }, (_, i) => row(name, i, width)); // (d, width)
    const model = {
      config,
      embedding: (id) => row("embedding", id, config.embed_dim), // (d,)
      w: row("w", 0, config.kind === "qkv" ? config.value_dim : config.embed_dim),
      b: number.b(0),
    };
    if (config.kind === "energy") model.energy = row("energy", 0, config.embed_dim);
    else {
      model.W_query = matrix("W_query", config.key_dim); // (d, k)
      model.W_key = matrix("W_key", config.key_dim); // (d, k)
      model.W_value = matrix("W_value", config.value_dim); // (d, v)
    }
    received.set(config.kind, model);
  }

  // Numbers of 16 bits, written as base64: returns a function that reads the i-th.
  function halves(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return (i) => halfToNumber(view.getUint16(2 * i, true));
  }

  // One sign bit s, five bits of exponent e, ten of fraction f: (−1)ˢ · 2ᵉ⁻¹⁵ · (1 + f/1024), and
  // (−1)ˢ · 2⁻¹⁴ · f/1024 where e = 0
  function halfToNumber(half) {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 0x1f;
    const fraction = (half & 0x3ff) / 1024;
    return exponent === 0
      ? sign * 2 ** -14 * fraction
      : sign * 2 ** (exponent - 15) * (1 + fraction);
  }

  Object.assign(globalThis, { receiveModel, receiveWords });
  lab.models = { halfToNumber, load };
}
