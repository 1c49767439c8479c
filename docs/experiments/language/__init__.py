"""The small model that writes: its data, its training, and what its heads do."""
