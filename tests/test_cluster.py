"""Everything blockwise gives on a cluster of processes what it gives here."""

import pickle

import numpy as np
import pytest
from joblib import parallel_config

from skrank import LandmarkOrdinalEmbedding, MallowsMixture, PartialRankingKernel
from skrank.datasets import make_mallows_mixture, make_rankings
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import KendallKernel, MallowsKernel
from skrank.manifold import EuclideanOracle
from skrank.metrics import pairwise_ranking_distances
from skrank.mixture._pair_signs import PairSigns
from skrank.stats import mmd_test

distributed = pytest.importorskip("distributed")

TIED = make_rankings(60, 7, top_k=3, random_state=0)
FULL = make_rankings(60, 7, random_state=1)
GAPS = np.where(np.random.default_rng(2).random(FULL.shape) < 0.3, np.nan, FULL)
MIXED, _ = make_mallows_mixture(100, 7, n_components=2, phi=0.5, random_state=3)
POINTS = np.random.default_rng(4).standard_normal((80, 2))


@pytest.fixture(scope="module")
def client():
    """The client of a cluster of two processes."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def n_executed(client):
    """Number of tasks that the workers have run so far."""
    return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


def gram(X, kernel, **parameters):
    return PartialRankingKernel(kernel, random_state=0, **parameters).fit_transform(X)


def new_rows(X, kernel):
    return PartialRankingKernel(kernel, n_draws=4, random_state=0).fit(X[:40]).transform(X[40:])


def permutations(X, Y):
    result = mmd_test(X, Y, n_permutations=600, random_state=0)
    return np.append(result.null_distribution, result.statistic)


def mixture(n_components, **parameters):
    model = MallowsMixture(n_components, n_init=2, max_components=2, random_state=0, **parameters)
    return np.column_stack([model.fit(MIXED).centers_, model.weights_, model.dispersions_])


def misfit():
    return np.array(MallowsMixture(1, random_state=0).fit(MIXED).goodness_of_fit(MIXED, n_draws=4))


def landmarks(**parameters):
    oracle = EuclideanOracle(noise="logistic")
    return LandmarkOrdinalEmbedding(2, oracle=oracle, random_state=0, **parameters).fit_transform(POINTS)


WORK = {
    "exact Gram matrix": lambda: gram(TIED, "mallows"),
    "exact Gram matrix, gaps": lambda: gram(GAPS, "kendall", output="distance"),
    "combined kernels": lambda: gram(TIED, MallowsKernel(0.2) + KendallKernel()),
    "sampled Gram matrix": lambda: gram(GAPS, "mallows", n_draws=4),
    "sampled Gram matrix, no table": lambda: gram(TIED[:20], "semimetric_spearman", n_draws=4),
    "exact kernel, new rows": lambda: new_rows(TIED, "mallows"),
    "sampled kernel, new rows": lambda: new_rows(GAPS, "mallows"),
    "distances": lambda: pairwise_ranking_distances(GAPS, TIED),
    "distances, no product": lambda: pairwise_ranking_distances(FULL, metric="cayley"),
    "permutations": lambda: permutations(TIED, TIED[:40]),
    "permutations, sampled kernel": lambda: permutations(GAPS[:30], GAPS[30:]),
    "features": lambda: MallowsFeatures(33, random_state=0).fit_transform(np.repeat(GAPS, 60, axis=0)),
    "starts of a mixture": lambda: mixture(2, init=("peel", "kmeans")),
    "starts of a growing mixture": lambda: mixture("auto", init="random"),
    "draws of the test of fit": misfit,
    "landmarks": lambda: landmarks(design="circulant"),
    "landmarks, independent pairs": lambda: landmarks(design="iid", refine=None),
}
# Products of fractions, whose sums depend in the last digit on the shape of the block.
ROUNDED = {"exact Gram matrix, gaps", "distances", "permutations"}


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::skrank.exceptions.ComponentLimitWarning")
@pytest.mark.parametrize("name", WORK)
def test_a_cluster_gives_the_same_result(client, name):
    here = WORK[name]()
    before = n_executed(client)
    with parallel_config(backend="dask"):
        there = WORK[name]()
    assert n_executed(client) > before
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-14 if name in ROUNDED else 0)


def test_an_error_of_a_worker_arrives(client):
    def unreachable(anchors, left, right):
        raise ConnectionError("nobody answers")

    model = LandmarkOrdinalEmbedding(2, oracle=unreachable, random_state=0)
    with parallel_config(backend="dask"), pytest.raises(ConnectionError, match="nobody answers"):
        model.fit(POINTS)


@pytest.mark.parametrize("ranks", [FULL, TIED])
def test_a_pickled_table_makes_its_signs_again(ranks):
    table = PairSigns(np.asarray(ranks, np.int8), np.arange(1.0, 61))
    pickled = pickle.dumps(table)
    again = pickle.loads(pickled)
    assert len(pickled) < table.signs().nbytes
    np.testing.assert_array_equal(again.pair_sums(table.weights[None]), table.pair_sums(table.weights[None]))
    np.testing.assert_array_equal(again.distances(ranks[:1]), table.distances(ranks[:1]))
