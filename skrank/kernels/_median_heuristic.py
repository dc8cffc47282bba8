"""The median heuristic: a kernel's scale from the distances in the data."""

import numpy as np

from skrank._fitting import warn_caller
from skrank._rankings import aggregate
from skrank.metrics._pair_products import sign_products


def expected_kendall_distances(ranks):
    """Kendall distances between all densified rankings, their expectation over consistent full rankings."""
    n_pairs = ranks.shape[1] * (ranks.shape[1] - 1) / 2
    return sign_products(ranks, slope=-0.5, intercept=n_pairs / 2)


def nu_from_median(ranks, distances=expected_kendall_distances):
    """The inverse of the median distance over all pairs of rankings.

    Parameters
    ----------
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings.
    distances : callable
        Function of densified distinct rankings that gives the square matrix of their distances.

    Returns
    -------
    nu : float
        1.0, with a warning, if the median is zero or there is no pair.
    """
    table = aggregate(ranks)
    values = distances(table.ranks)
    upper = np.triu(np.ones(values.shape, bool))
    pairs = np.multiply.outer(table.weights, table.weights)
    np.fill_diagonal(pairs, table.weights * (table.weights - 1) / 2)
    median = _weighted_median(values[upper], pairs[upper])
    if median > 0:
        return 1 / median
    warn_caller(
        "The median distance between the rankings is 0"
        + (" (there is no pair of them)" if len(ranks) < 2 else "")
        + ": nu='median' is undefined, nu=1 is used. Give nu as a number.",
        UserWarning,
    )
    return 1.0


def _weighted_median(values, counts):
    """The median of values repeated by integer counts; 0 if all counts are 0."""
    total = counts.sum()
    if total == 0:
        return 0.0
    if total <= 2 * len(values):
        # Selection takes a tenth of the time of sorting, where few rankings are repeated.
        return float(np.median(np.repeat(values, counts.astype(np.intp))))
    order = np.argsort(values)
    cumulated = np.cumsum(counts[order])
    middle = cumulated[-1] / 2
    lower = values[order[np.searchsorted(cumulated, middle, side="left")]]
    upper = values[order[np.searchsorted(cumulated, middle, side="right")]]
    return float(lower + upper) / 2
