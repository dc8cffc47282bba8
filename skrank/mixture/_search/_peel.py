"""Peeling: finding one more component while the rest of the mixture is frozen.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), learn a mixture one component at a
time: a list of candidates (Fact 2, Lemma 8), of which each is peeled off (Corollary 4). Here the candidates come from
the paper's structures at real sizes, and likelihood and description length choose among them.
"""

import numpy as np
from scipy.special import expit, logit

from skrank.mixture._em import em, expectation, maximization
from skrank.mixture._model import Mixture, center_lengths, log_densities, ranked
from skrank.mixture._search._split import all_directions, side


# ---------------------------------------------------------------- candidates
def split_sides(data, mixture, cuts=(0.15, 0.35)):
    """Row weights of both ends of every component along its directions: a share of the component at either end."""
    row_weights, directions = all_directions(data, mixture)
    return np.array(
        [
            side(row_weights[direction.component], sign * direction.scores, cut)
            for direction in directions
            for cut in cuts
            for sign in (1, -1)
        ]
    )


def candidates(data, mixture, rng, options):
    """Centers and dispersions to start a new component from.

    Consensus of the sides of every component (`split_sides`); random rankings, and the most repeated ones (the heavy
    hitters of Fact 2); the centers themselves, tighter and wider (the concentric components of Lemma 9).
    """
    split_centers, split_dispersions, _ = maximization(data, split_sides(data, mixture), thorough=False)
    n_points = min(options.n_points, data.n_rows)
    points = rng.choice(data.n_rows, n_points, replace=False, p=data.weights / data.total_weight)
    heavy = np.argsort(-data.weights, kind="stable")[: options.n_heavy]
    centers = np.vstack(
        [split_centers, data.rankings(np.concatenate([points, heavy])), mixture.centers, mixture.centers]
    )
    dispersions = [split_dispersions, np.full(n_points, 0.6), np.full(len(heavy), 0.2)]
    return centers, np.concatenate([*dispersions, mixture.dispersions**2, np.sqrt(mixture.dispersions)])


# ---------------------------------------------------------------- one component against the frozen rest
def peel(data, log_density, centers, dispersions, least_weight, n_iter=5, weight=0.2):
    """EM of one extra component, the rest frozen at its log density, from all starts at once.

    The steps climb the gain ``mean log((1 - e) f + e f_new) - mean log f``, the finite-step form of the directional
    derivative ``mean(f_new / f) - 1``. (The derivative itself is useless: that of a spike on one ranking is enormous.)

    Returns
    -------
    centers, dispersions, weights, gains : ndarrays
        One entry for each start; the gain is -inf where the component has shrunk to less than half the least weight.
    """
    weights = np.full(len(dispersions), weight)
    mass = weights
    distances = data.distances(centers)
    for iteration in range(n_iter + 1):
        log_ratio = log_densities(data, centers, dispersions, distances)
        log_ratio -= log_density
        if iteration == n_iter:
            break
        row_weights = expit(log_ratio + logit(weights)[:, None])
        row_weights *= data.weights
        row_weights = row_weights.astype(np.float32)
        mass = row_weights.sum(axis=1, dtype=float) / data.total_weight
        weights = np.clip(mass, least_weight, 0.9)
        start = (centers, distances) if iteration else ()
        centers, dispersions, distances = maximization(data, row_weights, *start, thorough=False)
    gains = np.logaddexp(np.log1p(-weights)[:, None], log_ratio + np.log(weights)[:, None]) @ data.weights
    gains /= data.total_weight
    gains[mass < least_weight / 2] = -np.inf
    return centers, dispersions, weights, gains


def additions(data, mixture, rng, options, n_iter=10):
    """Distinct mixtures with one component more, after a short EM, the best first."""
    least_weight = options.least_weight(data)
    log_density = expectation(data, mixture, with_log_density=True)[2]
    starts, spreads = candidates(data, mixture, rng, options)
    centers, dispersions, weights, gains = peel(data, log_density, starts, spreads, least_weight)
    score = data.total_weight * gains - center_lengths(centers, mixture.centers)
    seen: set[tuple] = set()
    grown: list[Mixture] = []
    for best in np.argsort(-score, kind="stable"):
        key = (centers[best].tobytes(), round(float(np.log(dispersions[best]))))
        if key not in seen and len(grown) < options.n_kept:
            seen.add(key)
            larger = mixture.plus(centers[best], dispersions[best], weights[best])
            grown.append(em(data, larger, n_iter, max(options.tol, 1e-6), thorough=False))
    return ranked(data, grown, least_weight)


def excess(data, mixture, rng, options):
    """The gain in total log-likelihood of the best additional component of at least the least weight.

    A mixture that is component-wise right leaves nothing to gain (Corollary 5, Lemma 11).
    """
    log_density = expectation(data, mixture, with_log_density=True)[2]
    starts, spreads = candidates(data, mixture, rng, options)
    gains = peel(data, log_density, starts, spreads, options.least_weight(data))[3]
    return max(float(data.total_weight * gains.max()), 0.0)
