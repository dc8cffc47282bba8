"""Heavy cells: the rankings and the prefixes that occur most often.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), Fact 2 and Claim 5. A component of small
dispersion often generates its own center, and any component generates the first items of its center with a probability
that does not depend on n. Where a bucket of ties takes the places 2a and 2a + 1 and no others, the pair at those places
is known and its order is not; a ranking whose buckets straddle pairs of places belongs to no cell.
"""

from typing import NamedTuple

import numpy as np

from skrank._rankings import aggregate, bucket_places, rows_with_ties


class Cell(NamedTuple):
    """The rankings that begin with the same pairs of items, up to flips inside the pairs: the set S of Lemma 10."""

    pairs: np.ndarray
    """(n_pairs, 2) items, those at the places (0, 1), (2, 3), ..., the smaller number first."""
    rows: np.ndarray
    """Rankings in the cell."""
    weight: float
    """Their summed weight."""


def heavy_hitters(ranks, weights, min_fraction):
    """Full rankings that make up at least `min_fraction` of the table, heaviest first (Fact 2).

    With ``min_fraction = alpha / 4`` there are at most 4 / alpha of them, and with high probability every center of
    weight alpha and dispersion below 1 / (2 n) is one.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Distinct rankings.
    weights : ndarray of shape (n_rows,)
    min_fraction : float in (0, 1]

    Returns
    -------
    rows : ndarray of shape (n_hitters,), intp
    """
    heavy = (weights >= min_fraction * np.sum(weights)) & ~rows_with_ties(ranks)
    rows = np.flatnonzero(heavy)
    return rows[np.argsort(-weights[rows], kind="stable")]


def prefix_fraction(min_weight, separation, length):
    """The share alpha gamma^L / 2 above which Claim 5 lists a prefix of L items."""
    return min_weight * separation**length / 2


def place_pairs(ranks):
    """The pair of places (2a, 2a + 1) that each item takes, as a; -1 where ties leave it open."""
    first, size = bucket_places(ranks)
    pair = first // 2
    return np.where((first + size - 1) // 2 == pair, pair, -1)


def heavy_prefixes(ranks, weights, n_pairs, *, top=None, min_weight=0.0):
    """The heaviest prefixes of ``2 n_pairs`` items, up to flips inside the pairs (Claim 5, with Lemma 10's set S).

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
    weights : ndarray of shape (n_rows,)
    n_pairs : int
    top : int, default=None
        How many at most; None means all.
    min_weight : float, default=0
        Summed weight that a cell must reach; ``prefix_fraction`` gives that of Claim 5 as a share of all.

    Returns
    -------
    cells : list of Cell, heaviest first
    """
    pair = place_pairs(ranks)
    pair[pair >= n_pairs] = -1
    inside = np.flatnonzero((pair >= 0).sum(axis=1) == 2 * n_pairs)
    if not len(inside):
        return []
    table = aggregate(pair[inside].astype(ranks.dtype), weights[inside])
    heaviest = np.argsort(-table.weights, kind="stable")[:top]
    cells = []
    for cell in heaviest[table.weights[heaviest] >= min_weight]:
        key = table.ranks[cell]
        members = np.flatnonzero(key >= 0)
        pairs = members[np.argsort(key[members], kind="stable")].reshape(n_pairs, 2)
        cells.append(Cell(pairs, inside[table.inverse == cell], float(table.weights[cell])))
    return cells


def rows_with_prefix(ranks, weights, pairs):
    """Rankings that begin with given pairs of items, up to flips inside the pairs."""
    wanted = np.sort(pairs, axis=1)
    for cell in heavy_prefixes(ranks, weights, len(pairs)):
        if np.array_equal(cell.pairs, wanted):
            return cell.rows
    return np.empty(0, np.intp)
