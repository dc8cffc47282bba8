"""All optimal orderings of a Kemeny problem whose majority components are solved exactly.

No ordering can be worth more than the optimum of each component of the strict majority graph by itself plus all strict
majorities between components, and some ordering is. So an ordering is optimal if and only if it orders every component
optimally and follows every strict majority between components: the optimal orderings are all interleavings of optimal
orderings of the components that do. Items whose majorities are tied may be free to change places.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

LISTED_OPTIMA = 1000


@dataclass(frozen=True)
class SolvedComponent:
    """A component of the majority graph with an ordering, and the table of its best values if that is optimal.

    Attributes
    ----------
    items : ndarray of shape (m,)
    preferences : ndarray of shape (m, m)
        Between these items.
    order : ndarray of shape (m,)
        Local numbers, best first.
    best : ndarray of shape (2^m,) or None
        The largest value of an ordering of each set of items; None where the ordering was searched.
    """

    items: np.ndarray
    preferences: np.ndarray
    order: np.ndarray
    best: np.ndarray | None

    @property
    def full_set(self):
        return (1 << len(self.items)) - 1

    def optimal_firsts(self, sets):
        """Which items come first in an optimal ordering of each set, (n_sets, m) bool."""
        assert self.best is not None
        bits = 1 << np.arange(len(self.items))
        inside = (sets[:, None] & bits) != 0
        # Without the item itself, whose preference to itself is 0.
        values = self.best[sets[:, None] & ~bits] + inside.astype(self.preferences.dtype) @ self.preferences.T
        slack = 0
        if self.preferences.dtype.kind == "f":
            slack = 1e-10 * np.abs(self.preferences).sum()
        return inside & (values >= self.best[sets][:, None] - slack)

    @cached_property
    def _order_of_pairs(self):
        """Whether any optimal ordering has the row's item before the column's, and whether there is just one."""
        m = len(self.items)
        before = np.zeros((m, m), bool)
        if self.best is None:
            before[self.order] = np.tri(m, k=-1, dtype=bool).T[:, np.argsort(self.order)]
            return before, False
        bits = 1 << np.arange(m)
        is_unique, sets = True, np.array([self.full_set])
        for _ in range(m):
            firsts = self.optimal_firsts(sets)
            row, item = np.nonzero(firsts)
            is_unique &= len(row) == 1
            rest = sets[row] & ~bits[item]
            for a in range(m):
                before[a] |= (np.bitwise_or.reduce(rest[item == a], initial=0) & bits) != 0
            sets = np.unique(rest)
        return before, bool(is_unique)

    @property
    def before_somewhere(self):
        return self._order_of_pairs[0]

    @property
    def is_unique(self):
        return len(self.items) == 1 or self._order_of_pairs[1]


def concatenated(components):
    """The components' orderings one after another, (n_items,)."""
    return np.concatenate([np.empty(0, np.intp), *(component.items[component.order] for component in components)])


def is_unique(components, preferences):
    """Whether there is one optimal ordering only, for components solved exactly, in an optimal order.

    One component follows another in every optimal ordering if the neighbors where they meet are ordered strictly.
    """
    if not all(component.is_unique for component in components):
        return False
    ends = [component.items[component.order] for component in components]
    return all(preferences[one[-1], other[0]] > 0 for one, other in zip(ends[:-1], ends[1:], strict=True))


def optimal_orderings(components, preferences, limit):
    """At most `limit` optimal orderings, the concatenated components' first, (n_found, n_items)."""
    first = concatenated(components)
    if limit == 1:
        return first[None]
    found = [first]
    every = _interleavings(components, preferences)
    for ordering in islice(every, limit):
        if len(found) < limit and not np.array_equal(ordering, first):
            found.append(np.array(ordering))
    return np.array(found)


def _interleavings(components, preferences):
    """Yield every optimal ordering once, depth first."""
    n_items = len(preferences)
    number, local = np.empty(n_items, int), np.empty(n_items, int)
    for c, component in enumerate(components):
        number[component.items], local[component.items] = c, np.arange(len(component.items))
    outside = (preferences > 0) & (number[:, None] != number)
    ahead = outside.sum(axis=0)
    remaining = [component.full_set for component in components]

    def choices():
        free: list = []
        for c, component in enumerate(components):
            if remaining[c]:
                firsts = component.optimal_firsts(np.array([remaining[c]]))[0]
                free.extend(item for item in component.items[firsts] if ahead[item] == 0)
        return sorted(free, reverse=True)

    ordering: list = []
    stack = [choices()]
    while stack:
        if stack[-1]:
            item = stack[-1].pop()
            ordering.append(item)
            remaining[number[item]] ^= 1 << int(local[item])
            ahead[outside[item]] -= 1
            if len(ordering) == n_items:
                yield ordering.copy()
                stack.append([])
            else:
                stack.append(choices())
        else:
            stack.pop()
            if ordering and stack:
                item = ordering.pop()
                remaining[number[item]] ^= 1 << int(local[item])
                ahead[outside[item]] += 1


def tied_ranks(components, preferences):
    """Ranks that tie the items of each stretch in which optimal orderings differ, (n_items,).

    A bucket ends at a place before which all optimal orderings have the same items. Up to `LISTED_OPTIMA` orderings are
    listed. If there are more, two items are apart where strict majorities and orders that all optimal orderings of a
    component share lead from the one to the other, and a bucket ends where all items before are apart from all items
    after: these buckets can be larger. Components that were searched count as ordered.
    """
    n_items = len(preferences)
    order = concatenated(components)
    if all(component.best is not None for component in components):
        listed = optimal_orderings(components, preferences, LISTED_OPTIMA)
        if len(listed) < LISTED_OPTIMA:
            places = np.argsort(listed, axis=1)[:, order]
            return _ranks_by_cuts(order, np.maximum.accumulate(places, axis=1).max(axis=0, initial=0))
    apart = preferences > 0
    for component in components:
        apart[np.ix_(component.items, component.items)] = ~component.before_somewhere.T
    np.fill_diagonal(apart, False)
    apart = _transitive_closure(apart[np.ix_(order, order)])
    # A pair that is not apart joins all places from the one to the other.
    later = np.where(apart, 0, np.arange(n_items)).max(axis=1, initial=0)
    return _ranks_by_cuts(order, np.maximum.accumulate(np.maximum(later, np.arange(n_items))))


def _ranks_by_cuts(order, reach):
    """Ranks of buckets that end at each place that the items up to it do not reach beyond."""
    ends_here = reach == np.arange(len(order))
    ranks = np.empty(len(order), int)
    ranks[order] = np.cumsum(ends_here) - ends_here
    return ranks


def _transitive_closure(apart):
    while True:
        steps = apart.astype(np.float32)
        longer = apart | (steps @ steps > 0)
        if (longer == apart).all():
            return apart
        apart = longer
