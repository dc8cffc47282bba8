"""Block and order structures of rankings, and their exact probabilities under a Mallows model.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), sections 2.2 and 3.1. A structure is a
list of *blocks*, each a list of items. A permutation satisfies it

- as a block structure (Definition 4) if the items of each block take consecutive places and the blocks come in order;
- as an order structure (Definition 5) if the items of each block come in the order in which it lists them;
- as an ordered block structure (Definition 6) if both.

A ranking with ties satisfies a structure if every permutation consistent with it does; no item is missing. Centers are
0-based places, ``center[i]`` that of item i; dispersions are phi in [0, 1].
"""

import itertools

import numpy as np

from skrank._mallows import log_q_factorial
from skrank._rankings import bucket_places, densify

MAX_GROUPS = 20


# ---------------------------------------------------------------- which rankings satisfy a structure
def restrict(ranks, items):
    """The rankings that `ranks` induce on a subset of the items (Definition 3)."""
    return densify(ranks[:, items].astype(float))


def satisfies_block_structure(ranks, blocks):
    """Which rankings satisfy `blocks` as a block structure (Definition 4), shape (n_samples,)."""
    first, size = bucket_places(ranks)
    satisfied = np.ones(len(ranks), bool)
    end_before = np.zeros(len(ranks), np.intp)
    for block in blocks:
        start = first[:, block].min(axis=1)
        end = (first[:, block] + size[:, block]).max(axis=1)
        if len(block) > 1:
            satisfied &= end - start == len(block)
        satisfied &= start >= end_before
        end_before = end
    return satisfied


def satisfies_order_structure(ranks, orders):
    """Which rankings satisfy `orders` as an order structure (Definition 5), shape (n_samples,)."""
    satisfied = np.ones(len(ranks), bool)
    for order in orders:
        satisfied &= (ranks[:, order[:-1]] < ranks[:, order[1:]]).all(axis=1)
    return satisfied


def satisfies_ordered_block_structure(ranks, blocks):
    """Which rankings satisfy `blocks` as an ordered block structure (Definition 6), shape (n_samples,)."""
    return satisfies_block_structure(ranks, blocks) & satisfies_order_structure(ranks, blocks)


def block_orderings(ranks, blocks):
    """In which of its orderings each block occurs: the cell of the tensor of Definition 7, flattened.

    The orderings of a block are numbered as ``itertools.permutations`` lists them, the last block varies fastest; for
    pairs the digits are bits, 0 where the first item comes first.

    Returns
    -------
    cell : ndarray of shape (n_samples,), intp
        -1 where a block has ties.
    """
    cell = np.zeros(len(ranks), np.intp)
    known = np.ones(len(ranks), bool)
    for block in blocks:
        places = ranks[:, block].astype(np.intp)
        # Lexicographic number of a permutation: how many smaller items come later, in mixed radix.
        order = np.argsort(places, axis=1, kind="stable")
        later_smaller = np.triu(order[:, :, None] > order[:, None, :]).sum(axis=2)
        for digit, radix in enumerate(range(len(block), 0, -1)):
            cell = cell * radix + later_smaller[:, digit]
        known &= (np.diff(np.sort(places, axis=1), axis=1) > 0).all(axis=1)
    return np.where(known, cell, -1)


# ---------------------------------------------------------------- probabilities
def block_probability(center, dispersion, blocks):
    """Probability that a Mallows ranking satisfies `blocks` as a block structure: Pr[pi in S_B] of Corollary 2.

    By Fact 1 the order inside a block is a Mallows model of its own, whatever the rest, so each block is one group that
    moves as a whole.
    """
    log_inside = sum(log_q_factorial(len(block), _concentration(dispersion))[-1] for block in blocks)
    return _structure_probability(center, dispersion, blocks, list(itertools.pairwise(range(len(blocks)))), log_inside)


def ordered_block_probability(center, dispersion, blocks):
    """Probability that a Mallows ranking satisfies `blocks` as an ordered block structure (Definition 6)."""
    within = block_probability(center, dispersion, blocks)
    for block in blocks:
        inside = ordering_probabilities(center, dispersion, block)
        within *= inside[0]
    return within


def order_probability(center, dispersion, orders):
    """Probability that a Mallows ranking satisfies `orders` as an order structure (Definition 5).

    Unlike blocks, the ordered sets may share items.
    """
    items = sorted({item for order in orders for item in order})
    number = {item: index for index, item in enumerate(items)}
    precedences = [(number[a], number[b]) for order in orders for a, b in itertools.pairwise(order)]
    return _structure_probability(center, dispersion, [[item] for item in items], precedences, 0.0)


def ordering_probabilities(center, dispersion, items):
    """v(M(phi, center restricted to items)): probabilities of all orderings of some items that are consecutive.

    They are numbered as in `block_orderings` (Definition 2, Fact 1).
    """
    places = np.asarray(center)[list(items)]
    order = np.array(list(itertools.permutations(range(len(items)))))
    distance = np.triu(places[order][:, :, None] > places[order][:, None, :], 1).sum(axis=(1, 2))
    weights = np.power(float(dispersion), distance)
    return weights / weights.sum()


def block_tensor(center, dispersion, blocks):
    """The tensor T_{M,B} of Definition 7, of rank one (Corollary 2), shape (|S_1|!, ..., |S_j|!)."""
    tensor = np.array(block_probability(center, dispersion, blocks))
    for block in blocks:
        tensor = np.multiply.outer(tensor, ordering_probabilities(center, dispersion, block))
    return tensor


def pair_order_probability(span, dispersion):
    """Probability that x precedes y, where the center ranks y ``span - 1`` places after x (proof of Lemma 11).

    sum_{1 <= r < s <= d} phi^(r - 1 + d - s) / ((1 + ... + phi^(d-1)) (1 + ... + phi^(d-2))), d = span >= 2: only the d
    items from x to y matter. With m = d - 1 - (s - r) displaced places the numerator is sum_{m=0}^{d-2} (m + 1) phi^m.

    Parameters
    ----------
    span : int or ndarray of ints, at least 2
    dispersion : float or ndarray that broadcasts with `span`

    Returns
    -------
    probability : ndarray
    """
    span, dispersion = np.broadcast_arrays(np.asarray(span), np.asarray(dispersion, float))
    powers = np.power(dispersion[..., None], np.arange(span.max(initial=2)))
    index = np.arange(powers.shape[-1])
    numerator = ((index + 1) * powers * (index < span[..., None] - 1)).sum(axis=-1)
    geometric = np.cumsum(powers, axis=-1)
    first = np.take_along_axis(geometric, span[..., None] - 1, axis=-1)[..., 0]
    second = np.take_along_axis(geometric, span[..., None] - 2, axis=-1)[..., 0]
    return numerator / (first * second)


# ---------------------------------------------------------------- partition functions over sets of groups
def _concentration(dispersion):
    with np.errstate(divide="ignore"):
        return -np.log(np.asarray(dispersion, float))


def _structure_probability(center, dispersion, blocks, precedences, log_inside):
    """Sum over all rankings in which each block is consecutive and block a precedes block b, for (a, b) in precedences.

    Dynamic programming over the sets of groups that come first: a group is a block or a single item. Placing a group
    before all groups that are left adds the inversions between them.
    """
    center = np.asarray(center)
    in_block = {item for block in blocks for item in block}
    groups = [list(block) for block in blocks] + [[item] for item in range(len(center)) if item not in in_block]
    n_groups = len(groups)
    if n_groups > MAX_GROUPS:
        raise ValueError(f"the structure leaves {n_groups} groups of items: at most {MAX_GROUPS} are possible.")
    member = np.zeros((n_groups, len(center)), int)
    for group, items in enumerate(groups):
        member[group, items] = 1
    # inversions[a, b]: pairs of an item of a and an item of b that are inverted if a comes before b.
    inversions = member @ (center[:, None] > center) @ member.T
    required = np.zeros(n_groups, int)
    for before, after in precedences:
        required[after] |= 1 << before

    sets = np.arange(1 << n_groups)
    outside = ~(sets[:, None] >> np.arange(n_groups)) & 1
    total = np.zeros(1 << n_groups)
    total[0] = 1.0
    for level in np.split(*_by_size(sets)):
        for group in range(n_groups):
            bit = 1 << group
            allowed = level[(level & bit == 0) & (level & required[group] == required[group])]
            added = outside[allowed] @ inversions[group] - inversions[group, group]
            total[allowed | bit] += total[allowed] * np.power(float(dispersion), added)
    return total[-1] * np.exp(log_inside - log_q_factorial(len(center), _concentration(dispersion))[-1])


def _by_size(sets):
    size = np.bitwise_count(sets)
    return sets[np.argsort(size, kind="stable")], np.cumsum(np.bincount(size))[:-1]
