"""Fitting a mixture by the plan of Theorem 1.1: starts, polish and exchange on a subsample, a last polish on all."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln
from sklearn.cluster import KMeans
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank.mixture._description import description_length, preference_key, ranked
from skrank.mixture._expectation_maximization import Mixture, em, maximization, one_component
from skrank.mixture._flips import polish, polish_large
from skrank.mixture._growth import exchange, grow
from skrank.mixture._peel import additions, subsample
from skrank.mixture._selection import prefers_larger

KMEANS_ROWS = 3000


class MixtureFit(NamedTuple):
    """One entry of `path_`: the mixture of that many components, and how well it describes the rankings."""

    n_components: int
    weights: np.ndarray
    centers: np.ndarray
    dispersions: np.ndarray
    log_likelihood: float
    description_length: float


class Fit(NamedTuple):
    """A fitted mixture, and the path of mixtures with fewer components that led there."""

    mixture: Mixture
    path: list


def path_entry(data, mixture):
    """The mixture as an entry of the path."""
    mixture = mixture.sorted()
    return MixtureFit(
        mixture.n_components,
        mixture.weights,
        mixture.centers,
        mixture.dispersions,
        mixture.log_likelihood,
        description_length(data, mixture),
    )


# ---------------------------------------------------------------- starts
def random_start(data, n_components, rng):
    """Distinct rankings as centers, drawn by weight."""
    rows = rng.choice(data.n_rows, n_components, replace=False, p=data.weights / data.total_weight)
    return Mixture(data.rankings(rows), np.full(n_components, 0.5), np.full(n_components, 1 / n_components))


def kmeans_start(data, n_components, rng):
    """Components of the clusters that k-means finds in the pair signs of at most 3000 rankings."""
    data = subsample(data, KMEANS_ROWS, rng)
    kmeans = KMeans(n_components, n_init=10, random_state=int(rng.integers(2**31)))
    labels = kmeans.fit(data.signs(), sample_weight=data.weights).labels_
    row_weights = 0.9 * np.eye(n_components)[:, labels] + 0.1 / n_components
    row_weights = (row_weights * data.weights).astype(np.float32)
    centers, dispersions, _ = maximization(data, row_weights)
    weights = row_weights.sum(axis=1, dtype=float)
    return Mixture(centers, dispersions, weights / weights.sum())


def centers_start(centers):
    """Given centers (positions), all else even."""
    n_components = len(centers)
    return Mixture(centers, np.full(n_components, 0.5), np.full(n_components, 1 / n_components))


# ---------------------------------------------------------------- one run
def fit_run(data, init, n_components, seed, options, with_polish=True, progress=None):
    """One start, polished and exchanged, or plain EM: a `Fit` whose path has the peeled mixtures on the way."""
    rng = np.random.default_rng(seed)
    path = []
    with threadpool_limits(1):
        if isinstance(init, str) and init == "peel":
            mixture = one_component(data)
            while mixture.n_components < n_components and not _told_to_stop(progress, "peel"):
                path.append(path_entry(data, mixture))
                mixture = (grow if with_polish else additions)(data, mixture, rng, options)[0]
        elif isinstance(init, str):
            mixture = {"kmeans": kmeans_start, "random": random_start}[init](data, n_components, rng)
        elif callable(init):
            mixture = init(data, n_components, rng)
        else:
            mixture = centers_start(init)
        if not with_polish:
            return Fit(em(data, mixture, options.max_iter, options.tol), path)
        mixture = polish(data, mixture, options.max_iter, options.tol)
        if not _told_to_stop(progress, "exchange"):
            mixture = exchange(data, mixture, rng, options)
    return Fit(mixture, path)


def _told_to_stop(progress, task):
    return progress is not None and progress(task)


def fit_runs(data, inits, n_components, rng, options, n_init=1, with_polish=True, n_jobs=None, progress=None):
    """All starts, independently; the shortest description wins, or without polish the likelihood."""
    inits = starts(inits, n_init)
    seeds = rng.integers(2**63, size=len(inits))
    if len(inits) == 1:
        return fit_run(data, inits[0], n_components, seeds[0], options, with_polish, progress)
    tasks = (
        delayed(fit_run)(data, init, n_components, seed, options, with_polish)
        for init, seed in zip(inits, seeds, strict=True)
    )
    runs = _run_all(tasks, n_jobs, progress)
    if with_polish:
        best = ranked(data, [run.mixture for run in runs], options.least_weight(data))[0]
    else:
        best = max((run.mixture for run in runs), key=lambda mixture: mixture.lower_bound)
    chosen = next(run for run in runs if run.mixture is best)
    return Fit(best, chosen.path or next((run.path for run in runs if run.path), []))


def starts(inits, n_init):
    """The starts, each `n_init` times, but centers that are given once: they are no random start."""
    return [init for init in inits for _ in range(n_init if isinstance(init, str) else 1)]


def _run_all(tasks, n_jobs, progress):
    runs = []
    for run in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
        runs.append(run)
        _told_to_stop(progress, "start")
    return runs


# ---------------------------------------------------------------- whole fits
def n_tasks_at_most(n_components, max_components, n_rows, inits):
    """How often a fit from these starts tells of its progress, at most: automatic ones may stop growing before."""
    if n_components == "auto":
        return max(min(max_components, n_rows) - 1, 0)
    if len(inits) > 1:
        return len(inits) + 1
    peeled = n_components - 1 if isinstance(inits[0], str) and inits[0] == "peel" else 0
    return peeled + 2  # the exchange and the polish


def fit_fixed(data, n_components, inits, rng, options, *, n_init, with_polish, max_rows, n_jobs=None, progress=None):
    """A mixture of a given number of components, searched on at most `max_rows` rankings and polished on all.

    Without polish the rankings are all used from the start.

    Returns
    -------
    fit : Fit
    search : PairSigns
        At most `max_rows` of the rankings.
    """
    search = subsample(data, max_rows, rng)
    searched = search if with_polish else data
    mixture, path = fit_runs(searched, inits, n_components, rng, options, n_init, with_polish, n_jobs, progress)
    mixture = polished_on_all(data, searched, mixture, options)
    _told_to_stop(progress, "polish")
    return Fit(mixture, [*path, path_entry(data, mixture)]), search


def fit_auto(
    data, max_components, criterion, inits, rng, options, *, n_init, with_polish, max_rows, n_jobs=None, progress=None
):
    """Grow the mixture for as long as the criterion asks for one component more; see `fit_fixed`.

    Where one more shortens the description by far, the exchange of components can wait: it comes before any decision
    that it could change, and last.
    """
    search = subsample(data, max_rows, rng)
    options = replace(options, with_exchange=options.with_exchange and with_polish)
    mixture, is_settled = one_component(search), True
    fitted = polished_on_all(data, search, mixture, options)
    path = [path_entry(data, fitted)]

    def settle():
        exchanged = _exchanged(search, mixture, rng, options)
        on_all = fitted if exchanged is mixture else polished_on_all(data, search, exchanged, options)
        path[mixture.n_components - 1] = path_entry(data, on_all)
        return exchanged, on_all

    while mixture.n_components < min(max_components, search.n_rows) and not _told_to_stop(progress, "component"):
        larger = _larger(search, mixture, inits, rng, options, n_init, with_polish, n_jobs)
        is_clear = _clearly_shorter(search, mixture, larger, options)
        if not is_clear:
            if not is_settled:
                before, is_settled = mixture, True
                mixture, fitted = settle()
                if mixture is not before:
                    larger = _larger(search, mixture, inits, rng, options, n_init, with_polish, n_jobs)
            larger = _exchanged(search, larger, rng, options)
        larger_fitted = polished_on_all(data, search, larger, options)
        path.append(path_entry(data, larger_fitted))
        if criterion == "mdl":
            accepted = prefers_larger(data, fitted, larger_fitted, rng, options, criterion)
        else:
            accepted = prefers_larger(search, mixture, larger, rng, options, criterion)
        if not accepted:
            break
        mixture, fitted, is_settled = larger, larger_fitted, not is_clear
    if not is_settled:
        mixture, fitted = settle()
    return Fit(fitted, path), search


def _larger(data, mixture, inits, rng, options, n_init, with_polish, n_jobs):
    """A mixture of one component more, not exchanged: grown from this one or from other starts, the best."""
    inits = starts(inits, n_init)
    seeds = rng.integers(2**63, size=len(inits))
    tasks = (
        delayed(_larger_from)(data, mixture, init, seed, options, with_polish)
        for init, seed in zip(inits, seeds, strict=True)
    )
    return ranked(data, _run_all(tasks, n_jobs, None), options.least_weight(data))[0]


def _larger_from(data, mixture, init, seed, options, with_polish):
    if not (isinstance(init, str) and init == "peel"):
        options = replace(options, with_exchange=False)
        return fit_run(data, init, mixture.n_components + 1, seed, options, with_polish).mixture
    rng = np.random.default_rng(seed)
    with threadpool_limits(1):
        if not with_polish:
            return em(data, additions(data, mixture, rng, options)[0], options.max_iter, options.tol)
        return polish(data, grow(data, mixture, rng, options)[0], options.max_iter, options.tol)


def _clearly_shorter(data, mixture, larger, options):
    """Whether the larger mixture shortens the description by more than the longest code of a center."""
    least_weight = options.least_weight(data)
    heavy, negative_length = preference_key(data, mixture, least_weight)
    margin = gammaln(data.n_items + 1)
    return preference_key(data, larger, least_weight) > (heavy, negative_length + margin)


def _exchanged(data, mixture, rng, options):
    with threadpool_limits(1):
        return exchange(data, mixture, rng, options)


def polished_on_all(data, search, mixture, options):
    """The mixture polished on all rankings, if it was searched on some of them."""
    if search is data:
        return mixture
    with threadpool_limits(1):
        return polish_large(data, mixture, options.max_iter, options.tol)
