"""Whether the intervals and rank sets of a mixture's bootstrap cover.

    python benchmarks/mixture_bootstrap.py [--sets 200] [--first-seed 0] [--samples 500] [--draws 100]
        [--kinds random close]

Two components with dispersions .4 and .5 and weights .6 and .4 over 6 items, far apart (random centers) or close.
Coverage of the 95 % intervals of weights and dispersions, of the 90 % rank sets (over items), the mean number of places
in a rank set, the proportion of components that come back in 90 % of the redraws, and processor time of a fit and of
its bootstrap.
"""

import argparse
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from skrank.datasets import make_mallows_mixture
from skrank.metrics import match_components
from skrank.mixture import MallowsMixture


def covered(intervals, truth):
    return (intervals[..., 0] <= truth) & (truth <= intervals[..., 1])


def main(kind, n_sets, first_seed, n_samples, n_draws):
    found = {name: [] for name in ("weights", "dispersions", "rank sets", "places", "back")}
    seconds = np.zeros(2)
    for seed in range(first_seed, first_seed + n_sets):
        bunch = make_mallows_mixture(
            n_samples, 6, 2, centers=kind, phi=[0.4, 0.5], weights=[0.6, 0.4], random_state=seed, return_X_y=False
        )
        start = time.process_time()
        mixture = MallowsMixture(2, random_state=seed).fit(bunch.X)
        middle = time.process_time()
        sure = mixture.bootstrap(bunch.X, n_draws=n_draws)
        seconds += middle - start, time.process_time() - middle
        order = match_components(bunch, mixture).components
        found["weights"].append(covered(sure.weight_intervals()[order], np.asarray(bunch.weights)))
        found["dispersions"].append(covered(sure.dispersion_intervals()[order], np.asarray(bunch.dispersions)))
        sets = sure.rank_sets()[order]
        found["rank sets"].append(covered(sets, np.asarray(bunch.centers)))
        found["places"].append(np.diff(sets, axis=2) + 1)
        found["back"].append(sure.recovery >= 0.9)
    means = ", ".join(f"{name} {np.mean(values):.3f}" for name, values in found.items())
    fit, bootstrap = seconds / n_sets
    print(f"{kind} centers, {n_samples} rankings, {n_sets} sets: {means}; fit {fit:.2f} s, redraws {bootstrap:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("sets", 200), ("first-seed", 0), ("samples", 500), ("draws", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kinds", nargs="+", choices=["random", "close"], default=["random", "close"])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for kind in arguments.kinds:
            main(kind, arguments.sets, arguments.first_seed, arguments.samples, arguments.draws)
