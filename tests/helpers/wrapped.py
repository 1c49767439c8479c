"""A reader's own modules around all parts of a model, which compute the same and show nothing."""

import copy

from torch import nn


class Wrapped(nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.inside = inside

    def forward(self, *arguments, **options):
        return self.inside(*arguments, **options)


def wrap(model):
    """Copy a model with each of its parts, but not the lists of them, inside another module."""
    model = copy.deepcopy(model)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if not isinstance(child, nn.ModuleList | nn.Sequential):
                setattr(module, name, Wrapped(child))
    return model
