"""Recorded triplet answers in the place of an oracle."""

from typing import Self

import numpy as np
from numpy.typing import NDArray

from skrank._triplets import check_triplets, count_items
from skrank._typing import Array, ArrayLike
from skrank.manifold._oracle import SharedOracle


class TripletOracle(SharedOracle):
    """Recorded responses to triplet queries that can be replayed.

    The oracle responds to a recorded query, in either order of its two items, with the majority of its recorded
    responses; with an even split, it uses the first response. A query that was not recorded raises an error. To create
    the oracle from other formats, use :meth:`from_triplets`.

    Parameters
    ----------
    triplets : array-like of shape (n_triplets, 3)
        Rows (i, j, k): j is nearer to i than k is.

    Attributes
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        The recorded responses: j is nearer than k.
    n_items : int
        Number of items: the largest index plus one.

    See Also
    --------
    StochasticTripletEmbedding : Embeds recorded responses directly.

    Notes
    -----
    Landmark ordinal embedding chooses its queries and needs many responses about the same few anchors. Responses to m
    uniformly random queries about n items contain only about m/n responses per anchor, so use
    :class:`StochasticTripletEmbedding` for these. This oracle is meant for records that contain every query that will
    be asked.

    Examples
    --------
    >>> from skrank.manifold import TripletOracle
    >>> oracle = TripletOracle.from_triplets([[0, 1, 2], [1, 0, 2]], [True, False])
    >>> oracle([0, 0, 1], [1, 2, 0], [2, 1, 2])
    array([ True, False, False])
    """

    def __init__(self, triplets: ArrayLike) -> None:
        self.triplets = check_triplets(triplets)
        self.n_items = count_items(self.triplets)
        pairs = self._pair_codes(self.triplets[:, 1], self.triplets[:, 2])
        self._pairs, pairs = np.unique(pairs, return_inverse=True)
        codes = self.triplets[:, 0] * len(self._pairs) + pairs
        self._codes, first, codes = np.unique(codes, return_index=True, return_inverse=True)
        lower_is_nearer = np.where(self.triplets[:, 1] < self.triplets[:, 2], 1, -1)
        votes = np.bincount(codes, lower_is_nearer)
        self._lower_is_nearer = np.where(votes == 0, lower_is_nearer[first], votes) > 0

    @classmethod
    def from_triplets(cls, triplets: ArrayLike, responses: ArrayLike | None = None) -> Self:
        """Create an oracle from responses in cblearn's list-order, list-boolean or list-count format.

        Parameters
        ----------
        triplets : array-like of shape (n_triplets, 3)
            Indices (i, j, k) of three different items.
        responses : array-like of shape (n_triplets,), default=None
            None means that j is nearer to i than k in each row. Booleans, or numbers that are all 0 or 1, are true
            where j is nearer. Other integers are how often j was nearer, or minus how often k was nearer.

        Returns
        -------
        TripletOracle

        Raises
        ------
        ValueError
            If a row is not a triplet or a response is undecided; the message names the row and the value.
        """
        return cls(check_triplets(triplets, responses))

    def __len__(self) -> int:
        return len(self.triplets)

    def __repr__(self) -> str:
        return f"TripletOracle(<{len(self)} answers>)"

    def __call__(self, anchors: Array, left: Array, right: Array) -> NDArray[np.bool_]:
        """Whether `left` is nearer to `anchors` than `right`, by the recorded answers.

        Parameters
        ----------
        anchors, left, right : array-like of shape (n_queries,) or (n_queries, 1)
            Indices of items.

        Returns
        -------
        ndarray of shape (n_queries,), bool

        Raises
        ------
        ValueError
            If a query was never recorded.
        """
        anchors, left, right = (_as_indices(items) for items in (anchors, left, right))
        pair_codes = self._pair_codes(left, right)
        pairs = np.minimum(np.searchsorted(self._pairs, pair_codes), len(self._pairs) - 1)
        codes = anchors * len(self._pairs) + pairs
        position = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        unseen = (self._pairs[pairs] != pair_codes) | (self._codes[position] != codes)
        if unseen.any():
            row = np.argmax(unseen)
            raise ValueError(
                f"{unseen.sum()} of {len(unseen)} queries were never recorded, such as anchor {anchors[row]}, items "
                f"{left[row]} and {right[row]} (row {row}). Landmark ordinal embedding asks many questions about the "
                "same few anchors, which recorded responses to random queries do not contain. Embed these with "
                "StochasticTripletEmbedding."
            )
        return self._lower_is_nearer[position] == (left < right)

    def _pair_codes(self, left, right):
        # a question about an item that the record does not know must not collide with one that it does
        lower, higher = np.minimum(left, right), np.maximum(left, right)
        known = (lower >= 0) & (higher < self.n_items)
        return np.where(known, lower * self.n_items + higher, -1)


def _as_indices(items):
    values = np.asarray(items).reshape(-1)
    indices = values.astype(np.int64)
    if values.dtype.kind == "f" and (indices != values).any():
        row = int((indices != values).argmax())
        raise ValueError(f"TripletOracle is asked about indices of items, but row {row} is {values[row]}.")
    return indices
