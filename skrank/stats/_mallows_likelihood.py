"""Likelihood of partial rankings under one Mallows model, and its maximum in the dispersion.

Bucket orders have the closed form of ``skrank._mallows``; rankings with missing items are summed exactly
(``_mallows_missing``). As everywhere, nu = -log(phi).
"""

import numpy as np

from skrank._mallows import (
    bucket_patterns,
    dispersion_from_mean_distance,
    expected_distance_coefficients,
    log_pattern_probabilities,
    log_q_factorial,
    mean_distance,
)
from skrank._pair_words import disagreements
from skrank._rankings import MISSING, aggregate
from skrank.stats._mallows_missing import MAX_STATES, completions, draw, log_weight, n_states


def log_probabilities(ranks, center, nu):
    """Log probability of consistency with each ranking under the Mallows model, shape (n_samples,).

    Raises ValueError for a ranking with missing items that would take too many states, see `check_missing`.
    """
    gaps = (ranks == MISSING).any(axis=1)
    result = np.empty(len(ranks))
    result[~gaps] = _log_probabilities_exhaustive(ranks[~gaps], center, nu)
    if gaps.any():
        check_missing(ranks, "X")
        table = aggregate(ranks[gaps])
        order = np.argsort(center, kind="stable")
        log_weights = np.array([log_weight(completions(ranking[order], nu)) for ranking in table.ranks])
        result[gaps] = (log_weights - log_q_factorial(len(center), nu)[-1])[table.inverse]
    # A sum over all full rankings can exceed 1 by rounding.
    return np.minimum(result, 0.0)


def _log_probabilities_exhaustive(ranks, center, nu):
    if not len(ranks):
        return np.empty(0)
    counts = disagreements(ranks, center)
    patterns, pattern = bucket_patterns(ranks)
    result = log_pattern_probabilities(patterns, nu)[pattern]
    result[counts > 0] -= nu * counts[counts > 0]
    return result


def check_missing(ranks, input_name):
    """Raise unless every ranking with missing items can be summed exactly."""
    for row in np.flatnonzero((ranks == MISSING).any(axis=1)):
        states = n_states(ranks[row])
        if states > MAX_STATES:
            raise ValueError(
                f"Row {row} of {input_name} leaves {np.count_nonzero(ranks[row] == MISSING)} of {ranks.shape[1]} items "
                f"missing (NaN): its probability is a sum over {states} states, and at most {MAX_STATES} are possible. "
                'If the missing items are worse than the ranked ones, tie them last (unranked="last" where lists are '
                "read); otherwise leave out items or rankings."
            )


def conditional_positions(ranks, center, nu, n_draws, rng):
    """Full rankings from the model conditioned on rankings with missing items, (n_samples, n_draws, n_items)."""
    # Without dispersion: the limit phi -> 0, which exists where the condition has probability zero too.
    nu = min(nu, 1e4)
    order = np.argsort(center, kind="stable")
    positions = np.empty((len(ranks), n_draws, len(order)), np.int64)
    table = aggregate(ranks)
    for number, ranking in enumerate(table.ranks):
        rows = np.flatnonzero(table.inverse == number)
        draws = draw(completions(ranking[order], nu), len(rows) * n_draws, rng)
        positions[rows[:, None, None], np.arange(n_draws)[:, None], order] = draws.reshape(len(rows), n_draws, -1)
    return positions


def fit_dispersion(ranks, weights, center):
    """Maximum likelihood dispersion of bucket orders with a given center, in [0, 1]; None if no pair is ordered."""
    shares = weights / weights.sum()
    patterns, pattern = bucket_patterns(ranks)
    coefficients = expected_distance_coefficients(patterns, np.bincount(pattern, shares, len(patterns)))
    if coefficients @ mean_distance(len(center), 0.0) <= 1e-12:
        return None
    mean = shares @ disagreements(ranks, center)
    return float(dispersion_from_mean_distance(len(center), [mean], coefficients[None], n_steps=6)[0])
