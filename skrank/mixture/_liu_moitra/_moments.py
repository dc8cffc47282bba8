"""Low-order moments: the probabilities of the places of a few items (Liu and Moitra 2018, Definition 12).

The vector v_c of a distribution has one entry for each set of c items and each placement of them. It is stored densely,
shape (n choose c, n, ..., n): the sets in the order of ``itertools.combinations``, one axis of places for each item,
0 where two items would share a place. Moments of a mixture are the weighted sums of those of its components, which is
what Claim 2 and Corollary 4 subtract a found component from.
"""

import itertools

import numpy as np


def low_order_moments(ranks, weights, order):
    """v_c of a weighted table of full rankings.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Full rankings, as 0-based places.
    weights : ndarray of shape (n_samples,)
    order : int
        c, the number of items.

    Returns
    -------
    moments : ndarray of shape (n_items choose order,) + (n_items,) * order
    """
    n_items = ranks.shape[1]
    shape = (n_items,) * order
    moments = []
    for items in itertools.combinations(range(n_items), order):
        placement = np.ravel_multi_index(tuple(ranks[:, items].T.astype(np.intp)), shape)
        moments.append(np.bincount(placement, weights, n_items**order).reshape(shape))
    return np.array(moments) / np.sum(weights)


def mallows_low_order_moments(center, dispersion, order):
    """v_c of a Mallows model, exactly: n_items^(order + 2) steps for each set of items.

    The items are inserted in the order of the center, the t-th one above v of the t earlier ones with probability
    proportional to phi^v; only the places of the chosen items are kept.
    """
    center = np.asarray(center)
    subsets = itertools.combinations(range(len(center)), order)
    return np.array([_placement_probabilities(center, dispersion, items) for items in subsets])


def _placement_probabilities(center, dispersion, items):
    waiting = {item: axis for axis, item in enumerate(items)}
    # The axis of an item that is not inserted yet has length one.
    probability = np.ones((1,) * len(items))
    for n_inserted, item in enumerate(np.argsort(center)):
        axis = waiting.pop(int(item), None)
        still = set(waiting.values())
        grown = np.zeros([1 if a in still else n_inserted + 1 for a in range(len(items))])
        weights = np.power(float(dispersion), np.arange(n_inserted, -1, -1))
        for place, weight in enumerate(weights / weights.sum()):
            shifted = np.arange(n_inserted) + (np.arange(n_inserted) >= place)
            index = [np.zeros(1, int) if a in still else shifted for a in range(len(items))]
            if axis is not None:
                index[axis] = np.array([place])
            grown[np.ix_(*index)] += weight * probability
        probability = grown
    return probability
