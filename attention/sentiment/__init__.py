"""Everything about reviews: from texts to a trained classifier in a run folder."""

from attention._extras import require

require("train", "numpy", "tokenizers", "safetensors", "pydantic", "tqdm", "filelock")
