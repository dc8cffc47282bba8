"""How the mean over consistent rankings is taken: a closed form, or which kind of samples."""

import numpy as np

from skrank._rankings import aggregate
from skrank.kernels._base import inexact_rows
from skrank.kernels._sampling import sample_consistent
from skrank.kernels._variance import pairing_variances

# Kernel values from which the better pairing of draws is found, about those of a matrix of seventy rankings: for at
# most so many pairs of rankings, fewer where each is a call of a kernel, and a number of draws of each in this range.
# With an eighth as many values, the choice for Mallows kernels of nu = 1 is wrong one time in three.
PILOT_VALUES, PILOT_DRAWS = 1 << 20, (20, 128)
PILOT_PAIRS, PILOT_PAIRS_EVALUATED = 320, 128
# Standard errors by which antithetic pairs must gain.
Z = 1.0
PILOT_SEEDS = 0x5EED0001, 0x5EED0002


def has_closed_form(kernel, ranks):
    """Whether the kernel is its own marginalization on all of these densified rankings."""
    return not inexact_rows(ranks, kernel.exact_on)[0].any()


def check_exact(kernel, ranks, input_name):
    """Raise on a ranking without a closed form, where closed forms are used."""
    rows, trouble = inexact_rows(ranks, kernel.exact_on)
    if rows.any():
        raise ValueError(
            f"Row {int(np.argmax(rows))} of {input_name} {trouble}, for which the kernel has no closed form, but "
            "method='exact' was requested, or selected because all training rankings have one. Exact and sampled "
            "values must not be mixed in one matrix: fit with method='antithetic' (or 'monte_carlo')."
        )


def better_pairing(kernel, ranks, n_draws, seed, prior=None):
    """Whether antithetic pairs or independent draws give the estimates of lower variance on these rankings.

    No rule decides it: antithetic pairs lower the variance of a kernel that is nearly linear in what the reversal of a
    ranking reverses (Kendall, Spearman, Mallows of small nu), and raise it, up to twice, for one that a ranking and its
    reverse see alike (Hamming, Mallows of large nu). So both variances are estimated, from antithetic draws for random
    pairs of the rankings that have nothing to do with those of the matrix.

    Parameters
    ----------
    kernel : RankingKernel
        On full rankings.
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings.
    n_draws : int
        Of each ranking.
    seed : int
    prior : distribution, default=None

    Returns
    -------
    method : {"antithetic", "monte_carlo"}
    """
    table = aggregate(ranks)
    n_pairs = PILOT_PAIRS if kernel._metric == "kendall" else PILOT_PAIRS_EVALUATED
    first, second = distinct_pairs(len(table.ranks), n_pairs, np.random.default_rng([seed, PILOT_SEEDS[0]]))
    n_pilot = int(np.clip(np.sqrt(PILOT_VALUES / len(first)), *PILOT_DRAWS)) // 2 * 2
    # By different seeds the draws of a ranking and an equal one are independent, as those of distinct rankings are.
    samples, other = (
        sample_consistent(table.ranks[rows], n_pilot, seed ^ pilot, method="antithetic", prior=prior)
        for rows, pilot in zip((first, second), PILOT_SEEDS, strict=True)
    )
    independent, antithetic = pairing_variances(kernel, samples, other, n_draws)
    gains = independent - antithetic
    # Where few pairs of draws have nearly all of the variance, a pilot does not see it. Antithetic pairs cannot gain
    # much there, for it is an interaction of both draws, and two pairs of mirror images are as far apart as two draws.
    return "antithetic" if gains.sum() > Z * np.sqrt((gains**2).sum()) else "monte_carlo"


def distinct_pairs(n_rankings, n_pairs, rng):
    """Numbers of the rankings of all pairs i < j, or of at most n_pairs random ones; (0, 0) if there is no pair."""
    total = n_rankings * (n_rankings - 1) // 2
    if total == 0:
        return np.zeros((2, 1), np.intp)
    if total <= n_pairs:
        return np.triu_indices(n_rankings, 1)
    first = rng.integers(n_rankings, size=n_pairs)
    return first, (first + rng.integers(1, n_rankings, size=n_pairs)) % n_rankings
