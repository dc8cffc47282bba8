"""Sampled marginalized kernels: time against its floor and against the closed form, memory, and variance by method.

    python benchmarks/marginalized_kernels.py [--only times memory variance prior] [--rows 500] [--seeds 200]

Times are the best of interleaved repeats in one run on one BLAS thread; what counts is their ratios. With ``--rows
5000 --repeats 1`` times take some minutes. Memory is the peak besides the result, at ``working_memory=64``; the values
of all pairs of samples would take 400 times as much as the result.
"""

import argparse
import tracemalloc
from functools import partial
from itertools import permutations

import numpy as np
import sklearn
from helpers import best_times
from scipy.stats import kendalltau
from threadpoolctl import threadpool_limits

from skrank._pair_words import full_words
from skrank._rankings import densify, pair_signs
from skrank.kernels import (
    HammingKernel,
    KendallKernel,
    MallowsKernel,
    MarginalizedKernel,
    PolynomialKendallKernel,
    SemimetricKernel,
    SpearmanKernel,
)
from skrank.kernels._methods import better_pairing
from skrank.kernels._sample_pairs import pair_means
from skrank.kernels._sampling import sample_consistent
from skrank.stats import mallows

TILE = 1 << 15


def top(k, n_items, n_rankings, seed=0):
    """Random top-k rankings, the others tied last."""
    return np.random.default_rng(seed).random((n_rankings, n_items)).argsort(axis=1).argsort(axis=1).clip(max=k)


def with_gaps(n_ranked, n_items, n_rankings, seed=0):
    """Random rankings of some of the items, the others missing."""
    X = np.random.default_rng(seed).random((n_rankings, n_items)).argsort(axis=1).argsort(axis=1).astype(float)
    X[X >= n_ranked] = np.nan
    return X


# ---------------------------------------------------------------- floors: distances of all sample pairs, one look-up
def word_floor(words, table):
    """Exclusive or and bit counts of all pairs, and a table pass, tile by tile; nothing is summed or kept."""
    words = np.ascontiguousarray(words.reshape(len(words), -1).T)
    n_rows = max(TILE // words.shape[1], 1)
    n_samples = words.shape[1]
    differences = np.empty((n_rows, n_samples), np.uint64)
    counts = np.empty((n_rows, n_samples), np.uint8)
    distances = np.empty((n_rows, n_samples), np.min_scalar_type(len(table)))
    values = np.empty((n_rows, n_samples))
    for start in range(0, n_samples - n_rows + 1, n_rows):
        distances[:] = 0
        for word in words:
            np.bitwise_xor(word[start : start + n_rows, None], word, out=differences)
            np.bitwise_count(differences, out=counts)
            distances += counts
        np.take(table, distances, out=values, mode="clip")


def product_floor(signs, table):
    """Products of sign matrices of all pairs, and a table pass, tile by tile; nothing is summed or kept."""
    n_samples = len(signs)
    width = 720
    products = np.empty((width, width), np.float32)
    values = np.empty((width, width))
    for rows in range(0, n_samples - width + 1, width):
        for columns in range(0, n_samples - width + 1, width):
            np.matmul(signs[rows : rows + width], signs[columns : columns + width].T, out=products)
            np.take(table, products.astype(np.intp), out=values, mode="wrap")


def report_times(n_rankings, repeats):
    print(f"Gram of {n_rankings} x {n_rankings} rankings, 20 samples a side, microseconds an entry")
    print(f"{'data':<18}{'sampled':>10}{'floor':>10}{'ratio':>8}{'exact':>10}{'exact is faster':>17}{'symmetric':>11}")
    for k, n_items in ((4, 10), (4, 20), (10, 40)):
        n = n_rankings if n_items <= 20 else n_rankings // 2
        ranks = densify(top(k, n_items, n))
        other = densify(top(k, n_items, n, seed=1))
        kernel = MallowsKernel(nu=0.05)
        samples = sample_consistent(ranks, 20, 0)
        others = sample_consistent(other, 20, 0)
        flat = samples.positions.reshape(-1, n_items)
        words, signs = full_words(flat).T, pair_signs(flat)
        n_pairs = n_items * (n_items - 1) // 2
        table = np.exp(-0.05 * np.arange(n_pairs + 1))
        both_signs = np.exp(-0.05 * np.arange(2 * n_pairs + 1))
        times = best_times(
            {
                "sampled": partial(pair_means, kernel, samples, others),
                "symmetric": partial(pair_means, kernel, samples),
                "words": partial(word_floor, words, table),
                "products": partial(product_floor, signs, both_signs),
                "exact": partial(kernel._pairwise, ranks, other),
            },
            repeats,
        )
        entry = {name: seconds / n**2 * 1e6 for name, seconds in times.items()}
        floor = min(entry["words"], entry["products"])
        print(
            f"{f'top {k} of {n_items}':<18}{entry['sampled']:>10.3f}{floor:>10.3f}{entry['sampled'] / floor:>8.2f}"
            f"{entry['exact']:>10.4f}{entry['sampled'] / entry['exact']:>16.0f}x{entry['symmetric']:>11.3f}"
        )
    full = top(10, 10, 40)
    times = best_times(
        {
            "scipy": lambda: [[kendalltau(a, b).statistic for b in full] for a in full],
            "ours": lambda: KendallKernel()(full),
        },
        3,
    )
    ratio = times["scipy"] / times["ours"]
    print(f"Kendall kernel of 40 full rankings against a loop of scipy's kendalltau: {ratio:.0f} times faster")


def report_memory(n_rankings):
    print(f"\nGram of {n_rankings} rankings, 20 samples a side, working_memory=64: peak besides the result")
    for k, n_items in ((4, 10), (4, 20), (10, 40)):
        X, kernel = top(k, n_items, n_rankings), MarginalizedKernel(MallowsKernel(nu=0.05), n_draws=20)
        with sklearn.config_context(working_memory=64):
            tracemalloc.start()
            gram = kernel(X)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        print(
            f"{f'top {k} of {n_items}':<18}{(peak - gram.nbytes) / 2**20:>8.1f} MiB; result {gram.nbytes / 2**20:.1f}"
        )


# ---------------------------------------------------------------- variance
def tied(n_levels, n_items, n_rankings, seed=0):
    """Random levels of all items, as ratings are."""
    return np.random.default_rng(seed).integers(0, n_levels, (n_rankings, n_items))


DATA = {
    "top 4 of 10": top(4, 10, 12),
    "top 4 of 20": top(4, 20, 12),
    "10 items in 3 levels": tied(3, 10, 12),
    "6 of 10, missing": with_gaps(6, 10, 12),
    "4 of 5, missing": with_gaps(4, 5, 12),
}
KERNELS = {
    **{f"Mallows, nu={nu}": MallowsKernel(nu) for nu in (0.01, 0.05, 0.2, 1.0)},
    "Kendall": KendallKernel(),
    "polynomial, degree 2": PolynomialKendallKernel(),
    "Spearman": SpearmanKernel(),
    "Hamming": HammingKernel(),
    "exp. Spearman, nu=.005": SemimetricKernel("spearman", nu=0.005),
    "exp. footrule, nu=.02": SemimetricKernel("spearman_footrule", nu=0.02),
    "exp. Hamming, nu=.2": SemimetricKernel("hamming", nu=0.2),
    "exp. lp, p=2, nu=.1": SemimetricKernel("lp", nu=0.1),
    "Cayley, nu=.2": SemimetricKernel("cayley", nu=0.2, allow_indefinite=True),
}


def total_variance(kernel, X, method, seeds, n_draws):
    """Sum of the variances of all kernel values between distinct rankings; "auto" chooses anew by each seed."""
    values, chosen = [], []
    for seed in seeds:
        chosen.append(better_pairing(kernel, densify(X), n_draws, seed) if method == "auto" else method)
        sampled = MarginalizedKernel(kernel, method=chosen[-1], n_draws=n_draws, random_state=seed)
        values.append(sampled(X)[np.triu_indices(len(X), 1)])
    return np.var(values, axis=0).sum(), np.mean([method == "antithetic" for method in chosen])


def report_variance(n_seeds, n_draws=20):
    print(
        f"\nVariance of {n_draws} independent draws a side over that of others, {n_seeds} seeds; how often auto takes"
    )
    print("antithetic pairs, and its variance over that of the better fixed method (1 at best)")
    print(f"{'data':<22}{'kernel':<26}{'antithetic':>12}{'herding':>10}{'auto takes':>12}{'auto/best':>11}")
    seeds = range(n_seeds)
    for name, X in DATA.items():
        for title, kernel in KERNELS.items():
            independent = total_variance(kernel, X, "monte_carlo", seeds, n_draws)[0]
            antithetic = total_variance(kernel, X, "antithetic", seeds, n_draws)[0]
            herded = total_variance(kernel, X, "herding", range(max(n_seeds // 10, 10)), n_draws)[0]
            auto, share = total_variance(kernel, X, "auto", seeds, n_draws)
            rounding = 1e-20 * independent
            print(
                f"{name:<22}{title:<26}{independent / max(antithetic, rounding):>12.2f}"
                f"{independent / max(herded, rounding):>10.2f}{share:>12.0%}"
                f"{max(auto, rounding) / max(min(independent, antithetic), rounding):>11.2f}",
                flush=True,
            )


def report_prior(n_seeds):
    """Bias of the kernel under a Mallows prior where items are missing, in standard errors of the mean over seeds."""
    X = with_gaps(3, 5, 4)
    everything = np.array(list(permutations(range(5))))
    support = [everything[[(p[:, None] < p)[row[:, None] < row].all() for p in everything]] for row in X]
    kernel = MallowsKernel(0.3)
    print(
        f"\nLargest bias of 6 values under a Mallows prior, in standard errors: 3 of 5 ranked, 4 draws, {n_seeds} seeds"
    )
    for phi in (0.1, 0.3, 0.7):
        prior = mallows(range(5), phi)
        law = [prior.pmf(rankings) / prior.pmf(rankings).sum() for rankings in support]
        upper = np.triu_indices(4, 1)
        truth = [law[i] @ kernel(support[i], support[j]) @ law[j] for i, j in zip(*upper, strict=True)]
        values = [
            MarginalizedKernel(kernel, n_draws=4, prior=prior, random_state=seed)(X)[upper] for seed in range(n_seeds)
        ]
        errors = (np.mean(values, axis=0) - truth) / (np.std(values, axis=0, ddof=1) / np.sqrt(n_seeds) + 1e-15)
        print(f"phi={phi}: {np.abs(errors).max():.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["times", "memory", "variance", "prior"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=200)
    arguments = parser.parse_args()
    with threadpool_limits(1, "blas"):
        if "times" in arguments.only:
            report_times(arguments.rows, arguments.repeats)
        if "memory" in arguments.only:
            report_memory(arguments.rows)
        if "variance" in arguments.only:
            report_variance(arguments.seeds)
        if "prior" in arguments.only:
            report_prior(10 * arguments.seeds)
