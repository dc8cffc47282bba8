"""Lists of few of many items: kernels and features of sparse rank matrices, by the number of lists and of items.

    python benchmarks/sparse_lists.py [--lists 2000] [--items 100000] [--length 10]

CPU seconds and peak memory besides the result. Time grows with the entries (lists x length) for features, with their
square for Gram matrices, and hardly with the number of items.
"""

import argparse
import time
import tracemalloc

import numpy as np
from scipy.sparse import csr_array

from skrank import PartialRankingKernel
from skrank.kernel_approximation import MallowsFeatures


def random_lists(n_lists, n_items, length, seed=0):
    """Lists of random items, best first, popular ones more often."""
    rng = np.random.default_rng(seed)
    items = np.concatenate(
        [np.unique((n_items * rng.random(2 * length) ** 2).astype(int))[:length] for _ in range(n_lists)]
    )
    counts = len(items) // n_lists
    ranks = np.concatenate([rng.permutation(counts) for _ in range(n_lists)])
    return csr_array((ranks, items, np.arange(n_lists + 1) * counts), shape=(n_lists, n_items))


def measure(function):
    start = time.process_time()
    function()
    seconds = time.process_time() - start
    tracemalloc.start()
    result = function()
    peak = tracemalloc.get_traced_memory()[1] - result.nbytes
    tracemalloc.stop()
    return seconds, peak / 2**20


def report(n_lists, n_items, length):
    X = random_lists(n_lists, n_items, length)
    cases = {
        "Mallows Gram, others last": lambda: PartialRankingKernel("mallows", unranked="last").fit_transform(X),
        "Kendall Gram, others last": lambda: PartialRankingKernel("kendall", unranked="last").fit_transform(X),
        "Kendall Gram, others missing": lambda: PartialRankingKernel("kendall", unranked="missing").fit_transform(X),
        "512 features, others last": lambda: MallowsFeatures(unranked="last", random_state=0).fit_transform(X),
        "512 features, others missing": lambda: MallowsFeatures(unranked="missing", random_state=0).fit_transform(X),
    }
    for name, function in cases.items():
        seconds, peak = measure(function)
        print(f"{n_lists:>8}{n_items:>9}{length:>8}  {name:<32}{seconds:>8.2f} s{peak:>9.0f} MiB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=int, default=2000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{'lists':>8}{'items':>9}{'length':>8}")
    for factor in (4, 2, 1):
        report(arguments.lists // factor, arguments.items, arguments.length)
    report(arguments.lists, arguments.items // 10, arguments.length)
