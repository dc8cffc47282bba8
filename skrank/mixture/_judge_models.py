"""Which description of the judges predicts held-out votes best: common scores, tastes, slopes, or a mixture."""

from dataclasses import dataclass, field

import numpy as np

from skrank.linear_model._judges import fit_judges, judge_margins, log_likelihoods
from skrank.mixture._comparison_components import (
    VoteMatrices,
    expectation,
    grown,
    mixed_log_likelihoods,
    one_component,
)
from skrank.mixture._search._halves import STABLE, soft_jaccard

CLAIM = 2.0  # standard errors that a gain must exceed
N_HALVES = 6


def held_out_tastes(data, fold, alpha):
    """Log-likelihood of each row by a fit to the other folds: of common scores, tastes and slopes."""
    result = {name: np.empty(len(fold)) for name in ("common", "tastes", "slopes")}
    for held_out in range(fold.max() + 1):
        test = fold == held_out
        votes = data.votes(~test)
        first, second = data.numbers[0][test], data.numbers[1][test]
        common = one_component(VoteMatrices(votes), alpha).scores[0]
        margin = {"common": common[first] - common[second]}
        for name in ("tastes", "slopes"):
            likelihood, parameters, _ = fit_judges(votes, alpha, None, name == "slopes", common)
            margin[name] = judge_margins(likelihood, parameters, data.judge[test], (first, second))
        for name, values in margin.items():
            result[name][test] = log_likelihoods(values, data.share[test])
    return result


@dataclass
class MixturePath:
    """Mixtures of 1, 2, ... components of all votes, and what speaks for each number.

    Attributes
    ----------
    mixtures : list of Components
        Of all votes.
    held_out : list of ndarray
        Log-likelihood of each row by a fit to the other folds.
    stability : list of ndarray
        Of each component, the mean over halves of the judges of the soft Jaccard index with its counterpart; empty
        where it was not needed.
    """

    mixtures: list
    held_out: list
    stability: list = field(default_factory=list)


def mixture_path(data, fold, alpha, max_components):
    """Grow mixtures on all votes and without each fold, until held-out votes have gained nothing twice."""
    everything = VoteMatrices(data.votes(slice(None)))
    trained = [VoteMatrices(data.votes(fold != held_out)) for held_out in range(fold.max() + 1)]
    full, parts = one_component(everything, alpha), [one_component(one, alpha) for one in trained]
    path = MixturePath([full], [_held_out(data, fold, trained, parts)])
    failures = 0
    while len(path.mixtures) < max_components and failures < 2:
        full = grown(everything, full, alpha)
        parts = [grown(one, part, alpha) for one, part in zip(trained, parts, strict=True)]
        path.mixtures.append(full)
        path.held_out.append(_held_out(data, fold, trained, parts))
        best = max(data.weight @ logs for logs in path.held_out[:-1])
        failures = failures + 1 if data.weight @ path.held_out[-1] <= best else 0
    return path


def _held_out(data, fold, trained, parts):
    result = np.empty(len(fold))
    for held_out, (one, part) in enumerate(zip(trained, parts, strict=True)):
        test = fold == held_out
        numbers = data.numbers[0][test], data.numbers[1][test]
        result[test] = mixed_log_likelihoods(one, part, data.judge[test], numbers, data.share[test])
    return result


def choose_components(data, path, alpha, rng):
    """The number of components: of those whose gain on held-out votes is sure and that are stable, the best.

    Sets `path.stability`.
    """
    path.stability[:] = [np.array([])] * len(path.mixtures)
    totals = [data.weight @ logs for logs in path.held_out]
    for number in np.argsort(totals)[::-1]:
        if number == 0:
            return 1
        gain, error = gain_and_error(data, path.held_out[number] - path.held_out[0])
        if gain <= CLAIM * error:
            continue
        path.stability[number] = stability(data, path.mixtures[number], alpha, rng)
        if path.stability[number].min() >= STABLE:
            return int(number) + 1
    return 1


def gain_and_error(data, difference):
    """Mean difference of log-likelihoods of a comparison, and its standard error, clustered by judges."""
    weighted = data.weight * difference
    total = data.weight.sum()
    gain = weighted.sum() / total
    of_judges = np.bincount(data.judge, weighted - data.weight * gain, data.n_judges)
    n_judges = len(np.unique(data.judge))
    return gain, np.sqrt(n_judges / max(n_judges - 1, 1) * (of_judges**2).sum()) / total


def stability(data, components, alpha, rng):
    """How well random halves of the judges find each component again, with the memberships of all judges."""
    everything = VoteMatrices(data.votes(slice(None)))
    judges = np.unique(data.judge)
    found = []
    for _ in range(N_HALVES):
        half = np.isin(data.judge, rng.permutation(judges)[: -(-len(judges) // 2)])
        part = VoteMatrices(data.votes(half))
        mixture = one_component(part, alpha)
        while mixture.n_components < components.n_components:
            mixture = grown(part, mixture, alpha)
        again, _ = expectation(everything, mixture)
        found.append(soft_jaccard(components.responsibilities[judges].T, again[judges].T, np.ones(len(judges))))
    return np.mean(found, axis=0)
