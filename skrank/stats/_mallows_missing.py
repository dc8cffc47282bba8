"""Mallows probabilities of rankings with missing items, exactly: no closed form is known, but few items can be summed.

A Mallows ranking is drawn place by place: the next item is i with probability proportional to phi^c, c the number of
remaining items that the center prefers to i. Consistency with a partial ranking depends on how far its buckets are used
up (a *stage*: the current bucket and which of its items are gone) and on which missing items are gone (a *mask*). So
the sum over all consistent full rankings is one over stages times masks, and draws go forward through the same table.
Here items are numbered in the center's order, best first, and everything is in logarithms.
"""

from typing import NamedTuple

import numpy as np

from skrank._rankings import MISSING

MAX_STATES = 1 << 20


class Completions(NamedTuple):
    """Log sums of phi^distance over the ways to go on from every stage and mask, and the moves between them."""

    log_sums: np.ndarray  # (n_stages, 2^n_missing)
    next_stage: np.ndarray  # (n_stages, n_items): stage after a ranked item, -1 where it is not its turn
    stage_costs: np.ndarray  # (n_stages, n_items): remaining ranked items that the center prefers to each item
    mask_costs: np.ndarray  # (2^n_missing, n_items): the same of remaining missing items
    missing: np.ndarray  # (n_missing,): items
    step: np.ndarray  # (n_items,): log phi^c for c = 0, ..., n_items - 1


def n_states(ranking):
    """Number of stages times masks of one densified ranking."""
    sizes = np.bincount(ranking[ranking != MISSING])
    return (sum((1 << int(size)) - 1 for size in sizes) + 1) << int(np.count_nonzero(ranking == MISSING))


def completions(ranking, nu):
    """The table of one densified ranking (n_items,) under the Mallows model with the identity as center."""
    n_items = len(ranking)
    step = np.zeros(n_items)
    step[1:] = -nu * np.arange(1, n_items)
    missing = np.flatnonzero(ranking == MISSING)
    next_stage, ranked_left = stages(ranking)
    masks = np.arange(1 << len(missing))
    bits = 1 << np.arange(len(missing))
    missing_left = np.zeros((len(masks), n_items), bool)
    missing_left[:, missing] = (masks[:, None] & bits) == 0
    stage_costs, mask_costs = _preferred(ranked_left), _preferred(missing_left)
    levels = [np.flatnonzero(np.bitwise_count(masks) == size) for size in range(len(missing))]

    log_sums = np.full((len(next_stage), len(masks)), -np.inf)
    log_sums[-1, -1] = 0.0
    for stage in reversed(range(len(next_stage))):
        sums = log_sums[stage]
        for item in np.flatnonzero(next_stage[stage] >= 0):
            gain = step[stage_costs[stage, item] + mask_costs[:, item]] + log_sums[next_stage[stage, item]]
            np.logaddexp(sums, gain, out=sums)
        for level in reversed(levels):
            costs = stage_costs[stage, missing] + mask_costs[level][:, missing]
            moves = step[costs] + sums[level[:, None] | bits]
            moves[(level[:, None] & bits) != 0] = -np.inf
            sums[level] = np.logaddexp(sums[level], np.logaddexp.reduce(moves, axis=1))
    return Completions(log_sums, next_stage, stage_costs, mask_costs, missing, step)


def stages(ranking):
    """Where each ranked item leads from every stage, (n_stages, n_items), and which ranked items are left there."""
    n_items = len(ranking)
    buckets = [np.flatnonzero(ranking == bucket) for bucket in range(ranking.max() + 1)]
    n_stages = sum((1 << len(bucket)) - 1 for bucket in buckets) + 1
    next_stage = np.full((n_stages, n_items), -1)
    left = np.zeros((n_stages, n_items), bool)
    start = 0
    for number, bucket in enumerate(buckets):
        used = np.arange((1 << len(bucket)) - 1)
        rows = start + used
        for bit, item in enumerate(bucket):
            unused = (used >> bit & 1) == 0
            # The used-up bucket is the first stage of the next one: its number follows.
            next_stage[rows[unused], item] = start + (used[unused] | 1 << bit)
            left[rows[unused], item] = True
        left[rows[:, None], np.flatnonzero(ranking > number)] = True
        start += len(used)
    return next_stage, left


def _preferred(left):
    """How many of the items left come before each item, shape of `left`."""
    return np.cumsum(left, axis=1) - left


def log_weight(table):
    """Log sum of phi^distance over all full rankings consistent with the table's ranking."""
    return table.log_sums[0, 0]


def draw(table, n_draws, rng):
    """Full rankings from the Mallows model conditioned on the table's ranking: positions, (n_draws, n_items)."""
    n_items = len(table.step)
    bit = np.zeros(n_items, np.intp)
    bit[table.missing] = 1 << np.arange(len(table.missing))
    is_missing = bit > 0
    stage, mask = np.zeros((2, n_draws), np.intp)
    positions = np.empty((n_draws, n_items), np.intp)
    for place in range(n_items):
        following = table.next_stage[stage]
        allowed = np.where(is_missing, (mask[:, None] & bit) == 0, following >= 0)
        new_stage = np.where(is_missing, stage[:, None], following)
        new_mask = mask[:, None] | bit
        logits = table.step[table.stage_costs[stage] + table.mask_costs[mask]] + table.log_sums[new_stage, new_mask]
        logits[~allowed] = -np.inf
        probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
        cumulative = np.cumsum(probabilities, axis=1)
        # In (0, total], so that an item of probability zero is never chosen and some item always is.
        threshold = (1 - rng.random((n_draws, 1))) * cumulative[:, -1:]
        chosen = (cumulative >= threshold).argmax(axis=1)
        rows = np.arange(n_draws)
        positions[rows, chosen] = place
        stage, mask = new_stage[rows, chosen], new_mask[rows, chosen]
    return positions
