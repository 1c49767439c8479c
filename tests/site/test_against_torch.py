"""What the page shows is what torch computes from the same rounded numbers."""

import math

import pytest
from trained_models import KINDS, answer, reviews

TOLERANCE = 1e-5

# Types each review into the page, and reads of all models what a reader sees.
READ = """async ({ texts, distractor }) => {
  const hook = (name) => document.querySelector(`[data-testid="${name}"]`);
  const put = (part, value) => {
    part.value = value;
    part.dispatchEvent(new Event("input", { bubbles: true }));
  };
  if (hook("distractor").checked !== Boolean(distractor)) hook("distractor").click();
  if (distractor) put(hook("distractor-input"), distractor);
  const seen = [];
  for (const text of texts) {
    put(hook("review-input"), text);
    // One frame draws the words of one model.
    for (let i = 0; i < 4; i += 1) await new Promise(requestAnimationFrame);
    const columns = [...document.querySelectorAll(".lab-model")].map((column) => {
      const probability = column.querySelector("[data-testid=probability]");
      const tokens = [...column.querySelectorAll("[data-testid=token]")];
      return [column.dataset.kind, {
        probability: Number(probability.dataset.value),
        shown: Number(probability.textContent),
        weights: tokens.map((token) => Number(token.dataset.weight)),
        contributions: tokens.map((token) => Number(token.dataset.contribution)),
      }];
    });
    seen.push(Object.fromEntries(columns));
  }
  return seen;
}"""


@pytest.mark.parametrize(
    ("count", "distractor"), [(40, ""), (15, "A dull film, the worst of the year.")]
)
def test_the_page_shows_what_torch_computes(lab, count, distractor):
    texts = reviews(count)
    shown = lab.evaluate(READ, {"texts": texts, "distractor": distractor})
    for text, of_kinds in zip(texts, shown, strict=True):
        for kind in KINDS:
            seen, expected = of_kinds[kind], answer(kind, text, distractor)
            probability = 1 / (1 + math.exp(-expected.logit))
            assert seen["probability"] == pytest.approx(probability, abs=TOLERANCE)
            assert seen["shown"] == pytest.approx(probability, abs=0.0005 + TOLERANCE)
            for name in ("weights", "contributions"):
                wanted = getattr(expected, name).tolist()
                assert seen[name] == pytest.approx(wanted, abs=TOLERANCE)
    lengths = [len(one[KINDS[0]]["weights"]) for one in shown]
    assert min(lengths) < max(lengths) == 256  # some reviews are whole, and some are cut
