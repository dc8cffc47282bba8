"""Pairwise wins of a weighted table of rankings: exact where the weights are whole numbers, and fast for short lists.

Weights that are whole numbers, or are once multiplied by a power of 2, are added exactly: their sums stay below 2^53.
Lists of few of many items are counted by the pairs that they name, other rankings by one comparison of small integers
and one product for each item.
"""

from typing import NamedTuple

import numpy as np

from skrank._rankings import MISSING, has_missing, row_blocks

MAX_SHIFT = 10
LARGEST_EXACT = 2.0**53
# A pair that a list names costs about so many comparisons.
LISTED_COST = 16
LEAST_LISTED_ITEMS = 32


class PairwiseWins(NamedTuple):
    """Weight of the rankings that strictly prefer item a to item b.

    Attributes
    ----------
    counts : ndarray of shape (n_items, n_items), int64 or float64
        The weights in units of `unit`: whole numbers, exact, if the weights are.
    unit : float
        A power of 2; 1 unless weights are fractions.
    noise : float
        By what fraction of the sum of both directions a difference between them can be rounding; 0 if exact.
    """

    counts: np.ndarray
    unit: float
    noise: float

    @property
    def wins(self):
        """The weights themselves, float64."""
        return self.counts * self.unit

    def preferences(self):
        """Antisymmetric differences of `counts`, 0 where they cannot be told from rounding."""
        differences = self.counts - self.counts.T
        if self.noise:
            differences[np.abs(differences) <= self.noise * (self.counts + self.counts.T)] = 0
        return differences


def pairwise_wins(ranks, weights):
    """Pairwise wins of densified rankings.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
    weights : ndarray of shape (n_samples,)

    Returns
    -------
    wins : PairwiseWins
    """
    n_samples, n_items = ranks.shape
    whole, unit = _whole(weights)
    if whole is None:
        noise = np.finfo(float).eps * max(n_samples, 4)
        return PairwiseWins(_compared(ranks, weights), 1.0, noise)
    counts = np.zeros((n_items, n_items), np.int64)
    compared = np.ones(n_samples, bool)
    for rows, background_is_last in _short_lists(ranks):
        compared[rows] = False
        _count_lists(counts, ranks[rows], whole[rows], background_is_last)
    if compared.any():
        rest = slice(None) if compared.all() else compared
        counts += _compared(ranks[rest], whole[rest]).astype(np.int64)
    return PairwiseWins(counts, unit, 0.0)


def _whole(weights):
    """The weights as integers in units of a power of 2, and the unit; (None, 1) if they are no such numbers."""
    for shift in range(MAX_SHIFT + 1):
        scaled = np.ldexp(weights, shift)
        if scaled.sum() > LARGEST_EXACT:
            break
        if (scaled == np.rint(scaled)).all():
            return scaled.astype(np.int64), 2.0**-shift
    return None, 1.0


# ---------------------------------------------------------------- all pairs
def _compared(ranks, weights):
    """Wins by comparing all pairs, (n_items, n_items) float64."""
    n_items = ranks.shape[1]
    weights = weights.astype(np.float64)
    counts = np.zeros((n_items, n_items))
    gaps = has_missing(ranks)
    for rows in row_blocks(len(ranks), 16 * n_items, max_rows=1 << 12):
        columns = np.ascontiguousarray(ranks[rows].T)
        ranked = columns != MISSING
        for item in range(n_items - 1):
            ahead, behind = columns[item] < columns[item + 1 :], columns[item] > columns[item + 1 :]
            if gaps:
                ahead &= ranked[item]
                behind &= ranked[item + 1 :]
            counts[item, item + 1 :] += ahead @ weights[rows]
            counts[item + 1 :, item] += behind @ weights[rows]
    return counts


# ---------------------------------------------------------------- lists of few items
def _short_lists(ranks):
    """Rows that are counted faster by the pairs they name: [(rows, whether all but the last bucket is named)].

    A list names the items before its last bucket, against all others, or all of its ranked items.
    """
    n_samples, n_items = ranks.shape
    if n_items < LEAST_LISTED_ITEMS:
        return []
    sizes = np.empty((n_samples, 2), np.int64)
    for rows in row_blocks(n_samples, 24 * n_items, max_rows=1 << 13):
        n_ranked = np.count_nonzero(ranks[rows] != MISSING, axis=1)
        last = ranks[rows] == np.maximum(ranks[rows].max(axis=1, keepdims=True), 0)
        sizes[rows] = np.stack([n_ranked, np.count_nonzero(last, axis=1)], axis=1)
    n_ranked, n_last = sizes.T
    before_last = (n_ranked - n_last) * (n_items - n_last)
    among_ranked = n_ranked**2
    short = LISTED_COST * np.minimum(before_last, among_ranked) < n_items**2
    by_last = short & (before_last < among_ranked)
    kinds = (np.flatnonzero(by_last), True), (np.flatnonzero(short & ~by_last), False)
    return [(rows, background_is_last) for rows, background_is_last in kinds if len(rows)]


def _count_lists(counts, ranks, weights, background_is_last):
    """Add the wins of lists.

    With the last bucket as background, a named item beats every other one of the table but those that its list names,
    or leaves out, and it does not beat.
    """
    n_items = ranks.shape[1]
    for rows in row_blocks(len(ranks), 64 * n_items, max_rows=1 << 12):
        block = ranks[rows]
        others = block != block.max(axis=1, keepdims=True) if background_is_last else block != MISSING
        row, item = np.nonzero(others)
        length = np.bincount(row, minlength=len(block))
        start = np.cumsum(length) - length
        first = np.repeat(np.arange(len(row)), length[row])
        second = (
            start[row[first]] + np.arange(len(first)) - np.repeat(np.cumsum(length[row]) - length[row], length[row])
        )
        rank = block[row, item]
        weight = weights[rows][row]
        listed = rank != MISSING
        beats = listed[first] & listed[second] & (rank[first] < rank[second])
        cells = item[first] * n_items + item[second]
        counts += _summed(cells[beats], weight[first[beats]], n_items)
        if background_is_last:
            counts += np.bincount(item[listed], weight[listed], n_items).astype(np.int64)[:, None]
            named = listed[first]
            counts -= _summed(cells[named], weight[first[named]], n_items)


def _summed(cells, weights, n_items):
    # Whole numbers below 2^53 are exact in the float64 that bincount adds.
    return np.bincount(cells, weights, n_items**2).astype(np.int64).reshape(n_items, n_items)
