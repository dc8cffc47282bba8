"""Whether a mixture fits: what one more component could gain, against draws from the mixture itself."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank._rankings import aggregate, bucket_sizes, rank_dtype
from skrank.mixture._model import sample_mixture
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._search import excess
from skrank.mixture._transpositions import polish


class GoodnessOfFitResult(NamedTuple):
    """The misfit in nats, and how often the mixture itself shows as much."""

    statistic: float
    pvalue: float


def tie_like(ranks, positions):
    """Full rankings with the places of each tied as in the row of `ranks` with the same number."""
    sizes = bucket_sizes(ranks)
    bucket_of_place = np.repeat(np.tile(np.arange(ranks.shape[1]), len(ranks)), sizes.ravel()).reshape(ranks.shape)
    return np.take_along_axis(bucket_of_place, positions.astype(np.intp), axis=1).astype(rank_dtype(ranks.shape[1]))


def draw_like(data, mixture, rng):
    """A table of as many rankings drawn from the mixture, tied as those of the data are."""
    # Rounded sums, not weights: so the total is kept where weights are no whole numbers.
    counts = np.diff(np.rint(np.cumsum(data.weights)), prepend=0).astype(int)
    ranks = np.repeat(data.ranks.T, counts, axis=0)
    positions, _ = sample_mixture(mixture, len(ranks), rng)
    if data.has_ties:
        # Components come in blocks, so ties must not: which ranking is tied how does not depend on its component.
        positions = tie_like(ranks, positions[rng.permutation(len(positions))])
    table = aggregate(positions)
    return PairSigns(table.ranks, table.weights)


def _drawn_excess(data, mixture, seed, options):
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):
        drawn = draw_like(data, mixture, rng)
        return excess(drawn, polish(drawn, mixture, 50, options.tol, max_rounds=2), rng, options)


def goodness_of_fit(data, mixture, n_draws, rng, options, n_jobs=None):
    """The excess of the mixture on the data, and its p-value by parametric bootstrap.

    Both for the data and for each draw the mixture is first refitted from itself.
    """
    seeds = rng.integers(2**63, size=n_draws + 1)
    refitted = polish(data, mixture, 50, options.tol, max_rounds=2)
    statistic = excess(data, refitted, np.random.default_rng(seeds[0]), options)
    drawn = Parallel(n_jobs=n_jobs)(delayed(_drawn_excess)(data, refitted, seed, options) for seed in seeds[1:])
    return GoodnessOfFitResult(statistic, (1 + sum(value >= statistic for value in drawn)) / (n_draws + 1))
