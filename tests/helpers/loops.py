"""One test for many cases instead of one test per case; each that fails is reported by name."""

import inspect
import itertools

import torch


def for_each(**axes):
    """Call a test with every combination of the values of its arguments, as subtests.

    It is used like pytest's ``parametrize``, and each case starts with the same seed.
    """

    def decorate(test):
        earlier = inspect.signature(test).parameters.values()
        fixtures = [each for each in earlier if each.name not in axes]

        def looped(subtests, **values):
            for combination in itertools.product(*axes.values()):
                case = dict(zip(axes, combination, strict=True))
                torch.manual_seed(0)
                label = {k: getattr(v, "__name__", None) or str(v) for k, v in case.items()}
                with subtests.test(**label):
                    test(**values, **case)

        looped.__name__, looped.__doc__ = test.__name__, test.__doc__
        looped.__module__ = test.__module__
        subtests = inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        looped.__signature__ = inspect.Signature([subtests, *fixtures])
        return looped

    return decorate
