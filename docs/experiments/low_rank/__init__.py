"""How much of the rank of QKᵀ a classifier of reviews uses, and how narrow its keys may be."""
