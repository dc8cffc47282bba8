"""The Mallows model of Hamming's distance: rankings that put few items at other places than the center does.

P(s) is proportional to phi^h, h the number of items at other places. There are C(n, h) D_h such rankings, D_h the
number of derangements of h items, so a draw is exact: first h, then which items, then a uniformly random derangement.
"""

import numpy as np
from scipy.special import gammaln, xlogy


def log_derangements(n_items):
    """Log of the number of derangements of h = 0, ..., n_items items; -inf for one."""
    h = np.arange(n_items + 1)
    signs = (-1.0) ** h
    shares = np.cumsum(signs * np.exp(-gammaln(h + 1.0)))  # D_h / h!
    shares[1:2] = 0.0
    with np.errstate(divide="ignore"):
        return gammaln(h + 1.0) + np.log(shares)


def displaced_probabilities(n_items, phi):
    """Probability that h = 0, ..., n_items items are at other places than in the center."""
    h = np.arange(n_items + 1)
    log_choose = gammaln(n_items + 1.0) - gammaln(h + 1.0) - gammaln(n_items - h + 1.0)
    logs = log_choose + log_derangements(n_items) + xlogy(h, phi)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def sample_hamming_mallows(centers, phi, rng):
    """Draw a full ranking around each row of centers, positions of shape (n_samples, n_items)."""
    n_samples, n_items = centers.shape
    displaced = rng.choice(n_items + 1, n_samples, p=displaced_probabilities(n_items, phi))
    positions = centers.copy()
    for h in np.unique(displaced[displaced > 0]):
        rows = np.flatnonzero(displaced == h)
        items = np.argsort(rng.random((len(rows), n_items)), axis=1)[:, :h]
        origin = np.take_along_axis(items, random_derangements(len(rows), h, rng), axis=1)
        places = np.take_along_axis(centers[rows], origin, axis=1)
        positions[rows[:, None], items] = places
    return positions


def random_derangements(n_samples, n_items, rng):
    """Uniformly random permutations without a fixed point, by rejection: one in e permutations has none."""
    permutations = np.empty((n_samples, n_items), np.intp)
    left = np.arange(n_samples)
    while len(left):
        drawn = np.argsort(rng.random((len(left), n_items)), axis=1)
        permutations[left] = drawn
        left = left[(drawn == np.arange(n_items)).any(axis=1)]
    return permutations
