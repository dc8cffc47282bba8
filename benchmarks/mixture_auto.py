"""How often MallowsMixture(n_components="auto") finds the number of components.

    python benchmarks/mixture_auto.py [--first-seed 0] [--seeds 5] [--criteria mdl split stability]

k = 1 to 5 components, so many data sets each: centers random, close, the same, or close and one random; 10, 12 or 20
items; 1000 to 3000 rankings; dispersions uniform in .3 to .85 (close: .3 to .6), weights Dirichlet(5), at least .07.
Against it: the number that BIC and AIC pick from the same path. Where the description length misses, "beyond the
data" says that the mixture found describes the rankings in fewer nats than EM and flips started at the truth: then no
better search would have found the number.
"""

import argparse
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from skrank._rankings import aggregate
from skrank.datasets import make_mallows_mixture
from skrank.mixture import MallowsMixture
from skrank.mixture._model import Mixture, description_length
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._transpositions import polish

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
    """The number of components of a path that a penalized likelihood picks."""
    values = [
        -2 * n_samples * fit.log_likelihood + penalty * (2 * fit.n_components - 1 + fit.n_components * (n_items - 1))
        for fit in path
    ]
    return path[int(np.argmin(values))].n_components


def is_beyond_the_data(bunch, found):
    """Whether what was found is a shorter description than EM and flips reach from the truth."""
    table = aggregate(np.asarray(bunch.X).astype(np.int8))
    data = PairSigns(table.ranks, table.weights)
    truth = Mixture(*(np.asarray(value) for value in (bunch.centers, bunch.dispersions, bunch.weights)))
    return bool(found.description_length_ < description_length(data, polish(data, truth)))


def main(seeds, criteria):
    right = dict.fromkeys([*criteria, *(("BIC", "AIC") if "mdl" in criteria else ())], 0)
    over, seconds, n_sets, n_beyond = right.copy(), dict.fromkeys(criteria, 0.0), 0, 0
    for k in range(1, 6):
        for seed in seeds:
            bunch, name = draw(k, seed)
            found = {}
            for criterion in criteria:
                start = time.process_time()
                model = MallowsMixture("auto", criterion=criterion, random_state=seed).fit(bunch.X)
                seconds[criterion] += time.process_time() - start
                found[criterion] = model.n_components_
                if criterion == "mdl":
                    found["BIC"] = by_penalty(model.path_, *bunch.X.shape, np.log(len(bunch.X)))
                    found["AIC"] = by_penalty(model.path_, *bunch.X.shape, 2)
                    if model.n_components_ != k and is_beyond_the_data(bunch, model):
                        name += " (beyond the data)"
                        n_beyond += 1
            n_sets += 1
            for method, n_found in found.items():
                right[method] += n_found == k
                over[method] += n_found > k
            print(f"k = {k}: {found}  {name}", flush=True)
    for method in right:
        beyond = f", beyond the data {n_beyond}" if method == "mdl" else ""
        print(f"{method}: right {right[method]} of {n_sets}, too many {over[method]}{beyond}")
    print("seconds a fit: " + ", ".join(f"{name} {value / n_sets:.1f}" for name, value in seconds.items()))
    if "mdl" in criteria:
        print("(BIC and AIC pick from the path that the description length grew: one component beyond it at most.)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--criteria", nargs="+", choices=["mdl", "split", "stability"], default=["mdl", "split", "stability"]
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main(range(arguments.first_seed, arguments.first_seed + arguments.seeds), arguments.criteria)
