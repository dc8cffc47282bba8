"""Similarity of musical artists: held-out triplets predicted by skrank and by cblearn's SOE and STE.

    python benchmarks/music_triplets.py --data PATH [--splits 5] [--components 2 3 5]

PATH is a folder with music_triplets.mat (9107 answers, rows (anchor, nearer, farther), about 413 artists, of whom 400
occur), or that file. The data were published with L. van der Maaten and K. Weinberger, "Stochastic triplet embedding"
(2012), and are not part of this project. cblearn (pip install cblearn) is optional.

The numbers are means over random splits of the answers into 80 % to fit and 20 % held out; their errors are standard
errors over the splits, and those of the differences are over the differences of each split.
"""

import argparse
import os
import time
import warnings

import numpy as np
from scipy.io import loadmat
from sklearn.model_selection import ShuffleSplit

from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import triplet_accuracy

try:
    from cblearn.embedding import SOE, STE
except ImportError:
    SOE = STE = None


def read(path):
    """Triplets of three different artists, numbered from 0, and how many rows were dropped."""
    if os.path.isdir(path):
        path = os.path.join(path, "music_triplets.mat")
    triplets = loadmat(path)["triplets"].astype(np.int64)
    i, j, k = triplets.T
    different = (i != j) & (i != k) & (j != k)
    items, triplets = np.unique(triplets[different], return_inverse=True)
    return triplets.reshape(-1, 3), len(items), int((~different).sum())


def methods(n_components, n_items, n_init):
    """Functions from triplets to an embedding."""

    def ours(alpha):
        model = StochasticTripletEmbedding(n_components, n_items=n_items, alpha=alpha, max_iter=1000, random_state=0)
        return lambda triplets: model.fit(triplets).embedding_

    def peer(model):
        return lambda triplets: model.fit(triplets, n_objects=n_items).embedding_

    result = {f"skrank STE, alpha={alpha:g}": ours(alpha) for alpha in (0, 1, 3)}
    if STE is not None:
        result["cblearn STE"] = peer(STE(n_components, random_state=0))
        result[f"cblearn SOE, {n_init} starts"] = peer(SOE(n_components, n_init=n_init, random_state=0))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--components", type=int, nargs="+", default=[2, 3, 5])
    parser.add_argument("--soe-starts", type=int, default=10, help="n_init of cblearn's SOE (its default is 10)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if STE is None:
        print("cblearn is not installed: its methods are skipped.")
    triplets, n_items, dropped = read(arguments.data)
    print(f"{len(triplets)} answers about {n_items} artists ({dropped} rows that repeat an artist are left out)")
    splits = list(ShuffleSplit(arguments.splits, test_size=0.2, random_state=arguments.seed).split(triplets))
    for n_components in arguments.components:
        fits = methods(n_components, n_items, arguments.soe_starts)
        accuracy = {name: [] for name in fits}
        fitted = {name: [] for name in fits}
        seconds = {name: [] for name in fits}
        for train, test in splits:
            for name, fit in fits.items():
                start = time.perf_counter()
                embedding = fit(triplets[train])
                seconds[name].append(time.perf_counter() - start)
                fitted[name].append(triplet_accuracy(embedding, triplets[train]))
                accuracy[name].append(triplet_accuracy(embedding, triplets[test]))
        print(f"\n{n_components} components, {arguments.splits} splits (guessing: 50 %)")
        print(f"{'':24}{'held out':>10}{'error':>8}{'to first':>10}{'error':>8}{'fitted':>9}{'seconds':>9}")
        first = np.array(next(iter(accuracy.values())))
        root = np.sqrt(len(splits))
        for name, values in accuracy.items():
            difference = np.array(values) - first
            print(
                f"{name:24}{100 * np.mean(values):9.1f}%{100 * np.std(values, ddof=1) / root:8.2f}"
                f"{100 * difference.mean():+10.2f}{100 * difference.std(ddof=1) / root:8.2f}"
                f"{100 * np.mean(fitted[name]):8.1f}%{np.mean(seconds[name]):9.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
