"""What `cluster_stability`, and a mixture by stability, say of rankings without groups, and of real ones.

    python benchmarks/cluster_stability.py uniform [--sets 100] [--first-seed 0]
    python benchmarks/cluster_stability.py orders [--data PATH] [--splits 10]
    python benchmarks/cluster_stability.py shares [--sets 40]

uniform: uniform rankings of 5 items, each once or in copies. How often the clusters are called stable (5 % are
allowed), how often they would be without the comparison with one Mallows model, and how often a mixture finds groups;
copies are voters of their own to a mixture, so there it is right to find some.
orders: neighbors that the command joins by ">" in each cluster, found in a random half of the rankings; in how many of
them the other half's members, clustered alike and matched, have them the other way round.
shares: the printed errors of the clusters' shares, in the mean over samples, against the standard deviation of the
shares over fresh samples: draws without replacement from the APA's ballots, and two clear groups.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from skrank._commands.cluster import SURE, _consensus
from skrank.cluster import cluster_stability
from skrank.cluster._stability import STABLE
from skrank.datasets import load_apa, load_sushi_order, make_mallows_mixture
from skrank.mixture import MallowsMixture

UNIFORM = ((16, 1), (24, 1), (50, 1), (100, 1), (300, 1), (1000, 1), (16, 5), (30, 10), (100, 3))
N_HALVES, N_NULL = 30, 19  # of the command


def uniform_rankings(n_distinct, n_copies, seed):
    rng = np.random.default_rng([n_distinct, n_copies, seed])
    return np.repeat(np.argsort(rng.random((n_distinct, 5)), axis=1), n_copies, axis=0)


def uniform(n_sets, first_seed, sizes):
    print(f"{'rankings':>10} {'copies':>6} {'stable':>7} {'no null':>7} {'groups':>7}   of {n_sets}")
    for n_distinct, n_copies in sizes:
        called = np.zeros(3, int)
        for seed in range(first_seed, first_seed + n_sets):
            X = uniform_rankings(n_distinct, n_copies, seed)
            numbers = [k for k in range(2, 9) if k < len(np.unique(X, axis=0))]
            found = cluster_stability(X, numbers, n_halves=N_HALVES, n_null=N_NULL, random_state=seed)
            looks = max(one.least_stability for one in found.tried) >= STABLE
            n_groups = MallowsMixture("auto", random_state=seed).fit(X).n_components_
            called += found.is_stable, looks, n_groups > 1
        print(f"{n_distinct:>10} {n_copies:>6} {called[0]:>7} {called[1]:>7} {called[2]:>7}", flush=True)


def real_rankings(path):
    apa = load_apa(unranked="missing")
    complete = ~np.isnan(apa.data).any(axis=1)
    yield "APA", np.repeat(apa.data[complete], apa.sample_weight[complete].astype(int), axis=0)
    if path is not None:
        yield "sushi", load_sushi_order(str(path / "sushi/sushi3a.5000.10.order")).data


def margins(X, members):
    """Number of members who have item i before item j less those who have them the other way round."""
    signs = np.sign(X[members][:, None, :] - X[members][:, :, None])
    return signs.sum(axis=0)


def orders(path, n_splits, n_clustered=1000):
    for name, X in real_rankings(path):
        for k in (2, 3, 4):
            sure = reversed_ = 0
            for seed in range(n_splits):
                rows = np.random.default_rng(seed).permutation(len(X))[: 2 * n_clustered]
                halves = [X[part] for part in np.array_split(rows, 2)]
                found = [cluster_stability(half, k, n_halves=N_HALVES, n_null=0, random_state=seed) for half in halves]
                sums = [
                    [margins(half, one.labels == cluster) for cluster in range(k)]
                    for half, one in zip(halves, found, strict=True)
                ]
                # Clusters of the other half with the most similar mean preferences.
                means = [np.array([m.ravel() / np.bincount(one.labels)[c] for c, m in enumerate(s)])
                         for s, one in zip(sums, found, strict=True)]  # fmt: skip
                own, other = linear_sum_assignment(((means[0][:, None] - means[1]) ** 2).sum(axis=2))
                for cluster, matched in zip(own, other, strict=True):
                    names = list(range(X.shape[1]))
                    one = _consensus(halves[0], found[0].labels == cluster, found[0].half_labels == cluster, names)
                    joined = np.flatnonzero(one["order_agreement"] >= SURE)
                    order = np.array(one["consensus"])
                    sure += len(joined)
                    reversed_ += int((sums[1][matched][order[joined], order[joined + 1]] < 0).sum())
            print(f"{name}, {k} clusters: {reversed_} of {sure} orders joined by > are reversed", flush=True)


def shares(n_sets, n_clustered=1000):
    apa = next(real_rankings(None))[1]

    def from_apa(rng):
        return apa[rng.permutation(len(apa))[:n_clustered]]

    def clear(rng):
        seed = int(rng.integers(2**31))
        return make_mallows_mixture(
            n_clustered,
            6,
            2,
            centers=[[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0]],
            phi=0.3,
            weights=[0.65, 0.35],
            random_state=seed,
        )[0]

    for name, draw, k in (("APA", from_apa, 2), ("APA", from_apa, 3), ("clear groups", clear, 2)):
        found = []
        for seed in range(n_sets):
            X = draw(np.random.default_rng([k, seed]))
            found.append(cluster_stability(X, k, n_halves=N_HALVES, n_null=0, random_state=seed))
        reference, matched, printed = found[0], [], []
        profile = [margins_of_clusters(draw(np.random.default_rng([k, seed])), found[seed]) for seed in range(n_sets)]
        for one, own in zip(found, profile, strict=True):
            _, order = linear_sum_assignment(((profile[0][:, None] - own) ** 2).sum(axis=2))
            matched.append(one.shares[order])
            printed.append(one.share_errors[order])
        real = np.std(matched, axis=0, ddof=1)
        mean = np.sqrt(np.mean(np.square(printed), axis=0))
        rows = ", ".join(f"{100 * p:.1f} / {100 * r:.1f} = {p / r:.2f}" for p, r in zip(mean, real, strict=True))
        print(f"{name}, {len(reference.shares)} clusters: printed / real {rows}", flush=True)


def margins_of_clusters(X, found):
    return np.array(
        [margins(X, found.labels == c).ravel() / (found.labels == c).sum() for c in range(len(found.shares))]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["uniform", "orders", "shares"])
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sizes", nargs="+", help="such as 16x1 30x10; default all")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if arguments.what == "uniform":
            sizes = [tuple(map(int, size.split("x"))) for size in arguments.sizes or ()] or UNIFORM
            uniform(arguments.sets, arguments.first_seed, sizes)
        elif arguments.what == "orders":
            orders(arguments.data, arguments.splits)
        else:
            shares(arguments.sets)
