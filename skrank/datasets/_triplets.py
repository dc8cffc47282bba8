"""Generated triplet answers."""

from numbers import Integral, Real
from typing import Literal

import numpy as np
from scipy.special import expit
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._random import as_random_state
from skrank._typing import ArrayLike, Floats, Integers, RandomState, validate_params


@validate_params(
    {
        "n_items": [Interval(Integral, 3, None, closed="left")],
        "n_triplets": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "coordinates": ["array-like", None],
        "noise": [StrOptions({"logistic", "flip"}), None],
        "scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "flip_rate": [Interval(Real, 0, 0.5, closed="both")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_triplets(
    n_items: int = 100,
    n_triplets: int = 10_000,
    *,
    n_components: int = 2,
    coordinates: ArrayLike | None = None,
    noise: str | None = None,
    scale: float | Literal["auto"] = "auto",
    flip_rate: float = 0.1,
    random_state: RandomState = None,
) -> tuple[Integers, Floats]:
    """Responses to uniformly random queries "is j or k nearer to i?" about points.

    Memory is proportional to the number of triplets; no matrix of distances is computed.

    Parameters
    ----------
    n_items : int, default=100
        Number of points; ignored if `coordinates` are given.
    n_triplets : int, default=10000
        Number of responses.
    n_components : int, default=2
        Number of dimensions; ignored if `coordinates` are given.
    coordinates : array-like of shape (n_items, n_components), default=None
        The points. None draws them from a standard normal distribution.
    noise : {None, "logistic", "flip"}, default=None
        None: responses are always right. "logistic": the response is j with probability 1 / (1 + exp(scale * (D_ij -
        D_ik))), D squared distances, the model of :class:`~skrank.manifold.\
StochasticTripletEmbedding`. "flip": the response is wrong with probability `flip_rate`.
    scale : float or "auto", default="auto"
        Factor of the squared distances in logistic noise. "auto" is 1 / median abs(D_ij - D_ik), which makes the noise
        independent of the units of the points; about three quarters of the responses are then right.
    flip_rate : float in [0, 0.5], default=0.1
        Probability of a wrong response with `noise="flip"`.
    random_state : int, RandomState instance or None, default=None
        Determines the points, the queries and the noise.

    Returns
    -------
    triplets : ndarray of shape (n_triplets, 3)
        Rows (i, j, k): according to the response, j is nearer to i than k.
    coordinates : ndarray of shape (n_items, n_components)
        The points.

    Examples
    --------
    >>> from skrank.datasets import make_triplets
    >>> from skrank.metrics import triplet_accuracy
    >>> triplets, X = make_triplets(n_items=50, n_triplets=1000, random_state=0)
    >>> triplets.shape, X.shape
    ((1000, 3), (50, 2))
    >>> triplet_accuracy(X, triplets)
    1.0
    """
    random_state = as_random_state(random_state)
    if coordinates is None:
        X = random_state.standard_normal((n_items, n_components))
    else:
        X = check_array(coordinates, dtype=float, ensure_min_samples=3, input_name="coordinates")
    triplets = _three_different(len(X), n_triplets, random_state)
    anchors, left, right = triplets.T
    margin = np.zeros(n_triplets)
    for x in X.T:  # D_ij - D_ik, one dimension at a time: no array of n_triplets points
        margin += (x[left] - x[right]) * (x[left] + x[right] - 2 * x[anchors])
    if noise == "logistic":
        if scale == "auto":
            median = np.median(np.abs(margin))
            scale = 1 / median if median > 0 else 1.0
        left_is_nearer = random_state.random_sample(n_triplets) < expit(-scale * margin)
    else:
        left_is_nearer = margin < 0
        if noise == "flip":
            left_is_nearer ^= random_state.random_sample(n_triplets) < flip_rate
    swapped = ~left_is_nearer
    triplets[swapped, 1:] = triplets[swapped, :0:-1]
    return triplets, X


def _three_different(n_items, n_triplets, random_state):
    """Uniform triplets of different indices: each is drawn from those left, then moved past the smaller ones taken."""
    i = random_state.randint(n_items, size=n_triplets)
    j = random_state.randint(n_items - 1, size=n_triplets)
    k = random_state.randint(n_items - 2, size=n_triplets)
    j += j >= i
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return np.column_stack([i, j, k])
