"""MallowsMixture against EM with restarts: who reaches the likelihood of the truth, and the true centers.

    python benchmarks/mixture_recovery.py [--seeds 5] [--first-seed 0] [--only TEXT] [--methods NAME ...] [--hard]
                                          [--centers]

A fit has reached it if its total log-likelihood is at most .1 nat below that of EM and flips started at the truth, or
if its description is no longer. All methods see the same data in one run; seconds are means of processor time.
--hard: Theorem 6.1's instance (24 items, 4 components, N = 3000) and close unbalanced components (N = 10000).
--centers: whether centers are exact, and errors of dispersions and weights in asymptotic standard errors, at 2 (far)
or 4 (close) times `n_samples_required_`.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from skrank._rankings import aggregate
from skrank.datasets import make_hard_mallows_pair, make_mallows_mixture
from skrank.metrics import match_components
from skrank.metrics._components import center_distances
from skrank.mixture import MallowsMixture
from skrank.mixture._em import em, evaluated, expectation
from skrank.mixture._model import Mixture, description_length, log_densities, n_samples_required, ranked, sample_mixture
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._search import Random, SearchOptions
from skrank.mixture._transpositions import polish

# Kind of centers, items, components, dispersion or dispersions, weights, rankings.
SETTINGS = [
    ("random", 20, 5, 0.8, None, 1000),
    ("random", 20, 3, 0.5, None, 1000),
    ("random", 20, 3, 0.9, None, 2000),
    ("random", 20, 5, 0.6, (0.5, 0.3, 0.1, 0.06, 0.04), 1000),
    ("random", 10, 8, 0.5, None, 2000),
    ("random", 8, 3, 0.7, None, 2000),
    ("random", 30, 8, 0.8, None, 2000),
    ("random", 20, 3, (0.02, 0.7, 0.85), None, 1000),
    ("random", 20, 4, (0.2, 0.4, 0.6, 0.8), None, 1000),
    ("close", 20, 3, 0.4, None, 1000),
    ("close", 20, 5, 0.3, None, 1000),
    ("close", 20, 3, 0.5, (0.7, 0.2, 0.1), 1000),
    ("close", 20, 3, 0.7, None, 3000),
    ("close", 20, 3, (0.01, 0.6, 0.6), None, 1000),
    ("close", 20, 3, (0.2, 0.45, 0.7), None, 2000),
    ("close", 50, 5, 0.5, None, 1000),
    ("close", 10, 5, 0.5, None, 3000),
    ("same", 20, 3, (0.2, 0.5, 0.8), None, 2000),
    ("same", 20, 2, (0.3, 0.7), None, 1000),
    ("reversed", 20, 2, 0.8, None, 1000),
    ("one swap", 20, 3, 0.25, None, 2000),
    ("theorem 6.1", 24, 4, None, None, 3000),
    ("theorem 6.1", 24, 4, None, None, 1000),
    ("theorem 6.1", 16, 2, None, None, 1000),
]
HARD = [("theorem 6.1", 24, 4, None, None, 3000), ("close", 20, 3, 0.5, (0.7, 0.2, 0.1), 10_000)]
CENTERS = [
    ("random", 20, 3, 0.5, None, None),
    ("random", 20, 4, (0.2, 0.4, 0.6, 0.8), None, None),
    ("random", 10, 3, 0.7, (0.5, 0.3, 0.2), None),
    ("close", 20, 3, 0.5, (0.7, 0.2, 0.1), None),
    ("close", 10, 3, 0.5, None, None),
    ("close", 20, 3, (0.2, 0.45, 0.7), None, None),
]


def draw(setting, seed):
    """The data, as a Bunch with the true parameters."""
    kind, n_items, k, phi, weights, n_samples = setting
    rng = np.random.default_rng([seed, *map(ord, repr(setting))])
    common = {"n_samples": n_samples, "n_items": n_items, "n_components": k}
    random_state = int(rng.integers(2**31))
    if kind == "theorem 6.1":
        return make_hard_mallows_pair("block_flips", **common, random_state=random_state)[0]
    centers, n_swaps = ("close", 1) if kind == "one swap" else (kind, 3)
    return make_mallows_mixture(
        **common,
        centers=centers,
        n_swaps=n_swaps,
        phi=phi if np.isscalar(phi) else list(phi),
        weights=None if weights is None else list(weights),
        random_state=random_state,
        return_X_y=False,
    )


def table(X):
    distinct = aggregate(np.asarray(X).astype(np.int8))
    return PairSigns(distinct.ranks, distinct.weights)


def truth_of(bunch):
    return Mixture(np.asarray(bunch.centers), np.asarray(bunch.dispersions, float), np.asarray(bunch.weights, float))


def name_of(setting):
    kind, n_items, k, phi, weights, n_samples = setting
    return f"{kind} {n_items},{k} {phi or ''}{' ' + '/'.join(map(str, weights)) if weights else ''} N={n_samples}"


# ---------------------------------------------------------------- methods: (data, X, k, seed) to (mixture, seconds)
def em_restarts(data, X, k, seed, counts=(1, 10, 50)):
    """The best of so many random starts of EM; the restarts are shared."""
    rng = np.random.default_rng(seed)
    best, found, start = None, {}, time.process_time()
    for restart in range(1, max(counts) + 1):
        mixture = em(data, Random().mixture(data, k, rng, SearchOptions()))
        if best is None or mixture.lower_bound > best.lower_bound:
            best = mixture
        if restart in counts:
            found[f"EM, {restart}"] = best, time.process_time() - start
    return found


def estimator(data, X, k, seed, name, **parameters):
    start = time.process_time()
    model = MallowsMixture(k, random_state=seed, **parameters).fit(X)
    mixture = evaluated(data, Mixture(model.centers_, model.dispersions_, model.weights_))
    return {name: (mixture, time.process_time() - start)}


def flips_restarts(data, X, k, seed, n_starts=10):
    """The best of so many random starts, each polished: EM and flips."""
    rng = np.random.default_rng(seed)
    start = time.process_time()
    mixtures = [polish(data, Random().mixture(data, k, rng, SearchOptions())) for _ in range(n_starts)]
    best = ranked(data, mixtures, SearchOptions().least_weight(data))[0]
    return {f"flips, {n_starts}": (best, time.process_time() - start)}


METHODS = {
    "EM": em_restarts,
    "EM-k-means": partial(estimator, name="EM, k-means", init="kmeans", polish=False),
    "flips": flips_restarts,
    "peel": partial(estimator, name="peel"),
    "k-means": partial(estimator, name="k-means", init="kmeans"),
    "both": partial(estimator, name="peel + k-means", init=("peel", "kmeans")),
}


def reached(data, mixture, oracle):
    gap = data.total_weight * (mixture.log_likelihood - oracle.log_likelihood)
    return gap > -0.1 or description_length(data, mixture) <= description_length(data, oracle) + 1e-3


def recovery(settings, seeds, methods):
    total, seconds = {}, {}
    for setting in settings:
        counts = {}
        for seed in seeds:
            bunch = draw(setting, seed)
            data = table(bunch.X)
            oracle = polish(data, truth_of(bunch))
            for method in methods:
                for name, (mixture, taken) in METHODS[method](data, bunch.X, setting[2], seed).items():
                    counts[name] = counts.get(name, 0) + reached(data, mixture, oracle)
                    seconds[name] = seconds.get(name, 0) + taken
        if not total:
            print(f"{'of ' + str(len(seeds)):<44}" + "".join(f"{name:>16}" for name in counts))
        print(f"{name_of(setting):<44}" + "".join(f"{count:>16}" for count in counts.values()), flush=True)
        total = {name: total.get(name, 0) + count for name, count in counts.items()}
    n_fits = len(settings) * len(seeds)
    print(f"{'all, of ' + str(n_fits):<44}" + "".join(f"{count:>16}" for count in total.values()))
    print(f"{'seconds a fit':<44}" + "".join(f"{seconds[name] / n_fits:>16.2f}" for name in total))


# ---------------------------------------------------------------- centers, dispersions and weights
def standard_errors(data, truth):
    """Asymptotic standard errors of dispersions and weights, centers known: from the outer product of the scores."""
    responsibilities = expectation(data, truth)[0].astype(float)
    step = 1e-5
    upper = log_densities(data, truth.centers, truth.dispersions + step)
    lower = log_densities(data, truth.centers, truth.dispersions - step)
    scores = responsibilities * (upper - lower) / (2 * step)
    by_weight = responsibilities / truth.weights[:, None]
    scores = np.vstack([scores, by_weight[:-1] - by_weight[-1:]])
    covariance = np.linalg.inv((scores * data.weights) @ scores.T)
    k = truth.n_components
    last = covariance[k:, k:].sum() if k > 1 else 0.0
    return np.sqrt(np.diag(covariance)[:k]), np.sqrt(np.append(np.diag(covariance)[k:], last))


def exact_centers(seeds):
    print(f"{'':<44}{'N':>8}{'all centers exact':>20}{'phi errors > 3 se':>20}{'weight errors > 3 se':>22}")
    for setting in CENTERS:
        exact = wide_phi = wide_weight = n_parameters = 0
        sizes = []
        for seed in seeds:
            truth = truth_of(draw((*setting[:5], 10), seed))
            distances = center_distances(truth.centers, truth.centers)[np.triu_indices(setting[2], 1)]
            n_samples = int((2 if distances.min() > 10 else 4) * n_samples_required(truth))
            X = sample_mixture(truth, n_samples, np.random.default_rng([seed, n_samples]))[0]
            model = MallowsMixture(setting[2], random_state=seed).fit(X)
            match = match_components((truth.centers, truth.dispersions, truth.weights), model)
            exact += not match.center_distances.any()
            phi_errors, weight_errors = standard_errors(table(X), truth)
            wide_phi += (np.abs(match.dispersion_errors) > 3 * phi_errors).sum()
            wide_weight += (np.abs(match.weight_errors) > 3 * weight_errors).sum()
            n_parameters += setting[2]
            sizes.append(n_samples)
        print(
            f"{name_of(setting).rsplit(' ', 1)[0]:<44}{np.mean(sizes):>8.0f}{f'{exact} of {len(seeds)}':>20}"
            f"{f'{wide_phi} of {n_parameters}':>20}{f'{wide_weight} of {n_parameters}':>22}",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", default="", help="settings whose name holds this text")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--centers", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    with threadpool_limits(1):
        if arguments.centers:
            exact_centers(seeds)
        else:
            settings = HARD if arguments.hard else SETTINGS
            recovery([setting for setting in settings if arguments.only in name_of(setting)], seeds, arguments.methods)
