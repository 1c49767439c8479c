"""QKᵀ in a real model: spectra, rank, biases and scores of the 72 heads of all-MiniLM-L6-v2."""
