"""Total variation distance between two Mallows models."""

from dataclasses import dataclass

import numpy as np

from skrank._mallows import log_distance_distribution, log_q_factorial, sample_mallows
from skrank._pair_words import disagreements
from skrank._rankings import densify, row_blocks

MAX_ENUMERATED_ITEMS = 9
MAX_SAME_CENTER_ITEMS = 300


@dataclass(frozen=True)
class TotalVariationResult:
    """A total variation distance and how sure it is.

    Attributes
    ----------
    value : float
        The distance, in [0, 1], or its unbiased estimate.
    standard_error : float
        Standard error of the estimate; 0 if `is_exact`.
    is_exact : bool
        Whether all rankings have been summed.
    n_draws : int
        Number of rankings drawn; 0 if `is_exact`.
    """

    value: float
    standard_error: float = 0.0
    is_exact: bool = True
    n_draws: int = 0

    def confidence_interval(self, confidence_level=0.95):
        """Interval that holds the distance with at least this probability, at every number of draws.

        It is the empirical Bernstein bound of Maurer and Pontil (COLT 2009, theorem 11), which needs no normal
        approximation; the draws are independent and in [0, 1].

        Returns
        -------
        low, high : float
        """
        if self.is_exact:
            return self.value, self.value
        log_term = np.log(4 / (1 - confidence_level))
        half_width = self.standard_error * np.sqrt(2 * log_term) + 7 * log_term / (3 * (self.n_draws - 1))
        return max(self.value - half_width, 0.0), min(self.value + half_width, 1.0)


def total_variation(centers, nus, n_draws, rng):
    """Total variation distance between the Mallows models of two centers and two nu."""
    if np.array_equal(*centers) and len(centers[0]) <= MAX_SAME_CENTER_ITEMS:
        return TotalVariationResult(_same_center(len(centers[0]), nus))
    if len(centers[0]) <= MAX_ENUMERATED_ITEMS:
        ranks = all_rankings(len(centers[0]))
        first, second = (np.exp(log_probabilities(ranks, *model)) for model in zip(centers, nus, strict=True))
        return TotalVariationResult(float(np.abs(first - second).sum() / 2))
    return _sampled(centers, nus, n_draws, rng)


def _same_center(n_items, nus):
    # Rankings at one distance from the center are equally likely in both models.
    first, second = (np.exp(log_distance_distribution(n_items, np.exp(-nu))) for nu in nus)
    return float(np.abs(first - second).sum() / 2)


def _sampled(centers, nus, n_draws, rng):
    # TV = E |p - q| / (p + q) over the even mixture of p and q, half of the draws from each: each term is in [0, 1].
    n_draws = max(n_draws, 2)
    half = n_draws // 2
    terms = []
    for drawn, size in ((0, half), (1, n_draws - half)):
        for rows in row_blocks(size, 64 * len(centers[0]), max_rows=1 << 14):
            center = np.broadcast_to(centers[drawn], (rows.stop - rows.start, len(centers[0])))
            ranks = sample_mallows(center, nus[drawn], rng)
            first, second = (log_probabilities(ranks, *model) for model in zip(centers, nus, strict=True))
            terms.append(np.tanh(np.abs(first - second) / 2))
    terms = np.concatenate(terms)
    return TotalVariationResult(float(terms.mean()), float(terms.std(ddof=1) / np.sqrt(n_draws)), False, n_draws)


def log_probabilities(ranks, center, nu):
    """Log probability of full rankings under one Mallows model, (n_samples,)."""
    counts = disagreements(ranks, center)
    result = np.full(len(ranks), -log_q_factorial(len(center), nu)[-1])
    result[counts > 0] -= nu * counts[counts > 0]
    return result


def all_rankings(n_items):
    """All full rankings as positions, shape (n_items!, n_items)."""
    positions = np.zeros((1, 0), np.int64)
    for n_before in range(n_items):
        places = np.arange(n_before + 1)
        earlier = positions[:, None] + (positions[:, None] >= places[:, None])
        last = np.broadcast_to(places[:, None], (*earlier.shape[:2], 1))
        positions = np.concatenate([earlier, last], axis=2).reshape(-1, n_before + 1)
    return densify(positions)
