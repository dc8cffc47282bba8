"""Description length of a mixture: how mixtures with other centers or another number of components are compared.

The length, in nats, of a message that describes the mixture and then the rankings by it: (2 k - 1) / 2 log N for
weights and dispersions (k components, N rankings); log n! for the first center of n items; for every other center its
distance d to the nearest center already coded and its number among the permutations at distance d, if that is shorter
than log n!; and minus the log-likelihood of the rankings. Likelihood alone would let a center on a few odd rankings
win, since there are n! of them to choose from.
"""

import numpy as np
from scipy.special import gammaln

from skrank._mallows import log_mahonian
from skrank.metrics._components import center_distances


def center_lengths(centers, coded):
    """Nats to code each center, given the centers that are coded already."""
    n_items = centers.shape[1]
    n_pairs = n_items * (n_items - 1) // 2
    nearest = center_distances(centers, coded).min(axis=1)
    return np.minimum(gammaln(n_items + 1), np.log(n_pairs + 1) + log_mahonian(n_items)[nearest])


def all_centers_length(centers):
    """Nats to code all centers: the first one plainly, then always one that is nearest to those already coded."""
    length = gammaln(centers.shape[1] + 1)
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
    distinct = []
    for mixture in sorted(mixtures, key=lambda m: preference_key(data, m, min_weight), reverse=True):
        gaps = [abs(mixture.log_likelihood - other.log_likelihood) * data.total_weight for other in distinct]
        if min(gaps, default=np.inf) > tolerance:
            distinct.append(mixture)
    return distinct
