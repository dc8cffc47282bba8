"""Comparisons as a graph: items are nodes, and each pair that was compared is an edge with counts of its outcomes.

Items are numbered; edge e joins `left[e]` and `right[e]`, which were compared `total[e]` times (a sum of weights).
`left[e]` won `wins[e]` of them, ties counting one half, and `ties[e]` were ties.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class ComparisonGraph:
    """Comparisons of `n_items` items, one row for each pair that was compared.

    If `ordered`, (i, j) and (j, i) are different edges, and `left` is the item that was shown first. Otherwise
    ``left < right``.
    """

    n_items: int
    left: np.ndarray
    right: np.ndarray
    total: np.ndarray
    wins: np.ndarray
    ties: np.ndarray
    ordered: bool = False

    @classmethod
    def from_pairs(cls, first, second, share, weight, n_items, *, tie=None, ordered=False):
        """Aggregate comparisons: `share` (0 to 1) of `weight` was won by item `first` against item `second`.

        Parameters
        ----------
        first, second : ndarray of shape (n_comparisons,)
            Item numbers.
        share, weight : ndarray of shape (n_comparisons,)
            Share that the first item won (one half of a tie), and how often the comparison was made.
        n_items : int
            Number of items.
        tie : boolean ndarray of shape (n_comparisons,), default=None
            Which comparisons were ties. None: none of them; a share of one half is half the wins.
        ordered : bool, default=False
            Whether to keep (i, j) and (j, i) apart.
        """
        key, turned = _edge_keys(first, second, n_items, ordered)
        edges, edge = np.unique(key, return_inverse=True)
        total = np.bincount(edge, weight, len(edges))
        wins = np.bincount(edge, weight * np.where(turned, 1 - share, share), len(edges))
        ties = np.zeros(len(edges)) if tie is None else np.bincount(edge, weight * tie, len(edges))
        return cls(n_items, edges // n_items, edges % n_items, total, wins, ties, ordered)

    def locate(self, first, second):
        """The edge of each comparison, and whether it is turned: whether `second` is the edge's `left`."""
        key, turned = _edge_keys(first, second, self.n_items, self.ordered)
        return np.searchsorted(self.left * self.n_items + self.right, key), turned

    def scaled(self, factor):
        """The same comparisons, each made `factor` times as often."""
        return replace(self, total=self.total * factor, wins=self.wins * factor, ties=self.ties * factor)

    def differences(self, values):
        """values[left] - values[right] of each edge."""
        return values[self.left] - values[self.right]

    def divergence(self, flow):
        """Transpose of `differences`: what flows out of each item, along edges from left to right."""
        return np.bincount(self.left, flow, self.n_items) - np.bincount(self.right, flow, self.n_items)

    def adjacency_pattern(self):
        """Function from edge weights to the symmetric matrix of them, whose sparsity pattern is found once."""
        rows, columns = np.concatenate([self.left, self.right]), np.concatenate([self.right, self.left])
        if self.ordered:  # both orders of a pair share one entry, to which both contribute
            return lambda weights: csr_array((np.tile(weights, 2), (rows, columns)), shape=2 * (self.n_items,))
        pattern = csr_array((np.arange(len(rows)), (rows, columns)), shape=2 * (self.n_items,))
        edge = pattern.data % max(len(self.left), 1)

        def adjacency(weights):
            return csr_array((weights[edge], pattern.indices, pattern.indptr), shape=pattern.shape)

        return adjacency

    def degrees(self, weights):
        """Sum of the weights of each item's edges."""
        return np.bincount(self.left, weights, self.n_items) + np.bincount(self.right, weights, self.n_items)

    def won_and_lost(self):
        """Weight that each item won and lost; exactly zero where there is none."""
        lost = self.total - self.wins
        return tuple(
            np.bincount(self.left, of_left, self.n_items) + np.bincount(self.right, of_right, self.n_items)
            for of_left, of_right in ((self.wins, lost), (lost, self.wins))
        )

    def components(self, directed=False):
        """Component of each item; with `directed`, components in which each item has indirectly beaten each other."""
        won, lost = self.wins > 0, self.wins < self.total
        winner = np.concatenate([self.left[won], self.right[lost]])
        loser = np.concatenate([self.right[won], self.left[lost]])
        beaten = csr_array((np.ones(len(winner), np.int8), (winner, loser)), shape=2 * (self.n_items,))
        return connected_components(beaten, directed=True, connection="strong" if directed else "weak")


def _edge_keys(first, second, n_items, ordered):
    turned = np.zeros(len(first), bool) if ordered else first > second
    left, right = np.where(turned, second, first), np.where(turned, first, second)
    return left.astype(np.int64) * n_items + right, turned
