"""MallowsFeatures: the law of the sets, the kernel they approximate, invariances, and the estimator's contract."""

import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import chisquare
from sklearn import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank._rankings import densify, pair_signs
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernel_approximation._parity import draw_pair_sets, odd_counts
from skrank.kernels import KendallKernel, MallowsKernel, MarginalizedKernel
from skrank.kernels._sampling import sample_consistent

nan = np.nan


@parametrize_with_checks(
    [
        MallowsFeatures(n_components=20, random_state=0),
        MallowsFeatures(n_components=20, nu=0.3, method="monte_carlo", dtype=np.float64, random_state=0),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The median distance")
        check(estimator)


def rankings(n_rankings, n_items, kind="full", seed=0):
    X = np.random.default_rng(seed).random((n_rankings, n_items)).argsort(axis=1).argsort(axis=1).astype(float)
    if kind == "ties":
        X = X.clip(max=n_items // 2)
    if kind == "gaps":
        X[X > n_items // 2] = nan
    return X


# ---------------------------------------------------------------- the sets of pairs
def test_sets_have_the_conditional_law():
    # Both goodness-of-fit tests fail with probability 1e-4 each if the law is right.
    nu, n_items, n_sets = 0.4, 4, 20_000
    sets, p_empty = draw_pair_sets(n_items, n_sets, nu, np.random.default_rng(0))
    p = (1 - np.exp(-nu)) / 2
    assert p_empty == pytest.approx((1 - p) ** 6)
    codes = (sets.toarray() @ (1 << np.arange(6))).astype(int)
    sizes = np.array([code.bit_count() for code in range(64)])
    law = p**sizes * (1 - p) ** (6 - sizes)
    law[0] = 0
    assert (codes > 0).all()
    expected = law[1:] / law.sum() * n_sets
    common = expected > 5
    observed = np.bincount(codes, minlength=64)[1:]
    pooled = np.append(observed[common], observed[~common].sum()), np.append(expected[common], expected[~common].sum())
    assert chisquare(*pooled).pvalue > 1e-4
    assert chisquare(sets.sum(axis=0)).pvalue > 1e-4


@pytest.mark.parametrize("nu", [1e-9, 1e-3, 5.0, 800.0])
def test_extreme_dispersions(nu):
    X = rankings(20, 6)
    Z = MallowsFeatures(64, nu=nu, random_state=0, dtype=np.float64).fit_transform(X)
    assert np.isfinite(Z).all()
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-12)
    if nu < 1e-8:
        np.testing.assert_allclose(Z @ Z.T, 1, atol=1e-6)


def test_sets_that_may_be_empty_need_no_constant():
    # Means over 20 000 products that are 1 or -1, at 5 standard errors: all three fail with probability below 1e-5.
    X = np.array([[0, 1, 2], [0, 2, 1], [2, 1, 0]])
    sets, p_left_out = draw_pair_sets(3, 20_000, 0.5, np.random.default_rng(0), empty=True)
    assert p_left_out == 0
    z = 1.0 - 2 * odd_counts(densify(X), sets, 1, 0, "antithetic")[0]
    assert abs(z.T @ z / 20_000 - MallowsKernel(0.5)(X)).max() < 5 / np.sqrt(20_000)
    alone = [MallowsFeatures(1, nu=0.5, random_state=seed).fit_transform(X) for seed in range(30)]
    assert {1, -1} == set(np.unique(alone))


def test_parities_are_products_of_signs():
    for kind, n_items in (("full", 6), ("ties", 7), ("gaps", 5), ("ties", 14)):
        ranks = densify(rankings(30, n_items, kind))
        sets, _ = draw_pair_sets(n_items, 40, 1.0, np.random.default_rng(1))
        odd, n_draws = odd_counts(ranks, sets, 6, 3, "antithetic")
        positions = sample_consistent(ranks, 6, 3).positions
        signs = pair_signs(positions.reshape(-1, n_items), dtype=float)
        products = np.stack([signs[:, members].prod(axis=1) for members in sets.toarray()])
        expected = products.reshape(40, 30, 6).mean(axis=2)
        assert n_draws == (1 if kind == "full" else 6)
        np.testing.assert_allclose(1 - 2 / n_draws * odd, expected, atol=1e-12)


# ---------------------------------------------------------------- the kernel
@pytest.mark.parametrize("kind", ["full", "ties"])
@pytest.mark.parametrize("nu", [0.05, 0.3])
def test_error_is_below_that_of_independent_bounded_features(kind, nu):
    # The root mean square over pairs, mean of 20 seeds: in expectation below sqrt((1 - p_empty)^2 / (D - 1)).
    X = rankings(60, 7, kind)
    upper = np.triu_indices(60, 1)
    exact = MallowsKernel(nu)(X)[upper]
    errors = []
    for seed in range(20):
        Z = MallowsFeatures(256, nu=nu, random_state=seed).fit_transform(X)
        errors.append(np.sqrt(np.mean(((Z @ Z.T)[upper] - exact) ** 2)))
    assert np.mean(errors) < 1 / np.sqrt(256)


@pytest.mark.parametrize("kind", ["full", "ties", "gaps"])
def test_unbiased_for_distinct_rankings(kind, consistent_rankings):
    # 15 two-sided tests over 300 seeds at 4.8 standard errors: a failure by chance has probability below 1e-4.
    X = np.unique(rankings(6, 5, kind), axis=0)
    support = [consistent_rankings(row) for row in X]
    kernel = MallowsKernel(0.3)
    truth = np.array([[kernel(a, b).mean() for b in support] for a in support])
    values = []
    for seed in range(300):
        Z = MallowsFeatures(16, nu=0.3, n_draws=4, dtype=np.float64, random_state=seed).fit_transform(X)
        values.append(Z @ Z.T)
    off_diagonal = ~np.eye(len(X), dtype=bool)
    allowed = 4.8 * np.std(values, axis=0, ddof=1) / np.sqrt(300)
    assert (abs(np.mean(values, axis=0) - truth) < allowed + 1e-12)[off_diagonal].all()


def test_features_of_the_sampled_kernel():
    # With many sets of pairs the features' inner products are those of the kernel of the same samples.
    X = rankings(8, 5, "gaps")
    features = MallowsFeatures(20_000, nu=0.2, n_draws=6, dtype=np.float64, random_state=0).fit(X)
    Z = features.transform(X)
    sampled = MarginalizedKernel(MallowsKernel(0.2), n_draws=6, random_state=features._seed)(X)
    assert abs(Z @ Z.T - sampled).max() < 6 / np.sqrt(20_000)


def test_nu_from_the_median():
    X = rankings(50, 6, "ties")
    assert MallowsFeatures(8, random_state=0).fit(X).nu_ == pytest.approx(1 / np.median(_expected_distances(X)))
    with pytest.warns(UserWarning, match="median distance"):
        assert MallowsFeatures(8).fit(np.tile([1, 2, 3], (4, 1))).nu_ == 1.0
    large = rankings(5000, 6)
    estimate = MallowsFeatures(8, random_state=1).fit(large).nu_
    assert estimate == pytest.approx(1 / np.median(_expected_distances(large)), rel=0.15)


def _expected_distances(X):
    signs = pair_signs(densify(X), dtype=float)
    return ((signs.shape[1] - signs @ signs.T) / 2)[np.triu_indices(len(X), 1)]


# ---------------------------------------------------------------- the estimator
@pytest.mark.parametrize("kind", ["full", "ties", "gaps"])
def test_features_depend_on_the_ranking_alone(kind):
    X = rankings(700, 8, kind)
    model = MallowsFeatures(33, nu=0.1, random_state=4)
    Z = model.fit_transform(X)
    assert Z.dtype == np.float32
    assert Z.flags.c_contiguous
    np.testing.assert_array_equal(model.transform(X), Z)
    np.testing.assert_array_equal(model.transform(X[600:]), Z[600:])
    np.testing.assert_array_equal(model.transform(X[3:4]), Z[3:4])
    np.testing.assert_array_equal(model.transform((2 * X).astype(np.float32)), Z)
    np.testing.assert_array_equal(clone(model).set_params(n_jobs=2).fit_transform(X), Z)
    double = clone(model).set_params(dtype=np.float64).fit_transform(X)
    assert double.dtype == np.float64
    np.testing.assert_allclose(Z, double, atol=1e-6)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), Z)


def test_a_full_ranking_has_the_same_features_beside_partial_ones():
    X = rankings(20, 6)
    model = MallowsFeatures(64, nu=0.1, random_state=0).fit(X)
    beside = model.transform(np.vstack([X, np.full((1, 6), nan)]))[:-1]
    np.testing.assert_allclose(beside, model.transform(X), atol=1e-7)


def test_memory_is_bounded():
    X = rankings(40_000, 10, "ties").astype(np.int8)
    model = MallowsFeatures(64, nu=0.05, random_state=0).fit(X[:100])
    tracemalloc.start()
    Z = model.transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < Z.nbytes + 40 * 2**20


def test_a_linear_model_learns():
    X = rankings(2000, 8, "ties")
    y = X[:, 0] < X[:, 1]
    known = X[:, 0] != X[:, 1]
    model = make_pipeline(MallowsFeatures(256, nu=0.1, random_state=0), SGDClassifier(random_state=0))
    assert model.fit(X[:1000], y[:1000]).score(X[1000:][known[1000:]], y[1000:][known[1000:]]) > 0.9


@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame])
def test_data_frames(container):
    X = rankings(10, 3, "gaps")
    frame = container(dict(zip(["ale", "bock", "cider"], X.T, strict=True)))
    model = MallowsFeatures(8, nu=0.1, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.transform(frame), MallowsFeatures(8, nu=0.1, random_state=0).fit_transform(X))
    assert model.get_feature_names_out().tolist() == [f"mallowsfeatures{d}" for d in range(8)]


@pytest.mark.parametrize("X", [[[1, 2, 3]], [[1], [2]], [[1, 1, 1], [2, 2, 2]], [[nan, nan], [nan, nan]]])
def test_smallest_shapes(X):
    Z = MallowsFeatures(4, nu=0.5, random_state=0).fit_transform(np.array(X, float))
    assert Z.shape == (len(X), 4)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize(
    "parameters", [{"n_components": 0}, {"nu": 0}, {"n_draws": 0}, {"method": "herding"}, {"dtype": np.int8}]
)
def test_bad_parameters(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        MallowsFeatures(**parameters).fit([[1, 2, 3], [3, 2, 1]])


# ---------------------------------------------------------------- the alternative
def test_nystroem_takes_our_kernels():
    X = rankings(60, 6, "ties")
    kernel = MallowsKernel(0.1)
    Z = Nystroem(kernel=kernel, n_components=60, random_state=0).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, kernel(X), atol=1e-8)
    gaps = np.nan_to_num(rankings(60, 6, "gaps"), nan=-1)
    kernel = KendallKernel(missing_values=-1)
    Z = Nystroem(kernel=kernel, n_components=60, random_state=0).fit_transform(gaps)
    np.testing.assert_allclose(Z @ Z.T, kernel(gaps), atol=1e-8)
