"""Gram matrices in closed form, against their floors and against scipy: time ratios of one run, best of repeats.

A floor is what no implementation by matrix products can avoid: products of pair signs that are given, and for the
Mallows kernel one exponential over a matrix of the result's size, into memory that is already there. Memory is the peak
besides the result.

    python benchmarks/kernels.py [--repeats 5] [--only NAME]
"""

import argparse
import time
import tracemalloc

import numpy as np
import sklearn
from helpers import best_times
from scipy.stats import kendalltau
from threadpoolctl import threadpool_limits

from skrank._rankings import densify, expected_pair_signs, pair_signs
from skrank.kernels import HammingKernel, KendallKernel, MallowsKernel, SpearmanKernel
from skrank.metrics import pairwise_ranking_distances


def top_k(rng, n_samples, n_items, k):
    return np.minimum(rng.permuted(np.tile(np.arange(n_items), (n_samples, 1)), axis=1), k)


def print_times(title, best, floor):
    print(f"\n{title}")
    for name, seconds in best.items():
        print(f"  {name:52s} {1e3 * seconds:9.1f} ms   {seconds / best[floor]:6.2f} x floor")


def mallows_floor(ranks):
    """Two float32 products of pair signs and the exponential of a float64 matrix into another."""
    signs = pair_signs(ranks)
    strict = np.abs(signs)
    others, other_strict = signs.copy(), strict.copy()
    exponents, result = np.full((len(ranks), len(ranks)), -1.0), np.ones((len(ranks), len(ranks)))

    def floor():
        signs @ others.T
        strict @ other_strict.T
        np.exp(exponents, out=result)

    return floor


def mallows(rng, repeats):
    kernel = MallowsKernel(nu=0.1)
    n_samples = 5000
    cases = {
        "top-4 of 10": top_k(rng, n_samples, 10, 4),
        "full rankings of 10": top_k(rng, n_samples, 10, 10),
        "top-k of 10, k mixed": top_k(rng, n_samples, 10, rng.integers(1, 10, (n_samples, 1))),
        "five levels, all tied": rng.integers(0, 5, (n_samples, 10)),
    }
    functions = {"floor": mallows_floor(densify(cases["top-4 of 10"]))}
    functions |= {name: lambda X=X: kernel(X) for name, X in cases.items()}
    top = cases["top-4 of 10"]
    functions["top-4 of 10 against others"] = lambda: kernel(top, cases["full rankings of 10"])
    functions["top-4 of 10, with gradient"] = lambda: kernel(top, eval_gradient=True)
    best = best_times(functions, repeats)
    print_times(f"Mallows Gram of {n_samples} rankings, exact", best, "floor")
    against_scipy(top, best["top-4 of 10"] / n_samples**2)


def kendall(rng, repeats):
    n_samples = 5000
    full, top = top_k(rng, n_samples, 10, 10), top_k(rng, n_samples, 10, 4)
    gaps = np.where(top == 4, np.nan, top)
    signs, expected = pair_signs(densify(full)), expected_pair_signs(densify(gaps))
    others, other_expected = signs.copy(), expected.copy()
    kernel = KendallKernel()
    best = best_times(
        {
            "one float32 product, float32 result": lambda: signs @ others.T,
            "one float64 product, float64 result": lambda: expected @ other_expected.T,
            "writing a float64 result alone": lambda: np.empty((n_samples, n_samples)).fill(1.0),
            "full rankings of 10": lambda: kernel(full),
            "full rankings of 10 against others": lambda: kernel(full, full[::-1]),
            "top-4 of 10, others tied": lambda: kernel(top),
            "top-4 of 10, others missing": lambda: kernel(gaps),
        },
        repeats,
    )
    print_times(f"Kendall Gram of {n_samples} rankings", best, "one float32 product, float32 result")
    ratio = best["top-4 of 10, others missing"] / best["one float64 product, float64 result"]
    print(f"  with gaps, against the float64 product: {ratio:.2f}")
    against_scipy(full, best["full rankings of 10"] / n_samples**2)


def against_scipy(X, seconds_per_entry, n_pairs=2000):
    start = time.perf_counter()
    for x, y in zip(X[:n_pairs], X[-n_pairs:], strict=True):
        kendalltau(x, y)
    ratio = (time.perf_counter() - start) / n_pairs / seconds_per_entry
    print(f"  a loop of scipy.stats.kendalltau takes {ratio:,.0f} times as long for each entry")


def many_items(rng, repeats):
    print("\nMany items: Mallows Gram against products of pair signs, and peak memory besides the result")
    many_items_case("2000 top-10 of 100 items", top_k(rng, 2000, 100, 10), 2, min(repeats, 3))
    many_items_case("500 full rankings of 1000 items", top_k(rng, 500, 1000, 1000), 1, min(repeats, 3))


def many_items_case(name, X, n_products, repeats):
    """The floor of full rankings is one product, since none of their pairs is tied."""
    signs = pair_signs(densify(X))
    others, kernel = signs.copy(), MallowsKernel(nu=1e-4)
    floor = {"floor": lambda: [signs @ others.T for _ in range(n_products)]}
    best = best_times(floor | {"kernel": lambda: kernel(X)}, repeats)
    signs_size = signs.nbytes / 2**20
    with sklearn.config_context(working_memory=64):
        tracemalloc.start()
        gram = kernel(X)
        peak = (tracemalloc.get_traced_memory()[1] - gram.nbytes) / 2**20
        tracemalloc.stop()
        small = best_times({"kernel": lambda: kernel(X)}, 1)["kernel"]
    print(
        f"  {name:34s} {best['kernel']:6.2f} s, {best['kernel'] / best['floor']:5.2f} x floor; within 64 MiB "
        f"{small:6.2f} s, peak {peak:6.1f} MiB (pair signs of all: {signs_size:,.0f} MiB)"
    )


def repeated(rng, repeats):
    distinct = np.unique(np.argsort(rng.random((4000, 6)), axis=1), axis=0)[:205]
    X = distinct[rng.integers(0, len(distinct), 15449)]
    kernel = MallowsKernel(nu=0.1)
    best = best_times(
        {
            "writing the result": lambda: np.empty((len(X), len(X))).fill(1.0),
            "each distinct ranking once": lambda: kernel(X),
            "all rows": lambda: kernel._pairwise(densify(X)),
        },
        min(repeats, 2),
    )
    print_times(f"Mallows Gram of {len(X)} rankings, {len(distinct)} distinct", best, "writing the result")


def others(rng, repeats):
    n_samples = 2000
    X = top_k(rng, n_samples, 10, 10)
    functions = {
        f"distance {metric}": lambda metric=metric: pairwise_ranking_distances(X, metric=metric)
        for metric in ("kendall", "spearman", "spearman_footrule", "hamming", "lp", "chebyshev", "cayley")
    }
    functions |= {repr(kernel): lambda kernel=kernel: kernel(X) for kernel in (HammingKernel(), SpearmanKernel())}
    best = best_times(functions, repeats)
    print(f"\nOther distances and kernels, {n_samples} full rankings of 10 items")
    for name, seconds in best.items():
        print(f"  {name:52s} {1e9 * seconds / n_samples**2:9.1f} ns for each entry")


SECTIONS = {section.__name__: section for section in (mallows, kendall, many_items, repeated, others)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=SECTIONS, default=None)
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for name, section in SECTIONS.items():
            if arguments.only in (None, name):
                section(np.random.default_rng(0), arguments.repeats)


if __name__ == "__main__":
    main()
