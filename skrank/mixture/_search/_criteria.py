"""How many components: by description length, or by a split-sample likelihood ratio with a guarantee."""

import numpy as np

from skrank.mixture._em import em, evaluated
from skrank.mixture._model import description_length
from skrank.mixture._search._growth import exchange
from skrank.mixture._search._options import draw_counts
from skrank.mixture._transpositions import polish

SPLIT_LEVEL = 0.05


def split_halves(data, rng):
    """Two tables that share out the rankings at random, half each."""
    counts = draw_counts(data.weights, int(data.total_weight // 2), rng)
    halves = []
    for weights in (counts, data.weights - counts):
        rows = np.flatnonzero(weights)
        halves.append(data.subset(rows, weights[rows]))
    return halves


def split_log_evidence(data, smaller, larger, rng, options):
    """Log e-value against "as many components as the smaller mixture has are enough".

    The larger mixture, refitted on one half, against the best smaller one on the other half, both ways and averaged
    (Wasserman, Ramdas & Balakrishnan, "Universal inference", PNAS 2020, their cross-fit likelihood ratio). Above
    log(1 / alpha) it rejects at level alpha, whatever the number of rankings.
    """
    halves = split_halves(data, rng)
    logs = []
    for fitted_on, tested_on in (halves, halves[::-1]):
        alternative = evaluated(tested_on, polish(fitted_on, larger, options.max_iter, options.tol))
        null = exchange(tested_on, polish(tested_on, smaller, options.max_iter, options.tol), rng, options)
        logs.append(tested_on.total_weight * (alternative.log_likelihood - null.log_likelihood))
    return float(np.logaddexp(*logs) - np.log(2))


def prefers_larger(data, smaller, larger, rng, options, criterion):
    """Whether the criterion asks for the larger mixture."""
    if larger.weights.min() < options.least_weight(data):
        return False
    if criterion == "mdl":
        return description_length(data, larger) < description_length(data, smaller)
    return split_log_evidence(data, smaller, larger, rng, options) > -np.log(SPLIT_LEVEL)


def n_effective_components(data, mixture, options):
    """Number of components left when those that the description is shorter without are dropped, one after another."""
    mixture = evaluated(data, mixture)
    length = description_length(data, mixture)
    while mixture.n_components > 1:
        dropped = [mixture.without(component) for component in range(mixture.n_components)]
        # A short EM ranks them; one that is worse by much is not worth polishing.
        dropped = [em(data, candidate, 5, options.tol) for candidate in dropped]
        shortest = min(dropped, key=lambda candidate: description_length(data, candidate))
        shortest = polish(data, shortest, options.max_iter, options.tol)
        shortest_length = description_length(data, shortest)
        if shortest_length >= length and mixture.weights.min() >= options.least_weight(data) * (1 - 1e-9):
            break
        mixture, length = shortest, min(length, shortest_length)
    return mixture.n_components
