"""Landmark ordinal embedding: speed of a pass, size against time, error and memory, new items, and robustness.

    python benchmarks/landmark_embedding.py [pass] [size] [ste] [new] [robust] [anisotropic] [--million] [--ten-million]
        [--seeds N] [--first-seed N] [--sizes N [N ...]]

Without names, all parts run. Clouds are Gaussian, N(0, I / 2d), and answers logistic at scale 1, unless a part says
otherwise; c is the number of questions as a multiple of n ln n.
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np
from helpers import seconds_of
from scipy.optimize import minimize_scalar

from skrank.manifold import EuclideanOracle, LandmarkOrdinalEmbedding, StochasticTripletEmbedding
from skrank.manifold._designs import BLOCK_SIZE, draw_shifts, sum_tanh
from skrank.manifold._random_triplets import random_triplets
from skrank.metrics import procrustes_error


def gaussian(n, d, seed):
    return np.random.default_rng(seed).standard_normal((n, d)) / np.sqrt(2 * d)


def fit(X, c, seed=0, **parameters):
    oracle = EuclideanOracle(noise="logistic", scale=1.0, random_state=seed)
    n_comparisons = int(c * len(X) * np.log(len(X)))
    return LandmarkOrdinalEmbedding(
        X.shape[1], oracle=oracle, n_comparisons=n_comparisons, random_state=seed, **parameters
    ).fit(X)


def answered_triplets(X, n_triplets, seed=0):
    """Uniform random triplets of the rows of X, rows (i, j, k) with j answered to be nearer to i than k."""
    i, j, k = random_triplets(len(X), n_triplets, np.random.RandomState(seed))
    nearer = np.concatenate(
        [
            EuclideanOracle(noise="logistic", scale=1.0, random_state=seed)(X[i[part]], X[j[part]], X[k[part]])
            for part in (slice(start, start + 2**20) for start in range(0, n_triplets, 2**20))
        ]
    )
    return np.column_stack([i, np.where(nearer, j, k), np.where(nearer, k, j)])


def ste_trace(triplets, X, init, stop=0.0, first=2, last=256):
    """Seconds, error and limit on the iterations, which doubles; each is a fit of its own. Ends at the error `stop`."""
    max_iter = first
    while max_iter <= last:
        ste = StochasticTripletEmbedding(X.shape[1], init=init, max_iter=max_iter, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = seconds_of(ste.fit, triplets)
        error = procrustes_error(X, ste.embedding_)
        yield seconds, error, max_iter
        if error <= stop or ste.n_iter_ < max_iter:
            return
        max_iter *= 2


def floor_pass(a, b, repeats):
    """One subtract, one tanh and two adds for each number, over and over, in slices that stay in cache."""
    z, total, other = np.empty(min(BLOCK_SIZE, len(a)), np.float32), np.zeros_like(a), np.zeros_like(a)
    for _ in range(repeats):
        for start in range(0, len(a), BLOCK_SIZE):
            part = slice(start, start + BLOCK_SIZE)
            z_part = z[: len(a[part])]
            np.subtract(a[part], b[part], out=z_part)
            np.tanh(z_part, out=z_part)
            np.add(total[part], z_part, out=total[part])
            np.subtract(other[part], z_part, out=other[part])


def benchmark_pass():
    """A gradient pass against the arithmetic that it cannot do without, over as many numbers."""
    print("gradient pass: nanoseconds a comparison, and the ratio to subtract + tanh + two adds over the same length")
    for n, n_shifts in ((10**4, 90), (10**5, 30), (10**6, 15)):
        shifts = draw_shifts(n, n_shifts, np.random.RandomState(0))
        scores, reverse = np.random.default_rng(0).standard_normal((2, n)).astype(np.float32)
        times = [
            (seconds_of(sum_tanh, scores, shifts), seconds_of(floor_pass, scores, reverse, n_shifts)) for _ in range(9)
        ]
        ours, floor = np.min(times, axis=0)
        print(f"  n = {n:>8}  {1e9 * ours / (n * n_shifts):5.2f} ns   ratio {ours / floor:.2f}")


ONE_SIZE = """
import resource, sys, time, warnings
import numpy as np
from landmark_embedding import fit, gaussian
from skrank.metrics import procrustes_error
warnings.simplefilter("ignore")
n, c = int(sys.argv[1]), float(sys.argv[2])
fit(gaussian(500, 2, 0), 50)
times, errors = [], []
for seed in range(int(sys.argv[3])):
    X = gaussian(n, 2, seed)
    start = time.perf_counter()
    model = fit(X, c, seed)
    times.append(time.perf_counter() - start)
    errors.append(procrustes_error(X, model.embedding_))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(f"{min(times):.2f} {np.mean(errors):.4f} {np.max(errors):.4f} {peak:.2f}")
"""


def benchmark_size(million, ten_million):
    """Time (the best), error and peak memory (of a fresh process, Python included) of whole fits, d = 2."""
    print("whole fit, default settings (pilot, ranking, joint maximum likelihood)")
    print("         n    c   seconds   Procrustes (mean, worst)   peak GB")
    sizes = [(10**3, 200, 5), (10**4, 200, 3), (10**5, 50, 3), (10**5, 200, 2)]
    sizes += [(10**6, 20, 1)] * million + [(10**7, 20, 1)] * ten_million
    for n, c, seeds in sizes:
        command = [sys.executable, "-c", ONE_SIZE, str(n), str(c), str(seeds)]
        result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=sys.path[0])
        seconds, mean, worst, peak = result.stdout.split()
        print(f"  {n:>8} {c:>4}   {seconds:>7}   {mean} {worst}              {peak}", flush=True)


def benchmark_ste(n=10**4, c=200):
    """The whole fit against stochastic triplet embedding from a random start, to the same error."""
    X = gaussian(n, 2, 0)
    start = time.perf_counter()
    model = fit(X, c)
    seconds, error = time.perf_counter() - start, procrustes_error(X, model.embedding_)
    print(f"landmarks: {seconds:.2f} s, Procrustes {error:.4f}, n = {n}, c = {c}")
    triplets = answered_triplets(X, int(c * n * np.log(n)))
    for init in ("random", "spectral"):
        for ste_seconds, ste_error, max_iter in ste_trace(triplets, X, init, stop=error):
            print(
                f"  STE, {init} start, {max_iter:>3} iterations: {ste_seconds:6.2f} s, Procrustes {ste_error:.4f}",
                flush=True,
            )
        print(f"  ratio of times {ste_seconds / seconds:.1f}")


def benchmark_new(seeds):
    """Error of new items against that of embedded ones, aligned on the embedded ones, at equal numbers of answers."""
    print("new items: squared error as a share of the spread, embedded and new")
    for n, d, c in ((2000, 2, 50), (2000, 2, 200), (2000, 5, 100)):
        errors = np.zeros((seeds, 2))
        for seed in range(seeds):
            X, new = gaussian(n, d, seed), gaussian(500, d, 1000 + seed)
            model = fit(X, c, seed)
            A, B = X - X.mean(axis=0), model.embedding_
            u, s, vt = np.linalg.svd(B.T @ A)
            align = s.sum() / (B**2).sum() * u @ vt
            inside = ((A - B @ align) ** 2).sum(axis=1).mean()
            outside = ((new - X.mean(axis=0) - model.transform(new) @ align) ** 2).sum(axis=1).mean()
            errors[seed] = np.array([inside, outside]) / (A**2).sum(axis=1).mean()
        embedded, placed = errors.mean(axis=0)
        print(f"  n = {n}, d = {d}, c = {c}: {embedded:.4f} {placed:.4f}   ratio {placed / embedded:.2f}", flush=True)


def benchmark_robust(seeds, n=2000):
    """Median and worst Procrustes error at the default number of questions; and what was not warned of."""
    print(f"robustness, n = {n}, default number of questions, {seeds} seeds; units are automatic")
    print("  d  cloud    landmarks  degree  median  worst  warned  above .1 without a warning")
    clouds = {
        "uniform": lambda rng, d: rng.uniform(-1, 1, (n, d)),
        "heavy": lambda rng, d: rng.standard_normal((n, d)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3),  # Student, 3 d.f.
    }
    for d in (2, 5, 10):
        for name, draw in clouds.items():
            for n_landmarks in ("auto", *(number for number in (5, 10, 20, 40) if number >= d + 3)):
                errors, warned = [], []
                for seed in range(seeds):
                    X = draw(np.random.default_rng(seed), d)
                    oracle = EuclideanOracle(noise="logistic", random_state=seed)
                    with warnings.catch_warnings(record=True) as record:
                        warnings.simplefilter("always")
                        model = LandmarkOrdinalEmbedding(
                            d, oracle=oracle, n_landmarks=n_landmarks, random_state=seed
                        ).fit(X)
                    errors.append(procrustes_error(X, model.embedding_))
                    warned.append(len(record) > 0)
                errors, warned = np.array(errors), np.array(warned)
                degree = 2 * model.n_queries_ / n / len(model.landmarks_)
                print(
                    f"  {d:>2} {name:8} {n_landmarks!s:>9}  {degree:6.0f}  {np.median(errors):.4f}  {errors.max():.3f}"
                    f"  {warned.sum():>3}/{seeds}  {np.sum((errors > 0.1) & ~warned)}",
                    flush=True,
                )


AXES = {
    "1 : .6": (1, 0.6),
    "1 : .4": (1, 0.4),
    "1 : .3": (1, 0.3),
    "3 : 1": (3, 1),
    "10 : 1": (10, 1),
    "1 : 1 : .3": (1, 1, 0.3),
}


class Recorded:
    """An oracle of points, given the rows' numbers, that keeps what it was asked and answered."""

    def __init__(self, points, seed):
        self.points, self.oracle = points, EuclideanOracle(noise="logistic", random_state=seed)
        self.triplets = []

    def __call__(self, *rows):
        i, j, k = (one[:, 0].astype(np.int64) for one in rows)
        nearer = self.oracle(self.points[i], self.points[j], self.points[k])
        self.triplets.append(np.column_stack([i, np.where(nearer, j, k), np.where(nearer, k, j)]).astype(np.int32))
        return nearer


def negative_log_likelihood(points, triplets):
    """Of logistic responses, at the best scale of the points, in nats for each coordinate."""
    i, near, far = triplets.T
    margin = ((points[i] - points[far]) ** 2).sum(axis=1) - ((points[i] - points[near]) ** 2).sum(axis=1)
    scale = minimize_scalar(lambda s: np.logaddexp(0, -np.exp(s) * margin).sum(), bounds=(-7, 7), method="bounded").x
    return np.logaddexp(0, -np.exp(scale) * margin).sum() / points.size


def benchmark_anisotropic(seeds, first_seed, sizes):
    """Stretched, flat and clustered clouds against STE that starts from the embedding, on the same responses."""
    print("     n  cloud          error    STE  ratio   likelihood short of STE's (nats a coordinate)")
    for n in sizes:
        for name in (*AXES, "four clusters"):
            for seed in range(first_seed, first_seed + seeds):
                rng = np.random.default_rng([seed, n])
                points = rng.standard_normal((n, len(AXES.get(name, (1, 1))))) * AXES.get(name, (0.2, 0.2))
                if name == "four clusters":
                    points += rng.choice([-1.0, 1.0], size=points.shape)
                oracle = Recorded(points, seed)
                d = points.shape[1]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = LandmarkOrdinalEmbedding(d, oracle=oracle, random_state=seed).fit(np.arange(n)[:, None])
                    triplets = np.concatenate(oracle.triplets)
                    ste = StochasticTripletEmbedding(d, n_items=n, init=model.embedding_, tol=1e-3, random_state=0).fit(
                        triplets
                    )
                errors = [procrustes_error(points, one.embedding_) for one in (model, ste)]
                ours, best = (negative_log_likelihood(one.embedding_, triplets) for one in (model, ste))
                ratio, short = errors[0] / errors[1], ours - best
                print(f"{n:>6}  {name:13} {errors[0]:.4f}  {errors[1]:.4f}  {ratio:.2f}   {short:.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["pass", "size", "ste", "new", "robust", "anisotropic"]
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(parts)}")
    parser.add_argument("--million", action="store_true", help="add 10^6 items to the sizes")
    parser.add_argument("--ten-million", action="store_true", help="add 10^7 items to the sizes")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0, help="of the anisotropic clouds")
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 2000], help="of the anisotropic clouds")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(parts):
        parser.error(f"unknown part {unknown.pop()!r}")
    chosen = arguments.parts or parts
    if "pass" in chosen:
        benchmark_pass()
    if "size" in chosen:
        benchmark_size(arguments.million, arguments.ten_million)
    if "ste" in chosen:
        benchmark_ste()
    if "new" in chosen:
        benchmark_new(arguments.seeds)
    if "robust" in chosen:
        benchmark_robust(arguments.seeds)
    if "anisotropic" in chosen:
        benchmark_anisotropic(min(arguments.seeds, 5), arguments.first_seed, arguments.sizes)


if __name__ == "__main__":
    main()
