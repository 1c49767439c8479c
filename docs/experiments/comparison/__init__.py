"""The comparison of models: what each attention is worth on the same reviews, with intervals."""
