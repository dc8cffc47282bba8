"""Figures 2 and 4 of "Landmark Ordinal Embedding" (Ghosh, Chen and Yue, NeurIPS 2019) as tables: time against error.

    python benchmarks/papers/ghosh_embedding.py [--sizes N ...] [--ste-largest N] [--figure4 D ...] [--divide N]
        [--seeds N]

Figure 2: n items in the plane, c = 200; time and error of landmark ordinal embedding (LOE, plain and refined), and of
stochastic triplet embedding (STE) as its iterations go on, from random and spectral starts and from a fit to the first
5 % of the triplets, at equal numbers of answers; cblearn's STE up to a thousand items (it needs n^2 memory). The sizes
of the paper are 20, 40, 60, 80 and 100 thousand: only LOE runs where n is above ``--ste-largest``, as STE holds every
triplet (2.3e8 of them at a hundred thousand items).

Figure 4: LOE-STE against these, d = 2 with n = 10^5, c = 50, share .3, and d = 10 with n = 2 10^4, c = 200, share .2;
these take long and gigabytes, so n is divided by ten unless ``--divide 1`` is given.

The paper's figures are curves; what its text says of them is printed beside ours.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from helpers import seconds_of
from landmark_embedding import answered_triplets, fit, gaussian, ste_trace

from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import procrustes_error

CBLEARN_LARGEST = 1000
PAPER_FIGURE_2 = (
    "paper: the time of LOE grows linearly; baselines take about 6 times as long to a similar error at n = 10^5, and "
    "their additional time grows linearly, too, but faster"
)
PAPER_FIGURE_4 = (
    "paper: LOE-STE reaches low errors much sooner than baselines from a cold start, and ends with an error like theirs"
)


def row(method, seconds, error, remark=""):
    print(f"  {method:34} {seconds:8.2f} s   {error:.4f}  {remark}", flush=True)


def landmark_rows(X, c, seed, variants):
    """Time and error of variants of LOE; returns those of each."""
    results = {}
    for name, parameters in variants.items():
        start = time.perf_counter()
        model = fit(X, c, seed, **parameters)
        seconds = time.perf_counter() - start
        results[name] = seconds, procrustes_error(X, model.embedding_)
        row(name, *results[name], f"{model.n_queries_:.3g} answers")
    return results


def ste_rows(X, triplets, goal_seconds, goal):
    """STE as its iterations go on, until it has the error `goal`; reports how many times `goal_seconds` that took."""

    def remark(seconds, error, max_iter):
        return f"{max_iter} iterations" + (f", as good in {seconds / goal_seconds:.1f} x" if error <= goal else "")

    for init in ("random", "spectral"):
        for seconds, error, max_iter in ste_trace(triplets, X, init, goal):
            row(f"STE, {init} start", seconds, error, remark(seconds, error, max_iter))
    prefix = triplets[: len(triplets) // 20]
    warm = StochasticTripletEmbedding(X.shape[1], n_items=len(X), init="random", random_state=0)
    before = seconds_of(warm.fit, prefix)
    row("STE on a prefix of 5 %", before, procrustes_error(X, warm.embedding_))
    for seconds, error, max_iter in ste_trace(triplets, X, warm.embedding_, goal):
        row("STE from there, prefix included", before + seconds, error, remark(before + seconds, error, max_iter))


def cblearn_row(X, triplets):
    try:
        from cblearn.embedding import STE
    except ImportError:
        print("  cblearn is not installed")
        return
    start = time.perf_counter()
    Y = STE(X.shape[1], random_state=0).fit_transform(triplets)
    row("cblearn STE", time.perf_counter() - start, procrustes_error(X, Y))


def figure2(n, c, seeds, with_ste):
    for seed in range(seeds):
        print(f"Figure 2, n = {n}, d = 2, c = {c}, seed {seed}")
        X = gaussian(n, 2, seed)
        variants = {
            "LOE, as in the paper": {"refine": None, "landmarks": "random", "design": "iid"},
            "LOE": {"refine": None},
            "LOE, refine='mle'": {"refine": "mle"},
        }
        results = landmark_rows(X, c, seed, variants)
        if not with_ste:
            continue
        triplets = answered_triplets(X, int(c * n * np.log(n)), seed)
        ste_rows(X, triplets, *results["LOE"])
        if n <= CBLEARN_LARGEST:
            cblearn_row(X, triplets)


def figure4(d, n, c, share, seeds):
    for seed in range(seeds):
        print(f"Figure 4, n = {n}, d = {d}, c = {c}, share of LOE {share}, seed {seed}")
        X = gaussian(n, d, seed)
        variants = {
            "LOE-STE": {"refine": "ste", "warm_start_share": share},
            "LOE, refine='mle'": {"refine": "mle"},
        }
        results = landmark_rows(X, c, seed, variants)
        # Up to a hundredth above it: a difference in the last digits is none.
        seconds, error = results["LOE-STE"]
        ste_rows(X, answered_triplets(X, int(c * n * np.log(n)), seed), seconds, 1.01 * error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10**3, 10**4], help="of Figure 2; up to 10^6")
    parser.add_argument("--ste-largest", type=int, default=2 * 10**4, help="largest size of Figure 2 with STE")
    parser.add_argument("--figure4", type=int, nargs="*", choices=[2, 10], default=[], help="dimensions of Figure 4")
    parser.add_argument("--divide", type=int, default=10, help="what the numbers of items of Figure 4 are divided by")
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.sizes:
        print(PAPER_FIGURE_2)
    for n in arguments.sizes:
        figure2(n, 200 if n <= 10**5 else 20, arguments.seeds, n <= arguments.ste_largest)
    if arguments.figure4:
        print(PAPER_FIGURE_4)
    if 2 in arguments.figure4:
        figure4(2, 10**5 // arguments.divide, 50, 0.3, arguments.seeds)
    if 10 in arguments.figure4:
        figure4(10, 2 * 10**4 // arguments.divide, 200, 0.2, arguments.seeds)


if __name__ == "__main__":
    main()
