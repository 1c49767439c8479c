"""What the page shows is what torch computes from the same rounded numbers."""

import pytest
import torch
from trained_models import KINDS, answer, reviews

TOLERANCE = 1e-5

# Types each review into the page and reads what a reader sees.
READ = """async ({ kind, texts, distractor }) => {
  const hook = (name) => document.querySelector(`[data-testid="${name}"]`);
  const put = (part, value) => {
    part.value = value;
    part.dispatchEvent(new Event("input", { bubbles: true }));
  };
  await lab.models.load(kind);
  put(hook("model-select"), kind);
  await new Promise((resolve) => setTimeout(resolve, 100));
  if (hook("distractor").checked !== Boolean(distractor)) hook("distractor").click();
  if (distractor) put(hook("distractor-input"), distractor);
  return texts.map((text) => {
    put(hook("review-input"), text);
    const tokens = [...document.querySelectorAll("[data-testid=token]:not(.skipped)")];
    return {
      probability: Number(hook("probability").dataset.value),
      shown: Number(hook("probability").textContent),
      weights: tokens.map((token) => Number(token.dataset.weight)),
    };
  });
}"""


def per_word(weights):
    return weights.mean(dim=0) if weights.dim() == 2 else weights


@pytest.mark.parametrize("kind", KINDS)
def test_500_reviews(lab, kind):
    texts = reviews(500)
    seen = lab.evaluate(READ, {"kind": kind, "texts": texts, "distractor": ""})
    lengths = set()
    for text, one in zip(texts, seen, strict=True):
        probability, weights = answer(kind, text)
        assert one["probability"] == pytest.approx(probability, abs=TOLERANCE)
        assert one["shown"] == pytest.approx(probability, abs=TOLERANCE)
        expected = per_word(weights)
        assert len(one["weights"]) == len(expected)
        assert (torch.tensor(one["weights"]) - expected).abs().max() < TOLERANCE
        lengths.add(len(expected))
    assert max(lengths) == 256
    assert min(lengths) < 100


@pytest.mark.parametrize("kind", KINDS)
def test_50_reviews_behind_a_distractor(lab, kind):
    texts, distractor = reviews(50), "A dull film, the worst of the year."
    seen = lab.evaluate(READ, {"kind": kind, "texts": texts, "distractor": distractor})
    for text, one in zip(texts, seen, strict=True):
        probability, weights = answer(kind, text, distractor)
        assert one["probability"] == pytest.approx(probability, abs=TOLERANCE)
        assert (torch.tensor(one["weights"]) - per_word(weights)).abs().max() < TOLERANCE


def test_the_whole_map_of_qkv(lab):
    ask = """async (texts) => {
      const [ids, model] = await Promise.all(["words", "qkv"].map(lab.models.load));
      return texts.map((text) => lab.tokens.readReview(model, ids, text).map);
    }"""
    texts = reviews(12)
    for text, weights in zip(texts, lab.evaluate(ask, texts), strict=True):
        _, expected = answer("qkv", text)
        assert (torch.tensor(weights) - expected).abs().max() < TOLERANCE
