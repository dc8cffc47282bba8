"""Variances of sampled kernel values, and the choice between antithetic pairs and independent draws."""

import numpy as np
import pytest
from scipy.stats import norm

from skrank._mallows import mirror
from skrank._rankings import densify
from skrank.kernels import HammingKernel, KendallKernel, MallowsKernel, MarginalizedKernel, PartialRankingKernel
from skrank.kernels._methods import better_pairing, distinct_pairs
from skrank.kernels._sampling import sample_consistent
from skrank.kernels._variance import entry_variances, pairing_variances, variance_components
from skrank.metrics import pairwise_ranking_distances

nan = np.nan
TOP = [[0, 1, 2, 2, 2], [2, 2, 1, 0, 2]]
GAPS = [[0, 1, nan, nan, 2], [nan, 1, 0, 1, nan]]


def test_components_of_a_layout_are_unbiased():
    # 4000 layouts with normal effects: each mean is within 5 standard errors, where 1e-5 of seeds would fail.
    rng = np.random.default_rng(0)
    rows, columns, interaction = 0.5, 2.0, 1.0
    shape = (4000, 3, 5)
    values = np.sqrt(rows) * rng.normal(size=(*shape[:2], 1)) + np.sqrt(columns) * rng.normal(size=(4000, 1, 5))
    values += np.sqrt(interaction) * rng.normal(size=shape) + 7
    for found, truth in zip(variance_components(values), (rows, columns, interaction), strict=True):
        assert abs(found.mean() - truth) < 5 * found.std() / np.sqrt(len(found))


@pytest.mark.parametrize("rows", [TOP, GAPS])
@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
@pytest.mark.parametrize("nu", [0.1, 1.0])
def test_standard_errors_are_the_standard_deviations_over_seeds(rows, method, nu):
    # 400 seeds: a standard deviation has a relative error of 4 % (more where it is heavy-tailed), the mean of the
    # estimated variances less. Five of them.
    X = np.array(rows, float)
    values, variances = [], []
    for seed in range(400):
        kernel = MarginalizedKernel(MallowsKernel(nu), method=method, n_draws=8, random_state=seed)
        values.append(kernel(X[:1], X[1:])[0, 0])
        drawn = kernel._prepare(densify(X))
        variances.append(entry_variances(MallowsKernel(nu), drawn[:1], drawn[1:], method == "antithetic")[0])
    assert np.mean(variances) == pytest.approx(np.var(values, ddof=1), rel=0.35)


def test_standard_errors_of_a_matrix_and_of_a_fit():
    X = np.array([*TOP, *GAPS, TOP[0]], float)
    kernel = MarginalizedKernel(MallowsKernel(0.3), n_draws=6)
    errors = kernel.standard_errors(X)
    assert errors.shape == (5, 5)
    assert np.isnan(errors[0, 4])  # equal rankings
    np.testing.assert_array_equal(np.isnan(errors), np.isnan(errors.T))
    np.testing.assert_allclose(errors, errors.T)
    assert np.nanmin(errors) >= 0
    np.testing.assert_allclose(kernel.standard_errors(X[:2], X[2:]), errors[:2, 2:])
    assert np.isnan(MarginalizedKernel(MallowsKernel(0.3), n_draws=3).standard_errors(X)).all()
    assert np.isnan(MarginalizedKernel(MallowsKernel(0.3), method="herding").standard_errors(X)).all()
    model = PartialRankingKernel(nu=0.3, n_draws=20, method="monte_carlo", random_state=0).fit(X)
    variances = MarginalizedKernel(MallowsKernel(0.3), method="monte_carlo", random_state=0).standard_errors(X) ** 2
    assert model.standard_error_ == pytest.approx(np.sqrt(np.nanmean(variances)), rel=0.5)
    assert model.set_params(n_draws=2000).fit(X).standard_error_ < 0.2 * np.sqrt(np.nanmean(variances))
    assert PartialRankingKernel("kendall").fit(X).standard_error_ == 0


def test_a_covariance_can_be_positive_where_items_are_missing(consistent_rankings):
    # Proposition 2 of Lomeli et al. is for top-k lists: here the variance of antithetic pairs is twice as large.
    ranks = densify(np.array([[0, 1, nan]]))
    support = consistent_rankings([0, 1, nan])
    images = mirror(np.repeat(ranks, len(support), axis=0), support)
    distances, of_images = (pairwise_ranking_distances(s, [[0, 2, 1]])[:, 0] for s in (support, images))
    assert np.cov(distances, of_images, bias=True)[0, 1] == pytest.approx(2 / 9)
    other = sample_consistent(densify(np.array([[0, 2, 1]])), 4000, 0)
    variances = pairing_variances(MallowsKernel(0.3), sample_consistent(ranks, 4000, 1), other, 20)
    assert variances[1] == pytest.approx(2 * variances[0], rel=0.1)
    pair = densify(np.array([[0, 1, nan], [0, 2, 1]]))
    assert better_pairing(MallowsKernel(0.3), pair, 20, 0) == "monte_carlo"


@pytest.mark.parametrize("seed", range(3))
def test_the_pairing_of_lower_variance_is_chosen(seed):
    rng = np.random.default_rng(seed)
    top = densify(rng.random((30, 10)).argsort(axis=1).argsort(axis=1).clip(max=4))
    for kernel in (MallowsKernel(0.05), KendallKernel()):
        assert better_pairing(kernel, top, 20, seed) == "antithetic"
    assert better_pairing(HammingKernel(), top, 20, seed) == "monte_carlo"
    assert PartialRankingKernel("semimetric_spearman", nu=0.005, random_state=seed).fit(top).method_ == "antithetic"
    assert PartialRankingKernel("semimetric_hamming", nu=0.2, random_state=seed).fit(top).method_ == "monte_carlo"


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic"])
def test_what_equal_rankings_share(method, consistent_rankings):
    kernel, ranks = MallowsKernel(0.3), densify(np.array([TOP[0]]))
    support = consistent_rankings(TOP[0])
    mean = kernel(support, support).mean()
    images = mirror(np.repeat(ranks, len(support), axis=0), support)
    with_image = np.mean([kernel([s], [t])[0, 0] for s, t in zip(support, images, strict=True)])
    bias = (1 - mean) / 4 if method == "monte_carlo" else (1 + with_image - 2 * mean) / 4
    values = [
        MarginalizedKernel(kernel, method=method, n_draws=4, random_state=seed).diag(TOP[:1])[0] for seed in range(400)
    ]
    assert abs(np.mean(values) - mean - bias) < norm.isf(1e-5) * np.std(values, ddof=1) / 20
    assert abs(np.mean(values) - mean) > 3 * np.std(values, ddof=1) / 20


def test_pairs_are_distinct():
    for n_rankings in (2, 5, 40):
        first, second = distinct_pairs(n_rankings, 20, np.random.default_rng(0))
        assert (first != second).all()
        assert len(first) == min(20, n_rankings * (n_rankings - 1) // 2)
    np.testing.assert_array_equal(distinct_pairs(1, 20, np.random.default_rng(0)), [[0], [0]])
