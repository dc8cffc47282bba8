"""How often MallowsMixture(n_components="auto") finds the number of components.

    python benchmarks/mixture_auto.py [--first-seed 0] [--seeds 5]

k = 1 to 5 components, so many data sets each: centers random, close, the same, or close and one random; 10, 12 or 20
items; 1000 to 3000 rankings; dispersions uniform in .3 to .85 (close: .3 to .6), weights Dirichlet(5), at least .07.
Against it: the number that BIC and AIC pick from the same path.
"""

import argparse
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from skrank.datasets import make_mallows_mixture
from skrank.mixture import MallowsMixture

KINDS = ("random", "close", "same", "mixed")


def draw(k, seed):
    rng = np.random.default_rng([k, seed])
    kind = KINDS[rng.integers(len(KINDS))] if k > 1 else "random"
    n_items = int(rng.choice([10, 12, 20]))
    n_samples = int(rng.integers(1000, 3001))
    low, high = (0.3, 0.6) if kind in ("close", "mixed") else (0.3, 0.85)
    phi = rng.uniform(low, high, k)
    if kind == "same":
        # Concentric components need dispersions apart.
        phi = np.linspace(0.3, 0.85, k) if k > 2 else np.sort(phi)
    weights = rng.dirichlet(np.full(k, 5.0))
    while weights.min() < 0.07:
        weights = rng.dirichlet(np.full(k, 5.0))
    bunch = make_mallows_mixture(
        n_samples,
        n_items,
        k,
        centers=kind,
        phi=list(phi),
        weights=list(weights),
        random_state=int(rng.integers(2**31)),
        return_X_y=False,
    )
    return bunch, f"{kind} n={n_items} N={n_samples} phi={phi.round(2).tolist()} w={weights.round(2).tolist()}"


def by_penalty(path, n_samples, n_items, penalty):
    """The number of components of a path that a penalised likelihood picks."""
    values = [
        -2 * n_samples * fit.log_likelihood + penalty * (2 * fit.n_components - 1 + fit.n_components * (n_items - 1))
        for fit in path
    ]
    return path[int(np.argmin(values))].n_components


def main(seeds):
    right = dict.fromkeys(("mdl", "split", "BIC", "AIC"), 0)
    over, seconds, n_sets = right.copy(), {"mdl": 0.0, "split": 0.0}, 0
    for k in range(1, 6):
        for seed in seeds:
            bunch, name = draw(k, seed)
            found = {}
            for criterion in ("mdl", "split"):
                start = time.perf_counter()
                model = MallowsMixture("auto", criterion=criterion, random_state=seed).fit(bunch.X)
                seconds[criterion] += time.perf_counter() - start
                found[criterion] = model.n_components_
                if criterion == "mdl":
                    found["BIC"] = by_penalty(model.path_, *bunch.X.shape, np.log(len(bunch.X)))
                    found["AIC"] = by_penalty(model.path_, *bunch.X.shape, 2)
            n_sets += 1
            for method, n_found in found.items():
                right[method] += n_found == k
                over[method] += n_found > k
            print(f"k = {k}: {found}  {name}", flush=True)
    for method in right:
        print(f"{method}: right {right[method]} of {n_sets}, too many {over[method]}")
    print("seconds a fit: " + ", ".join(f"{name} {value / n_sets:.1f}" for name, value in seconds.items()))
    print("(BIC and AIC pick from the path that the description length grew: one component beyond its choice at most.)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main(range(arguments.first_seed, arguments.first_seed + arguments.seeds))
