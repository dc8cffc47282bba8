"""The Mallows distribution over rankings."""

from numbers import Integral, Real
from typing import Literal, Self

import numpy as np

from skrank import _mallows
from skrank._fitting import warn_caller
from skrank._random import as_generator
from skrank._rankings import MISSING, aggregate, check_rankings, check_weights, row_blocks
from skrank._total_variation import TotalVariationResult, total_variation
from skrank._typing import ArrayLike, Floats, Integers, RandomState
from skrank.exceptions import InsufficientDataWarning
from skrank.stats._consensus import kemeny_consensus
from skrank.stats._mallows_likelihood import check_missing, conditional_positions, fit_dispersion, log_probabilities


class mallows:
    r"""The Mallows distribution over full rankings: P(s) = phi^d(s, center) / (normalizing constant).

    d is the Kendall distance, the number of pairs of items that s and the center order differently. phi = 0 puts all
    mass on the center, and phi = 1 is the uniform distribution. The class is used like a frozen distribution of
    :mod:`scipy.stats`.

    A partial ranking stands for the event that the full ranking is consistent with it: `logpmf` returns the probability
    of this event, and `rvs` can be conditioned on it. For rankings with ties, such as top-k lists with the other items
    tied last, the probability has the closed form

    .. math:: P(R) = \varphi^{d(R)} \prod_b [m_b]_\varphi! \; / \; [n]_\varphi!

    where d is the number of pairs that R orders strictly and differently from the center, :math:`m_b` are the sizes of
    its buckets, and :math:`[m]_q! = \prod_{j \le m} (1 + q + \dots + q^{j-1})`. The probabilities of all bucket orders
    with the same bucket sizes sum to 1. With missing items (NaN), no closed form is known: the probability is a sum
    over the sets of missing items and positions in the ranking. It is also exact, but may have at most 2^20 states: (m
    + 1) 2^(n - m) for a ranking of m of n items without ties.

    Parameters
    ----------
    center : array-like of shape (n_items,)
        The central ranking: the rank of each item, lower is preferred, without ties or missing items.
    phi : float in [0, 1]
        Dispersion. The literature also uses theta or nu for -log(phi).

    Attributes
    ----------
    center : ndarray of shape (n_items,)
        Ranks 0, ..., n_items - 1.
    phi : float
        Dispersion.
    nu : float
        Concentration -log(phi), infinite for phi = 0.
    n_items : int
        Number of items.

    References
    ----------
    .. [1] C. L. Mallows, "Non-null ranking models I", Biometrika 44, 1957.
    .. [2] J.-P. Doignon, A. Pekec, M. Regenwetter, "The repeated insertion model for rankings", Psychometrika 69(1),
       2004.

    Examples
    --------
    >>> from skrank.stats import mallows
    >>> model = mallows(center=[0, 1, 2, 3], phi=0.5)
    >>> X = model.rvs(5000, random_state=1)
    >>> X.shape
    (5000, 4)

    The center is the most probable ranking; the probability that item 0 comes first is that of a top-1 list:

    >>> import numpy as np
    >>> np.exp(model.logpmf([[0, 1, 2, 3], [0, 1, 1, 1]])).round(4)
    array([0.2032, 0.5333])
    >>> mallows.fit(X)
    mallows(center=[0, 1, 2, 3], phi=0.501)
    """

    center: Integers
    phi: float

    def __init__(self, center: ArrayLike, phi: float) -> None:
        if np.ndim(center) != 1:
            raise ValueError(f"center must be one ranking, of shape (n_items,), got shape {np.shape(center)}.")
        center = check_rankings(
            [center],
            input_name="center",
            allow_missing=False,
            allow_ties=False,
            remedy="The center of a Mallows distribution is a full ranking.",
        )[0].astype(np.int64)
        if not isinstance(phi, Real) or isinstance(phi, bool) or not 0 <= phi <= 1:
            raise ValueError(f"phi must be a number in [0, 1], got {phi!r}.")
        center.flags.writeable = False
        self.center, self.phi = center, float(phi)

    @property
    def nu(self) -> float:
        """Concentration -log(phi), infinite for phi = 0."""
        return np.inf if self.phi == 0 else max(-np.log(self.phi), 0.0)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.center)

    def __repr__(self) -> str:
        return f"mallows(center={np.array2string(self.center, separator=', ', threshold=20)}, phi={self.phi:.4g})"

    def rvs(
        self,
        size: int | tuple[int, ...] | None = None,
        random_state: RandomState = None,
        *,
        given: ArrayLike | None = None,
    ) -> Integers:
        """Draw full rankings, by repeated insertion.

        Parameters
        ----------
        size : int or tuple of int, default=None
            Number or shape of the draws; None returns a single draw.
        random_state : int, RandomState instance, Generator or None, default=None
            Source of randomness.
        given : array-like of shape (n_samples, n_items), default=None
            Partial rankings. Each draw is conditioned on consistency with one of them. With ties, it is an independent
            Mallows ranking inside each bucket; with missing items, it is drawn position by position from the sum over
            states described above. Both are exact. phi = 0 is the limit phi -> 0: the consistent rankings closest to
            the center.

        Returns
        -------
        ranks : ndarray of shape (\\*size, n_items) or, with `given`, (\\*size, n_samples, n_items)
            Ranks 0, ..., n_items - 1.

        Raises
        ------
        ValueError
            If a row of `given` has so many missing items that exact draws are infeasible.
        """
        shape = _as_shape(size)
        rng = as_generator(random_state)
        if given is None:
            return self._draw(int(np.prod(shape)), rng).reshape(*shape, self.n_items)
        ranks = self._check(given, "given")
        check_missing(ranks, "given")
        n_draws = int(np.prod(shape))
        gaps = (ranks == MISSING).any(axis=1)
        drawn = np.empty((len(ranks), n_draws, self.n_items), np.int64)
        if not gaps.all():
            repeated = np.repeat(ranks[~gaps], n_draws, axis=0)
            drawn[~gaps] = self._draw(len(repeated), rng, repeated).reshape(-1, n_draws, self.n_items)
        if gaps.any():
            drawn[gaps] = conditional_positions(ranks[gaps], self.center, self.nu, n_draws, rng)
        return np.moveaxis(drawn, 0, 1).reshape(*shape, len(ranks), self.n_items)

    def _draw(self, n_samples, rng, ranks=None):
        drawn = np.empty((n_samples, self.n_items), np.int64)
        for rows in row_blocks(n_samples, 80 * self.n_items, max_rows=1 << 15):
            centers = np.broadcast_to(self.center, drawn[rows].shape)
            drawn[rows] = _mallows.sample_mallows(centers, self.nu, rng, None if ranks is None else ranks[rows])
        return drawn

    def logpmf(self, X: ArrayLike) -> Floats:
        """Log probability that a drawn ranking is consistent with each of the given ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Full or partial rankings: equal ranks are ties, NaN is missing.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If a row has so many missing items that the sum over states is infeasible.
        """
        return log_probabilities(self._check(X, "X"), self.center, self.nu)

    def pmf(self, X: ArrayLike) -> Floats:
        """Probability that a drawn ranking is consistent with each of the given ones.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Full or partial rankings, as in `logpmf`.

        Returns
        -------
        probability : ndarray of shape (n_samples,)
            Between 0 and 1.
        """
        return np.exp(self.logpmf(X))

    def log_partition(self) -> float:
        """Logarithm of the normalizing constant, which is the sum of phi^d over all rankings.

        Returns
        -------
        float
            From 0 (phi = 0) to log n! (phi = 1).
        """
        return float(_mallows.log_q_factorial(self.n_items, self.nu)[-1])

    def mean_distance(self) -> float:
        """Expected Kendall distance of a drawn ranking from the center.

        Returns
        -------
        float
            From 0 (phi = 0) to n (n - 1) / 4 (phi = 1).
        """
        return float(_mallows.mean_distance(self.n_items, self.nu)[-1])

    def entropy(self) -> float:
        """Entropy in nats.

        Returns
        -------
        float
            From 0 (phi = 0) to log n! (phi = 1).
        """
        return 0.0 if self.phi == 0 else self.log_partition() + self.nu * self.mean_distance()

    def total_variation(
        self, other: "mallows", *, n_draws: int = 10_000, random_state: RandomState = None
    ) -> TotalVariationResult:
        """Total variation distance to another Mallows distribution over the same items.

        It is exact for equal centers of at most 300 items and for different centers of at most 9 items. Otherwise, it
        is an unbiased estimate from rankings drawn from both distributions.

        Parameters
        ----------
        other : mallows
            The other distribution.
        n_draws : int, default=10000
            Number of rankings drawn if the distance is not exact; the standard error is at most 0.5 / sqrt(n_draws).
        random_state : int, RandomState instance, Generator or None, default=None
            Source of randomness of these draws.

        Returns
        -------
        result : TotalVariationResult
            With attributes `value`, `standard_error`, `is_exact`, `n_draws` and the method
            ``confidence_interval(confidence_level=0.95)``, which is valid for any number of draws.

        Examples
        --------
        >>> from skrank.stats import mallows
        >>> result = mallows([0, 1], 0.5).total_variation(mallows([1, 0], 0.5))
        >>> round(result.value, 4), result.is_exact
        (0.3333, True)
        """
        if not isinstance(other, mallows):
            raise TypeError(f"other must be a mallows distribution, got {type(other).__name__}.")
        if other.n_items != self.n_items:
            raise ValueError(f"other ranks {other.n_items} items, this distribution {self.n_items}.")
        if not isinstance(n_draws, Integral) or n_draws < 2:
            raise ValueError(f"n_draws must be an integer of at least 2, got {n_draws!r}.")
        centers, nus = (self.center, other.center), (self.nu, other.nu)
        return total_variation(centers, nus, int(n_draws), as_generator(random_state))

    @classmethod
    def fit(
        cls, X: ArrayLike, sample_weight: ArrayLike | None = None, *, method: Literal["auto", "exact", "local"] = "auto"
    ) -> Self:
        """Fit a Mallows distribution to rankings by maximum likelihood.

        The center is the Kemeny consensus for any dispersion (see :func:`~skrank.stats.kemeny_consensus`; it is exact
        unless the majorities form a cycle of more than 20 items). phi then solves the moment equation: the mean number
        of disagreements with the center equals its expectation, which for tied rankings depends on their bucket sizes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Full rankings or rankings with ties, such as top-k lists with the others tied last.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights of the rankings. None means 1.
        method : {"auto", "exact", "local"}, default="auto"
            Method for the consensus, as in :func:`~skrank.stats.kemeny_consensus`.

        Returns
        -------
        distribution : mallows

        Raises
        ------
        ValueError
            If X has missing items.

        Warns
        -----
        InsufficientDataWarning
            If no ranking orders any pair of items. phi is then 1.
        """
        ranks = check_rankings(
            X,
            allow_missing=False,
            remedy='If the missing items are worse than the ranked ones, tie them last (unranked="last" where lists '
            "are read); otherwise leave out items or rankings.",
        )
        table = aggregate(ranks, None if sample_weight is None else check_weights(sample_weight, ranks))
        center = kemeny_consensus(table.ranks, sample_weight=table.weights, method=method).ranks
        phi = fit_dispersion(table.ranks, table.weights, center)
        if phi is None:
            warn_caller(
                "No ranking of X orders any pair of items, so the data say nothing of center and phi; phi is set to 1 "
                "(uniform). Give rankings with fewer ties.",
                InsufficientDataWarning,
            )
            phi = 1.0
        return cls(center, phi)

    def _check(self, X, name):
        ranks = check_rankings(X, input_name=name)
        if ranks.shape[1] != self.n_items:
            raise ValueError(f"{name} ranks {ranks.shape[1]} items, this distribution {self.n_items}.")
        return ranks


def _as_shape(size):
    if size is None:
        return ()
    shape = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if not all(isinstance(length, Integral) and int(length) >= 0 for length in shape):
        raise ValueError(f"size must be None, a non-negative integer or a tuple of them, got {size!r}.")
    return shape
