"""What a fitted mixture does not say: the warnings, each with its remedy."""

from itertools import combinations

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from skrank._mallows import dispersion_from_mean_distance, log_distance_distribution, mean_distance
from skrank.exceptions import ComponentLimitWarning, InsufficientDataWarning
from skrank.mixture._model import MAX_CODED_ITEMS, rankings_for_center

NEARLY_UNIFORM = 0.978  # proportion of the uniform distribution's mean distance: that at phi = .98 of 10 items
# Total Kullback-Leibler divergence, in nats, below which data do not tell two mixtures apart.
TELLING_APART = 5.0


def concentric_divergence(n_items, weights, dispersions):
    """Kullback-Leibler divergence, a ranking, of two Mallows models with one center from the one nearest to both.

    Exact: it is that of the distributions of the distance. Lemma 9 of Liu and Moitra (FOCS 2018) is about such
    components.
    """
    weights = np.asarray(weights) / np.sum(weights)
    parts = np.array([log_distance_distribution(n_items, phi) for phi in dispersions])
    both = logsumexp(parts, axis=0, b=weights[:, None])
    mean = weights @ mean_distance(n_items, -np.log(dispersions))[:, -1]
    single = log_distance_distribution(n_items, dispersion_from_mean_distance(n_items, mean))
    return float(np.exp(both) @ (both - single))


def problems(mixture, data, least_weight, max_iter, n_effective):
    """What to warn of: a list of (category, message).

    Parameters
    ----------
    mixture : Mixture
        Components by decreasing weight.
    data : PairSigns or PairCounts
    least_weight : float
        The smallest weight that counts as a component.
    max_iter : int
    n_effective : int
        Number of components that the data support.
    """
    found = []
    if not mixture.converged:
        message = (
            f"EM stopped at max_iter={max_iter} while the likelihood still rose. Raise max_iter or tol: components "
            "that overlap much need many iterations."
        )
        found.append((ConvergenceWarning, message))
    messages = [
        *_undetermined_centers(mixture, data),
        *_smallest_weights(mixture, least_weight),
        *_nearly_uniform(mixture),
        *_concentric_pairs(mixture, data.total_weight),
    ]
    if n_effective < mixture.n_components:
        messages.append(
            f"{mixture.n_components} components were asked for, but the data support {n_effective}: with fewer "
            'components the description is shorter. Use n_components="auto", or read the small and the close '
            "components as one."
        )
    return found + [(InsufficientDataWarning, message) for message in messages]


def _undetermined_centers(mixture, data):
    counts = data.total_weight * mixture.weights
    required = rankings_for_center(mixture.centers.shape[1], mixture.dispersions, data.coverage)
    for component in np.flatnonzero(counts < required):
        needed = f"it takes {required[component]:.0f}" if np.isfinite(required[component]) else "no number is enough"
        yield (
            f"The center of component {component} is not determined by the data: about {counts[component]:.0f} "
            f"rankings belong to it, and at its dispersion {mixture.dispersions[component]:.3f} {needed}. "
            "Trust the order of items far apart in it only; for the rest use more rankings or fewer components."
        )


def _smallest_weights(mixture, least_weight):
    for component in np.flatnonzero(mixture.weights <= least_weight * (1 + 1e-6)):
        yield (
            f"The weight {mixture.weights[component]:.4f} of component {component} is not above the minimum, "
            f"{least_weight:.4f}: it may be a few odd rankings. Use fewer components, or lower min_weight if so "
            "small a group is expected."
        )


def _nearly_uniform(mixture):
    n_items = mixture.centers.shape[1]
    with np.errstate(divide="ignore"):
        means = mean_distance(n_items, -np.log(mixture.dispersions))[:, -1]
    for component in np.flatnonzero(means > NEARLY_UNIFORM * n_items * (n_items - 1) / 4):
        yield (
            f"The dispersion {mixture.dispersions[component]:.4f} of component {component} is close to 1: its "
            "rankings are almost uniformly random and its center means little. Either the component holds several "
            "groups (use more components) or it is noise."
        )


def _concentric_pairs(mixture, total_weight):
    for i, j in combinations(range(mixture.n_components), 2):
        is_same = np.array_equal(mixture.centers[i], mixture.centers[j])
        if not is_same or mixture.centers.shape[1] > MAX_CODED_ITEMS:
            continue
        share = mixture.weights[[i, j]].sum()
        divergence = share * concentric_divergence(
            mixture.centers.shape[1], mixture.weights[[i, j]], mixture.dispersions[[i, j]]
        )
        if total_weight * divergence < TELLING_APART:
            yield (
                f"Components {i} and {j} have the same center and close dispersions "
                f"({mixture.dispersions[i]:.4f} and {mixture.dispersions[j]:.4f}): the data do not tell them from "
                f"one component. That takes on the order of {TELLING_APART / max(divergence, 1e-300):.1g} rankings, "
                f"of which {TELLING_APART:g} nats of divergence are expected. Use one component less."
            )


def undecided(max_components, criterion):
    """The warning that all components that a search was allowed were taken, as (category, message)."""
    message = (
        f'n_components="auto" took all of max_components={max_components}: criterion="{criterion}" does not say that '
        "more are not needed. Raise max_components"
    )
    if criterion == "mdl":
        message += ', or use criterion="stability": on real rankings the description often gets shorter without end'
    return ComponentLimitWarning, message + "."
