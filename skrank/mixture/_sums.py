"""Expectation-maximization by sums over rankings that may lie in many places.

An M-step needs sums over the rankings alone: the log-likelihood, the components' weights, distances from the centers,
pair sums, and counts of buckets. They add up over parts of the data, so that the parts can stay where they are: each
receives the mixture and answers with `Sums`, whose size depends on the numbers of items and components alone. Distances
from a new center follow from the pair sums, since the distance of a ranking changes by the pairs that the center turns.
"""

from dataclasses import dataclass, replace

import numpy as np

from skrank._mallows import dispersion_from_mean_distance
from skrank._rankings import ordering, pair_signs
from skrank.mixture._em import LEAST_DISPERSION, expectation, weighted_distances
from skrank.mixture._model import PSEUDO_DISTANCE, PSEUDO_RANKINGS, Mixture, pseudo_log_likelihood
from skrank.mixture._transpositions import LEAST_GAIN, transposition_gains
from skrank.stats._kemeny import FEW_ITEMS, local_kemeny

# Pair sums are products in float32: a center moves if that gains more than this proportion of all of them.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Sums:
    """Sums over rankings, under a mixture of k components of n items.

    total_weight, log_likelihood, n_ordered : float
        Number of rankings, their total log-likelihood, and the number of pairs that they order strictly.
    weights, disagreements : ndarrays of shape (k,)
        Responsibilities, and these times the distances from the center.
    pair_sums : ndarray of shape (k, n (n - 1) / 2)
    buckets : ndarray of shape (k, n + 1)
        q-factorials by size that the densities multiply, less those that they divide by besides that of n.
    leaves_out : int
        Number of parts whose rankings leave items out.
    """

    total_weight: float
    log_likelihood: float
    n_ordered: float
    weights: np.ndarray
    disagreements: np.ndarray
    pair_sums: np.ndarray
    buckets: np.ndarray
    leaves_out: int = 0

    def __add__(self, other):
        return Sums(*(getattr(self, name) + getattr(other, name) for name in Sums.__dataclass_fields__))

    @property
    def n_items(self):
        """Number of items."""
        return self.buckets.shape[1] - 1

    @property
    def coverage(self):
        """Mean number of times that a ranking orders a pair of items."""
        return self.n_ordered / (self.total_weight * max(self.pair_sums.shape[1], 1))

    def lower_bound(self, dispersions):
        """Mean penalized log-likelihood."""
        return (self.log_likelihood + pseudo_log_likelihood(self.n_items, dispersions)) / self.total_weight


def no_sums(n_components, n_items):
    """The sums over no rankings."""
    weights = np.zeros(n_components)
    pairs, buckets = np.zeros((n_components, n_items * (n_items - 1) // 2)), np.zeros((n_components, n_items + 1))
    return Sums(0.0, 0.0, 0.0, weights, weights, pairs, buckets)


def sums_of(data, mixture, leaves_out=0):
    """The sums over the rankings of one engine, `PairSigns` or `PairCounts`."""
    distances = data.distances(mixture.centers)
    row_weights, log_likelihood, _ = expectation(data, mixture, distances)
    if not data.unit_weights:
        row_weights *= data.weights.astype(np.float32)
    buckets = np.zeros((mixture.n_components, data.n_items + 1))
    if data.has_ties:
        by_pattern = np.array([np.bincount(data.pattern, row, len(data.patterns)) for row in row_weights])
        buckets = by_pattern @ data.patterns
    return Sums(
        data.total_weight,
        data.total_weight * log_likelihood,
        data.coverage * data.total_weight * data.n_pairs,
        row_weights.sum(axis=1, dtype=float),
        weighted_distances(row_weights, distances),
        data.pair_sums(row_weights),
        buckets,
        leaves_out,
    )


# ---------------------------------------------------------------- maximization
def maximized(sums, mixture, thorough=True):
    """The mixture after an M-step."""
    orderings, _ = local_kemeny(sums.pair_sums, ordering(mixture.centers), thorough=thorough)
    found = np.argsort(orderings, axis=1)
    turned = pair_signs(found).astype(float) - pair_signs(mixture.centers)
    gains = np.einsum("mp,mp->m", sums.pair_sums, turned) / 2
    moves = gains > ROUNDING * np.abs(sums.pair_sums).sum(axis=1)
    disagreements = sums.disagreements - np.where(moves, gains, 0)
    mass = sums.weights + PSEUDO_RANKINGS
    distances = (disagreements + PSEUDO_RANKINGS * PSEUDO_DISTANCE) / mass
    coefficients = -sums.buckets / mass[:, None]
    coefficients[:, -1] += 1
    dispersions = np.maximum(dispersion_from_mean_distance(sums.n_items, distances, coefficients), LEAST_DISPERSION)
    centers = np.where(moves[:, None], found, mixture.centers)
    return Mixture(centers, dispersions, sums.weights / sums.weights.sum())


def polish_by_sums(parts, mixture, max_iter=150, tol=1e-7):
    """EM until the mean penalized log-likelihood rises by less than tol, and adjacent transpositions while they gain.

    Parameters
    ----------
    parts : object
        With methods ``sums(mixture)``, the `Sums` over all rankings, and ``transpositions(mixture)``, the gains in
        total log-likelihood of the adjacent transpositions and the moves (see `transposition_gains`).
    mixture : Mixture
    max_iter : int, default=150
        Passes over the data at most, those of transpositions not counted.
    tol : float, default=1e-7

    Returns
    -------
    mixture : Mixture
    sums : Sums
        Under it.
    """
    best, best_sums, thorough, moved_from = None, None, False, -np.inf
    for n_iter in range(max_iter + 1):
        sums = parts.sums(mixture)
        lower_bound = sums.lower_bound(mixture.dispersions)
        ended = best is not None and bool(lower_bound - best.lower_bound < tol)
        if best is None or lower_bound >= best.lower_bound:
            log_likelihood = sums.log_likelihood / sums.total_weight
            best, best_sums = replace(mixture, log_likelihood=log_likelihood, lower_bound=lower_bound), sums
        best = replace(best, n_iter=n_iter, converged=ended and thorough)
        if n_iter == max_iter:
            break
        if best.converged:
            # A transposition must have paid for the one before it.
            moved = _transposed(parts, best) if best.lower_bound > moved_from + LEAST_GAIN else None
            if moved is None:
                break
            mixture, thorough, moved_from = moved, False, best.lower_bound
            continue
        thorough = ended or sums.n_items <= FEW_ITEMS
        mixture = maximized(best_sums if ended else sums, best if ended else mixture, thorough)
    return best, best_sums


def _transposed(parts, mixture):
    """The mixture after the adjacent transposition that gains most, None if none gains."""
    if mixture.n_components == 1:
        return None
    gains, moves, total_weight = parts.transpositions(mixture)
    best = int(gains.argmax())
    if gains[best] < LEAST_GAIN * total_weight:
        return None
    components, first, second = moves[best]
    centers = mixture.centers.copy()
    centers[np.ix_(components, [first, second])] = centers[np.ix_(components, [second, first])]
    return replace(mixture, centers=centers)


@dataclass(frozen=True)
class Gains:
    """Gains in total log-likelihood of the same moves on a part of the rankings; they add up over parts."""

    gains: np.ndarray
    moves: list
    total_weight: float

    def __add__(self, other):
        longer = self if len(self.moves) else other
        return Gains(self.gains + other.gains, longer.moves, self.total_weight + other.total_weight)

    def __iter__(self):
        return iter((self.gains, self.moves, self.total_weight))


def gains_of(data, mixture):
    """The gains on the rankings of one engine."""
    gains, moves = transposition_gains(data, mixture, expectation(data, mixture)[0])
    return Gains(gains * data.total_weight, moves, data.total_weight)
