"""Adjacent transpositions: moves of the centers that expectation-maximization cannot see.

Exchanging two neighbors in one center changes every distance to it by one: it multiplies the component's density of
a row by phi where the row orders the two as the center did, by 1/phi where it reverses them, and not at all where it
ties them. So the exact change of a row's log-likelihood is log(1 + r (phi - 1)) or log(1 + r (1/phi - 1)), r the
row's responsibility: the gain of every adjacent transposition of a center takes one pass over the n - 1 pairs of its
neighbors (`exchange_gains` of the engine). Exchanging a pair in two centers at once, where it is adjacent in both and
they order it differently, is as exact. EM, whose M-step holds the responsibilities fixed, stays where such a move would
gain: with close centers that is where it gets stuck.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from skrank._rankings import ordering
from skrank.mixture._em import em, expectation

LEAST_GAIN = 1e-7  # in mean log-likelihood


def transposition_gains(data, mixture, responsibilities):
    """Gains in mean log-likelihood of all adjacent transpositions.

    Returns
    -------
    gains : ndarray of shape (n_moves,)
    moves : list of (components, first item, second item)
        The two items change places in each of the components.
    """
    items = ordering(mixture.centers)
    gains: list[np.ndarray] = []
    moves: list[tuple] = []
    for component, ordered in enumerate(items):
        first, second = ordered[:-1], ordered[1:]
        gains.append(_gains(data, mixture, responsibilities, [component], first, second, [1]))
        moves += [((component,), *pair) for pair in zip(first, second, strict=True)]
    for i, j in combinations(range(len(items)), 2):
        places = _shared_neighbors(items[i], items[j])
        if len(places):
            first, second = items[i][places], items[i][places + 1]
            gains.append(_gains(data, mixture, responsibilities, [i, j], first, second, [1, -1]))
            moves += [((i, j), *pair) for pair in zip(first, second, strict=True)]
    return np.concatenate(gains) / data.total_weight, moves


def _gains(data, mixture, responsibilities, components, first, second, powers):
    """`exchange_gains` of pairs that each component orders first before second (power 1) or the other way (-1)."""
    factors = mixture.dispersions[components] ** np.array(powers, float)
    return data.exchange_gains(first, second, responsibilities[components], factors)


def _shared_neighbors(first, second):
    """Places t of the first ordering whose items t, t + 1 are neighbors in the second one too, the other way round."""
    place = np.argsort(second)[first]
    return np.flatnonzero(place[:-1] - place[1:] == 1)


def best_transposition(data, mixture, responsibilities=None):
    """The move that gains most: (gain in mean log-likelihood, mixture after it)."""
    if responsibilities is None:
        responsibilities = expectation(data, mixture)[0]
    gains, moves = transposition_gains(data, mixture, responsibilities)
    best = int(gains.argmax())
    components, first, second = moves[best]
    centers = mixture.centers.copy()
    centers[np.ix_(components, [first, second])] = centers[np.ix_(components, [second, first])]
    return float(gains[best]), replace(mixture, centers=centers)


def polish(data, mixture, max_iter=150, tol=1e-7, max_rounds=6, max_moves=60, thorough=True):
    """EM (see there about `thorough`) and adjacent transpositions in turn, until none gains."""
    mixture = em(data, mixture, max_iter, tol, thorough=thorough)
    if mixture.n_components == 1:
        return mixture
    for _ in range(max_rounds):
        moved = mixture
        for _ in range(max_moves):
            gain, candidate = best_transposition(data, moved)
            if gain < LEAST_GAIN:
                break
            moved = candidate
        if moved is mixture:
            break
        after = em(data, moved, max_iter, tol, thorough=thorough)
        if after.lower_bound <= mixture.lower_bound + LEAST_GAIN:
            break
        mixture = after
    return mixture


def polish_large(data, mixture, max_iter=150, tol=1e-7, max_rounds=20):
    """The polish for many rows: weights and dispersions settle with the centers fixed, then one pass moves the centers.

    One EM step, or an adjacent transposition where that moves no center; ends when neither does.
    """
    mixture = em(data, mixture, max_iter, tol, fixed_centers=True)
    for _ in range(max_rounds):
        after = em(data, mixture, max_iter=1, tol=-np.inf)
        if np.array_equal(after.centers, mixture.centers):
            if mixture.n_components == 1:
                break
            gain, after = best_transposition(data, mixture)
            if gain < LEAST_GAIN:
                break
        after = em(data, after, max_iter, tol, fixed_centers=True)
        if after.lower_bound <= mixture.lower_bound:
            break
        mixture = after
    return mixture
