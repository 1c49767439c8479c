"use strict";

// Masks, scale, temperature and the second head.

{
  const { parts, plural } = lab.workbench;
  const { draw } = lab.workbenchNumbers;

  parts.push((bench) => {
    const { find, on, set, refuse, accept } = bench;
    on("causal", "change", ({ target }) => set({ isCausal: target.checked }));
    on("scaled", "change", ({ target }) => set({ isScaled: target.checked }));
    on("head", "change", ({ target }) => set({ head: Number(target.value) }));
    // The slider holds the logarithm, so that 1 is in the middle of 0.1 and 10.
    on("temperature", "input", ({ target }) => {
      const temperature = Number((10 ** target.valueAsNumber).toFixed(2));
      set({ temperature }, { by: "temperature" });
    });
    on("padding", "input", ({ target }) => {
      const most = bench.state().words.length - 1;
      const isCount = (one) => Number.isInteger(one) && one >= 0 && one <= most;
      const padding = numberReader.readNumber(target.value, isCount);
      if (padding === null) {
        return refuse(
          target,
          `Of these words at most ${plural(most, "word")} can be padding; expected a whole number from 0 to ${most}.`,
        );
      }
      accept(target);
      set({ padding }, { by: "padding" });
    });
    bench.onLeave([find("padding")], () => (find("padding").value = bench.state().padding));
    on("second", "change", ({ target }) => {
      const { heads, targets, contexts } = bench.state();
      if (target.checked) return set({ heads: [...heads, draw()], head: 1 });
      const first = (cells) => cells.filter(([h]) => h === 0);
      set({
        heads: heads.slice(0, 1),
        head: 0,
        targets: first(targets),
        contexts: first(contexts),
      });
    });

    function update({ state }) {
      find("causal").checked = state.isCausal;
      find("scaled").checked = state.isScaled;
      find("temperature").value = Math.log10(state.temperature);
      find("temperature-shown").textContent = state.temperature.toFixed(2);
      find("second").checked = state.heads.length > 1;
      find("head-field").hidden = state.heads.length === 1;
      find("head").value = state.head;
      if (find("padding") !== document.activeElement) find("padding").value = state.padding;
    }

    return { update };
  });
}
