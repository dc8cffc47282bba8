"""Whether a mixture fits: what one more component could gain, against draws from the mixture itself."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank._mallows import sample_mallows
from skrank._rankings import MISSING, bucket_sizes, n_ranked, rank_dtype
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._search import excess
from skrank.mixture._transpositions import polish
from skrank.mixture._voters import make_table


class GoodnessOfFitResult(NamedTuple):
    """The misfit in nats, and how often draws from the mixture have at least this misfit."""

    statistic: float
    pvalue: float


def draw_like(data, mixture, rng, is_marginal=False):
    """A table of as many voters drawn from the mixture, who rank the same items as those of the data, tied alike.

    All rankings of a voter come from one component: rankings of just these items, or parts of full rankings.
    """
    # Rounded sums, not weights: so the total is kept where weights are no whole numbers.
    counts = np.diff(np.rint(np.cumsum(data.weights)), prepend=0).astype(int)
    voters = np.repeat(np.arange(data.n_rows), counts)
    components = rng.choice(mixture.n_components, len(voters), p=mixture.weights / mixture.weights.sum())
    if isinstance(data, PairSigns):
        return make_table(drawn_like_rows(data.ranks.T[voters], mixture, components, rng))[0]
    members = data.members[voters]
    voter = np.repeat(np.arange(len(voters)), np.diff(members.indptr))
    repeats = members.data.astype(int)
    voter, ranking = np.repeat(voter, repeats), np.repeat(members.indices, repeats)
    ranks = drawn_like_rows(data.ranks[ranking], mixture, components[voter], rng, is_marginal)
    return make_table(ranks, groups=voter)[0]


def drawn_like_rows(ranks, mixture, components, rng, is_marginal=False):
    """Rankings from the components, of the items that each row of `ranks` ranks and tied as there."""
    with np.errstate(divide="ignore"):
        nu = -np.log(mixture.dispersions)[components]
    drawn = np.full(ranks.shape, MISSING, rank_dtype(ranks.shape[1]))
    ranked, centers = n_ranked(ranks), mixture.centers[components]
    if is_marginal:  # all is drawn already, and the order of the ranked items is that of the draw
        centers, nu = sample_mallows(centers, nu, rng).astype(np.intp), np.full(len(nu), np.inf)
    for size in np.unique(ranked[ranked > 0]):
        rows = np.flatnonzero(ranked == size)
        # Items that a row ranks, in the order of its center: their places are a Mallows ranking around the identity.
        key = np.where(ranks[rows] == MISSING, ranks.shape[1], centers[rows])
        items = np.argsort(key, axis=1, kind="stable")[:, :size]
        places = sample_mallows(np.broadcast_to(np.arange(size), items.shape), nu[rows], rng).astype(np.intp)
        sizes = bucket_sizes(ranks[rows])[:, :size]
        bucket_of_place = np.repeat(np.tile(np.arange(size), len(rows)), sizes.ravel()).reshape(places.shape)
        drawn[rows[:, None], items] = np.take_along_axis(bucket_of_place, places, axis=1)
    return drawn


def _drawn_excess(data, mixture, refitted, seed, options, is_marginal):
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):
        drawn = draw_like(data, mixture, rng, is_marginal)
        return excess(drawn, polish(drawn, refitted, 50, options.tol, max_rounds=2), rng, options)


def goodness_of_fit(data, mixture, n_draws, rng, options, n_jobs=None, is_marginal=False):
    """The excess of the mixture on the data, and its p-value by parametric bootstrap.

    Both for the data and for each draw the mixture is first refitted from itself.
    """
    seeds = rng.integers(2**63, size=n_draws + 1)
    refitted = polish(data, mixture, 50, options.tol, max_rounds=2)
    statistic = excess(data, refitted, np.random.default_rng(seeds[0]), options)
    # The refitted mixture is one of the subset model: draws of the marginal one come from the mixture itself.
    drawn_from = mixture if is_marginal else refitted
    drawn = Parallel(n_jobs=n_jobs)(
        delayed(_drawn_excess)(data, drawn_from, refitted, seed, options, is_marginal) for seed in seeds[1:]
    )
    return GoodnessOfFitResult(statistic, (1 + sum(value >= statistic for value in drawn)) / (n_draws + 1))
