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


def ask_block(oracle, items, anchor, order):
    """A function `ask(start, stop, shift)`: whether item order[t] is nearer to the anchor than order[t + shift]."""
    if hasattr(oracle, "start"):
        block = oracle.start(anchor, order)
        return lambda start, stop, shift: check_responses(block(start, stop, shift), stop - start)

    def ask_rows(start, stop, shift):
        left = np.arange(start, stop)
        right = (left + shift) % len(order)
        return ask_triplets(oracle, items, np.full(len(left), anchor), order[left], order[right])

    return ask_rows
