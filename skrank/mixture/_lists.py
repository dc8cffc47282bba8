"""Mixtures of lists of few of very many items: no table of all pairs of items.

A list of L of n items, all others tied last, is at the distance

    d = sum of the places of its items in the center - L (L - 1) / 2 + pairs of its items that the center turns,

and if the others are missing, only the last term counts. So distances cost the entries and pairs of the lists
(`ListTable`), and an M-step is a Kemeny problem of item weights and compared pairs (``skrank.stats._kemeny_sparse``).
Components are searched for with the most listed items, all else as for other rankings, then polished with all items
(`Catalog`).
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import csr_array

from skrank._mallows import log_pattern_probabilities, mean_distance
from skrank._rankings import densify, row_blocks
from skrank._sparse_rankings import pairs_within
from skrank.mixture._em import LEAST_DISPERSION, expectation
from skrank.mixture._missing import posterior_probabilities
from skrank.mixture._model import PSEUDO_DISTANCE, PSEUDO_RANKINGS, Mixture
from skrank.mixture._partitions import Totals
from skrank.mixture._voters import make_table
from skrank.stats._kemeny_sparse import ComparedPairs, sparse_kemeny

SEARCHED_ITEMS = 100
IMPROVEMENT_ROUNDS = 3


class ListTable:
    """The engine of lists: what an E-step needs, with the names of `PairSigns`; rows are not made distinct.

    Parameters
    ----------
    lists : Lists
    weights : ndarray of shape (n_lists,), default=None
        How often each list was seen; None means once.
    """

    has_ties = True

    def __init__(self, lists, weights=None):
        self.lists, self.n_items, self.n_rows = lists, lists.n_items, len(lists)
        self.weights = np.ones(len(lists)) if weights is None else weights
        self.total_weight = float(self.weights.sum())
        self.unit_weights = bool((self.weights == 1).all())
        ranks, self.items, self.item_rows = lists.ranks.data, lists.ranks.indices.astype(np.intp), lists.rows
        first, second, rows = pairs_within(lists.ranks.indptr)
        strict = ranks[first] != ranks[second]
        first, second, self.pair_rows = first[strict], second[strict], rows[strict]
        is_ahead = ranks[first] < ranks[second]
        self.ahead = self.items[np.where(is_ahead, first, second)]
        self.behind = self.items[np.where(is_ahead, second, first)]
        self.totals = np.bincount(self.pair_rows, minlength=len(lists)).astype(float)
        if lists.tied_last:
            self.totals += lists.lengths * (lists.n_items - lists.lengths)
        self.patterns, self.pattern = _patterns(lists)

    @property
    def coverage(self):
        """Mean proportion of the pairs of items that a list orders."""
        return float(self.totals @ self.weights / (self.total_weight * max(self.n_items * (self.n_items - 1) / 2, 1)))

    def distances(self, centers):
        """Number of pairs that each list orders strictly against each center, (n_centers, n_rows) float64."""
        centers = np.atleast_2d(centers)
        distances = np.empty((len(centers), self.n_rows))
        lengths = self.lists.lengths
        for row, center in zip(distances, centers, strict=True):
            turned = center[self.ahead] > center[self.behind]
            row[:] = np.bincount(self.pair_rows, turned, self.n_rows)
            if self.lists.tied_last:
                row += np.bincount(self.item_rows, center[self.items], self.n_rows) - lengths * (lengths - 1) // 2
        return distances


def _patterns(lists):
    """Distinct counts of q-factorials by size, sparse (n_patterns, n_items + 1), and the pattern of each list.

    1 for each bucket of m items, the one of absent items among them; else -1 for L listed items, and 1 for n, by which
    the densities of full rankings are divided.
    """
    n_lists, n_items, lengths = len(lists), lists.n_items, lists.lengths
    cell = lists.rows * np.int64(n_items + 1) + lists.ranks.data
    buckets, sizes = np.unique(cell, return_counts=True)
    every = np.arange(n_lists)
    rows, counts = [buckets // (n_items + 1), every], [np.ones(len(sizes), np.int32)]
    if lists.tied_last:
        all_sizes = [sizes, n_items - lengths]
        counts.append(np.ones(n_lists, np.int32))
    else:
        all_sizes = [sizes, lengths, np.full(n_lists, n_items)]
        rows.append(every)
        counts += [np.full(n_lists, -1, np.int32), np.ones(n_lists, np.int32)]
    row, size, count = np.concatenate(rows), np.concatenate(all_sizes), np.concatenate(counts)
    kept = size > 1  # [0]! = [1]! = 1
    used, column = np.unique(size[kept], return_inverse=True)
    table = np.zeros((n_lists, len(used)), np.int32)
    np.add.at(table, (row[kept], column), count[kept])
    patterns, pattern = np.unique(table, axis=0, return_inverse=True)
    row, column = np.nonzero(patterns)
    shape = len(patterns), n_items + 1
    return csr_array((patterns[row, column].astype(float), (row, used[column])), shape=shape), pattern.ravel()


# ---------------------------------------------------------------- EM
class ListEM:
    """EM of a mixture on a `ListTable`: centers by `sparse_kemeny`, items that no list has last, by number.

    A component also sees half a pseudo-list, of the mean pattern of the lists. A full pseudo-ranking, as other engines
    have it, would outweigh lists of few of very many items.
    """

    def __init__(self, data):
        self.data = data
        self.listed = np.unique(data.items)
        number = np.full(data.n_items, -1)
        number[self.listed] = np.arange(len(self.listed))
        self._items = number[data.items]
        ahead, behind = number[data.ahead], number[data.behind]
        low, high = np.minimum(ahead, behind), np.maximum(ahead, behind)
        cells, self._pair = np.unique(low * np.int64(len(self.listed)) + high, return_inverse=True)
        self._sign = np.where(ahead == low, 1.0, -1.0)
        self.pairs = ComparedPairs(len(self.listed), *np.divmod(cells, len(self.listed)))
        self._mean_pattern = self._pattern_sums(data.weights) / data.total_weight

    def _pattern_sums(self, row_weights):
        return np.bincount(self.data.pattern, row_weights, self.data.patterns.shape[0]) @ self.data.patterns

    def pseudo_log_likelihood(self, dispersions):
        """What half a pseudo-list of the mean pattern at distance 1 from each center adds to the log-likelihood."""
        nu = -np.log(dispersions)
        log_probability = log_pattern_probabilities(self._mean_pattern[None], nu)[:, 0] - PSEUDO_DISTANCE * nu
        return PSEUDO_RANKINGS * log_probability.sum()

    def run(self, row_weights, max_iter, tol):
        """The mixture that EM climbs to from weights of the lists in each component, (n_components, n_rows)."""
        data, best, thorough = self.data, None, True
        mixture = self.maximized(row_weights, None, thorough)
        for n_iter in range(1, max_iter + 1):
            row_weights, log_likelihood, _ = expectation(data, mixture)
            lower_bound = log_likelihood + self.pseudo_log_likelihood(mixture.dispersions) / data.total_weight
            ended = best is not None and bool(lower_bound - best.lower_bound < tol)
            converged = ended and thorough
            if best is None or lower_bound >= best.lower_bound:
                best = replace(mixture, log_likelihood=log_likelihood, lower_bound=lower_bound)
            best = replace(best, n_iter=n_iter, converged=converged)
            if converged:
                break
            thorough = ended
            mixture = self.maximized(row_weights, mixture, thorough)
        return best

    def maximized(self, responsibilities, mixture, thorough):
        """An M-step; `mixture` None means from nothing, and otherwise its centers are improved, or searched anew."""
        data = self.data
        row_weights = responsibilities * data.weights
        centers = np.array(
            [
                self._center(weights, None if mixture is None else mixture.centers[component], thorough)
                for component, weights in enumerate(row_weights)
            ]
        )
        distances = data.distances(centers)
        disagreements = (row_weights * distances).sum(axis=1)
        if mixture is not None:
            before = (row_weights * data.distances(mixture.centers)).sum(axis=1)
            worse = disagreements > before
            centers[worse], disagreements[worse] = mixture.centers[worse], before[worse]
        weights = row_weights.sum(axis=1)
        dispersions = self._dispersions(row_weights, disagreements)
        return Mixture(centers, dispersions, weights / weights.sum())

    def _center(self, row_weights, previous, thorough):
        data, n_listed = self.data, len(self.listed)
        scores = np.zeros(n_listed)
        if data.lists.tied_last:
            scores = np.bincount(self._items, row_weights[data.item_rows], n_listed)
        values = np.bincount(self._pair, self._sign * row_weights[data.pair_rows], len(self.pairs.first))
        starts = [] if previous is None else [np.argsort(previous[self.listed])]
        order = sparse_kemeny(scores, self.pairs, values, starts, None if thorough else IMPROVEMENT_ROUNDS)
        center = np.full(data.n_items, -1)
        center[self.listed[order]] = np.arange(n_listed)
        center[center < 0] = np.arange(n_listed, data.n_items)
        return center

    def _dispersions(self, row_weights, disagreements):
        """Roots of the moment equation of the lists and the pseudo-list, one for each component."""
        dispersions = np.ones(len(row_weights))
        for component, weights in enumerate(row_weights):
            mass = weights.sum() + PSEUDO_RANKINGS
            target = (disagreements[component] + PSEUDO_RANKINGS * PSEUDO_DISTANCE) / mass
            coefficients = -(self._pattern_sums(weights) + PSEUDO_RANKINGS * self._mean_pattern) / mass
            coefficients[-1] += 1
            dispersions[component] = _dispersion(coefficients, target)
        return np.maximum(dispersions, LEAST_DISPERSION)


def _dispersion(coefficients, target):
    """The dispersion at which mean distances of 0, ..., n items, times the coefficients, add up to the target."""
    n_items = len(coefficients) - 1
    sizes = np.flatnonzero(coefficients)

    def excess(log_nu):
        return float(mean_distance(n_items, np.exp(log_nu))[sizes] @ coefficients[sizes]) - target

    low, high = np.log(1e-3 / n_items**2), np.log(50.0)
    if excess(low) <= 0:
        return 1.0
    if excess(high) >= 0:
        return float(np.exp(-50.0))
    return float(np.exp(-np.exp(brentq(excess, low, high, xtol=1e-9, rtol=1e-12))))


# ---------------------------------------------------------------- a catalog
class Catalog:
    """Lists of few of very many items: components are searched with the most listed items, and polished with all.

    Parameters
    ----------
    lists : Lists
    weights : ndarray of shape (n_lists,)
        0 where a list does not count.
    n_drawn : int
        Lists that are searched on, at most.
    rng : numpy.random.Generator
        Draws them.

    Attributes
    ----------
    drawn : ndarray of shape (min(n_lists, n_drawn), min(n_items, SEARCHED_ITEMS))
        Ranks of the most listed items in lists drawn without replacement.
    drawn_weights : ndarray
        Their weights.
    """

    is_drawn_whole = False

    def __init__(self, lists, weights, n_drawn, rng):
        counted = np.flatnonzero(weights > 0)
        self.lists, self.weights = lists[counted], weights[counted]
        counts = np.bincount(self.lists.ranks.indices, self.weights[self.lists.rows], lists.n_items)
        self.searched = np.sort(np.argsort(-counts, kind="stable")[:SEARCHED_ITEMS])
        rows = np.arange(len(counted))
        if len(rows) > n_drawn:
            rows = np.sort(rng.choice(len(rows), n_drawn, replace=False))
        self.drawn, self.drawn_weights = self._ranks(rows), self.weights[rows]

    def _ranks(self, rows):
        """Ranks of the searched items in some lists, NaN for missing."""
        ranks = self.lists.ranks[rows][:, self.searched].toarray().astype(float)
        absent = ranks == 0
        ranks[absent] = self.lists.n_items + 1 if self.lists.tied_last else np.nan
        return ranks

    def polished(self, mixture, max_iter, tol):
        """The mixture of all items that EM on all lists climbs to, what is known of them, and that they are lists."""
        responsibilities = np.empty((mixture.n_components, len(self.lists)))
        for rows in row_blocks(len(self.lists), 64 * len(self.searched)):
            data, inverse = make_table(densify(self._ranks(rows)))
            responsibilities[:, rows] = posterior_probabilities(data, mixture, "subset")[inverse].T
        data = ListTable(self.lists, self.weights)
        mixture = ListEM(data).run(responsibilities, max_iter, tol)
        return mixture, Totals(data.total_weight, data.n_items, data.coverage), True


def lists_order_something(lists):
    """Which lists order at least two items strictly, shape (n_lists,)."""
    n_buckets = np.zeros(len(lists), np.int64)
    np.maximum.at(n_buckets, lists.rows, lists.ranks.data)
    return n_buckets + (lists.tied_last & (lists.lengths < lists.n_items)) > 1
