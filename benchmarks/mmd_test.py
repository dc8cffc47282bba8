"""The two-sample test: level, power, time against its Gram matrix, and sampled kernels.

    python benchmarks/mmd_test.py [--only level power diagonal bias speed estimators sushi] [--data PATH]
        [--first-seed 0]

PATH holds ``sushi/sushi3a.5000.10.order`` and ``sushi/sushi3.udata`` of the SUSHI preference data (Kamishima, 2003);
without it that part is skipped.

The part "estimators" is Figure 5 (mean p-values against the number of rows) and Table 2 (their standard deviations) of
Lomeli et al. (2019): do antithetic samples give p-values of a lower standard deviation than Monte Carlo ones? The
figures themselves are lost in the text of the paper that is at hand; it says that both p-values go to zero and that the
antithetic one has the lower variance at all sizes. Its data are a mixture of a Mallows model of Kendall's distance
about a ranking and one of Hamming's distance about its reverse, both of scale one, against uniform rankings, censored
to the top 3; of 6 items in its Section 5.1 and of 10 in its Section 5.3, so both are run. There p-values soon reach the
smallest possible one, so a third setting has alternatives that come nearer as rows are added.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import comb
from scipy.stats import binom
from sklearn.gaussian_process.kernels import WhiteKernel

from skrank.datasets import load_sushi_order, make_rankings
from skrank.kernels import MallowsKernel, MarginalizedKernel, PartialRankingKernel
from skrank.stats import mmd_test, mmd_test_from_kernel


def level(first_seed, repeats=500, n_samples=50):
    print(f"level: rejections at .05 of {repeats} tests of Mallows(.7) against itself, {n_samples} a side, 8 items")
    low, high = binom.ppf([0.025, 0.975], repeats, 0.05) / repeats
    for name, options in (("full", {}), ("top-3", {"top_k": 3})):
        rejections = 0
        for repeat in range(repeats):
            seed = first_seed + 2 * repeat
            X, Y = (
                make_rankings(n_samples, 8, center=range(8), phi=0.7, random_state=seed + side, **options)
                for side in (0, 1)
            )
            rejections += mmd_test(X, Y, n_permutations=199, random_state=seed).pvalue <= 0.05
        print(f"  {name:6s} rate {rejections / repeats:.3f}   95 % binomial range of .05: {low:.3f} to {high:.3f}")


def power(first_seed, repeats=100):
    print(f"power: Mallows(.5) against uniform, 6 items, 100 a side, level .05, {repeats} tests")
    for name, options in (("full", {}), ("top-3", {"top_k": 3})):
        rejections = 0
        for seed in range(first_seed, first_seed + repeats):
            X = make_rankings(100, 6, phi=0.5, random_state=seed, **options)
            Y = make_rankings(100, 6, random_state=seed + 10**6, **options)
            rejections += mmd_test(X, Y, random_state=seed).pvalue <= 0.05
        print(f"  {name:6s} {rejections / repeats:.3f}")


def speed(first_seed, repeats=5):
    print("speed: 2000 a side, 999 permutations, best of interleaved repeats")
    for name, n_items, options in (("full of 6", 6, {}), ("full of 20", 20, {}), ("top-4 of 10", 10, {"top_k": 4})):
        X, Y = (make_rankings(2000, n_items, random_state=first_seed + side, **options) for side in (0, 1))
        rows, kernel = np.vstack([X, Y]), MallowsKernel(nu=0.05)
        gram_seconds = test_seconds = np.inf
        for _ in range(repeats):
            start = time.perf_counter()
            kernel(rows)
            middle = time.perf_counter()
            mmd_test(X, Y, kernel, random_state=0)
            gram_seconds = min(gram_seconds, middle - start)
            test_seconds = min(test_seconds, time.perf_counter() - middle)
        ratio = test_seconds / gram_seconds
        print(f"  {name:12s} Gram {gram_seconds:.3f} s   test {test_seconds:.3f} s   {ratio:.1f} x the Gram")


def diagonal(first_seed, repeats=100):
    print(f"diagonal: largest difference of p when 0, 1 or 1000 is added to the kernel's diagonal, {repeats} data sets")
    for name, options in (("full", {}), ("top-1", {"top_k": 1})):
        largest = 0.0
        for seed in range(first_seed, first_seed + repeats):
            X, Y = (make_rankings(40, 5, random_state=seed + side, **options) for side in (0, 10**6))
            kernel, gram = MallowsKernel(), MallowsKernel()(np.vstack([X, Y]))
            labels = np.repeat([0, 1], 40)
            objects = [mmd_test(X, Y, kernel + WhiteKernel(noise), random_state=seed).pvalue for noise in (1, 1e3)]
            matrices = [
                mmd_test_from_kernel(gram + noise * np.eye(80), labels, random_state=seed).pvalue
                for noise in (0, 1, 1e3)
            ]
            # A matrix does not tell which rows are equal, so its permutations are others: each among themselves.
            objects.append(mmd_test(X, Y, kernel, random_state=seed).pvalue)
            largest = max(largest, np.ptp(objects), np.ptp(matrices))
        print(f"  {name:6s} {largest}")


def bias(first_seed, repeats=400):
    print(f"bias: mean statistic of sampled kernels less the exact one, top-1 of 5, 40 a side, {repeats} data sets")
    kernel = MallowsKernel(0.1)
    for method in ("monte_carlo", "antithetic"):
        gaps, shared = [], []
        for seed in range(first_seed, first_seed + repeats):
            X = make_rankings(40, 5, center=range(5), phi=0.5, top_k=1, random_state=seed)
            Y = make_rankings(40, 5, top_k=1, random_state=seed + 10**6)
            sampled = MarginalizedKernel(kernel, method=method, n_draws=4, random_state=seed)
            exact = mmd_test(X, Y, kernel, n_permutations=1, random_state=0).statistic
            gaps.append(mmd_test(X, Y, sampled, n_permutations=1, random_state=0).statistic - exact)
            gram, labels = sampled(np.vstack([X, Y])), np.repeat([0, 1], 40)
            shared.append(mmd_test_from_kernel(gram, labels, n_permutations=1, random_state=0).statistic - exact)
        error = np.std(gaps, ddof=1) / np.sqrt(repeats)
        print(f"  {method:12s} {np.mean(gaps):+.5f} (standard error {error:.5f})   ", end="")
        print(f"samples shared by equal rankings: {np.mean(shared):+.5f}")


def hamming_model(n_samples, n_items, rng):
    """Rank vectors of probability proportional to exp(-Hamming distance to n_items - 1, ..., 0)."""
    derangements = [1, 0]
    for n in range(2, n_items + 1):
        derangements.append((n - 1) * (derangements[-1] + derangements[-2]))
    distance = np.arange(n_items + 1)
    weights = comb(n_items, distance) * derangements * np.exp(-distance)
    ranks = np.tile(np.arange(n_items)[::-1], (n_samples, 1))
    for row, n_moved in zip(ranks, rng.choice(distance, n_samples, p=weights / weights.sum()), strict=True):
        moved = rng.choice(n_items, n_moved, replace=False)
        order = rng.permutation(n_moved)
        while (order == np.arange(n_moved)).any():
            order = rng.permutation(n_moved)
        row[moved] = row[moved[order]]
    return ranks


def paper_mixture(n_samples, n_items, rng):
    """The paper's alternative: Mallows models of Kendall and Hamming distance about a ranking and its reverse."""
    seed = int(rng.integers(2**31))
    kendall = make_rankings(n_samples, n_items, center=range(n_items), phi=np.exp(-1), random_state=seed)
    hamming = hamming_model(n_samples, n_items, rng)
    return np.minimum(np.where(rng.random((n_samples, 1)) < 0.5, kendall, hamming), 3)


def estimator_settings():
    """Name, function (n_samples, rng) -> X and Y."""

    def paper(n_items, n_samples, rng):
        seed = int(rng.integers(2**31))
        return paper_mixture(n_samples, n_items, rng), make_rankings(n_samples, n_items, top_k=3, random_state=seed)

    def near(n_samples, rng):
        # The difference shrinks as rows are added, so that p-values stay away from both ends.
        phi = 1 - 0.8 / np.sqrt(n_samples)
        seeds = [int(seed) for seed in rng.integers(2**31, size=2)]
        return (
            make_rankings(n_samples, 10, phi=phi, top_k=3, random_state=seeds[0]),
            make_rankings(n_samples, 10, top_k=3, random_state=seeds[1]),
        )

    return (
        ("paper, Section 5.1: mixture against uniform, top-3 of 6", partial(paper, 6)),
        ("paper, Section 5.3: mixture against uniform, top-3 of 10", partial(paper, 10)),
        ("near: Mallows against uniform, top-3 of 10", near),
    )


def estimators(first_seed, repeats=100, n_data_sets=5, n_draws=4):
    print(
        f"estimators: p-values of {repeats} kernel seeds on the same data and permutations, {n_draws} draws a "
        f"ranking;\n  standard deviation (root mean square over {n_data_sets} data sets) and mean, beside the exact p"
    )
    for title, make in estimator_settings():
        print(f"  {title}")
        for n_rows in (12, 25, 50, 100, 200):
            deviations, means = (
                {"monte_carlo": [], "antithetic": []},
                {"exact": [], "monte_carlo": [], "antithetic": []},
            )
            for data_set in range(n_data_sets):
                X, Y = make(n_rows, np.random.default_rng([first_seed, n_rows, data_set]))
                kernel = PartialRankingKernel().fit(np.vstack([X, Y])).kernel_
                means["exact"].append(mmd_test(X, Y, kernel, random_state=0).pvalue)
                for method, found in deviations.items():
                    pvalues = [
                        mmd_test(
                            X,
                            Y,
                            MarginalizedKernel(kernel, method=method, n_draws=n_draws, random_state=seed),
                            random_state=0,
                        ).pvalue
                        for seed in range(first_seed, first_seed + repeats)
                    ]
                    found.append(np.std(pvalues, ddof=1))
                    means[method].append(np.mean(pvalues))
            spread = {method: np.sqrt(np.mean(np.square(found))) for method, found in deviations.items()}
            print(
                f"    {n_rows:4d} a side: std monte_carlo {spread['monte_carlo']:.5f}  antithetic "
                f"{spread['antithetic']:.5f}   mean p "
                + "  ".join(f"{method} {np.mean(values):.4f}" for method, values in means.items())
            )


def sushi(data, first_seed, n_rows=1500):
    print(f"sushi: East against West Japan, {n_rows} full rankings of 10 a side, 999 permutations")
    rankings = load_sushi_order(data / "sushi" / "sushi3a.5000.10.order").data
    # Column 6: where the person lived longest until the age of 15, 0 for East and 1 for West.
    west = np.loadtxt(data / "sushi" / "sushi3.udata")[:, 6] == 1
    for seed in range(first_seed, first_seed + 5):
        rng = np.random.default_rng(seed)
        X, Y = (rankings[rng.choice(np.flatnonzero(side), n_rows, replace=False)] for side in (~west, west))
        top = [np.minimum(rows, np.sort(rows, axis=1)[:, 3:4]) for rows in (X, Y)]
        print(
            f"  seed {seed}: p, mallows {mmd_test(X, Y, random_state=seed).pvalue:.3f}   kendall "
            f"{mmd_test(X, Y, 'kendall', random_state=seed).pvalue:.3f}   mallows, top-3 "
            f"{mmd_test(*top, random_state=seed).pvalue:.3f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {
        "level": level,
        "power": power,
        "diagonal": diagonal,
        "bias": bias,
        "speed": speed,
        "estimators": estimators,
    }
    parser.add_argument("--only", nargs="+", choices=[*parts, "sushi"], default=[*parts, "sushi"])
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    for name, part in parts.items():
        if name in arguments.only:
            part(arguments.first_seed)
    if "sushi" in arguments.only:
        if arguments.data is None:
            print("sushi: skipped, no --data")
        else:
            sushi(arguments.data, arguments.first_seed)
