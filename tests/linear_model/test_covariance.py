import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit

from skrank.linear_model import BradleyTerry
from skrank.linear_model._covariance import (
    Contributions,
    FactoredMeat,
    centered_inverse,
    covariance_column,
    degrees_of_freedom,
    gram,
    jackknife_factor,
    sampled_variances,
    sandwich,
)
from skrank.linear_model._rank_ranges import rank_ranges

N_ITEMS = 7


def votes(seed, n=400, n_judges=15):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, N_ITEMS, n)
    pairs = np.column_stack([first, (first + rng.integers(1, N_ITEMS, n)) % N_ITEMS])
    scores = np.linspace(-1, 1, N_ITEMS)
    y = np.where(rng.random(n) < 0.25, 0.5, rng.random(n) < expit(scores[pairs[:, 0]] - scores[pairs[:, 1]]))
    return pairs, y, rng.integers(1, 4, n), rng.integers(0, n_judges, n)


def brute_force_jackknife(model, pairs, y, weight, cluster):
    """(G - 1) / G C sum (H - H_g)^-1 s_g s_g' (H - H_g)^-1 C + C H^-1 alpha H^-1 C, with dense matrices."""
    design = np.eye(N_ITEMS)[pairs[:, 0]] - np.eye(N_ITEMS)[pairs[:, 1]]
    p = expit(design @ model.scores_)
    scores = design * (weight * (y - p))[:, None]
    information = model.information_.toarray()
    centering = np.eye(N_ITEMS) - 1 / N_ITEMS
    total = np.zeros((N_ITEMS, N_ITEMS))
    labels = np.unique(cluster)
    for label in labels:
        of = cluster == label
        own = (design[of] * (weight * p * (1 - p))[of, None]).T @ design[of]
        effect = np.linalg.solve(information - own, scores[of].sum(axis=0))
        total += np.outer(effect, effect)
    prior = model.alpha * np.linalg.matrix_power(np.linalg.inv(information), 2)
    return centering @ (total * (len(labels) - 1) / len(labels) + prior) @ centering, prior


def test_clustered_covariance_equals_the_formula():
    pairs, y, weight, judge = votes(0)
    model = BradleyTerry(tol=1e-8).fit(pairs, y, sample_weight=weight, groups=judge)
    expected, _ = brute_force_jackknife(model, pairs, y, weight, judge)
    np.testing.assert_allclose(model.covariance(), expected, atol=1e-8)
    assert model.errors_ == "clustered"
    sizes = np.bincount(judge, weight)
    assert model.degrees_of_freedom_ == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum() - 1)


def test_two_ways_are_added_less_their_combinations():
    pairs, y, weight, judge = votes(1)
    prompt = np.random.default_rng(5).integers(0, 25, len(y))
    model = BradleyTerry(tol=1e-8).fit(pairs, y, sample_weight=weight, groups=np.column_stack([judge, prompt]))
    ways = [brute_force_jackknife(model, pairs, y, weight, way) for way in (judge, prompt, 100 * judge + prompt)]
    centering = np.eye(N_ITEMS) - 1 / N_ITEMS
    expected = ways[0][0] + ways[1][0] - ways[2][0]  # the prior is in it once
    values, vectors = np.linalg.eigh(expected)
    np.testing.assert_allclose(model.covariance(), (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-8)
    np.testing.assert_allclose(centering @ model.covariance(), model.covariance(), atol=1e-12)


def test_each_row_as_a_cluster_does_not_depend_on_the_unit_of_weights():
    pairs, y, weight, _ = votes(2)
    rows = np.arange(len(y))
    one = BradleyTerry(alpha=0, tol=1e-8).fit(pairs, y, sample_weight=weight, groups=rows)
    other = BradleyTerry(alpha=0, tol=1e-8).fit(pairs, y, sample_weight=1e-3 * weight, groups=rows)
    np.testing.assert_allclose(one.covariance(), other.covariance(), atol=1e-7)


def test_batches_of_clusters_of_all_sizes():
    rng = np.random.default_rng(3)
    n_parameters, n_clusters = 12, 60
    sizes = rng.integers(1, 9, n_clusters)
    cluster = np.repeat(np.arange(n_clusters), sizes)
    index = np.array([rng.choice(n_parameters, 3, replace=False) for _ in cluster])
    factor = rng.normal(size=(len(cluster), 3, 3)) / 5
    terms = Contributions(cluster, index, rng.normal(size=(len(cluster), 3)), factor @ factor.transpose(0, 2, 1))
    total = np.eye(n_parameters)
    full = np.zeros((n_clusters, n_parameters, n_parameters))
    gradient = np.zeros((n_clusters, n_parameters))
    for one, places, slope, matrix in zip(*terms, strict=True):
        gradient[one, places] += slope
        full[one][np.ix_(places, places)] += matrix
    inverse = np.linalg.inv(total + full.sum(axis=0))
    vectors = [np.linalg.solve(np.eye(n_parameters) - own @ inverse, s) for own, s in zip(full, gradient, strict=True)]
    expected = sum(np.outer(v, v) for v in vectors) * (n_clusters - 1) / n_clusters
    factor = jackknife_factor([terms], n_clusters, inverse)
    np.testing.assert_allclose((factor.T @ factor).toarray(), expected, atol=1e-7)
    np.testing.assert_allclose(gram(factor).toarray(), expected, atol=1e-7)
    factored = FactoredMeat(csr_array(np.eye(n_parameters)), [(2, factor), (-1, factor)])
    np.testing.assert_allclose(factored @ np.ones(n_parameters), 1 + expected.sum(axis=1), atol=1e-7)
    np.testing.assert_allclose(factored.diagonal(), 1 + expected.diagonal(), atol=1e-7)


def test_what_only_one_group_tells_of_has_a_large_error():
    pairs, y, _, judge = votes(4)
    pairs = np.vstack([pairs, [[0, 99], [99, 1], [99, 2]] * 20])
    y, judge = np.append(y, np.tile([1, 0, 1], 20)), np.append(judge, np.full(60, 77))
    model = BradleyTerry(alpha=1e-6).fit(pairs, y, groups=judge)
    assert model.contrast(0, 1).standard_error < 1
    assert model.contrast(0, 99).standard_error > 100


def test_an_item_with_ties_only_is_not_certain():
    pairs, y, _, _ = votes(6)
    pairs, y = np.vstack([pairs, [[0, 99], [99, 1], [99, 2], [3, 99]]]), np.append(y, np.full(4, 0.5))
    robust = BradleyTerry().fit(pairs, y)
    assert robust.errors_ == "robust"
    model = np.sqrt(centered_inverse(robust.information_, 0.1, np.zeros(N_ITEMS + 1, int))[-1, -1])
    assert 0.4 * model < robust.standard_errors()[-1] < model


def test_robust_errors_of_ties_are_smaller_and_equal_the_model_without_ties():
    pairs, y, weight, _ = votes(7)
    tied = BradleyTerry().fit(pairs, y, sample_weight=weight)
    model = np.sqrt(centered_inverse(tied.information_, 0.1, np.zeros(N_ITEMS, int)).diagonal())
    assert 0.8 < np.mean(tied.standard_errors() / model) < 0.95  # a quarter are ties: sqrt(0.75) = 0.87
    assert BradleyTerry().fit(pairs, y > 0.6).errors_ == "model"
    shares = BradleyTerry().fit(pairs, np.where(y == 0.5, 0.4, y), sample_weight=weight)
    assert shares.errors_ == "model"  # shares of several comparisons, of which nobody says that they are ties


@pytest.mark.parametrize("kind", ["robust", "clustered"])
def test_sampled_variances_are_near_the_exact_ones(kind):
    rng = np.random.default_rng(8)
    n_items, n = 150, 6000
    first = rng.integers(0, n_items, n)
    pairs = np.column_stack([first, (first + rng.integers(1, n_items, n)) % n_items])
    groups = rng.integers(0, 80, n) if kind == "clustered" else None
    y = rng.choice([0, 0.5, 1], n)
    model = BradleyTerry(items=range(n_items)).fit(pairs, y, groups=groups)
    meat = model._meat(1 / model.information_.diagonal())
    component = np.zeros(n_items, int)
    sampled = sampled_variances(model.information_, meat, component, 50, np.random.RandomState(0))
    exact = model.covariance()
    ratio = np.sqrt(sampled / exact.diagonal())
    assert abs(ratio.mean() - 1) < 0.01
    assert ratio.std() < 0.04
    column = covariance_column(model.information_, meat, component, 3)
    np.testing.assert_allclose(column, exact[3], atol=0.02 * exact[3, 3])


def test_sandwich_has_no_negative_eigenvalue():
    covariance = sandwich(np.eye(3), csr_array(np.diag([2.0, -1.0, 1.0])))
    np.testing.assert_allclose(covariance, np.diag([2, 0, 1]))


def test_degrees_of_freedom():
    assert degrees_of_freedom(np.repeat(np.arange(8), 5), np.ones(40)) == pytest.approx(7)
    assert degrees_of_freedom(np.array([0, 1, 1]), np.array([1.0, 1, 2])) == pytest.approx(16 / 10 - 1)


# ---------------------------------------------------------------- ranks
def test_rank_ranges_of_independent_scores():
    scores, covariance = np.array([3.0, 0, 2.9, -5]), 0.01 * np.eye(4)
    ranges = rank_ranges(scores, covariance, np.zeros(4, int), 0.95, np.inf, False, np.random.default_rng(0))
    np.testing.assert_array_equal(ranges, [[1, 2], [3, 3], [1, 2], [4, 4]])
    apart = rank_ranges(scores, covariance, np.array([0, 0, 1, 1]), 0.95, np.inf, False, np.random.default_rng(0))
    np.testing.assert_array_equal(apart, [[1, 3], [2, 4], [1, 3], [2, 4]])


def test_equal_scores_are_told_apart_at_the_stated_rate():
    rng = np.random.default_rng(1)
    n_items = 8
    factor = rng.normal(size=(n_items, n_items))
    covariance = factor @ factor.T
    any_, of_one = 0, 0
    for _ in range(400):
        scores = factor @ rng.standard_normal(n_items)
        for simultaneous in (False, True):
            ranges = rank_ranges(scores, covariance, np.zeros(n_items, int), 0.9, np.inf, simultaneous, rng)
            told = (ranges != [1, n_items]).any(axis=1)
            if simultaneous:
                any_ += told.any()
            else:
                of_one += told[0]
    # 40 expected of both, with a standard deviation of 6
    assert 18 < any_ < 62
    assert 18 < of_one < 62


def test_marginal_ranges_are_within_simultaneous_ones():
    pairs, y, _, judge = votes(9, n=2000)
    model = BradleyTerry().fit(pairs, y, groups=judge)
    marginal, simultaneous = model.rank_ranges(), model.rank_ranges(simultaneous=True)
    assert (simultaneous[:, 0] <= marginal[:, 0]).all()
    assert (marginal[:, 1] <= simultaneous[:, 1]).all()
    assert (simultaneous != marginal).any()
    np.testing.assert_array_equal(marginal, model.rank_ranges())
