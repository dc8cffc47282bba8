"""The engine for rankings without missing items: pair signs of a weighted table of distinct rankings, packed in bits.

``distances(centers)`` is XOR and popcount on packed bits; ``pair_sums(row_weights)`` is a comparison of small integers
and a matrix product, a block of rows at a time. An E-step is distances and table look-ups, an M-step is pair sums and a
weighted Kemeny problem: nothing else reads the rankings, and no float array of all rows and all pairs is ever made.
"""

from typing import Any

import numpy as np

from skrank._mallows import bucket_patterns
from skrank._pair_words import full_words, pair_words, word_distances
from skrank._rankings import ordering, pair_indices, pair_signs
from skrank._threads import blocks, over_chunks

BLOCK = 8192  # rows a block where a row costs a few words: temporaries stay in the cache
FEW_ROWS = 400
KEPT_SIGNS = 4_000_000  # up to so many signs (16 MB of float32) they are kept rather than made again
# Rows and pairs of one product. OpenBLAS multiplies small matrices without packing, up to eight times faster for few
# weightings, if the result has at most 1200 entries and a million multiplications make it; other libraries do not mind.
PRODUCT_ROWS, PRODUCT_PAIRS, PRODUCT_ENTRIES = 800, 400, 1200


class PairSigns:
    """Pair signs of distinct rankings without missing items, packed.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Densified rankings (``skrank._rankings``), ties allowed, no missing items; usually distinct.
    weights : ndarray of shape (n_rows,), default=None
        How often each was seen; None means once.

    Attributes
    ----------
    weights : ndarray of shape (n_rows,), float64
    total_weight : float
        N, the number of rankings that the table stands for.
    unit_weights : bool
        Whether all weights are 1.
    n_rows, n_items, n_pairs : int
    ranks : ndarray of shape (n_items, n_rows)
        The rankings, item-major.
    has_ties : bool
    patterns : ndarray of shape (n_patterns, n_items + 1) or None
        Distinct counts of buckets by size, ``patterns[p, m]`` buckets of m items; None if there are no ties. The
        normalizer of a tied ranking depends on these alone.
    pattern : ndarray of shape (n_rows,) or None
        The pattern of each row.

    Notes
    -----
    Centers are full rankings given as 0-based positions, ``centers[m, i]`` the place of item i, like the rank matrix.
    Pairs are ordered as ``pair_indices``.
    """

    def __init__(self, ranks, weights=None):
        n_rows, self.n_items = ranks.shape
        self.ranks = np.ascontiguousarray(ranks.T)
        self._first, self._second = pair_indices(self.n_items)
        self._set_weights(weights)
        words = pair_words(self.ranks.T)
        self._before = words.before
        self._ordered: Any = words.ordered
        self.has_ties = self._ordered is not None
        self.patterns: Any = None
        self.pattern: Any = None
        if self.has_ties:
            self.patterns, self.pattern = bucket_patterns(ranks)
        self._keep_signs()

    @property
    def n_rows(self):
        return self.ranks.shape[1]

    @property
    def n_pairs(self):
        return len(self._first)

    @property
    def coverage(self):
        """Mean proportion of the pairs that a ranking orders strictly: 1 for full rankings."""
        if not self.has_ties:
            return 1.0
        sizes = np.arange(self.n_items + 1)
        n_tied = (self.patterns @ (sizes * (sizes - 1) // 2))[self.pattern]
        return float(1 - n_tied @ self.weights / (self.total_weight * max(self.n_pairs, 1)))

    def _set_weights(self, weights):
        self.weights = np.ones(self.n_rows) if weights is None else np.asarray(weights, float)
        self.total_weight = float(self.weights.sum())
        self.unit_weights = bool((self.weights == 1).all())

    def _keep_signs(self):
        kept = self.n_rows * self.n_pairs <= KEPT_SIGNS
        self._signs = pair_signs(self.ranks.T).T.copy() if kept else None

    def __getstate__(self):
        # Signs are by far the largest part, and quicker to make again than to send to a worker.
        return {**self.__dict__, "_signs": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._keep_signs()

    def subset(self, rows, weights=None):
        """The table of some rows, with new weights (default: their own)."""
        part = object.__new__(PairSigns)
        part.__dict__.update(self.__dict__)
        part.ranks = np.ascontiguousarray(self.ranks[:, rows])
        part._set_weights(self.weights[rows] if weights is None else weights)
        part._before = np.ascontiguousarray(self._before[:, rows])
        if self.has_ties:
            part._ordered, part.pattern = np.ascontiguousarray(self._ordered[:, rows]), self.pattern[rows]
        part._keep_signs()
        return part

    # ------------------------------------------------------------ the two operations
    def distances(self, centers):
        """Number of pairs that each row orders strictly against each center.

        Parameters
        ----------
        centers : ndarray of shape (n_centers, n_items)

        Returns
        -------
        distances : ndarray of shape (n_centers, n_rows), uint8 or uint16
        """
        centers = np.atleast_2d(centers)
        out = np.empty((len(centers), self.n_rows), np.min_scalar_type(self.n_pairs))
        words = full_words(centers)

        def fill(rows):
            ordered = None if self._ordered is None else self._ordered[:, rows]
            word_distances(words, self._before[:, rows], ordered, out=out[:, rows])

        over_chunks(fill, self.n_rows)
        return out

    def pair_sums(self, row_weights, absolute=False):
        """Weighted sums of the signs, ``sum_s row_weights[m, s] F[s, p]``.

        F is +1 where row s puts item i of pair p before item j, -1 where after, 0 where it ties them. The products are
        small: fits run them with one BLAS thread (threadpoolctl), which is faster.

        Parameters
        ----------
        row_weights : ndarray of shape (n_weightings, n_rows)
            Used as they are: `weights` are not multiplied in.
        absolute : bool, default=False
            Sum the absolute values: the weight of the rows that order the pair.

        Returns
        -------
        sums : ndarray of shape (n_weightings, n_pairs), float64
            Products in float32, blocks of them summed in float64.
        """
        row_weights = np.asarray(row_weights, np.float32)
        n_weightings = len(row_weights)
        if absolute and not self.has_ties:
            return np.repeat(row_weights.sum(axis=1, dtype=float)[:, None], self.n_pairs, axis=1)
        if self._signs is None and self.n_rows <= FEW_ROWS and not absolute:
            return self._pair_sums_by_item(row_weights)
        n_pairs = PRODUCT_PAIRS
        if PRODUCT_ENTRIES // max(n_weightings, 1) >= 32:
            n_pairs = min(n_pairs, PRODUCT_ENTRIES // max(n_weightings, 1))

        def products(chunk):
            sums = np.zeros((n_weightings, self.n_pairs))
            workspace = _SignsWorkspace(self.ranks.dtype, n_pairs, PRODUCT_ROWS)
            for rows in blocks(chunk, PRODUCT_ROWS):
                block = row_weights[:, rows]
                for start in range(0, self.n_pairs, n_pairs):
                    pairs = slice(start, min(start + n_pairs, self.n_pairs))
                    if self._signs is None:
                        signs = workspace.signs(self.ranks[:, rows], self._first[pairs], self._second[pairs])
                    else:
                        signs = self._signs[pairs, rows]
                    sums[:, pairs] += block @ (np.abs(signs) if absolute else signs).T
            return sums

        return sum(over_chunks(products, self.n_rows), np.zeros((n_weightings, self.n_pairs)))

    def _pair_sums_by_item(self, row_weights):
        """`pair_sums` of a few rows and many items: one product for each item and all later ones."""
        sums = np.empty((len(row_weights), self.n_pairs))
        differences = np.empty((self.n_items, self.n_rows), self.ranks.dtype)
        signs = np.empty(differences.shape, np.float32)
        start = 0
        for item in range(self.n_items - 1):
            later = slice(item + 1, self.n_items)
            stop = start + self.n_items - 1 - item
            np.subtract(self.ranks[later], self.ranks[item], out=differences[later])
            np.sign(differences[later], out=differences[later])
            signs[later] = differences[later]
            sums[:, start:stop] = row_weights @ signs[later].T
            start = stop
        return sums

    def exchange_gains(self, first, second, responsibilities, factors):
        """Gains in total log-likelihood from exchanging two items that are neighbors in some centers.

        Where the centers of some components move item `first[t]` from just before `second[t]` to just behind it, the
        density of component m is multiplied by ``factors[m]`` in the rows that order the pair so, divided by it in
        those that order it the other way, and a row gains ``log(1 + sum_m r_m (factor - 1))``.

        Parameters
        ----------
        first, second : ndarrays of shape (n_exchanges,)
        responsibilities : ndarray of shape (n_moved, n_rows)
        factors : ndarray of shape (n_moved,)
            phi, or 1 / phi of a center that moves `second` behind `first`.

        Returns
        -------
        gains : ndarray of shape (n_exchanges,)
        """
        is_chain = np.array_equal(first[1:], second[:-1])  # all neighbors of an ordering: each row is read once

        def gains(chunk):
            return sum(block_gains(rows) for rows in blocks(chunk, BLOCK))

        def block_gains(rows):
            r, weights = responsibilities[:, rows].astype(float), self.weights[rows]
            # Full agreement with a responsibility of one at phi = 0 would be log 0.
            agree = np.log(np.maximum(1 + _scaled_sum(r, factors - 1), 1e-300)) * weights
            reverse = np.log(np.maximum(1 + _scaled_sum(r, 1 / factors - 1), 1e-300)) * weights
            if is_chain:
                block = self.ranks[np.append(first, second[-1:]), rows]
                before, after = block[:-1], block[1:]
            else:
                before, after = self.ranks[first, rows], self.ranks[second, rows]
            found = (before < after).astype(float) @ (agree - reverse) + reverse.sum()
            if self.has_ties:
                found -= (before == after).astype(float) @ reverse
            return found

        return sum(over_chunks(gains, self.n_rows), np.zeros(len(first)))

    # ------------------------------------------------------------ signs
    def signs(self):
        """All signs, (n_rows, n_pairs) float32: for small tables."""
        return pair_signs(self.ranks.T)

    def adjacent_signs(self, center):
        """Order of the neighbors of a center in each row, (n_items - 1, n_rows) small integers.

        +1 where the row orders the center's items number t and t + 1 as it does, -1 where the other way, 0 tied.
        """
        ordered = self.ranks[ordering(center[None])[0]]
        return np.sign(ordered[1:] - ordered[:-1])

    def rankings(self, rows):
        """Some rows as full rankings (positions, ties broken by item number), (n_rows, n_items)."""
        return np.argsort(ordering(self.ranks[:, rows].T), axis=1)


def _scaled_sum(rows, scales):
    """Sum of the rows of an array, each times its scale."""
    total = rows[0] * scales[0]
    for row, scale in zip(rows[1:], scales[1:], strict=True):
        total += row * scale
    return total


class _SignsWorkspace:
    """Float signs of a block of rows and pairs, in arrays used again: fresh ones would cost more than the work."""

    def __init__(self, dtype, n_pairs, n_rows):
        self.first = np.empty(n_pairs * n_rows, dtype)
        self.second = np.empty(n_pairs * n_rows, dtype)
        self.values = np.empty(n_pairs * n_rows, np.float32)

    def signs(self, ranks, first, second):
        """+1 where the first item of a pair comes before the second, of shape (n_pairs, n_rows)."""
        shape = len(first), ranks.shape[1]
        ahead, behind, values = (
            a[: shape[0] * shape[1]].reshape(shape) for a in (self.first, self.second, self.values)
        )
        # With a checked mode, take would not write into the array but copy.
        np.take(ranks, first, axis=0, out=ahead, mode="clip")
        np.take(ranks, second, axis=0, out=behind, mode="clip")
        np.subtract(behind, ahead, out=ahead)
        np.sign(ahead, out=ahead)
        values[...] = ahead
        return values
