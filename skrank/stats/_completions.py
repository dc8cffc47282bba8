"""Completions: the full rankings that are consistent with partial ones, drawn, counted and recognized.

A partial ranking is the set of its completions, R in the terms of Lomeli et al.: the full rankings that put every item
of a bucket before every item of a later one. Missing items may have any place.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._mallows import mirror
from skrank._random import as_generator
from skrank._rankings import (
    MISSING,
    bucket_sizes,
    check_rankings,
    n_ranked,
    named_like,
    row_blocks,
    to_rank_matrix,
)
from skrank._typing import Array, ArrayLike, Floats, RandomState, validate_params
from skrank.kernels._sampling import check_prior, sample_consistent

_SAMPLING = {
    "X": ["array-like"],
    "n_draws": [Interval(Integral, 1, None, closed="left")],
    "method": [StrOptions({"monte_carlo", "antithetic"})],
    "prior": "no_validation",
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Completions:
    """Result of :func:`sample_completions`.

    Attributes
    ----------
    ranks : ndarray of shape (n_samples, n_draws, n_items)
        Full rankings, ranks 0, ..., n_items - 1.
    weights : ndarray of shape (n_samples, n_draws)
        What each draw counts for, a sum of 1 for each ranking. Equal, except where a prior can only weight uniform
        draws (self-normalized importance weights).
    """

    ranks: np.ndarray
    weights: np.ndarray

    @property
    def effective_sample_size(self) -> Floats:
        """1 / (sum of squared weights) of each ranking, n_draws where they are equal, shape (n_samples,)."""
        return 1 / (self.weights**2).sum(axis=1)


@validate_params(_SAMPLING, prefer_skip_nested_validation=True)
def sample_completions(
    X: ArrayLike,
    n_draws: int = 16,
    *,
    method: Literal["monte_carlo", "antithetic"] = "antithetic",
    prior: Any = None,
    random_state: RandomState = 0,
) -> Completions:
    """Draw full rankings that are consistent with partial rankings.

    The draws for a ranking are a function of only the ranking and `random_state`: a row has the same completions in
    training and test data, in every fold and in every batch.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing.
    n_draws : int, default=16
        Number of completions for each ranking.
    method : {"antithetic", "monte_carlo"}, default="antithetic"
        "antithetic": draws 2 i and 2 i + 1 are antithetic to each other (Algorithm 1 of [1]_, extended to any bucket
        order and to missing items). Each draw is uniform, and without missing items the two are as far apart as
        possible. "monte_carlo": independent draws.
    prior : distribution, default=None
        Prior distribution of full rankings; None means uniform. Draws for a :class:`~skrank.stats.mallows` prior are
        from its conditional distribution if that is feasible. Any other object needs a method ``logpmf(X)``, which
        determines weights of uniform draws.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    completions : Completions
        With attributes `ranks`, `weights` and `effective_sample_size`.

    Raises
    ------
    TypeError
        If `prior` is not a distribution.
    ValueError
        If X is not a valid rank matrix, or if `prior` is a distribution over a different number of items.

    See Also
    --------
    complete_rankings : One completion of each ranking, as a rank matrix.

    References
    ----------
    .. [1] M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
       rankings", Statistics and Computing 29, 2019.

    Examples
    --------
    A ballot that names its first choice among four, and its two antithetic completions:

    >>> from skrank.stats import sample_completions
    >>> sample_completions([[0, 1, 1, 1]], n_draws=2).ranks
    array([[[0, 3, 1, 2],
            [0, 1, 3, 2]]])
    """
    ranks = check_rankings(X)
    if prior is not None:
        check_prior(prior, ranks.shape[1])
    samples = sample_consistent(ranks, n_draws, _seed(random_state), method=method, prior=prior)
    weights = np.full(samples.positions.shape[:2], 1 / n_draws) if samples.weights is None else samples.weights
    return Completions(samples.positions.astype(np.intp), weights)


@validate_params(
    {"X": ["array-like"], "prior": "no_validation", "random_state": ["random_state"]},
    prefer_skip_nested_validation=True,
)
def complete_rankings(X: ArrayLike, *, prior: Any = None, random_state: RandomState = 0) -> Floats:
    """Return one completion of each partial ranking, as a full rank matrix from one draw of `sample_completions`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing.
    prior : distribution, default=None
        As in `sample_completions`; None means uniform. The draw is exact for a :class:`~skrank.stats.mallows`
        distribution if conditioning on the rows is feasible. Otherwise it is an error, because a single weighted draw
        would not depend on the prior.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws; each seed gives a different imputation.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_items), float64
        Ranks 0, ..., n_items - 1. A DataFrame of rankings gives a DataFrame with the same rows and columns.

    Raises
    ------
    ValueError
        If `prior` cannot be drawn from.

    Examples
    --------
    Multiple imputation, one pipeline for each:

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from skrank.stats import complete_rankings
    >>> X, y = [[0, 1, 1, 1], [1, 0, 1, 1], [0, 1, 2, 2], [2, 0, 1, 2]], [0, 1, 0, 1]
    >>> models = [
    ...     make_pipeline(FunctionTransformer(complete_rankings, kw_args={"random_state": seed}), LogisticRegression())
    ...     for seed in range(5)
    ... ]
    >>> np.mean([model.fit(X, y).predict_proba(X)[:, 1] for model in models], axis=0).round(1)
    array([0.1, 0.8, 0.2, 0.8])
    """
    ranks = check_rankings(X)
    if prior is not None:
        check_prior(prior, ranks.shape[1])
    # A second draw would tell whether the first is weighted; of one alone the weight is 1.
    samples = sample_consistent(
        ranks, 2 if prior is not None else 1, _seed(random_state), method="monte_carlo", prior=prior
    )
    if samples.weights is not None:
        raise ValueError(
            f"prior={prior!r} cannot be drawn from given these rankings, so one completion of each says nothing of it. "
            "Use sample_completions, whose draws have weights."
        )
    return named_like(X, samples.positions[:, 0].astype(np.float64))


def _seed(random_state):
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(as_generator(random_state).integers(2**31))


def log_n_completions(X: ArrayLike) -> Floats:
    """Logarithm of the number of full rankings that are consistent with each partial ranking.

    The items of a bucket can have any order, and missing items can have any position. For m of n items ranked in
    buckets of sizes m_b, the number is n! / m! times the product of the m_b!.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing.

    Returns
    -------
    log_counts : ndarray of shape (n_samples,)
        0 for a full ranking, log n! if nothing is ordered.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.stats import log_n_completions
    >>> np.exp(log_n_completions([[0, 1, 2, 3], [0, 1, 1, 1], [0, 1, np.nan, np.nan]])).round()
    array([ 1.,  6., 12.])
    """
    ranks = check_rankings(X)
    counts = np.empty(len(ranks))
    log_factorials = gammaln(np.arange(ranks.shape[1] + 1) + 1.0)
    for rows in row_blocks(len(ranks), 32 * ranks.shape[1]):
        inside = log_factorials[bucket_sizes(ranks[rows])].sum(axis=1)
        counts[rows] = log_factorials[-1] - log_factorials[n_ranked(ranks[rows])] + inside
    return counts


def is_completion(rankings: ArrayLike, X: ArrayLike) -> Array:
    """Check whether full rankings are consistent with partial rankings, row by row.

    Parameters
    ----------
    rankings : array-like of shape (n_samples, n_items) or (n_samples, n_draws, n_items)
        Full rankings: one, or several, for each row of X.
    X : array-like of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing.

    Returns
    -------
    consistent : ndarray of shape (n_samples,) or (n_samples, n_draws), bool

    Raises
    ------
    ValueError
        If the shapes do not match, or if `rankings` has ties or missing items.

    Examples
    --------
    >>> from skrank.stats import is_completion
    >>> is_completion([[0, 2, 1], [1, 0, 2]], [[0, 1, 1], [0, 1, 1]])
    array([ True, False])
    """
    partial = check_rankings(X)
    full, shape = _full_rankings(rankings, partial)
    repeats = len(full) // max(len(partial), 1)
    order = np.argsort(full, axis=1)
    ranks = np.take_along_axis(np.repeat(partial, repeats, axis=0), order, axis=1)
    # In the full ranking's order no ranked item has a smaller rank than one before.
    as_large = ranks >= np.maximum.accumulate(ranks, axis=1)
    return (as_large | (ranks == MISSING)).all(axis=1).reshape(shape[:-1])


def nearest_completion(X: ArrayLike, rankings: ArrayLike) -> Floats:
    """Return the completion of each partial ranking that is nearest to a full ranking in Kendall distance.

    It has the order of the full ranking inside every bucket and is unique (the map of Definition 7 of [1]_, by Lemma 4;
    both extend from top-k lists to all rankings without missing items).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix, ties allowed, no missing items.
    rankings : array-like of shape (n_samples, n_items) or (n_samples, n_draws, n_items)
        Full rankings: one, or several, for each row of X.

    Returns
    -------
    ranks : ndarray of the shape of `rankings`, float64
        Full rankings, ranks 0, ..., n_items - 1.

    Raises
    ------
    ValueError
        If the shapes do not match, X has missing items, or `rankings` has ties or missing items.

    References
    ----------
    .. [1] M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
       rankings", Statistics and Computing 29, 2019.

    Examples
    --------
    >>> from skrank.stats import nearest_completion
    >>> nearest_completion([[0, 1, 1, 1]], [[3, 2, 1, 0]])
    array([[0., 3., 2., 1.]])
    """
    partial = check_rankings(
        X, allow_missing=False, remedy="With missing items several completions can be nearest to a full ranking."
    )
    full, shape = _full_rankings(rankings, partial)
    repeats = len(full) // max(len(partial), 1)
    n_items = partial.shape[1]
    key = np.repeat(partial, repeats, axis=0).astype(np.int64) * n_items + full
    return np.argsort(np.argsort(key, axis=1), axis=1).reshape(shape).astype(np.float64)


def _full_rankings(rankings, partial):
    """Full rankings for the rows of a table, validated, one after another; and the shape in which they came."""
    values = np.asarray(rankings, dtype=np.float64)
    if values.ndim not in (2, 3) or values.shape[0] != len(partial) or values.shape[-1] != partial.shape[1]:
        raise ValueError(
            f"rankings must have shape {partial.shape} or ({len(partial)}, n_draws, {partial.shape[1]}), as X has "
            f"shape {partial.shape}, got {values.shape}."
        )
    full = check_rankings(
        values.reshape(-1, values.shape[-1]), input_name="rankings", allow_missing=False, allow_ties=False
    )
    return full, values.shape


def antithetic_completion(X: ArrayLike, rankings: ArrayLike) -> Floats:
    """Return the antithetic of a completion of each partial ranking, in which all that the ranking leaves open is
    reversed.

    For rankings without missing items, it reverses the order inside every bucket (Algorithm 1 of [1]_, extended from
    top-k lists to all bucket orders), which gives the completion with the largest Kendall distance. With missing items,
    all positions are mirrored first, and then the mirrored positions of the ranked items are reassigned among them in
    the order of their buckets. This map is its own inverse on the set of completions, so the antithetic of a uniform
    completion is uniform.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix: lower is preferred, equal ranks are ties, NaN is missing.
    rankings : array-like of shape (n_samples, n_items) or (n_samples, n_draws, n_items)
        Completions: one, or several, of each row of X.

    Returns
    -------
    ranks : ndarray of the shape of `rankings`, float64
        Full rankings, ranks 0, ..., n_items - 1.

    Raises
    ------
    ValueError
        If the shapes do not match, or if a row of `rankings` is not a completion of the corresponding row of X.

    References
    ----------
    .. [1] M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
       rankings", Statistics and Computing 29, 2019.

    Examples
    --------
    >>> from skrank.stats import antithetic_completion
    >>> antithetic_completion([[0, 1, 1, 1]], [[0, 2, 3, 1]])
    array([[0., 2., 1., 3.]])
    """
    partial = check_rankings(X)
    full, shape = _full_rankings(rankings, partial)
    consistent = is_completion(full.reshape(shape), to_rank_matrix(partial)).reshape(-1)
    if not consistent.all():
        repeats = len(full) // len(partial)
        wrong = int(np.argmin(consistent))
        raise ValueError(
            f"rankings has a ranking {full[wrong].tolist()} for row {wrong // repeats} of X that puts items in another "
            "order than that row. Use completions, such as those of sample_completions or nearest_completion."
        )
    return mirror(partial, full.reshape(len(partial), -1, partial.shape[1])).reshape(shape).astype(np.float64)
