"""What a mixture says of the items that a voter did not rank: pairwise probabilities, and the most probable ranking."""

import numpy as np
from scipy.special import logsumexp

from skrank._random import hash_rows, random_words, uniform
from skrank._rankings import MISSING, row_blocks
from skrank.stats._mallows_completions import insertion_draws

N_DRAWS = 128


def _gap_costs(rank, center):
    """Where missing items could go in each row.

    Returns
    -------
    costs : ndarray of shape (n_rows, n_items, n_gaps)
        How many more ranked items an item disagrees with in each gap of the row than in the first one; 1 larger at each
        gap past the end of the row.
    place : ndarray of shape (n_rows, n_items)
        Place of each ranked item in the row, ties broken as the center has them.
    n_ranked : ndarray of shape (n_rows,)
    """
    n_items = rank.shape[1]
    missing = rank == MISSING
    n_ranked = n_items - missing.sum(axis=1)
    # The places in the center of the ranked items, in the order of the row; n_items where there are no more.
    items = np.argsort(np.where(missing, n_items, rank) * n_items + center, axis=1)
    chain = np.take_along_axis(np.where(missing, n_items, center), items, axis=1)[:, : n_ranked.max(initial=0)]
    # The cost of a gap changes by +1 past an item that the center has later, by -1 past one that it has earlier.
    steps = np.where(chain[:, None] > center[:, :, None], 1, -1)
    place = np.empty_like(items)
    np.put_along_axis(place, items, np.arange(n_items)[None].repeat(len(items), 0), axis=1)
    return np.cumsum(np.pad(steps, ((0, 0), (0, 0), (1, 0))), axis=2), place, n_ranked


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
        costs, place, _ = _gap_costs(rank, center)
        gap = costs.argmin(axis=2)
        # A missing item in gap g comes just before the ranked item number g, in the order of the center.
        key = np.where(rank == MISSING, 2 * gap, 2 * place + 1) * n_items + center
        positions[rows] = np.argsort(np.argsort(key, axis=1), axis=1)
    return positions


def subset_pair_probabilities(ranks, responsibilities, centers, dispersions):
    """Probability that each voter prefers item i to j in the subset model, (n_rows, n_items, n_items).

    As if the voter had been asked to rank i and j too: a Mallows ranking of the ranked items and these two, given the
    order of the ranked ones (1 and 0 for pairs of them). With gap costs c, items i and j go to the gaps s and t with
    probability proportional to ``phi^(c_i(s) + c_j(t))``, times phi if that is not their order in the center; in one
    gap they may have either order. For a row that ranks nothing it is 1 / (1 + phi), that of a comparison. Ties are
    broken as the center has them, but the order of tied items is not known.
    """
    n_rows, n_items = ranks.shape
    probabilities = np.zeros((n_rows, n_items, n_items))
    for rows in row_blocks(n_rows, 64 * n_items**2):
        for share, center, dispersion in zip(responsibilities[rows].T, centers, dispersions, strict=True):
            probabilities[rows] += share[:, None, None] * _subset_probabilities(ranks[rows], center, dispersion)
    return _with_diagonal(probabilities)


def _subset_probabilities(ranks, center, dispersion):
    rank = ranks.astype(np.int64)
    costs, place, n_ranked = _gap_costs(rank, np.broadcast_to(center.astype(np.int64), rank.shape))
    gaps = np.arange(costs.shape[2])
    is_gap = gaps <= n_ranked[:, None, None]
    costs = np.where(is_gap, costs, costs.max())
    weights = dispersion ** (costs - costs.min(axis=2, keepdims=True)) * is_gap
    weights /= weights.sum(axis=2, keepdims=True)
    up_to = np.cumsum(weights, axis=2)
    same = weights @ weights.transpose(0, 2, 1)
    before = weights @ (1 - up_to).transpose(0, 2, 1)
    ahead = center[:, None] < center
    agree, against = before + same, dispersion * (before + same)
    chance = np.where(ahead, agree, against)
    chance /= chance + chance.transpose(0, 2, 1)
    # A missing item comes before the ranked one at place p if its gap is p or less.
    known = rank != MISSING
    of_place = np.take_along_axis(up_to, np.minimum(place, up_to.shape[2] - 1)[:, None], axis=2)
    chance = np.where(~known[:, :, None] & known[:, None], of_place, chance)
    chance = np.where(known[:, :, None] & ~known[:, None], 1 - of_place.transpose(0, 2, 1), chance)
    tied = np.where(ahead, 1 / (1 + dispersion), dispersion / (1 + dispersion))
    of_ranked = np.where(rank[:, :, None] == rank[:, None], tied, rank[:, :, None] < rank[:, None])
    return np.where(known[:, :, None] & known[:, None], of_ranked, chance)


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
