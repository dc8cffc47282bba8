"""The polynomial kernel of Kendall's, and its marginalization by the cumulants of the Kendall distance."""

from math import comb
from numbers import Integral

import numpy as np
from scipy.special import bernoulli

from skrank._rankings import bucket_sizes, rows_with_ties
from skrank.kernels._base import RankingKernel
from skrank.kernels._kendall import n_pairs_of
from skrank.kernels._mallows_gram import sum_terms
from skrank.metrics._distances import ranking_distances


class PolynomialKendallKernel(RankingKernel):
    """Polynomial kernel ``(1 + tau) ** degree`` of the Kendall kernel tau.

    It is linear in products of up to `degree` pairwise preferences. The Kendall kernel is linear in single preferences,
    and the Mallows kernel contains products of any number. On rankings with ties, such as top-k lists that tie the
    other items last, it is the mean over all full rankings consistent with each of the two, in closed form.

    Parameters
    ----------
    degree : int, default=2
        At least 1.
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    See Also
    --------
    KendallKernel : Degree 1 without the constant 1; also exact with missing items.
    MallowsKernel : All degrees at once.

    Notes
    -----
    Values are between 0 and ``2 ** degree``. A missing item raises an error that names the row; use
    :class:`MarginalizedKernel` to average over consistent full rankings.

    The closed form uses the Kendall distance of two random full rankings, each consistent with one argument. Its moment
    generating function is the marginalized Mallows kernel, so its cumulants are sums over buckets and over cells, which
    are the sets of items that a bucket of one ranking shares with a bucket of the other. With ``kappa_r(m)`` the r-th
    cumulant of the number of inversions of a random permutation of m items, which is ``B_r / r * sum_j (j ** r - 1)``
    for r > 1 with Bernoulli's number B_r, the r-th cumulant of the distance is ``kappa_r`` of the size of every bucket
    of either ranking, less ``kappa_r`` of the size of every cell. The moments of ``1 + tau`` follow from its cumulants.

    References
    ----------
    H. Mania, A. Ramdas, M. Wainwright, M. Jordan, B. Recht, "On kernel methods for covariates that are rankings",
    Electronic Journal of Statistics 12, 2018: the kernel; listed in section 2.2 of M. Lomeli, M. Rowland, A. Gretton,
    Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial rankings", Statistics and Computing 29,
    2019.

    Examples
    --------
    >>> from skrank.kernels import PolynomialKendallKernel
    >>> PolynomialKendallKernel(degree=2)([[1, 2, 3], [3, 2, 1], [1, 2, 2]]).round(3)
    array([[4.   , 0.   , 2.889],
           [0.   , 4.   , 0.222],
           [2.889, 0.222, 2.889]])
    """

    exact_on = frozenset({"ties"})
    _metric = "kendall"

    def __init__(self, degree: int = 2, missing_values: float = np.nan) -> None:
        self.degree = degree
        self.missing_values = missing_values

    def _check_parameters(self):
        if not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"degree of PolynomialKendallKernel must be a positive int, got {self.degree!r}.")

    def _pairwise(self, ranks, other_ranks=None):
        means = ranking_distances(ranks, other_ranks)
        tied = rows_with_ties(ranks).any() or (other_ranks is not None and rows_with_ties(other_ranks).any())
        cumulants = {}
        for order in range(2, self.degree + 1, 2) if tied else ():  # odd ones are 0
            kappa = inversion_cumulants(ranks.shape[1], order)
            cumulants[order] = sum_terms(ranks, other_ranks, 0.0, -kappa, kappa)
        return self._mean_power(means, cumulants, ranks.shape[1])

    def _diag(self, ranks):
        n_items = ranks.shape[1]
        sizes = bucket_sizes(ranks)
        cumulants = {
            order: inversion_cumulants(n_items, order)[sizes].sum(axis=1) for order in range(2, self.degree + 1, 2)
        }
        return self._mean_power((sizes * (sizes - 1)).sum(axis=1) / 4, cumulants, n_items)

    def _mean_power(self, means, cumulants, n_items):
        """Mean of ``(1 + tau) ** degree`` from mean and further cumulants of the distance, which it overwrites."""
        slope = -2 / max(n_pairs_of(n_items), 1)
        first = self._of_distance_linear(means, n_items)
        for order, values in cumulants.items():
            values *= slope**order
        if not cumulants:
            return first**self.degree
        moments = [np.ones_like(first), first]
        for power in range(2, self.degree + 1):
            moment = first * moments[-1]
            for order, values in cumulants.items():
                if order <= power:
                    moment += comb(power - 1, order - 1) * values * moments[power - order]
            moments.append(moment)
        return moments[self.degree]

    def _of_distance_linear(self, distances, n_items):
        n_pairs = n_pairs_of(n_items)
        return 1 + (n_pairs - 2 * np.asarray(distances, float)) / max(n_pairs, 1)

    def _of_distance(self, distances, n_items):
        return self._of_distance_linear(distances, n_items) ** self.degree


def inversion_cumulants(n_items, order):
    """Cumulant of an even order of the number of inversions of a random permutation of m = 0, ..., n_items items."""
    j = np.arange(n_items + 1.0)
    terms = bernoulli(order)[order] / order * (j**order - 1)
    terms[0] = 0
    return np.cumsum(terms)
