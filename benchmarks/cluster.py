"""What crosses the wire when skrank runs on a cluster, and whether the results are the local ones.

    python benchmarks/cluster.py [--workers 2] [--scale 1.0]

Starts a dask.distributed LocalCluster of worker processes on this machine, runs each kind of blockwise work once here
and once there, and counts what this process sends to the scheduler and gets back: bytes of serialised messages as
written to the sockets, heartbeats included, with no compression that dask would not do by itself. Seconds say nothing
of a cluster of machines: here the workers share this machine's cores. `--scale` multiplies the numbers of rows.
"""

import argparse
import collections
import contextlib
import time
import warnings

import numpy as np
from dask.distributed import Client, LocalCluster
from distributed.comm.tcp import TCP
from joblib import parallel_config

from skrank import LandmarkOrdinalEmbedding, MallowsMixture, PartialRankingKernel
from skrank.datasets import make_mallows_mixture, make_rankings
from skrank.kernel_approximation import MallowsFeatures
from skrank.manifold import EuclideanOracle
from skrank.metrics import pairwise_ranking_distances
from skrank.stats import mmd_test


class Wire:
    """Counts bytes between this process's client and the scheduler, which LocalCluster runs in this process too."""

    def __init__(self, scheduler_address):
        self.scheduler_address, self.own_addresses = scheduler_address, set()
        self.bytes = collections.Counter()

    @contextlib.contextmanager
    def counting(self):
        write, wire = TCP.write, self

        async def counted(comm, message, *args, **options):
            n_bytes = await write(comm, message, *args, **options)
            if comm.peer_address == wire.scheduler_address:
                wire.own_addresses.add(comm.local_address)
                wire.bytes["sent"] += n_bytes
            elif comm.peer_address in wire.own_addresses:
                wire.bytes["received"] += n_bytes
            else:
                wire.bytes["to workers"] += n_bytes
            return n_bytes

        TCP.write = counted
        try:
            yield self
        finally:
            TCP.write = write


def work(scale):
    """Pairs of a name and a function that takes n_jobs and returns an array."""

    def size(n):
        return max(int(n * scale), 50)

    rng = np.random.default_rng(0)
    ballots = make_rankings(size(4000), 12, top_k=6, random_state=0)
    full = make_rankings(size(4000), 12, random_state=1)
    gaps = np.array(make_rankings(size(1000), 12, random_state=2), float)
    gaps[rng.random(gaps.shape) < 0.3] = np.nan
    few = gaps[: size(1000)]
    others = make_rankings(size(1000), 12, top_k=6, phi=0.9, random_state=3)
    mixed, _ = make_mallows_mixture(size(20000), 12, n_components=3, phi=0.6, random_state=4)
    points = rng.standard_normal((size(10000), 2))

    def tested(kernel, n_jobs):
        result = mmd_test(ballots[: len(others)], others, kernel, n_permutations=1999, random_state=0, n_jobs=n_jobs)
        return np.append(result.null_distribution, result.statistic)

    def mixture(n_jobs):
        model = MallowsMixture(3, init=("peel", "kmeans", "random"), n_init=2, random_state=0, n_jobs=n_jobs)
        return np.column_stack([model.fit(mixed).centers_, model.weights_, model.dispersions_])

    def landmarks(refine, n_jobs):
        oracle = EuclideanOracle(noise="logistic")
        model = LandmarkOrdinalEmbedding(
            2, oracle=oracle, n_landmarks=20, landmarks="random", refine=refine, random_state=0, n_jobs=n_jobs
        )
        return model.fit_transform(points)

    n, m = len(ballots), len(few)
    yield (
        f"Gram matrix, exact, {n} rows",
        lambda n_jobs: PartialRankingKernel(n_jobs=n_jobs).fit_transform(ballots),
    )
    yield (
        f"Gram matrix, 20 samples, {m} rows",
        lambda n_jobs: PartialRankingKernel(random_state=0, n_jobs=n_jobs).fit_transform(few),
    )
    yield (
        f"distances, Cayley, {len(full)} rows",
        lambda n_jobs: pairwise_ranking_distances(full, metric="cayley", n_jobs=n_jobs),
    )
    yield f"mmd_test, 1999 permutations, {2 * len(others)} rows", lambda n_jobs: tested("mallows", n_jobs)
    yield (
        f"MallowsFeatures, 512, {10 * n} rows",
        lambda n_jobs: MallowsFeatures(random_state=0, n_jobs=n_jobs).fit_transform(np.repeat(ballots, 10, axis=0)),
    )
    yield f"MallowsMixture, 6 starts, {len(mixed)} rows", mixture
    yield f"landmarks, 20, {len(points)} items, no refinement", lambda n_jobs: landmarks(None, n_jobs)
    yield f"landmarks, 20, {len(points)} items, refined", lambda n_jobs: landmarks("mle", n_jobs)


def main(n_workers, scale):
    header = f"{'':<48}{'sent':>10}{'received':>11}{'result':>10}{'here':>9}{'there':>9}  same"
    print(f"{n_workers} workers of one thread; millions of bytes, seconds\n\n{header}")
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(__import__, "skrank.manifold")
        wire = Wire(cluster.scheduler_address)
        for name, run in work(scale):
            start = time.perf_counter()
            here = run(1)
            middle = time.perf_counter()
            wire.bytes.clear()
            with wire.counting(), parallel_config(backend="dask"):
                there = run(n_workers)
            end = time.perf_counter()
            sent, received, size = (n / 1e6 for n in (wire.bytes["sent"], wire.bytes["received"], here.nbytes))
            difference = np.abs(here - there).max()
            same = "exactly" if difference == 0 else f"to {difference:.0e}"
            print(
                f"{name:<48}{sent:>10.2f}{received:>11.2f}{size:>10.2f}{middle - start:>9.2f}{end - middle:>9.2f}"
                f"  {same}",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    main(arguments.workers, arguments.scale)
