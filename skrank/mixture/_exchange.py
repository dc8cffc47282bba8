"""Exchange: every component is dropped in turn and another one peeled, as long as the description gets shorter."""

from skrank.mixture._description import preference_key, ranked
from skrank.mixture._flips import polish
from skrank.mixture._peel import additions

SHORTENED = 1e-3  # nats that an exchange must gain


def exchange(data, mixture, rng, options):
    """The mixture that no exchange of one component shortens.

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
        finalists = additions(data, mixture.without(component), rng, options)[: options.n_finalists]
        polished = [polish(data, finalist, max_iter=15, tol=options.tol, max_rounds=2) for finalist in finalists]
        candidate = polish(data, ranked(data, polished, least_weight)[0], options.max_iter, options.tol)
        heavy, negative_length = preference_key(data, mixture, least_weight)
        if preference_key(data, candidate, least_weight) > (heavy, negative_length + SHORTENED):
            mixture, failures = candidate, 0
        else:
            failures += 1
        component = (component + 1) % mixture.n_components
    return mixture
