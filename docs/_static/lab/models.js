"use strict";

// The trained models, as the build wrote them: `lab-words.js`, `lab-mean.js`, `lab-energy.js` and
// `lab-qkv.js`.
// A page opened from a folder may not fetch files, but it may add scripts. Each of these calls
// one of the two `receive` functions below, which are global for that reason.

{
  // The first is the recommended one, in whose script `recommended` is true.
  const KINDS = ["energy", "qkv", "mean"];
  const NAMES = { energy: "attention pooling", mean: "mean", qkv: "QKV attention" };

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
    const { embed_dim, key_dim, kind, value_dim } = config;
    const number = Object.fromEntries(
      Object.entries(tensors).map(([name, written]) => [name, read(written)]),
    );
    // Row i of a matrix of this width
    const row = (name, i, width) =>
      Array.from({ length: width }, (_, j) => number[name](i * width + j));
    const matrix = (name, width) =>
      Array.from({ length: embed_dim }, (_, i) => row(name, i, width)); // (d, width)
    const model = {
      config,
      embedding: (id) => row("embedding", id, embed_dim), // (d,)
      w: row("w", 0, kind === "qkv" ? value_dim : embed_dim),
      b: number.b(0),
    };
    if (kind === "energy") model.energy = row("energy", 0, embed_dim);
    if (kind === "qkv") {
      model.W_query = matrix("W_query", key_dim); // (d, k)
      model.W_key = matrix("W_key", key_dim); // (d, k)
      model.W_value = matrix("W_value", value_dim); // (d, v)
    }
    received.set(kind, model);
  }

  // Each of these returns a function that reads the i-th number.
  const read = (written) => (typeof written === "string" ? halves(written) : bytes(written));

  // base64, four letters for three bytes
  const decode = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

  // A table: whole numbers from −127 to 127 and what to multiply them by
  function bytes({ scale, int8 }) {
    const whole = new Int8Array(decode(int8).buffer);
    return (i) => scale * whole[i];
  }

  // Numbers of 16 bits
  function halves(text) {
    const view = new DataView(decode(text).buffer);
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
  lab.models = { KINDS, NAMES, halfToNumber, load };
}
