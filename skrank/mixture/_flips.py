"""Flips: moves of the centers that expectation-maximisation cannot see.

Exchanging two neighbours in one center changes every distance to it by one: it multiplies the component's density of
a row by phi where the row orders the two as the center did, by 1/phi where it reverses them, and not at all where it
ties them. So the exact change of a row's log-likelihood is log(1 + r (phi - 1)) or log(1 + r (1/phi - 1)), r the
row's responsibility: the gain of every flip of a center takes one pass over the n - 1 pairs of its neighbours.
Exchanging a pair in two centers at once, where it is adjacent in both and they order it differently, is as exact. EM,
whose M-step holds the responsibilities fixed, stays where such a flip would gain: with close centers that is where it
gets stuck.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from skrank._rankings import ordering
from skrank.mixture._expectation_maximization import em, expectation
from skrank.mixture._pair_signs import BLOCK

LEAST_GAIN = 1e-7  # in mean log-likelihood


def flip_gains(data, mixture, responsibilities):
    """Gains in mean log-likelihood of all flips of neighbours.

    Returns
    -------
    gains : ndarray of shape (n_flips,)
    flips : list of (components, first item, second item)
        The two items change places in each of the components.
    """
    items = ordering(mixture.centers)
    k, n_items = items.shape
    shared = [_shared_neighbours(items[i], items[j]) for i, j in combinations(range(k), 2)]
    pairs = [
        (components, places)
        for components, places in zip(combinations(range(k), 2), shared, strict=True)
        if len(places)
    ]
    single = np.zeros((k, n_items - 1))
    double = [np.zeros(len(places)) for _, places in pairs]
    down, up = mixture.dispersions - 1, 1 / mixture.dispersions - 1
    for start in range(0, data.n_rows, BLOCK):
        rows = slice(start, min(start + BLOCK, data.n_rows))
        r = responsibilities[:, rows].astype(float)
        weights = data.weights[rows]
        agree, reverse = r * down[:, None], r * up[:, None]
        for i in range(k):
            single[i] += _gains(data, rows, weights, items[i], slice(None), agree[i], reverse[i])
        for gains, ((i, j), places) in zip(double, pairs, strict=True):
            gains += _gains(data, rows, weights, items[i], places, agree[i] + reverse[j], reverse[i] + agree[j])
    flips = [((i,), items[i, t], items[i, t + 1]) for i in range(k) for t in range(n_items - 1)]
    flips += [((i, j), items[i, t], items[i, t + 1]) for (i, j), places in pairs for t in places]
    return np.concatenate([single.ravel(), *double]) / data.total_weight, flips


def _shared_neighbours(first, second):
    """Places t of the first ordering whose items t, t + 1 are neighbours in the second one too, the other way round."""
    place = np.argsort(second)[first]
    return np.flatnonzero(place[:-1] - place[1:] == 1)


def _gains(data, rows, weights, items, places, agree, reverse):
    """Weighted sums over a block: log(1 + agree) where a row orders neighbours as the center, else log(1 + reverse)."""
    block = data.ranks[items, rows]
    before, after = block[:-1][places], block[1:][places]
    # Full agreement with a responsibility of one at phi = 0 would be log 0.
    agree = np.log(np.maximum(1 + agree, 1e-300)) * weights
    reverse = np.log(np.maximum(1 + reverse, 1e-300)) * weights
    gains = (before < after).astype(float) @ (agree - reverse) + reverse.sum()
    return gains - (before == after).astype(float) @ reverse if data.has_ties else gains


def neighbour_losses(data, mixture):
    """What exchanging neighbours costs in total log-likelihood: how sure the centers are of their orders.

    Returns
    -------
    losses : ndarray of shape (n_components, n_items - 1)
        For the items at places t and t + 1 of each center, in nats; negative where the exchange would gain.
    """
    gains, _ = flip_gains(data, mixture, expectation(data, mixture)[0])
    shape = mixture.n_components, data.n_items - 1
    return -data.total_weight * gains[: shape[0] * shape[1]].reshape(shape)


def best_flip(data, mixture, responsibilities=None):
    """The flip that gains most: (gain in mean log-likelihood, mixture after it)."""
    if responsibilities is None:
        responsibilities = expectation(data, mixture)[0]
    gains, flips = flip_gains(data, mixture, responsibilities)
    best = int(gains.argmax())
    components, first, second = flips[best]
    centers = mixture.centers.copy()
    centers[np.ix_(components, [first, second])] = centers[np.ix_(components, [second, first])]
    return float(gains[best]), replace(mixture, centers=centers)


def polish(data, mixture, max_iter=150, tol=1e-7, max_rounds=6, max_flips=60):
    """EM and flips in turn, until no flip gains."""
    mixture = em(data, mixture, max_iter, tol)
    if mixture.n_components == 1:
        return mixture
    for _ in range(max_rounds):
        flipped = mixture
        for _ in range(max_flips):
            gain, candidate = best_flip(data, flipped)
            if gain < LEAST_GAIN:
                break
            flipped = candidate
        if flipped is mixture:
            break
        after = em(data, flipped, max_iter, tol)
        if after.lower_bound <= mixture.lower_bound + LEAST_GAIN:
            break
        mixture = after
    return mixture


def polish_large(data, mixture, max_iter=150, tol=1e-7, max_rounds=20):
    """The polish for many rows: weights and dispersions settle with the centers fixed, then one pass moves the centers.

    One EM step, or a flip where that moves no center; ends when neither does.
    """
    mixture = em(data, mixture, max_iter, tol, fixed_centers=True)
    for _ in range(max_rounds):
        after = em(data, mixture, max_iter=1, tol=-np.inf)
        if np.array_equal(after.centers, mixture.centers):
            if mixture.n_components == 1:
                break
            gain, after = best_flip(data, mixture)
            if gain < LEAST_GAIN:
                break
        after = em(data, after, max_iter, tol, fixed_centers=True)
        if after.lower_bound <= mixture.lower_bound:
            break
        mixture = after
    return mixture
