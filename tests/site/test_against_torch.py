"""What the page shows is what torch computes from the same rounded numbers."""

import math

import pytest
import torch
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


def check(seen, expected):
    probability = 1 / (1 + math.exp(-expected.logit))
    assert seen["probability"] == pytest.approx(probability, abs=TOLERANCE)
    assert seen["shown"] == pytest.approx(probability, abs=TOLERANCE)
    for name in ("weights", "contributions"):
        assert len(seen[name]) == len(getattr(expected, name))
        assert (torch.tensor(seen[name]) - getattr(expected, name)).abs().max() < TOLERANCE


def test_60_reviews(lab):
    texts = reviews(60)
    seen = lab.evaluate(READ, {"texts": texts, "distractor": ""})
    for text, one in zip(texts, seen, strict=True):
        for kind in KINDS:
            check(one[kind], answer(kind, text))
    lengths = [len(one[KINDS[0]]["weights"]) for one in seen]
    assert max(lengths) == 256
    assert min(lengths) < 100


def test_20_reviews_behind_a_distractor(lab):
    texts, distractor = reviews(20), "A dull film, the worst of the year."
    seen = lab.evaluate(READ, {"texts": texts, "distractor": distractor})
    for text, one in zip(texts, seen, strict=True):
        for kind in KINDS:
            check(one[kind], answer(kind, text, distractor))


def test_the_whole_map_of_qkv(lab):
    ask = """async (texts) => {
      const [ids, model] = await Promise.all(["words", "qkv"].map(lab.models.load));
      const { readTokens, tokensOf } = lab.tokens;
      return texts.map((text) => readTokens(model, tokensOf(ids, text)).map.map((row) => [...row]));
    }"""
    texts = reviews(12)
    for text, weights in zip(texts, lab.evaluate(ask, texts), strict=True):
        expected = answer("qkv", text).map
        assert (torch.tensor(weights) - expected).abs().max() < TOLERANCE
