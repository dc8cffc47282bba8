"""Mixtures of partial rankings and of judges' comparisons: groups, centers, dispersions, the model of missing items.

    python benchmarks/mixture_missing.py subset [--seeds 20] [--first-seed 0]     3 to 8 of 12 items ranked, 3000 voters
    python benchmarks/mixture_missing.py marginal                                 30 and 60 % missing at random
    python benchmarks/mixture_missing.py judges                                   400 judges, 20 comparisons of 12 items
    python benchmarks/mixture_missing.py permuted                                 the same dealt to judges at random
    python benchmarks/mixture_missing.py speed                                    the E-step against its sparse products

Number of components and model of missing items by "auto", processor times of one core. A center is exact if it is the
true ranking. "permuted" counts the fits that find one group or warn that the groups are not the judges'.
"""

import argparse
import time
import warnings

import numpy as np

from skrank._mallows import sample_mallows
from skrank._rankings import densify
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture import MallowsMixture
from skrank.mixture._em import expectation
from skrank.mixture._model import Mixture
from skrank.mixture._voters import make_table

DISPERSIONS = np.array([0.4, 0.6, 0.5, 0.45])


def random_centers(rng, k, n_items):
    return np.array([rng.permutation(n_items) for _ in range(k)])


def subset_data(seed, n_items=12, n_voters=3000):
    """Voters who rank 3 to 8 items, a Mallows ranking of just these."""
    rng = np.random.default_rng(seed)
    k = seed % 4 + 1
    centers, component = random_centers(rng, k, n_items), rng.integers(k, size=n_voters)
    X = np.full((n_voters, n_items), np.nan)
    for voter, c in enumerate(component):
        items = rng.choice(n_items, rng.integers(3, 9), replace=False)
        restricted = np.argsort(np.argsort(centers[c, items]))
        X[voter, items] = sample_mallows(restricted[None], -np.log(DISPERSIONS[c]), rng)[0]
    return X, None, centers, DISPERSIONS[:k]


def marginal_data(seed, share, n_items=10, n_voters=3000):
    """Full rankings, of which a share of the entries is missing at random."""
    rng = np.random.default_rng(seed)
    k = seed % 4 + 1
    centers, component = random_centers(rng, k, n_items), rng.integers(k, size=n_voters)
    X = sample_mallows(centers[component], -np.log(DISPERSIONS[component]), rng).astype(float)
    X[rng.random(X.shape) < share] = np.nan
    return X, None, centers, DISPERSIONS[:k]


def judges_data(seed, kind="mallows", n_judges=400, n_each=20, n_items=12):
    """Comparisons of three groups of judges, wrong by phi / (1 + phi), or as Bradley-Terry scores have it."""
    rng = np.random.default_rng(seed)
    phis = np.array([0.3, 0.4, 0.5])
    centers, component = random_centers(rng, 3, n_items), rng.integers(3, size=n_judges)
    groups = np.repeat(np.arange(n_judges), n_each)
    pairs = np.array([rng.choice(n_items, 2, replace=False) for _ in groups])
    places = np.take_along_axis(centers[component[groups]], pairs, axis=1)
    if kind == "mallows":
        wrong = phis[component[groups]] / (1 + phis[component[groups]])
    else:
        wrong = 1 / (1 + np.exp(0.4 * np.abs(places[:, 0] - places[:, 1])))
    first_wins = (places[:, 0] < places[:, 1]) ^ (rng.random(len(groups)) < wrong)
    winner = np.where(first_wins, pairs[:, 0], pairs[:, 1])
    X = np.full((len(groups), n_items), np.nan)
    X[np.arange(len(groups)), winner] = 0
    X[np.arange(len(groups)), pairs.sum(axis=1) - winner] = 1
    return X, groups, centers, phis


def fitted(X, groups, **parameters):
    """A fit, its seconds and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        mixture = MallowsMixture("auto", random_state=0, **parameters).fit(X, groups=groups)
        seconds = time.process_time() - start
    return mixture, seconds, [str(w.message) for w in caught if issubclass(w.category, InsufficientDataWarning)]


def recovery(name, datasets):
    """Print how often the number, the centers and the model are right."""
    right = n_exact = n_centers = 0
    models, errors, seconds = [], [], []
    for seed, (X, groups, centers, phis) in datasets:
        mixture, taken, _ = fitted(X, groups)
        found = [np.flatnonzero((mixture.centers_ == center).all(axis=1)) for center in centers]
        n_exact, n_centers = n_exact + sum(len(f) > 0 for f in found), n_centers + len(centers)
        right += mixture.n_components_ == len(centers)
        if mixture.n_components_ == len(centers):
            errors += [abs(mixture.dispersions_[f[0]] - phi) for f, phi in zip(found, phis, strict=True) if len(f)]
        models.append(mixture.missing_)
        seconds.append(taken)
        print(
            f"  seed {seed}: {mixture.n_components_} of {len(centers)}, {mixture.missing_}, {taken:.1f} s", flush=True
        )
    print(
        f"{name}: number right in {right} of {len(models)}, centers exact {n_exact} of {n_centers}, "
        f"largest error of a dispersion {max(errors, default=np.nan):.3f}, mean {np.mean(errors):.3f}; "
        f"marginal in {models.count('marginal')}; {np.mean(seconds):.1f} s a fit",
        flush=True,
    )


def permuted(seeds):
    """Rows dealt to judges at random: there are no groups of judges."""
    for kind in ("mallows", "bradley-terry"):
        told = one = 0
        for seed in seeds:
            X, groups, _, _ = judges_data(seed, kind)
            groups = np.random.default_rng(seed).permutation(groups)
            mixture, taken, caught = fitted(X, groups)
            is_told = any("dealt to voters" in message for message in caught)
            one, told = one + (mixture.n_components_ == 1), told + is_told
            print(f"  {kind} {seed}: {mixture.n_components_} groups, warned {is_told}, {taken:.1f} s", flush=True)
        print(f"permuted {kind} judges: one group in {one}, a warning in {told} of {len(seeds)}", flush=True)


def speed(n_voters=20_000):
    """The E-step of voters against its two sparse products."""
    for n_items, n_ranked, k in ((12, 6, 3), (100, 10, 3), (30, 15, 5)):
        rng = np.random.default_rng(0)
        X = np.full((n_voters, n_items), np.nan)
        for row in X:
            row[rng.choice(n_items, n_ranked, replace=False)] = rng.permutation(n_ranked)
        data, _ = make_table(densify(X))
        mixture = Mixture(random_centers(rng, k, n_items), np.full(k, 0.6), np.full(k, 1 / k))
        signs = np.sign(rng.standard_normal((data.n_pairs, k))).astype(np.float32)
        weights = rng.random((data.n_rows, k)).astype(np.float32)
        products = best(lambda d=data, s=signs, w=weights: (d.net @ s, d.net.T @ w))
        e_step = best(lambda d=data, m=mixture: expectation(d, m))
        print(
            f"{n_ranked} of {n_items} items, k = {k}: E-step {1e9 * e_step / n_voters:.0f} ns a voter, "
            f"{e_step / products:.2f} times the two sparse products (at most 3)"
        )


def best(function, repeats=5):
    """The least processor time."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["subset", "marginal", "judges", "permuted", "speed"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    if arguments.what == "subset":
        recovery("subset, 3 to 8 of 12 items", ((seed, subset_data(seed)) for seed in seeds))
    elif arguments.what == "marginal":
        for share in (0.3, 0.6):
            recovery(f"marginal, {share:.0%} missing", ((seed, marginal_data(seed, share)) for seed in seeds))
    elif arguments.what == "judges":
        recovery("judges", ((seed, judges_data(seed)) for seed in seeds))
    elif arguments.what == "permuted":
        permuted(seeds)
    else:
        speed()


if __name__ == "__main__":
    main()
