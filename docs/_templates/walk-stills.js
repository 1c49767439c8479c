// Draws one step of the walk for walk_stills.py, with the scripts of the page.
function addEventListener() {} // all that these scripts want of a page
const draw = (numbers, step, width) => {
  const { drawn, frame, layout, modelOf } = lab.walkFrames;
  const { HEAD, caption, plain, rows } = lab.walkTexts;
  const model = modelOf(numbers, numbers.at);
  const { title, text, sum } = caption(step, model);
  const size = layout(width, model.words.length);
  const parts = [...frame(step, model, size).values()].sort((a, b) => a.layer - b.layer);
  const end = title.endsWith("?") ? "" : ".";
  const words = [`${step}. ${title}${end}`, plain(text), plain(sum)];
  const shapes = parts.map((part) => [part.opacity, drawn(part)]);
  return JSON.stringify({ ...size, words, shapes, table: [HEAD, ...rows(model)] });
};
