"""The layers, one file per family; :mod:`attention.layers.variants` lists those with a name."""
