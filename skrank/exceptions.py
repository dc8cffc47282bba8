"""Warnings of skrank, in addition to those of `sklearn.exceptions`."""

__all__ = ["ComponentLimitWarning", "InsufficientDataWarning", "SeparationWarning"]


class ComponentLimitWarning(UserWarning):
    """The automatic number of components reached the allowed maximum, so there may be more.

    Examples
    --------
    >>> import warnings
    >>> from skrank import MallowsMixture
    >>> from skrank.datasets import make_mallows_mixture
    >>> from skrank.exceptions import ComponentLimitWarning
    >>> X, _ = make_mallows_mixture(600, 6, n_components=3, phi=0.3, random_state=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mixture = MallowsMixture("auto", max_components=3, random_state=0).fit(X)
    >>> any(warning.category is ComponentLimitWarning for warning in caught)
    True
    """


class InsufficientDataWarning(UserWarning):
    """The data are insufficient for the requested result; the message describes what is lacking and what to do.

    See Also
    --------
    sklearn.exceptions.ConvergenceWarning : An iteration stopped before it converged.

    Examples
    --------
    Stop where a result would not be reliable:

    >>> import warnings
    >>> from skrank import MallowsMixture
    >>> from skrank.datasets import make_rankings
    >>> from skrank.exceptions import InsufficientDataWarning
    >>> X = make_rankings(12, 8, phi=0.9, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", InsufficientDataWarning)
    ...     try:
    ...         MallowsMixture(n_components=1).fit(X)
    ...     except InsufficientDataWarning:
    ...         print("too few rankings")
    too few rankings
    """


class SeparationWarning(UserWarning):
    """Parameters that a method needs to differ are close to equal; the message names them and the method to use.

    Examples
    --------
    >>> import warnings
    >>> from skrank import SeparatedMallowsMixture
    >>> from skrank.datasets import make_mallows_mixture
    >>> from skrank.exceptions import SeparationWarning
    >>> X, _ = make_mallows_mixture(600, 6, n_components=2, phi=0.3, random_state=0)    # one dispersion for both
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mixture = SeparatedMallowsMixture(n_components=2, random_state=0).fit(X)
    >>> any(warning.category is SeparationWarning for warning in caught)
    True
    """
