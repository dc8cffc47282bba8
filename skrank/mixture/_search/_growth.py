"""One component more, and the exchange of components: dropped and grown again until nothing gets shorter.

Neither EM nor a new component beside it repairs a component that covers two: both leave its center between them. So a
mixture grows by peeling and by splitting, and the candidates are compared only after a polish, since a split that is
right starts far below a new component that is wrong.
"""

import numpy as np
from scipy.special import gammaln

from skrank.mixture._em import em
from skrank.mixture._model import preference_key, ranked
from skrank.mixture._search._peel import additions
from skrank.mixture._search._split import splits
from skrank.mixture._transpositions import polish

SHORTENED = 1e-3  # nats that an exchange must gain
SETTLING = 5  # iterations of EM after a component is dropped


def grow(data, mixture, rng, options):
    """Mixtures with one component more, peeled or split and shortly polished, the best first.

    Parameters
    ----------
    data : PairSigns
    mixture : Mixture
    rng : numpy.random.Generator
    options : SearchOptions
    """
    candidates = additions(data, mixture, rng, options)[: options.n_finalists]
    candidates += splits(data, mixture, options.n_splits)
    shortly = {"max_iter": 15, "tol": options.tol, "max_rounds": 2, "thorough": False}
    polished = [polish(data, candidate, **shortly) for candidate in candidates]
    return ranked(data, polished, options.least_weight(data))


def exchange(data, mixture, rng, options):
    """The mixture that no exchange of one component shortens.

    A component keeps its place if dropping it costs more than the longest code of a center and more than a nat for each
    of its rankings: no other component explains them.

    Parameters
    ----------
    data : PairSigns
    mixture : Mixture
        Polished, with its log-likelihood on the data.
    rng : numpy.random.Generator
    options : SearchOptions

    Returns
    -------
    mixture : Mixture
    """
    least_weight = options.least_weight(data)
    component = failures = 0
    while options.with_exchange and mixture.n_components > 1 and failures < mixture.n_components:
        rest = em(data, mixture.without(component), SETTLING, options.tol, thorough=False)
        loss = data.total_weight * (mixture.log_likelihood - rest.log_likelihood)
        candidate = None
        if loss <= max(gammaln(data.n_items + 1), data.total_weight * mixture.weights[component]):
            candidate = grow(data, rest, rng, options)[0]
        if candidate is not None and not _same_centers(candidate, mixture):
            candidate = polish(data, candidate, options.max_iter, options.tol)
            heavy, negative_length = preference_key(data, mixture, least_weight)
            if preference_key(data, candidate, least_weight) > (heavy, negative_length + SHORTENED):
                mixture, failures = candidate, -1
        failures += 1
        component = (component + 1) % mixture.n_components
    return mixture


def _same_centers(first, second):
    return np.array_equal(*(mixture.centers[np.lexsort(mixture.centers.T)] for mixture in (first, second)))
