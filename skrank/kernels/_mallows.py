"""The Mallows kernel."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter

from skrank._sparse_rankings import Lists, as_lists, have_ties, to_ranks
from skrank.kernels._base import RankingKernel, check_positive
from skrank.kernels._lists import are_lists
from skrank.kernels._mallows_gram import (
    mallows_diagonal,
    mallows_gram,
    mallows_gram_and_gradient,
    mallows_lists,
    mallows_lists_diagonal,
)


class MallowsKernel(RankingKernel):
    """Mallows kernel ``exp(-nu n_d)`` of the number n_d of pairs that two rankings order differently.

    On rankings with ties, such as top-k lists that tie the other items last, it is the mean over all full rankings
    consistent with each of the two, in closed form. On full rankings, the kernel is characteristic: it distinguishes
    any two distributions of them. It depends on partial rankings only through the full rankings that they stand for.

    Parameters
    ----------
    nu : float, default=0.1
        How fast the similarity decreases with each discordant pair, positive. Near 0, the kernel is linear in the
        number of discordant pairs, like the Kendall kernel; for large values, only equal rankings are similar. The
        inverse of a typical distance is a good start: for random full rankings, it is ``4 / (n_items * (n_items -
        1))``.
    nu_bounds : pair of floats or "fixed", default=(1e-5, 1e2)
        Bounds on `nu` when a Gaussian process optimizes it; "fixed" keeps it constant.
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    See Also
    --------
    KendallKernel : Linear in the pairs; also exact with missing items.
    MarginalizedKernel : For rankings with missing items, by sampling.
    skrank.kernel_approximation.MallowsFeatures : In time linear in the number of rankings.

    Notes
    -----
    A missing item raises an error that names the row, because no closed form is known for such rankings.

    The Gram matrix takes about one float32 matrix product of pair signs and one table lookup or exponential for each
    value. In addition to the result, it needs at most scikit-learn's ``working_memory``.

    The kernel is from [1]_; [2]_ marginalizes it over partial rankings by sampling. The closed form uses q = exp(-nu),
    the q-factorial ``[m]_q!``, ``g(m) = [m]_q! / m!``, and cells, which are the sets of items that a bucket of one
    ranking shares with a bucket of the other. K is the product of three factors: q to the power of the number of pairs
    that both rankings order strictly and in opposite directions; g of the size of every bucket of either ranking; and 1
    / g of the size of every cell.

    References
    ----------
    .. [1] Y. Jiao, J.-P. Vert, "The Kendall and Mallows kernels for permutations", ICML 2015.
    .. [2] M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
       rankings", Statistics and Computing 29, 2019.

    Examples
    --------
    >>> from skrank.kernels import MallowsKernel
    >>> X = [[1, 2, 3], [3, 2, 1], [1, 2, 2]]
    >>> MallowsKernel(nu=0.5)(X).round(3)
    array([[1.   , 0.223, 0.803],
           [0.223, 1.   , 0.296],
           [0.803, 0.296, 0.803]])

    A Gaussian process that learns `nu`:

    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> y = [0.0, 1.0, 0.2]
    >>> GaussianProcessRegressor(MallowsKernel(), alpha=0.01).fit(X, y).predict([[2, 1, 3]]).shape
    (1,)
    """

    exact_on = frozenset({"ties"})
    _metric = "kendall"

    def __init__(
        self, nu: float = 0.1, nu_bounds: tuple[float, float] | str = (1e-5, 1e2), missing_values: float = np.nan
    ) -> None:
        self.nu = nu
        self.nu_bounds = nu_bounds
        self.missing_values = missing_values

    @property
    def hyperparameter_nu(self) -> Any:
        """The specification of `nu` for Gaussian processes."""
        return Hyperparameter("nu", "numeric", self.nu_bounds)

    def _check_parameters(self):
        check_positive(self.nu, "nu", self)

    def _prepare(self, ranks):
        lists = as_lists(ranks)
        return ranks if lists is None or self._prepare_lists(lists) is None else lists

    def _prepare_lists(self, lists):
        return lists if lists.tied_last and not have_ties(lists) else None

    def _pairwise(self, ranks, other_ranks=None):
        if are_lists(ranks, other_ranks):
            return mallows_lists(ranks, other_ranks, self.nu)
        return mallows_gram(to_ranks(ranks), to_ranks(other_ranks), self.nu)

    def _pairwise_and_gradient(self, ranks):
        if self.hyperparameter_nu.fixed:
            return super()._pairwise_and_gradient(ranks)
        ranks = to_ranks(ranks)
        gram, gradient = mallows_gram_and_gradient(ranks, self.nu)
        return gram, gradient[..., None]

    def _diag(self, ranks):
        return mallows_lists_diagonal(ranks, self.nu) if isinstance(ranks, Lists) else mallows_diagonal(ranks, self.nu)

    def _of_distance(self, distances, n_items):
        return exponential(distances, self.nu)

    def _of_distance_gradient(self, distances, n_items):
        return exponential_gradient(distances, self.nu, self.hyperparameter_nu.fixed)


def exponential(distances, nu):
    """``exp(-nu d)``."""
    return np.exp(-nu * np.asarray(distances, float))


def exponential_gradient(distances, nu, fixed):
    """Its derivative in log nu on a new last axis, which is empty if nu is fixed."""
    exponent = -nu * np.asarray(distances, float)
    gradient = (exponent * np.exp(exponent))[..., None]
    return gradient[..., :0] if fixed else gradient
