"""What the page shows is what torch computes from the same rounded numbers."""

import math

import pytest
import torch
from trained_models import KINDS, answer, reviews

from attention import causal_mask, scaled_dot_product_attention

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
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
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


def test_500_reviews(lab):
    texts = reviews(500)
    seen = lab.evaluate(READ, {"texts": texts, "distractor": ""})
    for text, one in zip(texts, seen, strict=True):
        for kind in KINDS:
            check(one[kind], answer(kind, text))
    lengths = [len(one[KINDS[0]]["weights"]) for one in seen]
    assert max(lengths) == 256
    assert min(lengths) < 100


def test_50_reviews_behind_a_distractor(lab):
    texts, distractor = reviews(50), "A dull film, the worst of the year."
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


# Types a matrix into the sentence lab, chooses who asks, scale and mask, and reads all cells.
SET = """(settings) => settings.map(({ changed, at, scaled, causal }) => {
  const box = document.getElementById("sentence-lab");
  const fire = (part) => part.dispatchEvent(new Event("input", { bubbles: true }));
  for (const [name, rows] of Object.entries(changed)) {
    rows.forEach((row, i) => row.forEach((number, j) => {
      const field = box.querySelector(`input[data-name="${name}.${i}.${j}"]`);
      field.value = number;
      fire(field);
    }));
  }
  for (const [part, on] of [["scaled", scaled], ["causal", causal]]) {
    const field = box.querySelector(`[data-part="${part}"]`);
    field.checked = on;
    fire(field);
  }
  const who = box.querySelector(`input[name=who][value="${at}"]`);
  who.checked = true;
  fire(who);
  const cells = [...box.querySelectorAll("td[data-name]")];
  return Object.fromEntries(cells.map((cell) => [cell.dataset.name, Number(cell.dataset.value)]));
})"""


def test_200_random_settings_of_the_sentence(lab):
    generator = torch.Generator().manual_seed(11)
    shapes = {"x": (6, 3), "W_query": (3, 2), "W_key": (3, 2), "W_value": (3, 2)}
    matrices: dict[str, list] = {}
    settings = []
    for i in range(203):
        # One matrix after the other is drawn anew: each setting differs from the one before.
        name, shape = list(shapes.items())[i % 4]
        drawn = torch.rand(shape, generator=generator, dtype=torch.float64) * 6 - 3
        matrices = {**matrices, name: drawn.round(decimals=4).tolist()}
        changed = {name: matrices[name]}
        settings.append(
            {"matrices": matrices, "changed": changed, "at": i % 6, "scaled": i % 4 < 2}
            | {"causal": i % 8 > 4}
        )
    seen = lab.evaluate(SET, settings)
    # From the fourth on, all four matrices are known.
    for setting, cells in list(zip(settings, seen, strict=True))[3:]:
        x, W_query, W_key, W_value = (
            torch.tensor(setting["matrices"][name], dtype=torch.float64) for name in shapes
        )
        query, key, value = x @ W_query, x @ W_key, x @ W_value  # each (6, 2)
        mask = causal_mask(6) if setting["causal"] else None
        scale = None if setting["scaled"] else 1.0
        context, weights = scaled_dot_product_attention(query, key, value, mask, scale=scale)
        at = setting["at"]
        scores = query[at] @ key.T  # (6,)
        expected = {f"query.{c}": query[at, c] for c in range(2)}
        expected |= {f"context.{c}": context[at, c] for c in range(2)}
        expected |= {f"key.{j}.{c}": key[j, c] for j in range(6) for c in range(2)}
        expected |= {f"value.{j}.{c}": value[j, c] for j in range(6) for c in range(2)}
        expected |= {f"score.{j}": scores[j] for j in range(6)}
        expected |= {f"weight.{j}": weights[at, j] for j in range(6)}
        expected |= {f"map.{i}.{j}": weights[i, j] for i in range(6) for j in range(6)}
        for name, number in expected.items():
            assert cells[name] == pytest.approx(number.item(), abs=TOLERANCE), (name, setting)
        for j in range(6):
            factor = 2**-0.5 if setting["scaled"] else 1.0
            hidden = setting["causal"] and j > at
            scaled = -float("inf") if hidden else scores[j].item() * factor
            assert cells[f"scaled.{j}"] == pytest.approx(scaled, abs=TOLERANCE)
