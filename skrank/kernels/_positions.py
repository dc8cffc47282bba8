"""Kernels that are linear in the items' positions: Hamming and Spearman."""

import numpy as np
from scipy.special import gammaln

from skrank._rankings import MISSING, bucket_places, has_missing, mean_places, n_ranked, row_blocks, rows_with_ties
from skrank.kernels._base import RankingKernel
from skrank.metrics._distances import ranking_distances
from skrank.metrics._pair_products import blocked_products, small_blocks

# Up to so many items a product of position indicators is faster than comparing positions.
PRODUCT_ITEMS = 32


class HammingKernel(RankingKernel):
    """Hamming kernel: the number of items in the same position in two full rankings.

    On partial rankings, it is the mean over all full rankings consistent with each of the two, in closed form: the
    inner product of the probabilities that an item has a position. (For full rankings, this is the trace of one
    permutation matrix times the transpose of the other.)

    Parameters
    ----------
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    Notes
    -----
    The item at position r (from 0) among the m ranked items has position p among all n items with probability ``C(p, r)
    C(n - 1 - p, m - 1 - r) / C(n, m)``. The items of a bucket share the mean over its positions, and the position of a
    missing item is uniform.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29, 2019, section 2.2.

    Examples
    --------
    >>> from skrank.kernels import HammingKernel
    >>> HammingKernel()([[1, 2, 3], [1, 3, 2], [1, 2, 2]])
    array([[3., 1., 2.],
           [1., 3., 2.],
           [2., 2., 2.]])
    """

    exact_on = frozenset({"ties", "missing"})
    _metric = "hamming"

    def __init__(self, missing_values: float = np.nan) -> None:
        self.missing_values = missing_values

    def _pairwise(self, ranks, other_ranks=None):
        return hamming_gram(ranks, other_ranks)

    def _diag(self, ranks):
        return hamming_diagonal(ranks)

    def _of_distance(self, distances, n_items):
        return n_items - np.asarray(distances, float)


class SpearmanKernel(RankingKernel):
    """Spearman kernel: Spearman's rho, the correlation of the items' positions under two full rankings.

    On partial rankings, it is the mean over all full rankings consistent with each of the two, in closed form: the
    inner product of expected positions.

    Parameters
    ----------
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    Notes
    -----
    The value of a ranking with itself is below 1 if it has ties or missing items, and 0 if it is uninformative. With a
    single item, it is 0. SciPy's ``spearmanr`` divides by the standard deviations of tied ranks, which the mean over
    full rankings does not. The item at position r (from 1) among the m ranked items has the expected position r (n + 1)
    / (m + 1) among all n items.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29, 2019, section 2.1, for the distance, of which the kernel is a linear
    function.

    Examples
    --------
    >>> from skrank.kernels import SpearmanKernel
    >>> SpearmanKernel()([[1, 2, 3], [3, 2, 1], [1, 2, 2]]).round(2)
    array([[ 1.  , -1.  ,  0.75],
           [-1.  ,  1.  , -0.75],
           [ 0.75, -0.75,  0.75]])
    """

    exact_on = frozenset({"ties", "missing"})
    _metric = "spearman"

    def __init__(self, missing_values: float = np.nan) -> None:
        self.missing_values = missing_values

    def _pairwise(self, ranks, other_ranks=None):
        positions = standardized_positions(ranks)
        return positions @ (positions if other_ranks is None else standardized_positions(other_ranks)).T

    def _diag(self, ranks):
        return (standardized_positions(ranks) ** 2).sum(axis=1)

    def _of_distance(self, distances, n_items):
        distances = np.asarray(distances, float)
        return 1 - 6 * distances / (n_items * (n_items**2 - 1)) if n_items > 1 else np.zeros(distances.shape)


# ---------------------------------------------------------------- expected positions
def standardized_positions(ranks):
    """Expected positions, centered, and scaled so that those of a full ranking have norm 1 (0 for one item)."""
    n_items = ranks.shape[1]
    places = mean_places(ranks) + 1
    positions = places * ((n_items + 1) / (n_ranked(ranks)[:, None] + 1)) - (n_items + 1) / 2
    positions[ranks == MISSING] = 0
    return positions * np.sqrt(12 / (n_items * (n_items**2 - 1))) if n_items > 1 else positions


# ---------------------------------------------------------------- probabilities of positions
def position_probabilities(ranks, features):
    """Probability that an item has a position in a uniformly random full ranking consistent with each ranking.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Densified rankings.
    features : slice
        Of the pairs (item, position), numbered ``item * n_items + position``.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_features), float64
    """
    n_items = ranks.shape[1]
    items, positions = np.divmod(np.arange(features.start, features.stop), n_items)
    first, size = bucket_places(ranks)
    probabilities = np.empty((len(ranks), len(items)))
    m_of_row = n_ranked(ranks)
    for m in np.unique(m_of_row):
        rows = np.flatnonzero(m_of_row == m)
        below = np.zeros((m + 1, n_items))
        np.cumsum(position_law(n_items, m), axis=0, out=below[1:])
        start, length = np.maximum(first[rows], 0)[:, items], size[rows][:, items]
        mean = below[start + length, positions]
        mean -= below[start, positions]
        mean /= np.maximum(length, 1)
        mean[length == 0] = 1 / n_items
        probabilities[rows] = mean
    return probabilities


def position_law(n_items, m):
    """``P(position p)`` of the item at place r among m ranked of n items, shape (m, n_items)."""
    r, p = np.arange(m)[:, None], np.arange(n_items)
    possible = (p >= r) & (n_items - 1 - p >= m - 1 - r)
    with np.errstate(invalid="ignore"):
        log_law = _log_choose(p, r) + _log_choose(n_items - 1 - p, m - 1 - r) - _log_choose(n_items, m)
    return np.where(possible, np.exp(np.where(possible, log_law, 0)), 0)


def _log_choose(n, k):
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(np.maximum(n - k, 0) + 1.0)


def hamming_gram(ranks, other_ranks=None):
    """Marginalized Hamming kernel of densified rankings; other_ranks None means the same."""
    n_items = ranks.shape[1]
    symmetric = other_ranks is None
    full = _all_full(ranks) and (symmetric or _all_full(other_ranks))
    if full and n_items > PRODUCT_ITEMS:
        return n_items - ranking_distances(ranks, other_ranks, "hamming")
    other_ranks = ranks if symmetric else other_ranks
    values = np.empty((len(ranks), len(other_ranks)))

    def features_of(ranks):
        def fill(rows, features, out):
            block = ranks[rows]
            for part in small_blocks(out):
                out[part] = position_probabilities(block[part], features)

        return fill

    def finish(products, tile, rows, columns):
        tile[...] = products

    left = features_of(ranks)
    right = left if symmetric else features_of(other_ranks)
    dtype = np.float32 if full else np.float64
    blocked_products(values, left, right, n_items**2, dtype, finish, symmetric=symmetric)
    return values


def hamming_diagonal(ranks):
    """Marginalized Hamming kernel of each densified ranking with itself."""
    n_items = ranks.shape[1]
    diagonal = np.zeros(len(ranks))
    for rows in row_blocks(len(ranks), 80 * n_items**2, max_rows=256):
        diagonal[rows] = (position_probabilities(ranks[rows], slice(0, n_items**2)) ** 2).sum(axis=1)
    return diagonal


def _all_full(ranks):
    return not has_missing(ranks) and not rows_with_ties(ranks).any()
