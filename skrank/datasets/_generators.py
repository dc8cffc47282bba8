"""Generated rankings: from one Mallows model and from mixtures of them."""

from math import comb
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._mallows import sample_mallows
from skrank._random import as_generator
from skrank._rankings import check_rankings, row_blocks
from skrank._typing import ArrayLike, Floats, RandomState, Unranked, validate_params
from skrank.datasets._hamming_mallows import sample_hamming_mallows

_COARSENING_CONSTRAINTS = {
    "top_k": [Interval(Integral, 1, None, closed="left"), tuple, None],
    "unranked": [StrOptions({"last", "missing"})],
    "tie_rate": [Interval(Real, 0, 1, closed="both")],
    "missing_rate": [Interval(Real, 0, 1, closed="left")],
    "random_state": ["random_state"],
}


# ---------------------------------------------------------------- functional core
class Coarsening(NamedTuple):
    """What is taken away from full rankings: see `make_rankings`."""

    top_k: Any = None
    unranked: Unranked = "last"
    tie_rate: float = 0.0
    missing_rate: float = 0.0


FULL = Coarsening()


def _draw(centers, dispersions, rng):
    """One full ranking from the Mallows model of each row, float64 positions."""
    X = np.empty(centers.shape)
    with np.errstate(divide="ignore"):
        nu = -np.log(dispersions)
    for rows in row_blocks(len(X), 80 * X.shape[1], max_rows=1 << 15):
        X[rows] = sample_mallows(centers[rows], nu[rows], rng)
    return X


def _coarsen(X, coarsening, rng):
    """Full rankings with information taken away: tied neighbors, top-k lists, then items missing at random."""
    top_k, unranked, tie_rate, missing_rate = coarsening
    n_samples, n_items = X.shape
    places = X.astype(np.intp)
    boundaries = (
        rng.random((n_samples, n_items - 1)) >= tie_rate if tie_rate else np.ones((n_samples, n_items - 1), bool)
    )
    if top_k is not None:
        low, high = _top_k_range(top_k, n_items)
        lengths = rng.integers(low, high, size=(n_samples, 1), endpoint=True)
        after = np.arange(1, n_items)  # boundary t lies between the places t and t + 1
        boundaries = (boundaries & (after < lengths)) | (after == lengths)
    if tie_rate or top_k is not None:
        buckets = np.zeros((n_samples, n_items))
        np.cumsum(boundaries, axis=1, out=buckets[:, 1:])
        X = np.take_along_axis(buckets, places, axis=1)
    if top_k is not None and unranked == "missing":
        X[places >= lengths] = np.nan
    if missing_rate:
        chances = rng.random(X.shape)
        # At least two items of a ranking stay, so that it says something.
        kept = np.argsort(chances, axis=1)[:, -2:]
        np.put_along_axis(chances, kept, 1.0, axis=1)
        X[chances < missing_rate] = np.nan
    return X


def _top_k_range(top_k, n_items):
    low, high = top_k if isinstance(top_k, tuple) and len(top_k) == 2 else (top_k, top_k)
    if not all(isinstance(length, int | np.integer) for length in (low, high)) or not 1 <= low <= high <= n_items:
        raise ValueError(
            f"top_k must be an integer between 1 and n_items = {n_items}, or a tuple (shortest, longest) of two, got "
            f"{top_k!r}."
        )
    return low, high


def _random_rankings(n_samples, n_items, rng):
    return rng.permuted(np.tile(np.arange(n_items), (n_samples, 1)), axis=1)


def one_center(center, n_items, rng):
    """The given full ranking, or a uniformly random one, as positions."""
    if center is None:
        return _random_rankings(1, n_items, rng)[0]
    return _given_centers([center], 1, n_items, "center")[0]


def _given_centers(centers, n_components, n_items, name):
    ranks = check_rankings(centers, input_name=name, allow_missing=False, allow_ties=False)
    if ranks.shape != (n_components, n_items):
        raise ValueError(
            f"{name} has shape {ranks.shape}, but n_components = {n_components} full rankings of n_items = {n_items} "
            "are asked for."
        )
    return ranks.astype(np.int64)


def _make_centers(centers, n_components, n_items, n_swaps, rng):
    if not isinstance(centers, str):
        return _given_centers(centers, n_components, n_items, "centers")
    if centers == "random":
        return _random_rankings(n_components, n_items, rng)
    first = _random_rankings(1, n_items, rng)[0]
    if centers == "same":
        return np.tile(first, (n_components, 1))
    if centers == "reversed":
        if n_components > 2:
            raise ValueError(f"centers='reversed' makes one or two centers, got n_components={n_components}.")
        return np.stack([first, n_items - 1 - first])[:n_components]
    if centers == "close":
        return _close_centers(first, n_components, n_swaps, rng)
    close = _close_centers(first, max(n_components - 1, 1), n_swaps, rng)
    return np.concatenate([close, _random_rankings(n_components - len(close), n_items, rng)])


def _close_centers(first, n_components, n_swaps, rng):
    """The first center, and others that differ from it by exchanges of disjoint neighboring pairs; all different."""
    n_pairs = len(first) // 2
    n_possible = comb(n_pairs, n_swaps) if n_swaps else 0
    if n_possible < n_components - 1:
        raise ValueError(
            f"{len(first)} items have {n_pairs} disjoint pairs of neighbors, so {n_swaps} exchanges make only "
            f"{n_possible} other centers, but n_components={n_components} needs {n_components - 1}. Change n_swaps, or "
            "take more items."
        )
    flips: set[tuple[int, ...]] = set()
    while len(flips) < n_components - 1:
        flips.add(tuple(sorted(rng.choice(n_pairs, n_swaps, replace=False).tolist())))
    pair = first // 2
    flipped = np.where(pair < n_pairs, first ^ 1, first)
    return np.stack([first, *(np.where(np.isin(pair, flip), flipped, first) for flip in sorted(flips))])


def make_mixture(n_samples, centers, dispersions, weights, rng, coarsening=FULL):
    """Bunch of rankings from a mixture and its parameters."""
    y = rng.choice(len(weights), size=n_samples, p=weights)
    X = _coarsen(_draw(centers[y], dispersions[y], rng), coarsening, rng)
    return Bunch(X=X, y=y, weights=weights, centers=centers, dispersions=dispersions)


def _per_component(values, n_components, name, low, high):
    array = np.asarray(values, float)
    if array.shape not in ((), (n_components,)) or not ((array >= low) & (array <= high)).all():
        raise ValueError(
            f"{name} must be a number in [{low:g}, {high:g}], or n_components = {n_components} of them, got {values!r}."
        )
    return np.broadcast_to(array, n_components).copy()


# ---------------------------------------------------------------- public
@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_items": [Interval(Integral, 1, None, closed="left")],
        "center": ["array-like", None],
        "phi": [Interval(Real, 0, 1, closed="both")],
        "distance": [StrOptions({"kendall", "hamming"})],
        **_COARSENING_CONSTRAINTS,
    },
    prefer_skip_nested_validation=True,
)
def make_rankings(
    n_samples: int = 100,
    n_items: int = 10,
    *,
    center: ArrayLike | None = None,
    phi: float = 1.0,
    distance: Literal["kendall", "hamming"] = "kendall",
    top_k: int | tuple[int, int] | None = None,
    unranked: Unranked = "last",
    tie_rate: float = 0.0,
    missing_rate: float = 0.0,
    random_state: RandomState = None,
) -> Floats:
    """Random rankings: uniform or around a center, full or with ties, top-k lists and missing items.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rankings.
    n_items : int, default=10
        Number of items.
    center : array-like of shape (n_items,), default=None
        Central ranking of the Mallows model from which rankings are drawn. None draws one.
    phi : float in [0, 1], default=1.0
        Dispersion of the Mallows model: 1 draws uniformly random rankings, 0 repeats the center.
    distance : {"kendall", "hamming"}, default="kendall"
        The distance from the center in the model: a ranking has probability proportional to phi to the power of the
        number of pairs in a different order ("kendall"), or of the number of items in a different position ("hamming").
    top_k : int or tuple of two int, default=None
        Only keep the order of the k most preferred items. With (shortest, longest), k is drawn uniformly for each
        ranking.
    unranked : {"last", "missing"}, default="last"
        Whether the other items are tied last (which is true here, because they are worse) or missing (NaN).
    tie_rate : float in [0, 1], default=0.0
        Probability with which neighbors in a ranking are tied.
    missing_rate : float in [0, 1), default=0.0
        Probability with which an item of a ranking is missing, regardless of its rank. At least two items always
        remain.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.

    Returns
    -------
    X : ndarray of shape (n_samples, n_items), float64
        Rank matrix; 0 is the most preferred rank.

    Examples
    --------
    >>> from skrank.datasets import make_rankings
    >>> make_rankings(3, 5, phi=0.3, center=[0, 1, 2, 3, 4], top_k=2, random_state=0)
    array([[0., 1., 2., 2., 2.],
           [0., 2., 1., 2., 2.],
           [0., 2., 1., 2., 2.]])
    """
    rng = as_generator(random_state)
    centers = np.broadcast_to(one_center(center, n_items, rng), (n_samples, n_items))
    if distance == "kendall":
        X = _draw(centers, np.full(n_samples, float(phi)), rng)
    else:
        X = sample_hamming_mallows(centers, float(phi), rng).astype(np.float64)
    return _coarsen(X, Coarsening(top_k, unranked, tie_rate, missing_rate), rng)


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_items": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "centers": [StrOptions({"random", "close", "same", "reversed", "mixed"}), "array-like"],
        "n_swaps": [Interval(Integral, 0, None, closed="left")],
        "phi": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "weights": ["array-like", None],
        "return_X_y": ["boolean"],
        **_COARSENING_CONSTRAINTS,
    },
    prefer_skip_nested_validation=True,
)
def make_mallows_mixture(
    n_samples: int = 1000,
    n_items: int = 10,
    n_components: int = 3,
    *,
    centers: str | ArrayLike = "random",
    n_swaps: int = 3,
    phi: float | ArrayLike = 0.5,
    weights: ArrayLike | None = None,
    top_k: int | tuple[int, int] | None = None,
    unranked: Unranked = "last",
    tie_rate: float = 0.0,
    missing_rate: float = 0.0,
    random_state: RandomState = None,
    return_X_y: bool = True,
) -> Any:
    """Rankings drawn from a mixture of Mallows models.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rankings.
    n_items : int, default=10
        Number of items.
    n_components : int, default=3
        Number of Mallows models.
    centers : {"random", "close", "same", "reversed", "mixed"} or array-like of shape (n_components, n_items), \
default="random"
        Central rankings. "random": uniform. "close": one is uniform, and the others differ from it by `n_swaps`
        adjacent transpositions; all are different. "same": one for all components. "reversed": one and its reverse.
        "mixed": all are close except the last, which is random.
    n_swaps : int, default=3
        Number of disjoint pairs of neighbors in which a close center differs from the first one.
    phi : float or array-like of shape (n_components,), default=0.5
        Dispersions, each in [0, 1].
    weights : array-like of shape (n_components,), default=None
        Mixing weights, positive, normalized to sum 1. None makes them equal.
    top_k : int or tuple of two int, default=None
        Only keep the order of the most preferred items, as in :func:`make_rankings`.
    unranked : {"last", "missing"}, default="last"
        How to encode the other items, as in :func:`make_rankings`.
    tie_rate : float in [0, 1], default=0.0
        Probability with which neighbors in a ranking are tied.
    missing_rate : float in [0, 1), default=0.0
        Probability with which an item of a ranking is missing.
    random_state : int, RandomState instance or None, default=None
        Source of randomness.
    return_X_y : bool, default=True
        If False, return a Bunch that includes the parameters of the mixture.

    Returns
    -------
    X : ndarray of shape (n_samples, n_items), float64
        Rank matrix; 0 is the most preferred rank. If `return_X_y`.
    y : ndarray of shape (n_samples,), int
        The component of each ranking. If `return_X_y`.
    data : :class:`~sklearn.utils.Bunch`
        With keys `X`, `y`, `weights`, `centers` of shape (n_components, n_items) and `dispersions`. If not
        `return_X_y`.

    See Also
    --------
    skrank.metrics.match_components : Compare a fitted mixture with these parameters.
    make_hard_mallows_pair : Mixtures that are hard to distinguish.

    Examples
    --------
    >>> from skrank.datasets import make_mallows_mixture
    >>> X, y = make_mallows_mixture(1000, 20, 3, centers="close", weights=[0.7, 0.2, 0.1], random_state=0)
    >>> X.shape, y.shape
    ((1000, 20), (1000,))
    >>> make_mallows_mixture(n_items=4, n_components=2, centers="reversed", random_state=0, return_X_y=False).centers
    array([[2, 0, 1, 3],
           [1, 3, 2, 0]])
    """
    rng = as_generator(random_state)
    dispersions = _per_component(phi, n_components, "phi", 0, 1)
    weights = np.ones(n_components) if weights is None else np.asarray(weights, float)
    if weights.shape != (n_components,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise ValueError(f"weights must be n_components = {n_components} positive numbers, got {weights.tolist()}.")
    centers = _make_centers(centers, n_components, n_items, n_swaps, rng)
    coarsening = Coarsening(top_k, unranked, tie_rate, missing_rate)
    data = make_mixture(n_samples, centers, dispersions, weights / weights.sum(), rng, coarsening)
    return (data.X, data.y) if return_X_y else data
