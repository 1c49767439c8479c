"""Self-attention as the pages of this project teach it, in code one would use."""
