"""Clusters of rankings that random halves find again, against one cloud of the same kind."""

import numpy as np
import pytest
from scipy.cluster import hierarchy
from sklearn.metrics import adjusted_rand_score, jaccard_score

from skrank.cluster import cluster_stability
from skrank.cluster._stability import (
    drawn_rows,
    half_cuts,
    jaccard_of_halves,
    matched_halves,
    share_errors,
)
from skrank.cluster._tree import cut, kernel_tree
from skrank.datasets import make_mallows_mixture, make_rankings
from skrank.kernels import PartialRankingKernel
from skrank.mixture._em import one_component
from skrank.mixture._voters import make_table


def groups(n_samples=150, phi=0.15, **parameters):
    return make_mallows_mixture(n_samples, 6, 2, centers="reversed", phi=phi, random_state=0, **parameters)


def uniform(n_samples, n_items, seed):
    return np.argsort(np.random.default_rng(seed).random((n_samples, n_items)), axis=1)


# ---------------------------------------------------------------- parts against others' and by hand
@pytest.mark.parametrize("linkage", ["ward", "average", "complete", "single"])
def test_a_cut_is_that_of_scipy(linkage):
    points = np.random.default_rng(0).standard_normal((40, 3))  # no two distances are equal
    gram = points @ points.T
    tree = kernel_tree(gram, linkage, ordered=False)
    for n_clusters in (1, 2, 3, 7, 40):
        labels = cut(tree, n_clusters)
        assert adjusted_rand_score(labels, hierarchy.cut_tree(tree, n_clusters)[:, 0]) == 1
        assert (np.diff(np.bincount(labels)) <= 0).all()


def test_coefficients_are_those_of_sets():
    labels = np.array([0, 0, 0, 1, 1, 2])
    half = np.array([[1, 1, 0, 0, -1, -1]])
    # In the half are {0, 1, 2} and {3}; its clusters are {2, 3} and {0, 1}.
    np.testing.assert_allclose(jaccard_of_halves(labels, half), [[2 / 3, 1 / 2, np.nan]])
    members, found = np.array([1, 1, 1, 0]), np.array([1, 1, 0, 0])
    assert jaccard_of_halves(labels, half)[0, 0] == jaccard_score(members, found)
    np.testing.assert_array_equal(matched_halves(labels, half), [[0, 0, 1, 1, -1, -1]])


def test_share_errors_are_deviations_over_halves():
    halves = np.array([[0, 0, 0, 1, -1, -1], [-1, -1, 0, 1, 1, 1], [-1] * 6])
    np.testing.assert_allclose(share_errors(halves, 2), np.std([0.75, 0.25], ddof=1))


def test_halves_are_halves():
    gram = PartialRankingKernel("kendall").fit_transform(make_rankings(11, 5, random_state=0))
    halves = half_cuts(gram, [2, 7], "ward", 5, 0)
    assert halves.shape == (5, 2, 11)
    assert ((halves[:, 0] >= 0).sum(axis=1) == 6).all()
    assert (halves[:, 1] == -1).all()  # six rankings, seven clusters


def test_draws_have_the_ties_the_missing_items_and_the_repeats_of_the_rows():
    rows = make_table(np.array([[0, 1, 2, 3]]))[0]
    model, rng = one_component(rows), np.random.default_rng(0)
    patterns = np.array([[0, 0, 1, 1], [0, 1, -1, 2], [3, 2, 1, 0]])
    drawn = drawn_rows(patterns, model, rng)
    assert np.array_equal(np.sort(drawn[0]), [0, 0, 1, 1])
    assert drawn[1, 2] == -1
    repeated = np.repeat(uniform(10, 8, 0), 7, axis=0)
    counts = np.unique(drawn_rows(repeated, one_component(make_table(repeated)[0]), rng), axis=0, return_counts=True)[1]
    assert counts.tolist() == [7] * 10


# ---------------------------------------------------------------- the verdict
def test_groups_are_stable():
    X, y = groups()
    result = cluster_stability(X, n_null=19, random_state=0)
    assert result.is_stable
    assert adjusted_rand_score(result.labels, y) > 0.9
    assert result.stability.min() > 0.9
    assert (result.n_found == 30).all()
    assert result.pvalue == pytest.approx(0.05)
    assert [one.n_clusters for one in result.tried] == [2, 3, 4, 5, 6, 7, 8]
    assert str(result).endswith("p = 0.050\nstable")
    errors = np.sqrt(result.shares * (1 - result.shares) / 150)
    np.testing.assert_allclose(result.share_errors, errors, rtol=0.4)


def test_one_cloud_is_not():
    result = cluster_stability(make_rankings(150, 6, phi=0.8, random_state=0), random_state=0)
    assert not result.is_stable
    assert result.pvalue is None  # its least stability is low, so no draws were needed
    assert str(result).endswith("not stable")


@pytest.mark.parametrize(("n_samples", "n_copies"), [(16, 1), (24, 1), (12, 4)])
def test_uniform_rankings_are_hardly_ever_called_stable(n_samples, n_copies):
    called = looks = 0
    for seed in range(20):
        X = np.repeat(uniform(n_samples, 5, [n_samples, seed]), n_copies, axis=0)
        result = cluster_stability(X, (2, 3, 4), n_halves=15, n_null=19, random_state=seed)
        called += result.is_stable
        looks += max(one.least_stability for one in result.tried) >= 0.75
    assert looks >= 5  # which is why there is a comparison
    assert called <= 4  # 5 % of 20 is 1; five or more have a probability of .003


def test_rankings_that_order_nothing_have_no_cluster():
    X, _ = groups(60)
    result = cluster_stability(np.vstack([X, np.zeros((3, 6))]), 2, n_null=0, random_state=0)
    assert (result.labels[-3:] == -1).all()
    assert result.half_labels.shape == (30, 63)
    assert result.shares.sum() == pytest.approx(1)
    assert result.kernel_matrix.shape == (60, 60)


def test_it_is_seeded_and_workers_change_nothing():
    X = uniform(20, 5, 3)
    first, again, parallel = (
        cluster_stability(X, (2, 3), n_halves=5, n_null=4, random_state=0, n_jobs=n_jobs) for n_jobs in (None, None, 2)
    )
    for other in (again, parallel):
        np.testing.assert_array_equal(other.half_labels, first.half_labels)
        assert other.pvalue == first.pvalue


def test_too_few_rankings():
    with pytest.raises(ValueError, match="X has 2 distinct rankings that order two items or more, and n_clusters is 3"):
        cluster_stability([[0, 1], [1, 0], [0, 1]], 3)
    assert np.isnan(cluster_stability([[0, 1, 2], [1, 0, 2], [2, 1, 0]], 3, random_state=0).stability).all()
