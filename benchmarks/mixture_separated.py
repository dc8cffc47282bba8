"""SeparatedMallowsMixture on mixtures whose dispersions differ: recovery, and what the paper's lemmas find alone.

    python benchmarks/mixture_separated.py [--seeds 4] [--first-seed 0] [--lemmas] [--auto]

Recovered: the total log-likelihood is at most .1 nat below that of EM and flips started at the truth, or the
description is no longer. Every method sees the same data in one run; seconds are means of processor time. With
--lemmas: the share of the true centers that each list of candidates holds, that Lemma 10 finds when prefixes, flips and
dispersions are given, and the errors of Claim 6's weights against maximum likelihood. With --auto: the number of
components.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from skrank._rankings import aggregate, densify, ordering
from skrank.datasets import make_mallows_mixture
from skrank.exceptions import InsufficientDataWarning, SeparationWarning
from skrank.mixture import MallowsMixture, SeparatedMallowsMixture
from skrank.mixture._em import evaluated
from skrank.mixture._liu_moitra._candidate_centers import candidate_centers
from skrank.mixture._liu_moitra._heavy_cells import heavy_hitters, rows_with_prefix
from skrank.mixture._liu_moitra._pair_tensors import pair_flips, pair_tensor, rest_pairs
from skrank.mixture._liu_moitra._selection import concave_weights
from skrank.mixture._liu_moitra._test_functions import pair_tensor_of, pair_test_function
from skrank.mixture._liu_moitra._weights import moment_weights, prefix_moment_weights
from skrank.mixture._model import Mixture, description_length, log_densities
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._search import KMeans, SearchOptions
from skrank.mixture._transpositions import polish
from skrank.stats._kemeny import local_kemeny

N_ITEMS = 20
SETTINGS = [
    ("random", (0.02, 0.7, 0.85), 1000),
    ("random", (0.2, 0.4, 0.6, 0.8), 1000),
    ("close", (0.01, 0.6, 0.6), 1000),
    ("close", (0.2, 0.45, 0.7), 2000),
    ("same", (0.2, 0.5, 0.8), 2000),
    ("same", (0.3, 0.7), 1000),
]


def draw(setting, seed, n_samples=None):
    """The true mixture and a sample from it."""
    kind, dispersions, n_default = setting
    sample = make_mallows_mixture(
        n_samples or n_default,
        N_ITEMS,
        len(dispersions),
        centers=kind,
        phi=dispersions,
        random_state=1000 * SETTINGS.index(setting) + seed,
        return_X_y=False,
    )
    return Mixture(sample.centers, sample.dispersions, sample.weights), sample.X


def table_of(X):
    table = aggregate(densify(X))
    return PairSigns(table.ranks, table.weights)


def name_of(setting, n_samples):
    kind, dispersions, _ = setting
    return f"{kind} {dispersions} N={n_samples}"


# ---------------------------------------------------------------- recovery
def kmeans_and_flips(X, n_components, seed):
    data = table_of(X)
    return polish(data, KMeans().mixture(data, n_components, np.random.default_rng(seed), SearchOptions()))


def fitted(estimator, X, n_components, seed):
    model = estimator(n_components, random_state=seed).fit(X)
    return Mixture(model.centers_, model.dispersions_, model.weights_)


METHODS = {
    "separated, no exchange": partial(fitted, partial(SeparatedMallowsMixture, exchange=False)),
    "separated": partial(fitted, SeparatedMallowsMixture),
    "k-means + EM + flips": kmeans_and_flips,
    "EM, 10 random starts": partial(fitted, partial(MallowsMixture, init="random", n_init=10, polish=False)),
}


def recovery(seeds):
    print(f"{'':42}" + "".join(f"{name:>26}" for name in METHODS))
    total, seconds = np.zeros(len(METHODS), int), np.zeros(len(METHODS))
    for setting in SETTINGS:
        found, took = np.zeros(len(METHODS), int), np.zeros(len(METHODS))
        for seed in seeds:
            truth, X = draw(setting, seed)
            data = table_of(X)
            oracle = polish(data, truth)
            for m, method in enumerate(METHODS.values()):
                start = time.process_time()
                mixture = method(X, truth.n_components, seed)
                took[m] += time.process_time() - start
                mixture = evaluated(data, mixture)
                gap = data.total_weight * (mixture.log_likelihood - oracle.log_likelihood)
                shorter = description_length(data, mixture) <= description_length(data, oracle) + 1e-3
                found[m] += gap > -0.1 or shorter
        cells = [f"{f} of {len(seeds)}  {t / len(seeds):.2f} s" for f, t in zip(found, took, strict=True)]
        print(f"{name_of(setting, setting[2]):42}" + "".join(f"{cell:>26}" for cell in cells), flush=True)
        total, seconds = total + found, seconds + took
    n_fits = len(seeds) * len(SETTINGS)
    cells = [f"{f} of {n_fits}  {t / n_fits:.2f} s" for f, t in zip(total, seconds, strict=True)]
    print(f"{'all':42}" + "".join(f"{cell:>26}" for cell in cells))
    print("seconds, relative to k-means + EM + flips: " + ", ".join(f"{s / seconds[2]:.1f}" for s in seconds))


# ---------------------------------------------------------------- the lemmas alone
def lemma_10(data, truth):
    """Share of centers found by test functions from known prefixes, flips and dispersions of all components."""
    found = 0
    for own in range(truth.n_components):
        others = np.delete(np.arange(truth.n_components), own)
        order = ordering(truth.centers[[own]])[0]
        pairs, rest = order[: 2 * len(others)].reshape(-1, 2), order[2 * len(others) :]
        flips = pair_flips(truth.centers, pairs)
        test_function = pair_test_function(truth.dispersions[others], flips[others, np.arange(len(others))])
        test_function *= np.sign(test_function @ pair_tensor_of(truth.dispersions[[own]], flips[[own]])[0])
        rows = rows_with_prefix(data.ranks.T, data.weights, pairs)
        _, sums = pair_tensor(data.ranks.T[rows], data.weights[rows], pairs)
        isolated = np.where(rest_pairs(data.n_items, pairs)[0], test_function @ sums, 0)
        consensus = local_kemeny(isolated[None])[0][0]
        found += np.array_equal(consensus[np.isin(consensus, rest)], rest)
    return found / truth.n_components


def share_on(candidates, truth):
    return np.mean([(candidates == center).all(axis=1).any() for center in truth.centers])


def lemmas(seeds):
    print("Share of the true centers: heavy hitters (Fact 2), candidates, Lemma 10 told all but the order of the rest;")
    print("root mean square errors of the weights, centers and dispersions known.")
    header = ["Fact 2", "candidates", "Lemma 10", "Claim 6", "all cells", "likelihood", "ratio"]
    print(f"{'':42}" + "".join(f"{name:>12}" for name in header))
    for setting in SETTINGS:
        for n_samples in (1000, 10000, 100000):
            rows, errors = [], []
            for seed in seeds:
                truth, X = draw(setting, seed, n_samples)
                data = table_of(X)
                ranks = data.ranks.T
                hitters = data.rankings(heavy_hitters(ranks, data.weights, truth.weights.min() / 4))
                candidates = candidate_centers(data, truth.n_components)
                rows.append([share_on(hitters, truth), share_on(candidates, truth), lemma_10(data, truth)])
                known = ranks, data.weights, truth.centers, truth.dispersions
                densities = log_densities(data, truth.centers, truth.dispersions)
                estimates = (
                    prefix_moment_weights(*known),
                    moment_weights(*known),
                    concave_weights(densities, data.weights, 300)[0],
                )
                errors.append(np.array(estimates) - truth.weights)
            error = np.sqrt(np.mean(np.square(errors), axis=(0, 2)))
            cells = [*(f"{share:.2f}" for share in np.mean(rows, axis=0)), *(f"{e:.4f}" for e in error)]
            cells.append(f"{error[1] / error[2]:.1f}")
            print(f"{name_of(setting, n_samples):42}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


# ---------------------------------------------------------------- number of components
def automatic(seeds):
    print('n_components="auto": right, too few, too many')
    for setting in SETTINGS:
        counts = np.zeros(3, int)
        for seed in seeds:
            truth, X = draw(setting, seed)
            n_found = SeparatedMallowsMixture("auto", criterion="mdl", random_state=seed).fit(X).n_components_
            counts[np.sign(n_found - truth.n_components)] += 1
        print(f"{name_of(setting, setting[2]):42}{counts[0]:>6}{counts[-1]:>6}{counts[1]:>6}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--lemmas", action="store_true")
    parser.add_argument("--auto", action="store_true")
    arguments = parser.parse_args()
    for category in (ConvergenceWarning, InsufficientDataWarning, SeparationWarning):
        warnings.simplefilter("ignore", category)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    with threadpool_limits(1):
        recovery(seeds)
        if arguments.lemmas:
            lemmas(seeds)
        if arguments.auto:
            automatic(seeds)
