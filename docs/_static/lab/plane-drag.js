"use strict";

// How the parts of a picture of the plane are dragged, or moved by keys.

{
  const { add } = lab.tensors;
  const { setStop, shape } = lab.dom;
  const { dotAt, fitWords, frame, grown, measure } = lab.plane;

  // A picture with parts to drag. `move(name, point)` is called while a part is dragged or moved by the
  // arrow keys, `seize()` before the first of these, `press(point)` when the reader presses beside all
  // parts. Returns draw(points, words, below, handles): all points and words have room; below(place)
  // gives shapes; a handle is { name, label, tip, shapes }. draw.refit() forgets the scale of a drag.
  function movable(picture, { move, press = null, seize }) {
    const under = shape("g");
    const handles = new Map(); // name → its group, which stays while its shapes change: so does the focus
    let place;
    let tips = new Map(); // name → point in the plane
    let held = null; // { name, pointer, place: at the beginning, from: from pointer to tip }
    let kept = null; // the scale of the last drag, which stays until something else changes
    let wasHeld = false;
    let gesture = 0; // what is undone together
    let drawn = null; // with what it was drawn last
    picture.replaceChildren(under);

    new ResizeObserver(() => {
      kept = null; // its pixels are others
      if (drawn) draw(...drawn);
    }).observe(picture);

    function draw(points, words, below, wanted) {
      drawn = [points, words, below, wanted];
      measure(picture, wanted.length > 1 ? 17 : 8);
      place = (held ?? kept) ? grown((held ?? kept).place, points) : frame(points, words);
      under.replaceChildren(...below(place));
      fitWords(under);
      tips = new Map(wanted.map(({ name, tip }) => [name, tip]));
      for (const [name, group] of handles) {
        if (tips.has(name)) continue;
        group.remove();
        handles.delete(name);
      }
      for (const { name, label, tip, shapes } of wanted) {
        const group = handles.get(name) ?? handle(name);
        const [x, y] = place(tip);
        group.setAttribute("aria-label", label);
        const grip = group.firstChild; // stays, because a hand may be on it
        grip.setAttribute("cx", x);
        grip.setAttribute("cy", y);
        while (group.lastChild !== grip) group.lastChild.remove();
        group.append(...shapes(place));
      }
      if (!picture.querySelector("[tabindex='0']")) setStop(picture, [...handles.values()][0]);
    }

    function handle(name) {
      const looks = { class: "handle", role: "button", "data-handle": name };
      const group = shape("g", looks, dotAt([0, 0], "grip", 15));
      group.tabIndex = -1;
      group.setAttribute("aria-roledescription", "arrow to move");
      handles.set(name, group);
      picture.append(group);
      return group;
    }

    function pointOf(event) {
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        picture.getScreenCTM().inverse(),
      );
      // By a scale that followed the pointer, the tip would run away from it.
      return (held?.place ?? place).back([x, y]);
    }

    // A finger on a handle drags it; anywhere else it scrolls the page. Chromium ignores a `touch-action`
    // of a part of a picture.
    picture.addEventListener(
      "touchstart",
      (event) => {
        if (event.target.closest("[data-handle]")) event.preventDefault();
      },
      { passive: false },
    );
    picture.addEventListener("pointerdown", (event) => {
      if (held) return; // a second finger
      const group = event.target.closest("[data-handle]");
      wasHeld = Boolean(group);
      if (!group) return;
      event.preventDefault(); // no text is selected on the way
      seize();
      const name = group.dataset.handle;
      const from = tips.get(name).map((number, c) => number - pointOf(event)[c]);
      held = { name, pointer: event.pointerId, place, from };
      gesture += 1;
      group.focus({ preventScroll: true });
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointermove", (event) => {
      if (held?.pointer !== event.pointerId) return;
      move(held.name, add(pointOf(event), held.from), `drag ${gesture}`);
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      picture.addEventListener(kind, (event) => {
        if (held?.pointer !== event.pointerId) return;
        kept = held;
        held = null;
      });
    }
    picture.addEventListener("click", (event) => {
      if (!wasHeld && press) press(pointOf(event));
    });
    picture.addEventListener("keydown", (event) => {
      const group = event.target.closest("[data-handle]");
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const turn = { PageUp: -1, PageDown: 1 }[event.key];
      if (!group || !(turn || event.key in by)) return;
      event.preventDefault();
      seize();
      const { handle: name } = group.dataset;
      if (turn) {
        const all = [...handles.values()];
        all[(all.indexOf(group) + turn + all.length) % all.length].focus();
      } else {
        const step = event.shiftKey ? 0.01 : 0.05;
        move(
          name,
          add(
            tips.get(name),
            by[event.key].map((one) => one * step),
          ),
          `keys ${name}`,
        );
      }
    });
    // Not on the picture: Chromium lets the Tab key stop at a picture that listens for the focus.
    picture.parentNode.addEventListener("focusin", (event) => {
      const group = event.target.closest("[data-handle]");
      if (picture.contains(group)) setStop(picture, group);
    });
    return Object.assign(draw, { refit: () => (kept = null) });
  }

  lab.planeDrag = { movable };
}
