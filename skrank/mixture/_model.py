"""The model: a mixture of Mallows models, the densities of its components, and how many nats describe it.

A tied ranking R (a bucket order) has the probability that its full rankings have together,

    P(R) = phi^d prod_b [m_b]!_phi / [n]!_phi,     d = pairs that R orders strictly against the center,

so log densities are linear in the distance, plus a term of the pattern of bucket sizes. Each component also sees half a
pseudo-ranking at distance 1 from its center: without it a component can collapse onto repeats of one ranking.

The description length, in nats, is that of a message that describes the mixture and then the rankings by it: (2 k - 1)
/ 2 log N for weights and dispersions (k components, N rankings); log n! for the first center of n items; for each other
center its distance d to the nearest center already coded and its number among the permutations at distance d, if that
is shorter than log n!; and minus the log-likelihood of the rankings. Likelihood alone would let a center on a few odd
rankings win, since there are n! of them to choose from.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from skrank._mallows import log_mahonian, log_pattern_probabilities, log_q_factorial, sample_mallows
from skrank.metrics._components import center_distances

PSEUDO_RANKINGS = 0.5
PSEUDO_DISTANCE = 1.0
CENTER_RISK = 0.05
MAX_CODED_ITEMS = 1000  # beyond, counting permutations by distance takes minutes: every center is coded plainly


@dataclass(frozen=True)
class Mixture:
    """Parameters of a mixture: centers (positions, one row each), dispersions phi, weights; and how good they are.

    `log_likelihood` and `lower_bound` (with the pseudo-rankings) are means over the rankings.
    """

    centers: np.ndarray
    dispersions: np.ndarray
    weights: np.ndarray
    log_likelihood: float = -np.inf
    lower_bound: float = -np.inf
    n_iter: int = 0
    converged: bool = False

    @property
    def n_components(self):
        return len(self.weights)

    def without(self, component):
        """The mixture without one component, the others' weights scaled up."""
        weights = np.delete(self.weights, component)
        return Mixture(
            np.delete(self.centers, component, axis=0), np.delete(self.dispersions, component), weights / weights.sum()
        )

    def plus(self, center, dispersion, weight):
        """The mixture with one component more, the others' weights scaled down."""
        return Mixture(
            np.vstack([self.centers, center]),
            np.append(self.dispersions, dispersion),
            np.append(self.weights * (1 - weight), weight),
        )

    def order(self):
        """The components by decreasing weight, ties by center."""
        return np.lexsort([*self.centers.T[::-1], -self.weights])

    def sorted(self):
        """The mixture with its components in that order."""
        order = self.order()
        return replace(
            self, centers=self.centers[order], dispersions=self.dispersions[order], weights=self.weights[order]
        )


def sample_mixture(mixture, n_samples, rng):
    """Draw full rankings: (positions, component of each), components in order."""
    counts = rng.multinomial(n_samples, mixture.weights / mixture.weights.sum())
    components = np.repeat(np.arange(mixture.n_components), counts)
    with np.errstate(divide="ignore"):
        nu = -np.log(mixture.dispersions)
    return sample_mallows(mixture.centers[components], nu[components], rng), components


# ---------------------------------------------------------------- densities
def log_density_terms(data, dispersions):
    """Log densities: slope in the distance (M,), constant (M,), term of each bucket pattern (M, n_patterns) or None."""
    nu = -np.log(dispersions)
    if data.has_ties:
        return -nu, np.zeros(len(nu)), log_pattern_probabilities(data.patterns, nu)
    return -nu, -log_q_factorial(data.n_items, nu)[:, -1], None


def log_densities(data, centers, dispersions, distances=None):
    """Log probability of each row under each component, (n_components, n_rows) float64."""
    distances = data.distances(centers) if distances is None else distances
    slope, constant, by_pattern = log_density_terms(data, dispersions)
    values = np.multiply(distances, slope[:, None])
    values += constant[:, None]
    if by_pattern is not None:
        values += by_pattern[:, data.pattern]
    return values


def pseudo_log_likelihood(n_items, dispersions):
    """What the pseudo-rankings add to the total log-likelihood."""
    nu = -np.log(dispersions)
    return -PSEUDO_RANKINGS * (PSEUDO_DISTANCE * nu + log_q_factorial(n_items, nu)[..., -1]).sum()


# ---------------------------------------------------------------- description length
def center_lengths(centers, coded):
    """Nats to code each center, given the centers that are coded already."""
    n_items = centers.shape[1]
    if n_items > MAX_CODED_ITEMS:
        return np.full(len(centers), gammaln(n_items + 1))
    n_pairs = n_items * (n_items - 1) // 2
    nearest = center_distances(centers, coded).min(axis=1)
    return np.minimum(gammaln(n_items + 1), np.log(n_pairs + 1) + log_mahonian(n_items)[nearest])


def all_centers_length(centers):
    """Nats to code all centers: the first one plainly, then always one that is nearest to those already coded."""
    length = gammaln(centers.shape[1] + 1)
    if centers.shape[1] > MAX_CODED_ITEMS:
        return float(len(centers) * length)
    coded, rest = centers[:1], centers[1:]
    while len(rest):
        lengths = center_lengths(rest, coded)
        cheapest = lengths.argmin()
        length += lengths[cheapest]
        coded, rest = np.vstack([coded, rest[cheapest]]), np.delete(rest, cheapest, axis=0)
    return float(length)


def description_length(data, mixture):
    """Nats that describe the mixture and the rankings by it.

    Parameters
    ----------
    data : PairSigns
    mixture : Mixture
        With its log-likelihood on the data.
    """
    n_parameters = 2 * mixture.n_components - 1
    return (
        n_parameters / 2 * np.log(max(data.total_weight, 1))
        + all_centers_length(mixture.centers)
        - data.total_weight * mixture.log_likelihood
    )


def preference_key(data, mixture, min_weight):
    """Sorts mixtures, the best last: one with a weight below the minimum never beats one without."""
    return bool(mixture.weights.min() >= min_weight), -description_length(data, mixture)


def ranked(data, mixtures, min_weight, tolerance=0.01):
    """Mixtures from the best to the worst, those within `tolerance` nats of a better one left out as its copies."""
    distinct: list[Mixture] = []
    for mixture in sorted(mixtures, key=lambda m: preference_key(data, m, min_weight), reverse=True):
        gaps = [abs(mixture.log_likelihood - other.log_likelihood) * data.total_weight for other in distinct]
        if min(gaps, default=np.inf) > tolerance:
            distinct.append(mixture)
    return distinct


# ---------------------------------------------------------------- how many rankings it takes
def rankings_for_center(n_items, dispersion, coverage=1.0, risk=CENTER_RISK):
    """Number of voters of one Mallows model after which its center is known, except for a risk.

    A majority of m rankings reverses neighbors of the center with a probability of at most
    ``(2 sqrt(phi) / (1 + phi))^m`` (Chernoff); n - 1 pairs of neighbors share the risk. A voter counts as `coverage`
    full rankings: the mean number of times that a voter orders a pair.
    """
    with np.errstate(divide="ignore"):  # of uniform rankings, or where nobody orders anything, no number is enough
        rate = coverage * np.log((1 + dispersion) / (2 * np.sqrt(dispersion)))
        return np.log(max(n_items - 1, 1) / risk) / rate


def n_samples_required(mixture, coverage=1.0):
    """Number of voters after which all centers are known: the largest of `rankings_for_center` over the weights."""
    needed = rankings_for_center(mixture.centers.shape[1], mixture.dispersions, coverage) / mixture.weights
    return float(np.ceil(np.max(needed)))
