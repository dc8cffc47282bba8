"""Sums over, and draws of, the full Mallows rankings consistent with rankings that leave items out: many at once.

`completion_sums` is the exact sum of ``_mallows_missing`` for all rankings of one shape (bucket sizes and number of
missing items), each under its own order of the items: the stages and masks are those of the shape, so that one pass
serves all rankings. With the sum comes its derivative in nu, the mean distance of the consistent rankings from the
center. Sums are linear, not logarithmic, so they need nu to be moderate (`MAX_LOG`).

`insertion_draws` is for any ranking. Items are inserted in the order of the center, each at the s-th place from the end
with probability proportional to phi^s; a ranked item only between those better and those worse than it. The
product of the truncated normalizers over the full ones is an unbiased weight of the ranking's probability, and the sum
of the s is the distance (the draws are those of Lu and Boutilier, "Effective sampling and learning for Mallows models
with pairwise-preference data", JMLR 2014, who use them without weights).
"""

import numpy as np

from skrank._mallows import log_q_factorial, truncated_geometric
from skrank._rankings import MISSING, aggregate, row_blocks
from skrank.stats._mallows_missing import n_states, stages

# exp(-MAX_LOG) times the largest factorial is still a normal number.
MAX_LOG = 600.0


# ---------------------------------------------------------------- exact sums over rankings of one shape
def shapes(ranks):
    """Rankings of the same bucket sizes and number of missing items.

    Yields
    ------
    shape : ndarray of shape (n_items,)
        The ranking with its items sorted by bucket, missing ones last.
    rows : ndarray
        Rankings of this shape.
    items : ndarray of shape (len(rows), n_items)
        Their items in this order.
    """
    items = np.argsort(np.where(ranks == MISSING, ranks.shape[1], ranks), axis=1, kind="stable")
    table = aggregate(np.take_along_axis(ranks, items, axis=1))
    for number, shape in enumerate(table.ranks):
        rows = np.flatnonzero(table.inverse == number)
        yield shape, rows, items[rows]


def completion_sums(shape, places, nu):
    """Log sum of phi^distance over the full rankings consistent with each ranking, and their mean distance.

    Parameters
    ----------
    shape : ndarray of shape (n_items,)
        As of `shapes`.
    places : ndarray of shape (n_rankings, n_items)
        The center's places of the items of each ranking, in the order of `shapes`.
    nu : float
        At most ``MAX_LOG`` over the number of pairs.

    Returns
    -------
    log_sums, mean_distances : ndarrays of shape (n_rankings,)
    """
    next_stage, ranked_left = stages(shape)
    lattice = next_stage, ranked_left, _missing_left(shape)
    size = n_states(shape) + lattice[2].size
    log_sums, mean_distances = np.empty((2, len(places)))
    for rows in row_blocks(len(places), 32 * size, max_rows=max((1 << 19) // size, 1)):
        sums, moments = _block_sums(shape, lattice, places[rows], nu)
        log_sums[rows], mean_distances[rows] = np.log(sums), moments / sums
    return log_sums, mean_distances


def _missing_left(shape):
    """Which missing items are left under each mask of those that are gone, (n_masks, n_items)."""
    missing = np.flatnonzero(shape == MISSING)
    left = np.zeros((1 << len(missing), len(shape)), bool)
    left[:, missing] = (np.arange(len(left))[:, None] >> np.arange(len(missing)) & 1) == 0
    return left


def _block_sums(shape, lattice, places, nu):
    """Sums of phi^distance and of distance * phi^distance, from the last stage and mask to the first."""
    next_stage, ranked_left, missing_left = lattice
    n_items, n_rankings = len(shape), len(places)
    preferred = (places.T[:, None] < places.T).astype(np.float32).reshape(n_items, -1)
    stage_costs = (ranked_left.astype(np.float32) @ preferred).reshape(-1, n_items, n_rankings)
    mask_costs = (missing_left.astype(np.float32) @ preferred).reshape(-1, n_items, n_rankings)
    powers = np.exp(-nu * np.arange(n_items))
    stage_factors, mask_factors = powers[stage_costs.astype(np.intp)], powers[mask_costs.astype(np.intp)]
    missing = np.flatnonzero(shape == MISSING)
    masks = np.arange(len(missing_left))
    levels = [masks[np.bitwise_count(masks) == size] for size in range(len(missing))]
    sums = np.zeros((len(next_stage), len(masks), n_rankings))
    moments = np.zeros_like(sums)
    sums[-1, -1] = 1.0
    for stage in reversed(range(len(next_stage))):
        for item in np.flatnonzero(next_stage[stage] >= 0):
            after = next_stage[stage, item]
            factors = stage_factors[stage, item] * mask_factors[:, item]
            added = factors * sums[after]
            sums[stage] += added
            moments[stage] += factors * moments[after] + (stage_costs[stage, item] + mask_costs[:, item]) * added
        for level in reversed(levels):
            for bit, item in enumerate(missing):
                rows = level[(level >> bit & 1) == 0]
                after = rows | 1 << bit
                factors = stage_factors[stage, item] * mask_factors[rows, item]
                added = factors * sums[stage, after]
                sums[stage, rows] += added
                costs = stage_costs[stage, item] + mask_costs[rows, item]
                moments[stage, rows] += factors * moments[stage, after] + costs * added
    return sums[0, 0], moments[0, 0]


# ---------------------------------------------------------------- draws by repeated insertion
def insertion_draws(ranks, center, nu, uniform):
    """Draws of full rankings consistent with each ranking, with weights.

    Parameters
    ----------
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings, ties and missing items allowed.
    center : ndarray of shape (n_items,)
        Positions.
    nu : float
    uniform : ndarray of shape (n_items, n_rankings, n_draws)
        Numbers in [0, 1), those of an item together.

    Returns
    -------
    log_weights : ndarray of shape (n_rankings, n_draws)
        The mean of exp of it is an unbiased estimate of the ranking's probability.
    distances : ndarray of shape (n_rankings, n_draws)
        From the center.
    positions : ndarray of shape (n_items, n_rankings, n_draws), of the smallest signed integer type
        Item-major.
    """
    n_items, n_rankings, n_draws = uniform.shape
    order = np.argsort(center)
    buckets = np.ascontiguousarray(ranks.T[order])
    dtype = np.min_scalar_type(-2 * n_items)
    positions = np.zeros((n_items, n_rankings, n_draws), dtype)
    log_weights, distances = np.zeros((n_rankings, n_draws)), np.zeros((n_rankings, n_draws), np.intp)
    log_normalizers = _log_geometric_sums(n_items, nu)
    for step, item in enumerate(order):
        own, before, earlier = buckets[step], buckets[:step], positions[:step]
        ranked = (own != MISSING) & (before != MISSING)
        # How many of the earlier items must stay ahead of this one, how many behind it.
        better = (ranked & (before < own)).astype(dtype)[:, :, None]
        worse = (ranked & (before > own)).astype(dtype)[:, :, None]
        ahead = ((earlier + dtype.type(1)) * better).max(axis=0, initial=0).astype(np.intp)
        behind = ((dtype.type(step) - earlier) * worse).max(axis=0, initial=0).astype(np.intp)
        limits = step - ahead - behind
        shifts = behind + truncated_geometric(limits, nu, uniform[item])
        log_weights += log_normalizers[limits] - nu * behind - log_normalizers[step]
        distances += shifts
        place = (step - shifts).astype(dtype)
        earlier += earlier >= place
        positions[step] = place
    back = np.empty_like(positions)
    back[order] = positions
    return log_weights, distances, back


def _log_geometric_sums(n_items, nu):
    """log(1 + phi + ... + phi^limit) for limit = 0, ..., n_items - 1."""
    return np.diff(log_q_factorial(n_items, nu))
