"""Components of real rankings, and whether other seeds and half of the rankings give the same ones.

    python benchmarks/mixture_real.py [--data PATH] [--max-components 6] [--halves 3]

The APA ballots come with skrank; PATH holds, where present, ``sushi/sushi3a.5000.10.order`` (5000 rankings of 10
sushi) and ``preflib/00001-irish/00001-00000002.soi`` (Dublin West 2002, unranked candidates last). For each: the
components that halves find again (criterion="stability"); then fits of as many with other seeds, and to random halves.
Agreement is the adjusted Rand index of the predicted components over all rankings (by weight, 1 is the same), the
share of centers that are the same, and the mean Kendall distance of matched centers.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from skrank.datasets import load_apa, load_preflib, load_sushi_order
from skrank.metrics import match_components
from skrank.mixture import MallowsMixture
from skrank.mixture._search._options import draw_counts

N_SEEDS = 5


def data_sets(path):
    apa = load_apa(unranked="missing")
    complete = ~np.isnan(apa.data).any(axis=1)
    yield "APA 1980, complete ballots", apa.data[complete], apa.sample_weight[complete], apa.item_names
    apa = load_apa(unranked="last")
    yield "APA 1980, all ballots", apa.data, apa.sample_weight, apa.item_names
    if path is None:
        return
    for name, file, load in (
        ("sushi", "sushi/sushi3a.5000.10.order", load_sushi_order),
        ("Dublin West 2002", "preflib/00001-irish/00001-00000002.soi", load_preflib),
    ):
        if (path / file).exists():
            bunch = load(str(path / file), unranked="last")
            yield name, bunch.data, bunch.sample_weight, bunch.item_names


def fitted(X, weights, k, seed, max_components):
    start = time.process_time()
    model = MallowsMixture(k, max_components=max_components, init=("peel", "kmeans"), random_state=seed)
    model.fit(X, sample_weight=weights)
    return model, time.process_time() - start


def agreement(reference, other, X, weights):
    """Adjusted Rand index over the weighted rankings, share of equal centers, mean distance of centers."""
    labels = [np.repeat(model.predict(X), weights.astype(int)) for model in (reference, other)]
    distances = match_components(reference, other).center_distances
    return adjusted_rand_score(*labels), np.mean(distances == 0), np.nanmean(distances)


def print_agreement(name, values):
    rand, same, distance = np.mean(values, axis=0)
    least = min(value[0] for value in values)
    print(f"  {name}: Rand {rand:.3f} (least {least:.3f}), same centers {same:.2f}, apart {distance:.2f}")


def main(path, max_components, n_halves):
    for name, X, weights, names in data_sets(path):
        weights = np.asarray(weights, float)
        model, seconds = fitted(X, weights, "auto", 0, max_components)
        k = model.n_components_
        print(f"\n{name}: {weights.sum():.0f} rankings of {X.shape[1]} items, {len(X)} distinct")
        print(f"  k = {k} (of at most {max_components}), {seconds:.1f} s; description lengths, nats: ", end="")
        print(", ".join(f"{fit.n_components}: {fit.description_length:.0f}" for fit in model.path_))
        for weight, phi, center in zip(model.weights_, model.dispersions_, model.centers_, strict=True):
            print(f"  {weight:.3f}  phi {phi:.3f}  " + " > ".join(str(names[i]) for i in np.argsort(center)))
        found = [fitted(X, weights, "auto", seed, max_components)[0].n_components_ for seed in range(1, N_SEEDS)]
        print(f"  number of components with other seeds: {found}")
        seeds = [fitted(X, weights, k, seed, max_components)[0] for seed in range(1, N_SEEDS)]
        print_agreement("other seeds", [agreement(model, other, X, weights) for other in seeds])
        spread = [other.lower_bound_ - model.lower_bound_ for other in seeds]
        print(f"  lower bounds less the first: {min(spread):+.2g} to {max(spread):+.2g} a ranking")
        halves = []
        for seed in range(n_halves):
            counts = draw_counts(weights, int(weights.sum() // 2), np.random.default_rng(seed))
            parts = [fitted(X[c > 0], c[c > 0], k, seed, max_components)[0] for c in (counts, weights - counts)]
            halves += [agreement(model, part, X, weights) for part in parts]
        print_agreement("halves against all", halves)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--max-components", type=int, default=6)
    parser.add_argument("--halves", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main(arguments.data, arguments.max_components, arguments.halves)
