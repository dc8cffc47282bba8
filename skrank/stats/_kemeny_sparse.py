"""Weighted Kemeny orderings of very many items of which few pairs are compared: moves along the compared pairs.

Preferences are item scores and values of some pairs, ``preferences[a, b] = scores[a] - scores[b] + value of the pair``,
and no table of all pairs is made. Lists of few of many items have this form: where items that are not listed are tied
last, the scores are the summed weights of the lists that an item is in; where they are missing, the scores are zero.

Between two items that it is compared with, an item gains from a move as its score says, so that its best place is next
to one of these, to a neighbor, or where its score puts it. The gains of all such moves are cumulative sums along the
compared pairs, and a pass costs as much as sorting them. The ordering by scores alone would be optimal without pairs. A
Kemeny ordering of so many items cannot be computed (the problem is NP-hard), and this is a local optimum.
"""

from dataclasses import dataclass

import numpy as np

from skrank.stats._kemeny_search import FLOAT_TOLERANCE, _make_disjoint_moves

MAX_ROUNDS = 100


@dataclass(frozen=True)
class ComparedPairs:
    """Pairs of items that are compared, each once.

    first, second : ndarrays of shape (n_pairs,)
        Item numbers from 0 to n_items - 1.
    """

    n_items: int
    first: np.ndarray
    second: np.ndarray

    def directed(self, values):
        """Each pair from both ends: item, other item, and how much the item is preferred to the other one."""
        ends = np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])
        return *ends, np.concatenate([values, -values])


def borda_ordering(scores, pairs, values):
    """Items by their total preference to all others, equal ones by number, shape (n_items,)."""
    item, _, value = pairs.directed(values)
    return np.argsort(-(len(scores) * scores + np.bincount(item, value, len(scores))), kind="stable")


def ordering_value(scores, pairs, values, ordering):
    """The sum of the preferences of each item to all later ones."""
    place = np.argsort(ordering)
    ahead = np.sign(place[pairs.second] - place[pairs.first])
    return float(scores @ (len(scores) - 1.0 - 2 * place) + values @ ahead)


def sparse_kemeny(scores, pairs, values, starts=(), n_rounds=None):
    """A locally optimal weighted Kemeny ordering.

    Parameters
    ----------
    scores : ndarray of shape (n_items,)
    pairs : ComparedPairs
    values : ndarray of shape (n_pairs,)
    starts : sequence of ndarrays of shape (n_items,), default=()
        Orderings to start from. Borda's is another start, unless `n_rounds` is given and there are others; the first
        of equals is kept.
    n_rounds : int, default=None
        Rounds of moves at most; None means until none gains.

    Returns
    -------
    ordering : ndarray of shape (n_items,)
    """
    starts = list(starts)
    if n_rounds is None or not starts:
        starts.append(borda_ordering(scores, pairs, values))
    if len(scores) < 2:
        return starts[0]
    least_gain = FLOAT_TOLERANCE * (np.abs(values).sum() + len(scores) * scores.sum())
    best, best_value = None, -np.inf
    for start in starts:
        ordering = _climbed(scores, pairs, values, start, least_gain, MAX_ROUNDS if n_rounds is None else n_rounds)
        value = ordering_value(scores, pairs, values, ordering)
        if best is None or value > best_value + 2 * least_gain:
            best, best_value = ordering, value
    return best


def _climbed(scores, pairs, values, ordering, least_gain, n_rounds):
    directed = pairs.directed(values)
    ordering = np.array(ordering, np.intp)[None]
    for _ in range(n_rounds):
        gains, steps = _best_moves(scores, directed, ordering[0])
        if not _make_disjoint_moves(ordering, gains[None], steps[None], np.array([least_gain]))[0]:
            break
    return ordering[0]


def _best_moves(scores, directed, ordering):
    """The best move of the item at each place: its gain and by how many places, each of shape (n_items,)."""
    n_items = len(ordering)
    place = np.argsort(ordering)
    # Neighbors in the ordering, and the place by scores, count as compared with nothing besides the scores.
    by_score = np.argsort(-scores, kind="stable")
    item = np.concatenate([directed[0], ordering[1:], ordering[:-1], by_score])
    target = np.concatenate([place[directed[1]], place[ordering[:-1]], place[ordering[1:]], np.arange(n_items)])
    value = np.concatenate([directed[2], np.zeros(3 * n_items - 2)])
    cell = item * n_items + target
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    is_new = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    value = np.add.reduceat(value[order], is_new)
    item, target = np.divmod(cell[is_new], n_items)
    starts = np.flatnonzero(np.concatenate([[True], item[1:] != item[:-1]]))
    passed = np.cumsum(value)
    passed -= np.repeat(passed[starts] - value[starts], np.diff(np.append(starts, len(item))))
    source = place[item]
    is_earlier = target < source
    ahead = np.bincount(item, np.where(is_earlier, value, 0), n_items)[item]
    sums = np.concatenate([[0.0], np.cumsum(scores[ordering])])
    own = scores[item] * (source - target)
    gains = np.where(
        is_earlier,
        own - (sums[source] - sums[target]) + ahead - (passed - value),
        own + (sums[target + 1] - sums[source + 1]) - (passed - ahead),
    )
    best = np.maximum.reduceat(gains, starts)
    is_best = np.flatnonzero(gains == best[item])
    first = is_best[np.searchsorted(item[is_best], np.arange(n_items))]
    steps = np.empty(n_items, np.intp)
    by_place = np.empty(n_items)
    by_place[place], steps[place] = best, target[first] - source[first]
    return by_place, steps
