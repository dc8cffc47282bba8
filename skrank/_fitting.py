"""What fits have in common: they are done or they are not, and they warn their caller."""

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def all_or_nothing(fit: Decorated) -> Decorated:
    """Decorate a method that fits: one that raises or is interrupted leaves the estimator unfitted.

    Otherwise attributes of a fit that broke off, or of two different fits, would pass for a fitted estimator.
    """

    @wraps(fit)
    def wrapper(self, *args, **kwargs):
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            raise

    return cast(Decorated, wrapper)


def warn_caller(message, category):
    """Warn of the line that called skrank, through whatever wrappers of scikit-learn."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("skrank", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
