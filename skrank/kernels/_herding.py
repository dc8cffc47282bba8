"""Kernel herding: samples of a partial ranking chosen one after another, each the best complement of those before.

Chen, Welling & Smola, "Super-samples from kernel herding" (UAI 2010), over a pool of consistent full rankings.
"""

import numpy as np

from skrank._pair_words import full_words
from skrank._rankings import MISSING, rank_dtype, row_blocks
from skrank.kernels._base import inexact_rows
from skrank.kernels._sample_pairs import distance_tables, means_function, n_differences, own_pair_values
from skrank.kernels._sampling import Samples, sample_consistent

# Draws of the pool for each sample, besides their antithetics.
POOL_FACTOR = 20
# Of exchanges in joint herding: each lowers the distance of the embeddings, so they end, most often after three.
MAX_SWEEPS = 20


def herd(kernel, ranks, n_draws, seed, *, prior=None, joint=False):
    """Choose full rankings whose mean embedding is near that of each partial ranking.

    The first is random; each next one minimizes the distance of the mean embedding of all so far from that of the
    partial ranking, mu, over a pool of ``20 n_draws`` consistent rankings and their antithetics. Where mu has a
    closed form it is exact, elsewhere it is the pool's mean.

    Parameters
    ----------
    kernel : RankingKernel
        On full rankings.
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings.
    n_draws, seed : int
    prior : distribution, default=None
        As in `sample_consistent`.
    joint : bool, default=False
        Whether then, one sample after another is exchanged for the best one given all others, until none is.

    Returns
    -------
    Samples
        With equal weights.
    """
    n_rankings, n_items = ranks.shape
    n_pool = 2 * POOL_FACTOR * n_draws
    chosen = np.empty((n_rankings, n_draws, n_items), rank_dtype(n_items))
    gaps = (ranks == MISSING).any(axis=1)
    for exhaustive, which in ((True, np.flatnonzero(~gaps)), (False, np.flatnonzero(gaps))):
        # Relabeling the items of a bucket maps a ranking without missing items onto itself and keeps Kendall
        # distances: mu is the same at all its full rankings, and need not be known.
        constant = exhaustive and prior is None and distance_tables(kernel, n_items) is not None
        for block in row_blocks(len(which), 64 * n_pool * n_items, max_rows=64):
            rows = which[block]
            pool = sample_consistent(ranks[rows], n_pool, seed, method="antithetic", prior=prior)
            attraction = None if constant else _mean_embedding(kernel, ranks[rows], pool, prior)
            chosen[rows] = _chosen(kernel, pool, attraction, n_draws, MAX_SWEEPS if joint else 0)
    return Samples(chosen)


def _mean_embedding(kernel, ranks, pool, prior):
    """mu at each ranking of the pool, the mean kernel value to the full rankings consistent with its row."""
    if prior is None and _closed_for(kernel, ranks):
        pairs = zip(pool.positions, ranks, strict=True)
        return np.stack([kernel._between(positions, row[None])[:, 0] for positions, row in pairs])
    means = means_function(kernel, ranks.shape[1])
    # One ranking with all the pool as its samples, against each of the pool as a ranking of one sample.
    whole = (pool[row : row + 1] for row in range(len(ranks)))
    return np.stack([means(one, Samples(one.positions[0, :, None]))[0, 0] for one in whole])


def _closed_for(kernel, ranks):
    # What Kemeny's distance makes of a partial ranking is not a mean over full ones.
    return kernel._metric != "kemeny" and not inexact_rows(ranks, kernel.exact_on)[0].any()


def _chosen(kernel, pool, attraction, n_draws, max_sweeps):
    """Positions of the samples, (n_rankings, n_draws, n_items): greedy, and then exchanged in so many sweeps."""
    candidates = pool.positions
    n_rankings, n_pool, _ = candidates.shape
    row = np.arange(n_rankings)
    chosen = np.zeros((n_rankings, n_draws), int)
    norms = _norms(kernel, candidates)
    values_to = _values_to(kernel, candidates)
    repulsion = np.zeros((n_rankings, n_pool))

    def best(n_chosen):
        # n_chosen^2 times the squared distance between mean embeddings, up to what does not depend on the candidate.
        excess = 2 * repulsion + norms
        if attraction is not None:
            excess -= 2 * n_chosen * attraction
        # Ties within rounding go to the earlier candidate, so that the choice does not depend on the last bit.
        least = excess.min(axis=1, keepdims=True)
        return np.argmax(excess <= least + 1e-12 * np.abs(least), axis=1)

    # The first of the pool is a random one; of a weighted pool it may be one of no weight, and the first is chosen too.
    for t in range(n_draws):
        if t or pool.weights is not None:
            chosen[:, t] = best(t + 1)
        repulsion += values_to(chosen[:, t])
    for _ in range(max_sweeps):
        before = chosen.copy()
        for t in range(n_draws):
            repulsion -= values_to(chosen[:, t])
            chosen[:, t] = best(n_draws)
            repulsion += values_to(chosen[:, t])
        if (chosen == before).all():
            break
    return candidates[row[:, None], chosen]


def _values_to(kernel, pool):
    """Function index -> kernel values of each ranking's pool with the one of it that has that index."""
    row = np.arange(len(pool))
    tables = distance_tables(kernel, pool.shape[-1])
    if tables is None:
        return lambda index: own_pair_values(kernel, pool, pool[row, index, None])[..., 0]
    words = full_words(pool)
    return lambda index: np.take(tables[0], n_differences(words, words[:, row, index, None]))


def _norms(kernel, pool):
    if distance_tables(kernel, pool.shape[-1]) is not None:
        return 0.0
    return np.stack([kernel._diag(kernel._prepare(positions)) for positions in pool])
