"""Which model of missing items a mixture has: the subset model, or the marginal one climbed from it."""

from typing import NamedTuple

import numpy as np

from skrank._rankings import has_missing
from skrank.mixture._em import expectation
from skrank.mixture._marginal import (
    MarginalRankings,
    climb,
    evaluate,
    is_within_reach,
    polish,
)
from skrank.mixture._model import Mixture, description_length
from skrank.mixture._pair_counts import PairCounts
from skrank.mixture._search import Fit, path_entry

SETTLED = 0.05  # nats in total by which a step of the climb must raise the likelihood
MAX_ITER = 50
MAX_ITER_ON_ALL = 10
PROBED, PROBE_ITER, FAR_BEHIND = 600, 15, 4.0  # voters, iterations, standard errors


class MissingFit(NamedTuple):
    """A fit with the model of missing items that was decided on, and the log-likelihoods of both, in nats."""

    fit: Fit
    missing: str
    log_likelihoods: dict[str, float]


def leaves_items_out(data):
    """Whether a table has rankings with missing items, so that the two models differ."""
    return isinstance(data, PairCounts) and has_missing(data.ranks[np.unique(data.members.indices)])


def posterior(data, mixture, missing):
    """E-step under either model: responsibilities (n_components, n_rows), mean log-likelihood, log densities."""
    if missing == "marginal" and leaves_items_out(data):
        return tuple(evaluate(MarginalRankings(data), mixture)[:3])
    return expectation(data, mixture, with_log_density=True)


def posterior_probabilities(data, mixture, missing):
    """Posterior probability of each component under either model, (n_rows, n_components) float64."""
    probabilities = posterior(data, mixture, missing)[0].T.astype(float)
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def decide(search, fit, missing, options, *, by_description):
    """The fit of the subset model, or the one that the marginal model climbs to from it.

    Parameters
    ----------
    search : Search
    fit : Fit
        Of the subset model.
    missing : {"auto", "marginal"}
        "auto" takes the likelier one, with the number of components open the one of the shorter description.
    options : SearchOptions
    by_description : bool
        Whether the number of components is open: then it is that of the shortest description on the path.

    Returns
    -------
    MissingFit
        With the subset model if the marginal one is out of the draws' reach, or plainly behind.
    """
    data = search.data
    likelihoods = {"subset": data.total_weight * fit.mixture.log_likelihood, "marginal": np.nan}
    rows = MarginalRankings(search.rows)
    if not is_within_reach(rows, fit.mixture):
        return MissingFit(fit, "subset", likelihoods)
    if missing == "auto" and is_clearly_worse(search.rows, fit.mixture):
        return MissingFit(fit, "subset", likelihoods)
    on_all = rows if search.rows is data else MarginalRankings(data)
    if by_description:
        found, path = _shortest(rows, on_all, fit.path, options)
    else:
        found = _climbed(rows, on_all, fit.mixture, polish)
        path = [*fit.path[:-1], path_entry(data, found)]
    stability = None if fit.stability is None else fit.path[found.n_components - 1].stability
    likelihoods["marginal"] = data.total_weight * found.log_likelihood
    if missing == "auto":
        value = description_length if by_description else _negative_log_likelihood
        if value(data, fit.mixture) <= value(data, found):
            return MissingFit(fit, "subset", likelihoods)
    fit = Fit(found, path, stability, None, fit.is_undecided and found.n_components == fit.mixture.n_components)
    return MissingFit(fit, "marginal", likelihoods)


def is_clearly_worse(data, mixture):
    """Whether a short climb of the marginal model on some of the voters is far behind the subset model there.

    By a test of their log-likelihoods voter by voter (Vuong, "Likelihood ratio tests for model selection and non-nested
    hypotheses", Econometrica 1989). Saves the long climb where the answer is plain.
    """
    rows = np.unique(np.linspace(0, data.n_rows - 1, min(PROBED, data.n_rows)).astype(int))
    probed = MarginalRankings(data.subset(rows))
    subset = expectation(probed.data, mixture, with_log_density=True)[2]
    marginal = evaluate(probed, climb(probed, mixture, PROBE_ITER, SETTLED / len(rows), max_rounds=1)).log_density
    differences = marginal - subset
    return differences.mean() < -FAR_BEHIND * differences.std() / np.sqrt(len(rows))


def _shortest(rows, on_all, subset_path, options):
    """Climb from the path of the subset model, for as long as that shortens the description."""
    data, path = on_all.data, []
    best = None
    for entry in subset_path:
        found = _climbed(rows, on_all, Mixture(entry.centers, entry.dispersions, entry.weights))
        path.append(path_entry(data, found))
        is_shorter = best is None or description_length(data, found) < description_length(data, best)
        if not is_shorter or (best is not None and found.weights.min() < options.least_weight(data)):
            break
        best = found
    best = _climbed(rows, on_all, best, polish)
    path[best.n_components - 1] = path_entry(data, best)
    return best, path


def _climbed(rows, on_all, mixture, by=climb):
    found = by(rows, mixture, MAX_ITER, SETTLED / rows.total_weight)
    if on_all is not rows:
        found = climb(on_all, found, MAX_ITER_ON_ALL, SETTLED / on_all.total_weight, max_rounds=1)
    return found


def _negative_log_likelihood(data, mixture):
    return -mixture.log_likelihood
