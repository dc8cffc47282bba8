"""MallowsFeatures: kernel error against 1/sqrt(D), and a million rankings through a linear model.

    python benchmarks/mallows_features.py [--rows 1000000]

The million rankings are top-4 ballots over 10 items around two Mallows centers; the label says which. Peak memory is
that of the whole process, features included. Errors are over all pairs, and for 2048 features also over those of
distinct rankings: equal ones, of which the top 1 of 12 has many, carry the bias of shared samples (10 of each here),
which does not fall with the number of features.
"""

import argparse
import resource
import time

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import MallowsKernel, PartialRankingKernel
from skrank.stats import mallows

DIMENSIONS = (128, 512, 2048)


def ballots(n_rankings, seed):
    """Top-4-of-10 ballots from two Mallows models whose centers are near, and which one each is from."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rankings)
    centers = np.arange(10), np.array([1, 2, 0, 4, 3, 6, 5, 7, 9, 8])
    X = np.empty((n_rankings, 10), np.int8)
    for label, center in enumerate(centers):
        rows = np.flatnonzero(y == label)
        X[rows] = mallows(center, phi=0.7).rvs(len(rows), random_state=rng)
    return X.clip(max=4), y


def report_error():
    print("Root mean square kernel error over pairs of 200 rankings, mean of 20 seeds, times sqrt(D)")
    print(f"{'data':<16}{'nu':>6}" + "".join(f"{f'D = {d}':>12}" for d in DIMENSIONS), end="")
    print(f"{'distinct':>12}{'Nystroem 512':>15}")
    rng = np.random.default_rng(0)
    for n_items, k in ((7, 7), (7, 3), (10, 4), (20, 10), (12, 1)):
        X = rng.random((200, n_items)).argsort(axis=1).argsort(axis=1).clip(max=k)
        upper = np.triu_indices(200, 1)
        distinct = (X[upper[0]] != X[upper[1]]).any(axis=1)
        for nu in (0.02, 0.05, 0.2):
            exact = MallowsKernel(nu)(X)[upper]
            cells = []
            for n_components in DIMENSIONS:
                errors = []
                for seed in range(20):
                    Z = MallowsFeatures(n_components, nu=nu, random_state=seed).fit_transform(X)
                    squares = ((Z @ Z.T)[upper] - exact) ** 2
                    errors.append([np.sqrt(squares.mean()), np.sqrt(squares[distinct].mean())])
                cells.append(np.mean(errors, axis=0) * np.sqrt(n_components))
            cells = [*(over_all for over_all, _ in cells), cells[-1][1]]
            Y = rng.random((2000, n_items)).argsort(axis=1).argsort(axis=1).clip(max=k)
            Z = Nystroem(kernel=MallowsKernel(nu), n_components=512, random_state=0).fit(Y).transform(X)
            other = np.sqrt(np.mean(((Z @ Z.T)[upper] - exact) ** 2)) * np.sqrt(512)
            print(f"{f'top {k} of {n_items}':<16}{nu:>6}" + "".join(f"{c:>12.3f}" for c in cells) + f"{other:>15.3f}")


def report_scale(n_rows):
    print(f"\n{'rows':>9}{'features':>11}{'SGD':>9}{'seconds per 10^6 rows':>24}{'peak memory':>14}{'accuracy':>10}")
    test, y_test = ballots(5000, seed=1)
    for rows in (n_rows // 10, n_rows):
        X, y = ballots(rows, seed=0)
        start = time.perf_counter()
        features = MallowsFeatures(random_state=0).fit(X)
        Z = features.transform(X)
        middle = time.perf_counter()
        model = SGDClassifier(max_iter=5, tol=None, random_state=0).fit(Z, y)
        end = time.perf_counter()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        score = model.score(features.transform(test), y_test)
        print(
            f"{rows:>9}{middle - start:>9.1f} s{end - middle:>7.1f} s{(end - start) / rows * 1e6:>24.1f}"
            f"{peak:>10.2f} GiB{score:>10.4f}"
        )
        del Z
    subset, y_subset = X[:5000], y[:5000]
    exact = PartialRankingKernel(nu=features.nu_).fit(subset)
    best = max(
        SVC(kernel="precomputed", C=c).fit(exact.transform(subset), y_subset).score(exact.transform(test), y_test)
        for c in (0.1, 1, 10)
    )
    linear = max(
        LinearSVC(C=c).fit(features.transform(subset), y_subset).score(features.transform(test), y_test)
        for c in (0.1, 1, 10)
    )
    print(f"On 5000 training rows: SVC on the exact kernel {best:.4f}, LinearSVC on 512 features {linear:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    report_error()
    report_scale(arguments.rows)
