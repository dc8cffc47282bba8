"""Weighted Kemeny consensus: orderings that agree most with antisymmetric pairwise preferences.

A problem is an antisymmetric matrix, ``preferences[a, b]`` = (weight that prefers item a to b) - (weight that prefers b
to a); the value of an ordering is the sum of ``preferences[a, b]`` over the pairs in which a comes before b, and a
Kemeny ordering has the largest. Orderings are lists of items, best first. Problems come in batches of M, because a
mixture solves one for each component and start at every step.
"""

from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from skrank._rankings import pair_indices, row_blocks
from skrank.stats._kemeny_optima import SolvedComponent, concatenated
from skrank.stats._kemeny_search import FLOAT_TOLERANCE, insertion_search, recombined

MAX_EXACT_ITEMS = 20
BATCH_PERTURBATIONS = 5
FEW_ITEMS = 64
IMPROVEMENT_ROUNDS = 3
BLOCK_ENTRIES = 1 << 21


# ---------------------------------------------------------------- forms of the problem
def preferences_from_pair_sums(pair_sums):
    """Antisymmetric matrices (M, n, n) from their upper triangles (M, n (n - 1) / 2), pairs as in `pair_indices`."""
    n_items = _n_items(pair_sums)
    preferences = np.zeros((len(pair_sums), n_items, n_items))
    if n_items <= FEW_ITEMS:
        i, j = pair_indices(n_items)
        preferences[:, i, j] = pair_sums
        preferences[:, j, i] = -pair_sums
        return preferences
    # Many items: slices of rows and columns in place of scattered entries.
    start = 0
    for item in range(n_items - 1):
        stop = start + n_items - 1 - item
        preferences[:, item, item + 1 :] = pair_sums[:, start:stop]
        preferences[:, item + 1 :, item] = -pair_sums[:, start:stop]
        start = stop
    return preferences


def _n_items(pair_sums):
    return int(round((1 + np.sqrt(1 + 8 * pair_sums.shape[1])) / 2))


def borda_orderings(preferences):
    """Items by decreasing total preference, equal ones by item number, shape (M, n_items)."""
    return np.argsort(-preferences.sum(axis=2), axis=1, kind="stable")


# ---------------------------------------------------------------- batches of problems, as mixtures pose them
def agrees(pair_sums, orderings):
    """Whether no pair is ordered against its majority, shape (M,): such an ordering is a Kemeny ordering."""
    n_items = orderings.shape[1]
    places = np.argsort(orderings, axis=1)
    i, j = pair_indices(n_items)
    if n_items > FEW_ITEMS:
        # Neighbors first, which are few: most orderings have two that a majority would exchange.
        first, second = orderings[:, :-1], orderings[:, 1:]
        low, high = np.minimum(first, second), np.maximum(first, second)
        between = np.take_along_axis(pair_sums, low * (2 * n_items - low - 1) // 2 + high - low - 1, axis=1)
        agreeing: Any = (np.where(first < second, between, -between) >= 0).all(axis=1)
        for row in np.flatnonzero(agreeing):
            agreeing[row] = (np.where(places[row, i] < places[row, j], pair_sums[row], -pair_sums[row]) >= 0).all()
        return agreeing
    return (np.where(places[:, i] < places[:, j], pair_sums, -pair_sums) >= 0).all(axis=1)


def local_kemeny(pair_sums, starts=None, *, thorough=True):
    """Weighted Kemeny orderings of a batch of problems: exact where the majorities are transitive, else searched.

    A start that agrees with all majorities is the answer, and so is the ordering by majorities won less majorities
    lost. The rankings of a single group mostly have one. The other problems are searched from Borda's orderings and
    from the starts. Up to `FEW_ITEMS` items the better result is kept: a search costs less than the pair sums then, and
    perturbations hardly ever improve it. Of more items the better stretches of both are kept, and perturbed. But an
    M-step of EM needs only an improvement of the previous ordering (generalized EM): with `thorough=False` single items
    move from the starts, and that is all.

    Parameters
    ----------
    pair_sums : ndarray of shape (M, n_items (n_items - 1) / 2)
        Summed pair signs, sum_s w_s sign(s prefers i to j), one row for each problem.
    starts : ndarray of shape (M, n_items), default=None
        Orderings to start from as well, say the previous ones; they win ties, so a fit does not wander among equals.
    thorough : bool, default=True
        Whether more than `FEW_ITEMS` items are searched for more than what a few insertions make of the starts, and
        Borda's orderings are perturbed where there are none.

    Returns
    -------
    orderings : ndarray of shape (M, n_items)
    values : ndarray of shape (M,)
        Sum of the pair sums in the ordering's direction; the disagreements are (sum of absolute signs - value) / 2.
    """
    orderings = np.empty((len(pair_sums), _n_items(pair_sums)), np.intp)
    values = np.empty(len(pair_sums))
    # Tables of a block stay small; few items are one block.
    size = max(BLOCK_ENTRIES // max(pair_sums.shape[1], 1), 1)
    for start in range(0, len(pair_sums), size):
        rows = slice(start, start + size)
        block_starts = None if starts is None else starts[rows]
        orderings[rows], values[rows] = _local_kemeny(pair_sums[rows], block_starts, thorough)
    return orderings, values


def _local_kemeny(pair_sums, starts, thorough):
    values = np.abs(pair_sums).sum(axis=1)
    rest = np.arange(len(pair_sums))
    if starts is not None:
        rest = np.flatnonzero(~agrees(pair_sums, starts))
        if not len(rest):
            return starts, values
    preferences = preferences_from_pair_sums(pair_sums[rest])
    by_majorities = np.argsort(-np.sign(preferences).sum(axis=2), axis=1, kind="stable")
    orderings = by_majorities if starts is None else starts.copy()
    orderings[rest] = by_majorities
    searched = ~agrees(pair_sums[rest], by_majorities)
    if searched.any():
        rest, preferences = rest[searched], preferences[searched]
        found, values[rest] = _searched(preferences, None if starts is None else starts[rest], thorough)
        orderings[rest] = found
    return orderings, values


def _searched(preferences, starts, thorough):
    orderings = borda_orderings(preferences)
    is_small = preferences.shape[1] <= FEW_ITEMS
    if not (thorough or is_small):
        return insertion_search(preferences, orderings if starts is None else starts, n_rounds=IMPROVEMENT_ROUNDS)
    if starts is None:
        return insertion_search(preferences, orderings, n_perturbations=BATCH_PERTURBATIONS if thorough else 0)
    problems = np.arange(len(preferences))
    both, values = insertion_search(preferences, np.concatenate([starts, orderings]), problems=np.tile(problems, 2))
    (near, far), (near_values, far_values) = both.reshape(2, *orderings.shape), values.reshape(2, -1)
    least_gains = FLOAT_TOLERANCE / 2 * np.abs(preferences).sum(axis=(1, 2))
    if is_small:
        is_far = far_values > near_values + least_gains
        return np.where(is_far[:, None], far, near), np.where(is_far, far_values, near_values)
    orderings = recombined(preferences, problems, near, far, least_gains)
    return insertion_search(preferences, orderings, n_perturbations=BATCH_PERTURBATIONS)


# ---------------------------------------------------------------- exact solution
def exact_ordering(preferences):
    """A Kemeny ordering of one problem of at most `MAX_EXACT_ITEMS` items, the lexicographically first, (n_items,)."""
    return _first_ordering(best_values(preferences)[1], len(preferences))


def _first_ordering(first, n_items):
    ordering = np.empty(n_items, np.intp)
    remaining = (1 << n_items) - 1
    for place in range(n_items):
        ordering[place] = first[remaining]
        remaining ^= 1 << int(ordering[place])
    return ordering


def best_values(preferences):
    """The largest value of an ordering of each set of items, by dynamic programming.

    best(S) = max over a in S of sum_{b in S} preferences[a, b] + best(S without a), for all sets of one size at once:
    n 2^n steps, 9 * 2^n bytes and one block.

    Parameters
    ----------
    preferences : ndarray of shape (n_items, n_items)
        Antisymmetric, at most `MAX_EXACT_ITEMS` items; integers give exact values.

    Returns
    -------
    best : ndarray of shape (2^n_items,), of the type of `preferences`
    first : ndarray of shape (2^n_items,), int8
        The first item of a best ordering of each set, the smallest number among equals.
    """
    n_items = len(preferences)
    if n_items > MAX_EXACT_ITEMS:
        raise ValueError(
            f"dynamic programming over the sets of {n_items} items: at most {MAX_EXACT_ITEMS} are possible."
        )
    bits = 1 << np.arange(n_items)
    half = n_items // 2
    # sum_{b in S} preferences[:, b] from the two halves of the bits of S.
    low_sums, high_sums = _subset_sums(preferences.T[:half]), _subset_sums(preferences.T[half:])
    unknown = -np.inf if preferences.dtype.kind == "f" else np.iinfo(preferences.dtype).min // 2
    best = np.full(1 << n_items, unknown, preferences.dtype)
    best[0] = 0
    first = np.zeros(1 << n_items, np.int8)
    sets = np.arange(1 << n_items)
    by_size = sets[np.argsort(np.bitwise_count(sets), kind="stable")]
    ends = np.cumsum(np.bincount(np.bitwise_count(sets)))
    for size in range(1, n_items + 1):
        level = by_size[ends[size - 1] : ends[size]]
        for rows in row_blocks(len(level), 40 * n_items, max_rows=1 << 14):
            block = level[rows]
            # An item outside S leads to a larger set, whose value is still unknown.
            values = best[block[:, None] ^ bits]
            values += low_sums[block & ((1 << half) - 1)]
            values += high_sums[block >> half]
            first[block] = values.argmax(axis=1)
            best[block] = values.max(axis=1)
    return best, first


def _subset_sums(vectors):
    """Sums of all subsets of some vectors, shape (2^n_vectors, dimension)."""
    sums = np.zeros((1, vectors.shape[1]), vectors.dtype)
    for vector in vectors:
        sums = np.concatenate([sums, sums + vector])
    return sums


def kemeny_ordering(preferences, *, method="auto", n_perturbations=30, seed=0):
    """A Kemeny ordering of one problem, exact where possible.

    Returns
    -------
    ordering : ndarray of shape (n_items,)
    is_exact : bool
    """
    components = solved_components(preferences, method=method, n_perturbations=n_perturbations, seed=seed)
    return concatenated(components), all(component.best is not None for component in components)


def solved_components(preferences, *, method="auto", n_perturbations=30, seed=0):
    """The components of the strict majority graph, most preferred first, each with an ordering.

    They follow one another in some optimal ordering (the extended Condorcet criterion), so each of them is a problem of
    its own; those of at most `MAX_EXACT_ITEMS` items are solved exactly, larger ones by insertion search from Borda's
    ordering, with perturbations. Equals are settled by Borda's order, then by item number.

    Parameters
    ----------
    preferences : ndarray of shape (n_items, n_items)
        Antisymmetric; with integers, of any size that sums of n_items of them fit into int64, nothing is rounded.

    Returns
    -------
    components : list of SolvedComponent
    """
    place = np.argsort(borda_orderings(preferences[None])[0])
    components = []
    for items in _majority_components(preferences, place):
        # In Borda's order the first among equals is the one wanted.
        items = items[np.argsort(place[items])]
        inside = preferences[np.ix_(items, items)]
        exact = len(items) == 1 or (method != "local" and len(items) <= MAX_EXACT_ITEMS)
        if method == "exact" and not exact:
            raise ValueError(
                f"method='exact' cannot solve {len(items)} items that form one cycle of majorities: at most "
                f"{MAX_EXACT_ITEMS} are possible. Use method='auto' or 'local'."
            )
        if len(items) == 1:
            best, order = np.zeros(2, inside.dtype), np.zeros(1, np.intp)
        elif exact:
            best, first = best_values(inside)
            order = _first_ordering(first, len(items))
        else:
            best, order = None, _searched_ordering(inside, n_perturbations, seed)
        components.append(SolvedComponent(items, inside, order, best))
    return components


def _searched_ordering(preferences, n_perturbations, seed):
    # Sums of whole numbers below 2^53 are exact: then every gain is one.
    exact = preferences.dtype.kind == "i" and np.abs(preferences).sum(dtype=float) < 2.0**53
    preferences = preferences.astype(float)[None]
    return insertion_search(
        preferences,
        borda_orderings(preferences),
        n_perturbations=n_perturbations,
        tolerance=0.0 if exact else FLOAT_TOLERANCE,
        seed=seed,
    )[0][0]


def _majority_components(preferences, place):
    """Items of each strongly connected component of the strict majority graph, most preferred component first.

    Among components that may come next, the one with the item of the smallest `place` does.
    """
    n_items = len(preferences)
    n_components, label = connected_components(preferences > 0, connection="strong")
    beats = np.zeros((n_components, n_components), bool)
    rows, columns = np.nonzero(preferences > 0)
    beats[label[rows], label[columns]] = True
    np.fill_diagonal(beats, False)
    first_place = np.full(n_components, n_items)
    np.minimum.at(first_place, label, place)
    n_ahead = beats.sum(axis=0)
    for _ in range(n_components):
        free = np.flatnonzero(n_ahead == 0)
        chosen = free[first_place[free].argmin()]
        n_ahead -= beats[chosen]
        n_ahead[chosen] = -1
        yield np.flatnonzero(label == chosen)
