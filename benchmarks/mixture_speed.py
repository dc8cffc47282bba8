"""Speed of MallowsMixture: the engine against its floors, whole fits against plain EM, and scaling in N, n and k.

    python benchmarks/mixture_speed.py [--rows 10000 100000 1000000]

Figures are processor times, the best of several interleaved repeats on one thread; trust the ratios. "popcount" is XOR
and popcount over the packed signs and nothing else; "sgemm" one product of the weights and ready-made float32 signs,
block by block. Memory is the peak of a fresh process beyond the input (a float64 rank matrix).
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from helpers import best_times

from skrank._mallows import sample_mallows
from skrank._pair_words import full_words
from skrank.mixture import MallowsMixture
from skrank.mixture._em import em, evaluated, expectation
from skrank.mixture._model import Mixture
from skrank.mixture._pair_signs import BLOCK, PairSigns
from skrank.mixture._transpositions import best_transposition

DISPERSIONS = (0.5, 0.6, 0.7, 0.5, 0.6, 0.7, 0.5, 0.6)


def rankings(n_rows, n_items, k, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.array([rng.permutation(n_items) for _ in range(k)])
    component = rng.integers(k, size=n_rows)
    nu = -np.log(np.array(DISPERSIONS[:k]))
    return centers, sample_mallows(centers[component], nu[component], rng)


def popcount_floor(data, words):
    different = np.empty((words.shape[1], BLOCK), np.uint64)
    count = np.empty((words.shape[1], BLOCK), np.uint8)
    for start in range(0, data.n_rows, BLOCK):
        before = data._before[:, start : start + BLOCK]
        size = before.shape[1]
        for center in words:
            np.bitwise_xor(before, center[:, None], out=different[:, :size])
            np.bitwise_count(different[:, :size], out=count[:, :size])


def engine(n_rows, n_items=20, k=3):
    centers, X = rankings(n_rows, n_items, k)
    data = PairSigns(X)
    mixture = evaluated(data, Mixture(centers, np.full(k, 0.6), np.full(k, 1 / k)))
    responsibilities = expectation(data, mixture)[0]
    signs = np.random.default_rng(0).choice(np.array([-1, 1], np.float32), (data.n_pairs, BLOCK))
    words = full_words(centers).T

    def sgemm():
        for start in range(0, n_rows, BLOCK):
            block = responsibilities[:, start : start + BLOCK]
            block @ signs[:, : block.shape[1]].T

    def em_iterations(n_iter):
        return lambda: em(data, mixture, max_iter=n_iter, tol=-np.inf)

    times = best_times(
        {
            "popcount": lambda: popcount_floor(data, words),
            "distances": lambda: data.distances(centers),
            "E-step": lambda: expectation(data, mixture),
            "sgemm": sgemm,
            "pair_sums": lambda: data.pair_sums(responsibilities),
            "EM (1)": em_iterations(1),
            "EM (4)": em_iterations(4),
            "flip pass": lambda: best_transposition(data, mixture, responsibilities),
        },
        repeats=5,
        clock=time.process_time,
    )
    times["EM iteration"] = (times.pop("EM (4)") - times.pop("EM (1)")) / 3
    print(f"\nEngine, n = {n_items}, k = {k}, N = {n_rows}, ns a row: ", end="")
    print(", ".join(f"{name} {1e9 * t / n_rows:.0f}" for name, t in times.items()))
    for name, floor, bound in (
        ("distances", "popcount", 2),
        ("E-step", "popcount", 4),
        ("EM iteration", "pair_sums", 3),
        ("EM iteration", "sgemm", 3),
        ("flip pass", "EM iteration", 3),
    ):
        print(f"  {name} / {floor}: {times[name] / times[floor]:.2f} (at most {bound})")


def seconds(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        estimator.fit(X)
        return time.process_time() - start


def whole_fits(n_rows, n_items=20, k=3):
    _, X = rankings(n_rows, n_items, k)
    repeats = 3 if n_rows <= 100_000 else 1
    general = min(seconds(MallowsMixture(k, random_state=seed), X) for seed in range(repeats))
    em_options = {"init": "random", "n_init": 10, "polish": False}
    plain = min(seconds(MallowsMixture(k, **em_options, random_state=seed), X) for seed in range(repeats))
    bound = {10_000: 6, 100_000: 1}.get(n_rows, 1 / 3)
    print(
        f"N = {n_rows:8}: general fit {general:6.2f} s, EM with 10 restarts {plain:7.2f} s, "
        f"ratio {general / plain:.2f} (at most {bound:.2f})",
        flush=True,
    )


def scaling():
    print("\nScaling of the general fit, seconds:")
    for name, cases in {
        "N (n = 20, k = 3)": [(n_rows, 20, 3) for n_rows in (1000, 3000, 10_000, 30_000, 100_000)],
        "n (N = 10000, k = 3)": [(10_000, n_items, 3) for n_items in (5, 10, 20, 40, 80)],
        "k (N = 10000, n = 20)": [(10_000, 20, k) for k in (1, 2, 4, 8)],
        "guidance": [(10_000, 50, 5)],
    }.items():
        cells = []
        for n_rows, n_items, k in cases:
            value = min(seconds(MallowsMixture(k, random_state=s), rankings(n_rows, n_items, k)[1]) for s in range(2))
            cells.append(f"N={n_rows} n={n_items} k={k}: {value:.2f}")
        print(f"  {name}: " + ", ".join(cells), flush=True)


def memory(n_rows):
    """Fit in a process that loads the input and does nothing else first.

    A process inherits the peak of the one that starts it: so the input is made in a process of its own, and this comes
    before everything else.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "X.npy")
        for task in ("--make", "--memory"):
            subprocess.run([sys.executable, __file__, task, path, "--rows", str(n_rows)], check=True)


def print_memory(path):
    X = np.load(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = seconds(MallowsMixture(3, random_state=0), X)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"N = {len(X):8}: {taken:.2f} s, {peak / 1024:.0f} MB beyond the input ({X.nbytes / 2**20:.0f} MB)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--make", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--memory", metavar="FILE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        np.save(arguments.make, rankings(arguments.rows[0], 20, 3)[1].astype(float))
        return
    if arguments.memory:
        print_memory(arguments.memory)
        return
    print("Memory and time, each in a fresh process, n = 20, k = 3:", flush=True)
    for n_rows in arguments.rows:
        memory(n_rows)
    for n_rows in arguments.rows:
        if n_rows >= 100_000:
            engine(n_rows)
    print("\nWhole fits, n = 20, k = 3:")
    for n_rows in arguments.rows:
        whole_fits(n_rows)
    scaling()


if __name__ == "__main__":
    main()
