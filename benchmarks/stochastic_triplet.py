"""Stochastic triplet embedding on recorded answers: time, optimum and error, against cblearn's on the same triplets.

    python benchmarks/stochastic_triplet.py            # 1000 items, 1.4 million answers
    python benchmarks/stochastic_triplet.py --large    # and 100000 items, 10 million answers, where cblearn cannot run

cblearn (pip install cblearn) is optional. Its embedding needs a matrix of all distances.
"""

import argparse
import resource
import time

import numpy as np

from skrank.datasets import make_triplets
from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import procrustes_error

try:
    from cblearn.embedding import STE
except ImportError:
    STE = None


def total_loss(embedding, triplets, block=1 << 20):
    """The loss in double precision, by neither library's code."""
    loss = 0.0
    for start in range(0, len(triplets), block):
        i, j, k = (embedding[items] for items in triplets[start : start + block].T)
        loss += np.logaddexp(0, ((i - j) ** 2).sum(axis=1) - ((i - k) ** 2).sum(axis=1)).sum()
    return loss


def timed(model, triplets):
    start = time.perf_counter()
    model.fit(triplets)
    return time.perf_counter() - start


def compare(n_items, n_triplets, n_components, repeats, peer, seed):
    triplets, X = make_triplets(
        n_items, n_triplets, n_components=n_components, noise="logistic", scale=1.0, random_state=seed
    )
    start = seed + 1000  # with the seed of the points, a random start would be the points themselves
    models = {
        "skrank, spectral start": StochasticTripletEmbedding(n_components, random_state=start),
        "skrank, random start": StochasticTripletEmbedding(n_components, init="random", random_state=start),
    }
    if peer:
        models["cblearn STE"] = STE(n_components, random_state=start)
    seconds = dict.fromkeys(models, np.inf)
    for _ in range(repeats):
        for name, model in models.items():
            seconds[name] = min(seconds[name], timed(model, triplets))
    print(f"\n{n_items} items, {n_triplets} answers, {n_components} components (best of {repeats})")
    print(f"{'':24}{'seconds':>9}{'ratio':>8}{'iterations':>12}{'loss':>16}{'Procrustes':>12}")
    fastest = seconds["skrank, spectral start"]
    losses = {name: total_loss(model.embedding_, triplets) for name, model in models.items()}
    for name, model in models.items():
        print(
            f"{name:24}{seconds[name]:9.2f}{seconds[name] / fastest:8.1f}{model.n_iter_:12d}{losses[name]:16.2f}"
            f"{procrustes_error(X, model.embedding_):12.5f}"
        )
    if peer:
        gap = losses["skrank, spectral start"] - losses["cblearn STE"]
        print(f"our loss minus cblearn's: {gap:+.2f}, relative {gap / losses['cblearn STE']:+.1e}")
    print(f"peak memory of the process so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--triplets", type=int, default=1_400_000)
    parser.add_argument("--components", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--large", action="store_true", help="also 100000 items and 10 million answers")
    arguments = parser.parse_args()
    if STE is None:
        print("cblearn is not installed: the comparison with it is skipped.")
    compare(
        arguments.items,
        arguments.triplets,
        arguments.components,
        arguments.repeats,
        STE is not None,
        arguments.seed,
    )
    if arguments.large:
        compare(100_000, 10_000_000, 2, 1, False, arguments.seed)


if __name__ == "__main__":
    main()
