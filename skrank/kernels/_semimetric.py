"""Kernels made of a distance between rankings."""

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Hyperparameter
from sklearn.utils import gen_batches

from skrank._rankings import check_rankings
from skrank._typing import ArrayLike
from skrank.kernels._base import RankingKernel, check_positive
from skrank.kernels._mallows import exponential, exponential_gradient
from skrank.kernels._mallows_gram import mallows_diagonal, mallows_gram, mallows_gram_and_gradient
from skrank.metrics._distances import NEGATIVE_TYPE, check_metric, is_negative_type, ranking_distances


class SemimetricKernel(RankingKernel):
    """Kernel ``exp(-nu d)`` of a distance d of negative type between full rankings.

    Parameters
    ----------
    metric : str, default="spearman"
        A metric of :func:`skrank.metrics.pairwise_ranking_distances`, of negative type: "kendall" (the Mallows kernel),
        "kemeny" (also the Mallows kernel on full rankings; on others, it distinguishes which pairs are left open),
        "spearman", "spearman_footrule", "hamming", or "lp" with p up to 2.
    nu : float, default=0.1
        How fast the similarity decreases with the distance, positive. The inverse of a typical distance is a good
        start.
    p : float, default=2
        Order of metric "lp", from 1 to 2.
    nu_bounds : pair of floats or "fixed", default=(1e-5, 1e2)
        Bounds on `nu` when a Gaussian process optimizes it; "fixed" keeps it constant.
    allow_indefinite : bool, default=False
        Whether to accept "cayley", "chebyshev", and "lp" with p above 2, whose kernels are not positive definite:
        exp(-0.3 d) of the Cayley distance has a negative eigenvalue even for 3 items. Gaussian processes may then fail,
        and support vector machines may find local optima.
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    Raises
    ------
    ValueError
        If a row has ties (unless `metric` is "kendall" or "kemeny") or missing items (unless it is "kemeny"): use
        :class:`MarginalizedKernel` to average over consistent full rankings. If the metric is not of negative type,
        unless `allow_indefinite` is True.

    Notes
    -----
    With "kemeny", the value is not a mean over consistent full rankings: it is 1 for two people who tie the same items.
    If ties are responses, such as equal ratings, rather than missing information, this can be more informative than the
    Mallows kernel, which averages over them.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29, 2019, section 2.2. That exp(-nu d) is positive definite for all nu exactly
    where d is of negative type is a theorem of I. J. Schoenberg (1938).

    Examples
    --------
    >>> from skrank.kernels import SemimetricKernel
    >>> SemimetricKernel("spearman_footrule", nu=0.5)([[1, 2, 3], [3, 2, 1], [1, 3, 2]]).round(3)
    array([[1.   , 0.135, 0.368],
           [0.135, 1.   , 0.135],
           [0.368, 0.135, 1.   ]])
    """

    def __init__(
        self,
        metric: str = "spearman",
        nu: float = 0.1,
        p: float = 2,
        nu_bounds: tuple[float, float] | str = (1e-5, 1e2),
        allow_indefinite: bool = False,
        missing_values: float = np.nan,
    ) -> None:
        self.metric = metric
        self.nu = nu
        self.p = p
        self.nu_bounds = nu_bounds
        self.allow_indefinite = allow_indefinite
        self.missing_values = missing_values

    @property
    def hyperparameter_nu(self) -> Any:
        """The specification of `nu` for Gaussian processes."""
        return Hyperparameter("nu", "numeric", self.nu_bounds)

    @property
    def exact_on(self) -> frozenset[str]:
        """Partial rankings for which the kernel is defined: as its own marginalization, or by the Kemeny distance."""
        return {"kendall": frozenset({"ties"}), "kemeny": frozenset({"ties", "missing"})}.get(self.metric, frozenset())

    @property
    def _metric(self):
        return self.metric

    @property
    def _metric_params(self):
        return {"p": self.p} if self.metric == "lp" else {}

    def _check_parameters(self):
        check_positive(self.nu, "nu", self)
        check_kernel_metric(self.metric, self.p, self)

    def _pairwise(self, ranks, other_ranks=None):
        if self.metric == "kendall":
            return mallows_gram(ranks, other_ranks, self.nu)
        return _exponential_in_place(ranking_distances(ranks, other_ranks, self.metric, self.p), self.nu)

    def _pairwise_and_gradient(self, ranks):
        if self.hyperparameter_nu.fixed:
            return super()._pairwise_and_gradient(ranks)
        if self.metric == "kendall":
            gram, gradient = mallows_gram_and_gradient(ranks, self.nu)
            return gram, gradient[..., None]
        distances = ranking_distances(ranks, None, self.metric, self.p)
        gradient = exponential_gradient(distances, self.nu, False)
        return _exponential_in_place(distances, self.nu), gradient

    def _diag(self, ranks):
        return mallows_diagonal(ranks, self.nu) if self.metric == "kendall" else np.ones(len(ranks))

    def _of_distance(self, distances, n_items):
        return exponential(distances, self.nu)

    def _of_distance_gradient(self, distances, n_items):
        return exponential_gradient(distances, self.nu, self.hyperparameter_nu.fixed)


class DistanceInducedKernel(RankingKernel):
    """Kernel ``(d(s, c) + d(t, c) - d(s, t)) / 2`` that a distance d induces around a full ranking c.

    Its own distance ``k(s, s) + k(t, t) - 2 k(s, t)`` is d again, whatever the center.

    Parameters
    ----------
    metric : str, default="kendall"
        A metric of :func:`skrank.metrics.pairwise_ranking_distances`, of negative type: "kendall", "kemeny",
        "spearman_footrule", "spearman", "hamming", or "lp" with p up to 2.
    center : array-like of shape (n_items,), default=None
        Ranks of the items under c, which is a full ranking; None means the items in the order of the columns. The
        kernel is 0 at the center.
    p : float, default=2
        Order of metric "lp", from 1 to 2.
    allow_indefinite : bool, default=False
        Whether to accept "cayley", "chebyshev", and "lp" with p above 2, whose kernels are not positive definite.
    missing_values : float, default=NaN
        A number that represents missing items in addition to NaN, for callers that reject NaN.

    Raises
    ------
    ValueError
        If a row has ties or missing items (use :class:`MarginalizedKernel` to average over consistent full rankings);
        if the metric is not of negative type, unless `allow_indefinite` is True; if `center` is not a full ranking with
        the same number of items.

    References
    ----------
    D. Sejdinovic, B. Sriperumbudur, A. Gretton, K. Fukumizu, "Equivalence of distance-based and RKHS-based statistics
    in hypothesis testing", Annals of Statistics 41, 2013.

    Examples
    --------
    >>> from skrank.kernels import DistanceInducedKernel
    >>> DistanceInducedKernel()([[1, 2, 3], [3, 2, 1], [1, 3, 2]])
    array([[0., 0., 0.],
           [0., 3., 1.],
           [0., 1., 1.]])
    """

    def __init__(
        self,
        metric: str = "kendall",
        center: ArrayLike | None = None,
        p: float = 2,
        allow_indefinite: bool = False,
        missing_values: float = np.nan,
    ) -> None:
        self.metric = metric
        self.center = center
        self.p = p
        self.allow_indefinite = allow_indefinite
        self.missing_values = missing_values

    def _check_parameters(self):
        check_kernel_metric(self.metric, self.p, self)

    def _check_items(self, n_items):
        self._center_ranks(n_items)

    def _center_ranks(self, n_items):
        """The center as one densified full ranking, shape (1, n_items)."""
        if self.center is None:
            return check_rankings(np.arange(n_items)[None])
        remedy = "The center is one full ranking: the ranks it gives the items."
        center = check_rankings(
            np.reshape(self.center, (1, -1)), input_name="center", allow_missing=False, allow_ties=False, remedy=remedy
        )
        if center.shape[1] != n_items:
            raise ValueError(f"center ranks {center.shape[1]} items, but the rankings have {n_items}.")
        return center

    def _pairwise(self, ranks, other_ranks=None):
        center = self._center_ranks(ranks.shape[1])
        from_center = ranking_distances(ranks, center, self.metric, self.p)
        other = from_center if other_ranks is None else ranking_distances(other_ranks, center, self.metric, self.p)
        values = ranking_distances(ranks, other_ranks, self.metric, self.p)
        for rows in gen_batches(len(values), 128):
            block = values[rows]
            np.subtract(from_center[rows], block, out=block)
            block += other.T
            block /= 2
        return values

    def _diag(self, ranks):
        return ranking_distances(ranks, self._center_ranks(ranks.shape[1]), self.metric, self.p)[:, 0]


def check_kernel_metric(metric, p, kernel):
    """Raise unless a distance makes a positive definite kernel, or the kernel says that it need not."""
    check_metric(metric, p)
    if not kernel.allow_indefinite and not is_negative_type(metric, p):
        order = f" with p={p!r}" if metric == "lp" else ""
        raise ValueError(
            f"metric={metric!r}{order} is not of negative type: {type(kernel).__name__} is not positive definite. "
            f"Use one of {', '.join(NEGATIVE_TYPE)} (lp with p up to 2), or allow_indefinite=True."
        )


def _exponential_in_place(distances, nu):
    for rows in gen_batches(len(distances), 128):
        block = distances[rows]
        block *= -nu
        np.exp(block, out=block)
    return distances
