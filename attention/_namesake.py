"""Say so where another distribution has written its files among ours."""

import warnings
from importlib.metadata import PackageNotFoundError, distribution

OURS = "attention/__init__.py"


def warn_of_namesake() -> None:
    """Warn if PyPI's ``attention``, a Keras layer, shares this environment.

    It is imported under our name. No installer refuses to install both, although the second one
    overwrites a file of the first. If that was ours, nothing here runs any more and nothing here
    can warn. Therefore this speaks while all still works.
    """
    try:
        files = distribution("attention").files or []
    except PackageNotFoundError:
        return
    if OURS in map(str, files):
        warnings.warn(
            "the package attention, a Keras layer, is installed here, too. Both have a file "
            f"{OURS}, so removing or upgrading that package breaks this one. Give it an "
            "environment of its own: pip uninstall attention, then install attention-tutorial "
            "again, with --force-reinstall --no-deps",
            stacklevel=3,  # the line that imports attention
        )
