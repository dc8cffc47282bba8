"""The engine for voters who say less, or more, than one ranking of all items: sparse net pair counts.

A voter is a row of net counts, ``net[v, p]`` = (times v puts item i of pair p before item j) - (times the other way),
and of the total number of pairs that v orders strictly. A list with missing items, a single comparison and twenty
comparisons by one judge are all such rows. With every ranking a Mallows ranking of just the items that it ranks, around
the center restricted to them (the *subset* model), a voter's log density under a component is

    -nu d + sum over rankings (sum over buckets log [b]_phi! - log [m]_phi!),     d = (total - net . signs(center)) / 2,

with m the number of items that a ranking ranks and b the sizes of its buckets. So distances and pair sums are one
sparse product each, and their cost goes with the number of ranked pairs, not with the number of all pairs. `PairCounts`
has the interface of `PairSigns`; the search does not know which one it runs on.
"""

from functools import lru_cache

import numpy as np
from scipy import sparse

from skrank._random import hash_rows, random_words, uniform
from skrank._rankings import bucket_sizes, n_ranked, ordering, pair_indices, pair_signs


class PairCounts:
    """Net pair counts of voters.

    Parameters
    ----------
    ranks : ndarray of shape (n_rankings, n_items)
        Distinct densified rankings (``skrank._rankings``), ties and missing items allowed.
    members : csr_matrix of shape (n_rows, n_rankings), default=None
        How often each voter gave each ranking; None means that each ranking is a voter.
    weights : ndarray of shape (n_rows,), default=None
        How often each voter was seen; None means once.

    Attributes
    ----------
    weights, total_weight, unit_weights, n_rows, n_items, n_pairs, has_ties, patterns, pattern
        As of `PairSigns`, with voters as rows. A pattern counts q-factorials: 1 for each bucket of m items, -1 for each
        ranking of m items, and 1 at n_items, which the engine of full rankings divides by.
    ranks, members
        As given.
    net : csr_array of shape (n_rows, n_pairs), float32
    totals : ndarray of shape (n_rows,)
        Number of pairs that each voter orders strictly, counted as often as it does.
    """

    has_ties = True

    def __init__(self, ranks, members=None, weights=None):
        n_rankings, self.n_items = ranks.shape
        self.ranks = ranks
        self.members = sparse.eye_array(n_rankings, format="csr") if members is None else sparse.csr_array(members)
        signs = sparse_pair_signs(ranks)
        self.net = signs if members is None else sparse.csr_array(self.members.astype(np.float32) @ signs)
        self.totals = self.members @ np.diff(signs.indptr).astype(float)
        patterns = np.rint(self.members @ _patterns(ranks)).astype(np.int32)
        patterns[:, -1] += 1
        self.patterns, self.pattern = np.unique(patterns, axis=0, return_inverse=True)
        self.pattern = self.pattern.ravel()
        self._set_weights(weights)

    @property
    def n_rows(self):
        return self.net.shape[0]

    @property
    def n_pairs(self):
        return self.net.shape[1]

    @property
    def coverage(self):
        """Mean number of times that a voter orders a pair of items: 1 for full rankings."""
        return float(self.totals @ self.weights / (self.total_weight * max(self.n_pairs, 1)))

    def _set_weights(self, weights):
        self.weights = np.ones(self.n_rows) if weights is None else np.asarray(weights, float)
        self.total_weight = float(self.weights.sum())
        self.unit_weights = bool((self.weights == 1).all())
        # By pair, for the neighbors of a center.
        self._net_by_pair = self.net.T.tocsr()

    def __getstate__(self):
        return {**self.__dict__, "_net_by_pair": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._net_by_pair = self.net.T.tocsr()

    def subset(self, rows, weights=None):
        """The table of some voters, with new weights (default: their own)."""
        part = object.__new__(PairCounts)
        part.__dict__.update(self.__dict__)
        part.members, part.net = self.members[rows], self.net[rows]
        part.totals, part.pattern = self.totals[rows], self.pattern[rows]
        part._set_weights(self.weights[rows] if weights is None else weights)
        return part

    # ------------------------------------------------------------ the operations of the engine
    def distances(self, centers):
        """Number of pairs that each voter orders strictly against each center, (n_centers, n_rows) float32."""
        signs = pair_signs(np.atleast_2d(centers)).T
        agreement = np.ascontiguousarray((self.net @ np.ascontiguousarray(signs)).T)
        return (self.totals.astype(np.float32) - agreement) / 2

    def pair_sums(self, row_weights):
        """Sums of the net counts, ``sum_v row_weights[m, v] net[v, p]``, (n_weightings, n_pairs) float64."""
        columns = np.ascontiguousarray(np.asarray(row_weights, np.float32).T)
        return np.asarray((self.net.T @ columns).T, float)

    def exchange_gains(self, first, second, responsibilities, factors):
        """Gains in total log-likelihood from exchanging neighbors in some centers; see `PairSigns.exchange_gains`.

        A voter with the net count c of `first` before `second` gains ``log(1 + sum_m r_m (factor^c - 1))``.
        """
        counts = self._neighbor_counts(first, second).tocoo()
        pair, voter, count = counts.coords[0], counts.coords[1], counts.data.astype(float)
        ratio = np.ones(len(count))
        for r, factor in zip(responsibilities, factors, strict=True):
            ratio += r[voter] * np.expm1(np.log(factor) * count)
        gains = np.log(np.maximum(ratio, 1e-300)) * self.weights[voter]
        return np.bincount(pair, gains, len(first))

    def _neighbor_counts(self, first, second):
        """Net count of first[t] before second[t] of each voter, sparse (n_pairs, n_rows)."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        counts = self._net_by_pair[low * (2 * self.n_items - low - 1) // 2 + high - low - 1]
        counts.data *= np.repeat(np.where(first < second, 1, -1), np.diff(counts.indptr)).astype(np.float32)
        return counts

    # ------------------------------------------------------------ what starts and splits look at
    def signs(self):
        """All net counts, sparse (n_rows, n_pairs)."""
        return self.net

    def adjacent_signs(self, center):
        """Net order of the neighbors of a center by each voter, (n_items - 1, n_rows); see `PairSigns`."""
        items = ordering(center[None])[0]
        return self._neighbor_counts(items[:-1], items[1:]).toarray()

    def rankings(self, rows):
        """Some voters as full rankings (positions), (n_rows, n_items).

        Items by the share of their comparisons that they win; those that a voter never compared come at random, the
        same for the same voter every time.
        """
        net = self.net[rows]
        ends = _pair_ends(self.n_items)
        n_compared = (abs(net) @ abs(ends)).toarray()
        drawn = 2 * uniform(random_words(hash_rows(net.toarray().astype(np.int64)), self.n_items)) - 1
        share = np.where(n_compared > 0, (net @ ends).toarray() / np.maximum(n_compared, 1), drawn)
        return np.argsort(np.argsort(-share, axis=1, kind="stable"), axis=1)


def sparse_pair_signs(ranks):
    """The pair signs of densified rankings that are not 0, csr_array (n_rankings, n_pairs) float32."""
    n_rankings, n_items = ranks.shape
    number = np.zeros((n_items, n_items), np.int32)
    number[pair_indices(n_items)] = np.arange(n_items * (n_items - 1) // 2)
    ranked, items = n_ranked(ranks), ordering(ranks)
    rows, columns, signs = [np.empty(0, np.int32)], [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    for size in np.unique(ranked[ranked > 1]):
        some = np.flatnonzero(ranked == size)
        before, after = pair_indices(int(size))
        first, second = items[some][:, before], items[some][:, after]
        strict = np.take_along_axis(ranks[some], first, 1) < np.take_along_axis(ranks[some], second, 1)
        rows.append(np.broadcast_to(some[:, None].astype(np.int32), strict.shape)[strict])
        columns.append(number[np.minimum(first, second), np.maximum(first, second)][strict])
        signs.append(np.where(first < second, 1, -1)[strict].astype(np.float32))
    shape = n_rankings, n_items * (n_items - 1) // 2
    return sparse.csr_array((np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))), shape)


def _patterns(ranks):
    """Number of q-factorials by size that a ranking's density multiplies (buckets) and divides by (ranked items)."""
    n_rankings, n_items = ranks.shape
    sizes = bucket_sizes(ranks)
    cell = sizes + np.arange(n_rankings)[:, None] * (n_items + 1)
    patterns = np.bincount(cell.ravel(), minlength=n_rankings * (n_items + 1)).reshape(n_rankings, n_items + 1)
    np.subtract.at(patterns, (np.arange(n_rankings), n_ranked(ranks)), 1)
    patterns[:, :2] = 0  # [0]! = [1]! = 1
    return patterns


@lru_cache(maxsize=8)
def _pair_ends(n_items):
    """+1 at the first item of each pair and -1 at the second, csr_array (n_pairs, n_items)."""
    first, second = pair_indices(n_items)
    pairs = np.arange(len(first))
    values = np.repeat(np.array([1, -1], np.float32), len(first))
    return sparse.csr_array((values, (np.tile(pairs, 2), np.concatenate([first, second]))), (len(first), n_items))
