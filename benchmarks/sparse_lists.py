"""Lists of few of many items as sparse matrices: kernels, features, consensus and mixtures, by lists and by items.

    python benchmarks/sparse_lists.py [--lists 2000] [--items 100000] [--length 10] [--only TEXT]

A table of CPU seconds and peak memory besides the result: an eighth of the lists, a quarter, half and all of them, and
all of them on a tenth of the items. Then the slopes: the exponent of the lists in the time, fitted on a logarithmic
scale, and the ratio of the times on all and on a tenth of the items. 1 and 1 mean that time grows with the entries, 2
is the size of a Gram matrix.
"""

import argparse
import time
import tracemalloc
import warnings
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from skrank import MallowsMixture, PartialRankingKernel
from skrank.kernel_approximation import MallowsFeatures
from skrank.stats import borda_consensus


def random_lists(n_lists, n_items, length, opposed=False, seed=0):
    """Lists about two centers: of the first items of either, or (opposed) of the same items in opposite orders."""
    rng = np.random.default_rng(seed)
    centers = [rng.permutation(n_items) for _ in range(2)]
    columns, ranks = [], []
    for kind in rng.integers(2, size=n_lists):
        places = np.unique(rng.exponential(150, 3 * length).astype(int).clip(max=n_items - 1))
        places = rng.permutation(places)[:length]
        keys = places * (-1 if opposed and kind else 1) + rng.normal(0, 50, len(places))
        columns.append(centers[0 if opposed else kind][places])
        ranks.append(keys.argsort().argsort())
    indptr = np.concatenate([[0], np.cumsum([len(items) for items in columns])])
    return csr_array((np.concatenate(ranks), np.concatenate(columns), indptr), shape=(n_lists, n_items))


def gram(kernel, unranked, X):
    return PartialRankingKernel(kernel, unranked=unranked).fit_transform(X)


def features(unranked, X):
    return MallowsFeatures(unranked=unranked, random_state=0).fit_transform(X)


def borda(unranked, X):
    return borda_consensus(X, unranked=unranked).scores


def mixture(unranked, X):
    return MallowsMixture(2, unranked=unranked, random_state=0).fit(X).centers_


CASES = {
    "Mallows Gram, others last": partial(gram, "mallows", "last"),
    "Kendall Gram, others last": partial(gram, "kendall", "last"),
    "Kendall Gram, others missing": partial(gram, "kendall", "missing"),
    "512 features, others last": partial(features, "last"),
    "512 features, others missing": partial(features, "missing"),
    "Borda, others last": partial(borda, "last"),
    "Borda, others missing": partial(borda, "missing"),
    "mixture of 2, others last": partial(mixture, "last"),
    "mixture of 2, others missing": partial(mixture, "missing"),
}


def measure(function, X):
    """CPU seconds and MiB besides the result, in one run: tracing slows Python's own steps down a little."""
    tracemalloc.start()
    start = time.process_time()
    result = function(X)
    seconds = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1] - result.nbytes
    tracemalloc.stop()
    return seconds, peak / 2**20


def report(name, function, n_lists, n_items, length):
    """One case at all sizes."""
    opposed = "missing" in name
    sizes, seconds = [n_lists // factor for factor in (8, 4, 2, 1)], []
    for lists, items in [*((size, n_items) for size in sizes), (n_lists, n_items // 10)]:
        seconds_here, peak = measure(function, random_lists(lists, items, length, opposed))
        seconds.append(seconds_here)
        print(f"{name:<30}{lists:>8}{items:>9}{length:>8}{seconds_here:>9.2f} s{peak:>9.0f} MiB", flush=True)
    slope = np.polyfit(np.log(sizes), np.log(seconds[:4]), 1)[0]
    print(f"{name:<30}  exponent of the lists {slope:.2f}, all items / a tenth {seconds[3] / seconds[4]:.2f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=int, default=2000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    arguments = parser.parse_args()
    print(f"{'case':<30}{'lists':>8}{'items':>9}{'length':>8}")
    for name, function in CASES.items():
        if arguments.only in name:
            report(name, function, arguments.lists, arguments.items, arguments.length)
