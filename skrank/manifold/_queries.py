"""Putting the queries of a design to an oracle: rows for the callable, slices for the block form."""

import numpy as np
from sklearn import get_config

from skrank.manifold._oracle import check_responses

_MOST_QUERIES_AT_A_TIME = 1 << 18


def queries_at_a_time(items):
    """How many queries, three rows each, fit in scikit-learn's `working_memory`."""
    bytes_per_query = 3 * items.itemsize * items.shape[1] + 64
    fitting = int(get_config()["working_memory"] * 2**20 // bytes_per_query)
    return max(1, min(fitting, _MOST_QUERIES_AT_A_TIME))


def ask_triplets(oracle, items, i, j, k):
    """Whether item j is nearer than item k to item i, for arrays of indices; asked in blocks."""
    nearer = np.empty(len(i), bool)
    size = queries_at_a_time(items)
    for start in range(0, len(i), size):
        block = slice(start, start + size)
        anchors, left, right = items[i[block]], items[j[block]], items[k[block]]
        nearer[block] = check_responses(oracle(anchors, left, right), len(left))
    return nearer


class LandmarkQueries:
    """The queries about all other items from one landmark; positions are those of the others, in order.

    Parameters
    ----------
    oracle : callable
        A bound oracle.
    items : ndarray of shape (n_items, n_features)
        The items.
    landmark : int
        Index of the landmark among the items.
    """

    def __init__(self, oracle, items, landmark):
        self.oracle, self.items, self.landmark = oracle, items, landmark
        self.order = np.delete(np.arange(len(items)), landmark)

    def pairs(self, left, right):
        """Whether the items at positions `left` are nearer to the landmark than those at positions `right`."""
        anchors = np.full(len(left), self.landmark)
        return ask_triplets(self.oracle, self.items, anchors, self.order[left], self.order[right])

    def block(self):
        """A function `ask(start, stop, shift)` for the circulant design."""
        if not hasattr(self.oracle, "start"):
            return self._ask_rows
        ask = self.oracle.start(self.landmark, self.order)
        return lambda start, stop, shift: check_responses(ask(start, stop, shift), stop - start)

    def _ask_rows(self, start, stop, shift):
        left = np.arange(start, stop)
        return self.pairs(left, (left + shift) % len(self.order))
