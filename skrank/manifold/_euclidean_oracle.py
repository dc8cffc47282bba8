"""EuclideanOracle: responses simulated from the distances between rows."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import PAIRED_DISTANCES, paired_distances
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from skrank._random import mix
from skrank._typing import Array, ArrayLike
from skrank.manifold._designs import doubled
from skrank.manifold._oracle import BLOCK_SIZE, SharedOracle
from skrank.manifold._row_index import row_keys

_LEAST_SIZE = 1e-140  # of a number that is not lost when its square is added to others


class EuclideanOracle(SharedOracle):
    """Respond according to the distances between the rows, exactly or with noise.

    With the squared distance D, the response is that left is nearer than right

    - if and only if D(anchor, left) < D(anchor, right), with `noise=None`;
    - with probability f(scale * (D(anchor, right) - D(anchor, left))), where f is the logistic function, with
      `noise="logistic"`: the model of [1]_ and of :class:`~skrank.manifold.LandmarkOrdinalEmbedding`;
    - if D(anchor, left) < D(anchor, right), but reversed with probability `flip_rate`, with `noise="flip"`.

    The noise is a hash of the query and the seed: the same query always has the same response, regardless of which item
    is on the left, the batch and the process.

    Parameters
    ----------
    metric : {"euclidean", "manhattan", "cosine", "l1", "l2", "cityblock"} or callable, default="euclidean"
        Distance between two rows, as in :func:`sklearn.metrics.pairwise.paired_distances`.
    noise : {None, "logistic", "flip"}, default=None
        Kind of noise.
    scale : "auto" or float, default="auto"
        Factor of the squared distances in logistic noise. "auto" is ``1 / median |D_ij - D_ik|`` over random triplets
        of rows, so that the noise does not depend on the units of X. The rows are those of the first call, or those
        that :class:`~skrank.manifold.LandmarkOrdinalEmbedding` is fitted on.
    flip_rate : float in [0, 0.5], default=0.1
        Proportion of the responses that `noise="flip"` reverses.
    random_state : int, default=0
        Seed of the noise.

    Attributes
    ----------
    scale_ : float
        The scale that is used; exists after the first query.

    References
    ----------
    .. [1] N. Ghosh, Y. Chen and Y. Yue, "Landmark Ordinal Embedding", NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.manifold import EuclideanOracle
    >>> anchors, left, right = np.array([[0.0], [0.0]]), np.array([[1.0], [5.0]]), np.array([[2.0], [3.0]])
    >>> EuclideanOracle()(anchors, left, right)
    array([ True, False])
    """

    _parameter_constraints = {
        "metric": [StrOptions(set(PAIRED_DISTANCES)), Callable],
        "noise": [StrOptions({"logistic", "flip"}), None],
        "scale": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "flip_rate": [Interval(Real, 0, 0.5, closed="both")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }
    _items: Array  # of a bound oracle
    _keys: Array

    def __init__(
        self,
        metric: Any = "euclidean",
        noise: str | None = None,
        scale: float | Literal["auto"] = "auto",
        flip_rate: float = 0.1,
        random_state: int = 0,
    ) -> None:
        self.metric, self.noise, self.scale, self.flip_rate = metric, noise, scale, flip_rate
        self.random_state = random_state
        validate_parameter_constraints(self._parameter_constraints, vars(self), type(self).__name__)

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._parameter_constraints)
        return f"EuclideanOracle({parameters})"

    def __call__(self, anchors: Array, left: Array, right: Array) -> NDArray[np.bool_]:
        anchors, left, right = (_as_points(rows) for rows in (anchors, left, right))
        near, far = self._squared_distances(anchors, left), self._squared_distances(anchors, right)
        if not hasattr(self, "scale_"):
            self.scale_ = _unit_scale(near - far) if self.scale == "auto" else float(self.scale)
        if self.noise is None:
            return near < far
        noise = _antisymmetric_noise(*(self._keys_of(rows) for rows in (anchors, left, right)))
        return self._answers(self._halved(near), self._halved(far), noise)

    def bind(self, X: ArrayLike) -> Self:
        """Return an oracle for queries about these rows, which determine the scale.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        oracle : EuclideanOracle
            A copy that knows the rows by their index (`start`).
        """
        bound = self._sharing_state()
        bound._items = _as_points(X)
        bound.scale_ = bound._scale_of(bound._items) if self.scale == "auto" else float(self.scale)
        bound._keys = None if self.noise is None else bound._keys_of(bound._items)
        return bound

    def start(self, anchor: int, order: Array) -> Any:
        """Respond in blocks, for the circulant design. Only for a bound oracle.

        Parameters
        ----------
        anchor : int
            Index of the anchor's row among the bound rows.
        order : ndarray of int
            Indices of the items compared, in the order of the design.

        Returns
        -------
        ask : callable
            `ask(start, stop, shift)`: whether item order[t] is nearer than order[(t + shift) % len(order)], for each t
            in [start, stop). The array returned is valid until the next call.
        """
        halved = doubled(self._halved_distances(anchor, order))
        if self.noise is None:
            return lambda start, stop, shift: halved[start:stop] < halved[start + shift : stop + shift]
        keys, anchor_key = doubled(self._keys[order]), self._keys[anchor]
        buffers = _NoiseBuffers(min(BLOCK_SIZE, len(order)))
        differences = np.empty(min(BLOCK_SIZE, len(order)), np.float32)

        def ask(start, stop, shift):
            left, right = slice(start, stop), slice(start + shift, stop + shift)
            noise = _antisymmetric_noise(anchor_key, keys[left], keys[right], buffers)
            return self._answers(halved[left], halved[right], noise, differences[: stop - start])

        return ask

    def _halved_distances(self, anchor, order):
        """Those of the items in their order; of most items it is faster to take the distances than the rows."""
        rows = self._items[[anchor]]
        if 2 * len(order) < len(self._items):
            return self._halved(self._squared_distances(rows, self._items[order]))
        return self._halved(self._squared_distances(rows, self._items))[order]

    def _squared_distances(self, anchors, rows):
        if self.metric in ("euclidean", "l2"):
            difference = anchors - rows
            return np.einsum("ij,ij->i", difference, difference)
        return paired_distances(np.broadcast_to(anchors, rows.shape), rows, metric=self.metric) ** 2

    def _scale_of(self, X, n_triplets=10000):
        rng = np.random.default_rng(self.random_state)
        i, j, k = rng.integers(len(X), size=(3, n_triplets))
        return _unit_scale(self._squared_distances(X[i], X[j]) - self._squared_distances(X[i], X[k]))

    def _halved(self, squared_distances):
        if self.noise != "logistic":
            return squared_distances
        return (squared_distances * (0.5 * self.scale_)).astype(np.float32)

    def _keys_of(self, X):
        seed = mix(np.array([self.random_state], np.uint64))
        return (mix(row_keys(X) ^ seed) >> np.uint64(32)).astype(np.uint32)

    def _answers(self, near, far, noise, out=None):
        """Whether the item at (halved, scaled) squared distance `near` is answered to be nearer than that at `far`."""
        if self.noise == "flip":
            return (near < far) ^ (np.abs(noise) < self.flip_rate)
        difference = np.subtract(far, near, out=out)
        return noise < np.tanh(difference, out=out)


class _NoiseBuffers:
    def __init__(self, size):
        self.hash, self.other, self.noise = np.empty(size, np.uint32), np.empty(size, np.uint32), np.empty(size, "f4")


def _antisymmetric_noise(anchor, left, right, buffers=None):
    """Uniform noise in [-1, 1] from the keys of a question; of the opposite sign when left and right change places."""
    buffers = _NoiseBuffers(len(left)) if buffers is None else buffers
    h, other, noise = (buffer[: len(left)] for buffer in (buffers.hash, buffers.other, buffers.noise))
    np.bitwise_xor(left, right, out=h)
    np.add(left, right, out=other)
    other *= np.uint32(0x9E3779B1)
    h += anchor
    h ^= other
    for shift, multiplier in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):  # the finaliser of MurmurHash3 (A. Appleby)
        np.right_shift(h, shift, out=other)
        h ^= other
        h *= np.uint32(multiplier)
    np.right_shift(h, 16, out=other)
    h ^= other
    np.multiply(left < right, np.uint32(0xFFFFFFFF), out=other)
    h ^= other  # complementing a number's bits turns its sign round
    return np.multiply(h.view(np.int32), np.float32(2.0**-31), out=noise, dtype=np.float32, casting="unsafe")


def _unit_scale(differences):
    differences = np.abs(differences)
    differences = differences[differences > 0]  # identical rows do not tell the unit
    return 1 / float(np.median(differences)) if len(differences) else 1.0


def _as_points(rows):
    try:
        points = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"EuclideanOracle measures distances between rows of numbers, but the rows have dtype "
            f"{np.asarray(rows).dtype}; encode them as numbers, or pass an oracle that understands them"
        ) from error
    largest = np.abs(points).max(initial=0)
    if not (largest == 0 or _LEAST_SIZE < largest < 1 / _LEAST_SIZE):
        raise ValueError(
            f"EuclideanOracle squares the distances between rows, whose largest number is {largest:.3g} in absolute "
            "value: bring them to another unit, so that the squares are numbers"
        )
    return points
