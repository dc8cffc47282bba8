"""What a mixture says of the items that a voter did not rank: pairwise probabilities, and the most probable ranking."""

import numpy as np
from scipy.special import logsumexp

from skrank._random import hash_rows, random_words, uniform
from skrank._rankings import MISSING, row_blocks
from skrank.stats._mallows_completions import insertion_draws

N_DRAWS = 128


def nearest_consistent_rankings(ranks, centers):
    """The full ranking nearest to a center among those consistent with each row, as positions.

    Ties are broken as the center has them, and each missing item goes to the gap between ranked items where it
    disagrees with the center least, the first one of equals. That is the nearest one of all: the best gaps of two
    missing items are never in another order than the items are in the center, so no two missing items disagree with it.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Densified rankings.
    centers : ndarray of shape (n_rows, n_items)
        Positions, the center of each row.

    Returns
    -------
    positions : ndarray of shape (n_rows, n_items)
    """
    n_items = ranks.shape[1]
    positions = np.empty(ranks.shape, np.intp)
    for rows in row_blocks(len(ranks), 24 * n_items**2):
        rank, center = ranks[rows].astype(np.int64), centers[rows].astype(np.int64)
        missing = rank == MISSING
        # The places in the center of the ranked items, in the order of the row; n_items where there are no more.
        items = np.argsort(np.where(missing, n_items, rank) * n_items + center, axis=1)
        chain = np.take_along_axis(np.where(missing, n_items, center), items, axis=1)
        # The cost of a gap changes by +1 past an item that the center has later, by -1 past one that it has earlier.
        steps = np.where(chain[:, None] > center[:, :, None], 1, -1)
        steps[np.broadcast_to((chain == n_items)[:, None], steps.shape)] = 1
        costs = np.cumsum(np.pad(steps, ((0, 0), (0, 0), (1, 0))), axis=2)
        gap = costs.argmin(axis=2)
        place = np.empty_like(items)
        np.put_along_axis(place, items, np.arange(n_items)[None].repeat(len(items), 0), axis=1)
        # A missing item in gap g comes just before the ranked item number g, in the order of the center.
        key = np.where(missing, 2 * gap, 2 * place + 1) * n_items + center
        positions[rows] = np.argsort(np.argsort(key, axis=1), axis=1)
    return positions


def subset_pair_probabilities(ranks, responsibilities, centers, dispersions):
    """Probability that each voter prefers item i to j in the subset model, (n_rows, n_items, n_items).

    1 and 0 for pairs that the row orders; otherwise that of a comparison of the two, ``1 / (1 + phi)`` for the order of
    a component's center.
    """
    right = responsibilities / (1 + dispersions)
    ahead = (centers[:, :, None] < centers[:, None, :]).astype(float)
    n_components, n_items = centers.shape
    # sum_m r_m (phi_m + (1 - phi_m) ahead_m) / (1 + phi_m)
    slopes = (right * (1 - dispersions)) @ ahead.reshape(n_components, -1)
    probabilities = (slopes + (right * dispersions).sum(axis=1)[:, None]).reshape(-1, n_items, n_items)
    present = ranks != MISSING
    known = present[:, :, None] & present[:, None, :] & (ranks[:, :, None] != ranks[:, None, :])
    probabilities[known] = (ranks[:, :, None] < ranks[:, None, :])[known]
    return _with_diagonal(probabilities)


def marginal_pair_probabilities(ranks, responsibilities, centers, dispersions, n_draws=N_DRAWS):
    """Probability that item i comes before j in each voter's full ranking, given the row, (n_rows, n_items, n_items).

    By weighted draws from each component, whose random numbers are a function of the row.
    """
    n_rows, n_items = ranks.shape
    probabilities = np.zeros((n_rows, n_items, n_items))
    for rows in row_blocks(n_rows, 16 * n_draws * n_items * (n_items + 1)):
        words = random_words(hash_rows(ranks[rows]), n_items * n_draws)
        numbers = uniform(words).reshape(-1, n_items, n_draws).transpose(1, 0, 2)
        for share, center, dispersion in zip(responsibilities[rows].T, centers, dispersions, strict=True):
            log_weights, _, positions = insertion_draws(ranks[rows], center, -np.log(dispersion), numbers)
            weights = np.exp(log_weights - logsumexp(log_weights, axis=1)[:, None]) * share[:, None]
            before = positions[:, None] < positions[None]
            probabilities[rows] += np.einsum("ijrt,rt->rij", before, weights)
    return _with_diagonal(probabilities)


def _with_diagonal(probabilities):
    items = np.arange(probabilities.shape[1])
    probabilities[:, items, items] = 0.5
    return np.clip(probabilities, 0, 1)
