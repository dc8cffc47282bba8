"""The median heuristic: a kernel's scale from the distances in the data."""

from functools import partial

import numpy as np

from skrank._fitting import warn_caller
from skrank._rankings import aggregate
from skrank._sparse_rankings import Lists, as_lists
from skrank.kernels._gram import pairwise_matrix
from skrank.kernels._lists import sign_products
from skrank.kernels._sample_pairs import TASK_ROWS, evaluated_means
from skrank.metrics._distances import ranking_distances


def nu_from_median(ranks, metric="kendall", metric_params=None, *, draw=None, n_jobs=None, track=None):
    """The inverse of the median distance over all pairs of rankings.

    Parameters
    ----------
    ranks : ndarray of shape (n_rankings, n_items), or Lists
        Densified rankings; of lists the Kendall distance alone.
    metric : str, default="kendall"
        Of `ranking_distances`; on partial rankings its expectation over consistent full rankings.
    metric_params : dict, default=None
    draw : callable, default=None
        Function of densified rankings that draws the `Samples` over which the expectation is taken; None means a
        closed form.
    n_jobs, track
        As in `kernel_matrix`.

    Returns
    -------
    nu : float
        1.0, with a warning, if the median is zero or there is no pair.
    """
    if isinstance(ranks, Lists):
        lists, weights = ranks, np.ones(len(ranks))
    else:
        table = aggregate(ranks)
        weights = table.weights
        lists = as_lists(table.ranks) if metric == "kendall" else None
    distances = partial(ranking_distances, metric=metric, **(metric_params or {}))
    if lists is not None:
        n_pairs = lists.n_items * (lists.n_items - 1) / 2
        values = (n_pairs - sign_products(lists)[0]) / 2
    elif draw is None:
        values = pairwise_matrix(distances, table.ranks, track=track)
    else:
        means = partial(evaluated_means, distances)
        values = pairwise_matrix(means, draw(table.ranks), block_rows=TASK_ROWS, n_jobs=n_jobs, track=track)
    upper = np.triu(np.ones(values.shape, bool))
    pairs = np.multiply.outer(weights, weights)
    np.fill_diagonal(pairs, weights * (weights - 1) / 2)
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
