"""Kernel objects: hyperparameters and gradients, definiteness, shapes, and what scikit-learn does with them."""

import pickle
import tracemalloc
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.linalg import expm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.svm import SVC

from skrank._rankings import densify
from skrank.kernels import (
    DiffusionKernel,
    DistanceInducedKernel,
    HammingKernel,
    KendallKernel,
    MallowsKernel,
    SemimetricKernel,
    SpearmanKernel,
)
from skrank.metrics import pairwise_ranking_distances

NAN = np.nan
KERNELS = [
    KendallKernel(),
    MallowsKernel(nu=0.3),
    HammingKernel(),
    SpearmanKernel(),
    SemimetricKernel("kendall", nu=0.2),
    SemimetricKernel("kemeny", nu=0.2),
    SemimetricKernel("spearman_footrule", nu=0.2),
    SemimetricKernel("spearman", nu=0.02),
    SemimetricKernel("hamming", nu=0.5),
    SemimetricKernel("lp", nu=0.5, p=1.5),
    DiffusionKernel(beta=0.4),
    DiffusionKernel(beta=0.2, graph="transposition"),
    DistanceInducedKernel(),
    DistanceInducedKernel("hamming", center=[2, 1, 4, 3, 5]),
]
WITH_HYPERPARAMETERS = [kernel for kernel in KERNELS if kernel.n_dims]
ids = repr


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).permuted(np.tile(np.arange(1, 6), (14, 1)), axis=1)


# ---------------------------------------------------------------- scikit-learn's interface
@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_interface(kernel, X):
    gram = kernel(X)
    assert gram.dtype == np.float64
    assert gram.shape == (14, 14)
    assert (gram == gram.T).all()
    np.testing.assert_allclose(kernel(X, X[:3]), gram[:, :3], atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), np.diag(gram), atol=1e-14)
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel)), kernel.clone_with_theta(kernel.theta)):
        np.testing.assert_allclose(copy(X), gram, rtol=1e-12)
        assert copy.get_params().keys() == kernel.get_params().keys()
    assert clone(kernel) == kernel
    assert repr(kernel).startswith(type(kernel).__name__ + "(")
    assert kernel.bounds.shape == ((kernel.n_dims, 2) if kernel.n_dims else (0,))
    values, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(values, gram, atol=1e-14)
    assert gradient.shape == (14, 14, kernel.n_dims)


@pytest.mark.parametrize("kernel", KERNELS, ids=ids)
def test_positive_semi_definite_on_all_full_rankings(kernel):
    everything = np.array(list(permutations(range(5))))
    eigenvalues = np.linalg.eigvalsh(kernel(everything))
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


@pytest.mark.parametrize(
    "kernel",
    [KendallKernel(), MallowsKernel(), HammingKernel(), SpearmanKernel(), SemimetricKernel("kemeny", nu=0.3)],
    ids=ids,
)
def test_positive_semi_definite_on_partial_rankings(kernel):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 5, (150, 6)).astype(float)
    if "missing" in kernel.exact_on:
        X[rng.random(X.shape) < 0.3] = NAN
    eigenvalues = np.linalg.eigvalsh(kernel(X))
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


def finite_difference(kernel, X, step=1e-5):
    theta = kernel.theta
    gradients = []
    for direction in np.eye(len(theta)) * step:
        upper, lower = kernel.clone_with_theta(theta + direction)(X), kernel.clone_with_theta(theta - direction)(X)
        gradients.append((upper - lower) / (2 * step))
    return np.stack(gradients, axis=-1)


@pytest.mark.parametrize("kernel", WITH_HYPERPARAMETERS, ids=ids)
@pytest.mark.parametrize("factor", [0.05, 1, 8])
def test_gradient_is_that_of_finite_differences(kernel, factor, X):
    scaled = kernel.clone_with_theta(kernel.theta + np.log(factor))
    _, gradient = scaled(X, eval_gradient=True)
    np.testing.assert_allclose(gradient, finite_difference(scaled, X), atol=1e-8)


def test_kemeny_sees_which_pairs_are_left_open():
    X = np.array([[1, 2, 2, NAN], [1, 2, 2, NAN], [1, 2, 3, 3], [1, NAN, NAN, NAN]])
    kernel = SemimetricKernel("kemeny", nu=0.5)
    gram, gradient = kernel(X, eval_gradient=True)
    # Pairs that one of two rankings orders: rows 0 and 2 differ in (1, 2), (0, 3), (1, 3) and (2, 3), of which the
    # last is left open by both.
    distances = [[0, 0, 1.5, 1], [0, 0, 1.5, 1], [1.5, 1.5, 0, 2.5], [1, 1, 2.5, 0]]
    np.testing.assert_allclose(gram, np.exp(-0.5 * np.array(distances)), rtol=1e-14)
    np.testing.assert_allclose(gradient, finite_difference(kernel, X), atol=1e-8)
    assert (kernel.diag(X) == 1).all()
    # A number that stands for missing, for callers that refuse NaN.
    marked = SemimetricKernel("kemeny", nu=0.5, missing_values=-1)
    np.testing.assert_allclose(marked(np.nan_to_num(X, nan=-1)), gram, rtol=1e-14)


@pytest.mark.parametrize("nu", [1e-3, 0.1, 2.0])
def test_gradient_of_mallows_over_ties(nu):
    rng = np.random.default_rng(2)
    X = rng.integers(0, rng.integers(1, 12, (20, 1)), (20, 12))
    kernel = MallowsKernel(nu=nu)
    gram, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(gram, kernel(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, finite_difference(kernel, X), atol=1e-8)


def test_gradient_of_combined_kernels(X):
    kernel = ConstantKernel(2.0) * MallowsKernel(nu=0.2) + SemimetricKernel("spearman", nu=0.03) ** 2 * KendallKernel()
    assert kernel.n_dims == 3
    _, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(gradient, finite_difference(kernel, X), atol=1e-7)
    expected = 2 * MallowsKernel(nu=0.2)(X) + SemimetricKernel("spearman", nu=0.03)(X) ** 2 * KendallKernel()(X)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-13)
    assert clone(kernel) == kernel


def test_fixed_hyperparameters_are_not_differentiated(X):
    for kernel in (
        MallowsKernel(nu_bounds="fixed"),
        SemimetricKernel(nu_bounds="fixed"),
        DiffusionKernel(beta_bounds="fixed"),
    ):
        assert kernel.n_dims == 0
        assert kernel(X, eval_gradient=True)[1].shape == (14, 14, 0)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel._metric], ids=ids)
def test_values_from_distances(kernel, X):
    distances = pairwise_ranking_distances(X, metric=kernel._metric, **kernel._metric_params)
    values, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(kernel._of_distance(distances, 5), values, atol=1e-14)
    np.testing.assert_allclose(kernel._of_distance_gradient(distances, 5), gradient, atol=1e-14)


# ---------------------------------------------------------------- shapes
@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=ids)
def test_one_ranking_one_item_and_repeats(kernel):
    assert kernel([[2, 1, 3]]).shape == (1, 1)
    assert np.isfinite(kernel([[2, 1, 3]])).all()
    one_item = kernel([[5], [7]])
    expected = {HammingKernel: 1, KendallKernel: 0, SpearmanKernel: 0, DistanceInducedKernel: 0}.get(type(kernel), 1)
    assert (one_item == expected).all()
    repeated = kernel(np.array([[1, 2, 3], [3, 2, 1]])[[0, 1, 1, 0, 0, 0]])
    assert (repeated == kernel([[1, 2, 3], [3, 2, 1]])[np.ix_([0, 1, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0])]).all()


@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=ids)
def test_number_types_and_data_frames(kernel):
    X = [[1, 2, 3, 4], [4, 1, 3, 2], [2, 1, 4, 3]]
    expected = kernel(X)
    for form in (
        np.array(X, np.float32),
        np.array(X, np.int8),
        np.array(X) * 1e9,
        pd.DataFrame(X),
        pl.DataFrame(X, orient="row"),
    ):
        assert (kernel(form) == expected).all()
        assert (kernel(form, X) == kernel(X, X)).all()


def test_rankings_that_say_nothing():
    tied, missing = [[1, 1, 1]], [[NAN, NAN, NAN]]
    for X in (tied, missing):
        assert KendallKernel()(X) == 0
        assert SpearmanKernel()(X) == 0
        np.testing.assert_allclose(HammingKernel()(X), 1)
    q = np.exp(-0.1)
    np.testing.assert_allclose(MallowsKernel(nu=0.1)(tied), (1 + q) * (1 + q + q**2) / 6)


# ---------------------------------------------------------------- errors
@pytest.mark.parametrize("kernel", KERNELS[:-1], ids=ids)
def test_no_closed_form_names_the_row(kernel):
    name = type(kernel).__name__
    if "ties" not in kernel.exact_on:
        with pytest.raises(ValueError, match=rf"Row 1 of X ties items.*MarginalizedKernel\({name}"):
            kernel([[1, 2, 3], [1, 1, 2]])
    if "missing" not in kernel.exact_on:
        with pytest.raises(ValueError, match=rf"Row 2 of X has missing items.*MarginalizedKernel\({name}"):
            kernel([[1, 2, 3], [2, 1, 3], [1, NAN, 2]])


@pytest.mark.parametrize("kernel_class", [SemimetricKernel, DistanceInducedKernel])
@pytest.mark.parametrize(("metric", "p"), [("cayley", 2), ("chebyshev", 2), ("lp", 3)])
def test_metrics_that_are_not_of_negative_type(kernel_class, metric, p):
    everything = np.array(list(permutations(range(4))))
    with pytest.raises(ValueError, match=f"metric='{metric}'.*not of negative type.*allow_indefinite=True"):
        kernel_class(metric, p=p)(everything)
    gram = kernel_class(metric, p=p, allow_indefinite=True)(everything)
    assert np.isfinite(gram).all()


def test_the_cayley_distance_makes_no_kernel():
    everything = np.array(list(permutations(range(3))))
    gram = SemimetricKernel("cayley", nu=0.3, allow_indefinite=True)(everything)
    np.testing.assert_allclose(np.linalg.eigvalsh(gram)[0], -0.125, atol=5e-4)


@pytest.mark.parametrize("nu", [0, -1, np.inf, NAN, "median"])
def test_bad_nu(nu):
    for kernel in (MallowsKernel(nu=nu), SemimetricKernel(nu=nu)):
        with pytest.raises(ValueError, match="nu of .*Kernel must be a positive finite number"):
            kernel([[1, 2]])


def test_other_bad_parameters(X):
    with pytest.raises(ValueError, match="'mallows' is a kernel"):
        SemimetricKernel("mallows")(X)
    with pytest.raises(ValueError, match="graph of DiffusionKernel must be one of"):
        DiffusionKernel(graph="star")(X)
    with pytest.raises(ValueError, match="beta of DiffusionKernel must be a positive"):
        DiffusionKernel(beta=0)(X)
    with pytest.raises(ValueError, match="X ranks 9 items, but DiffusionKernel is computed for up to 8"):
        DiffusionKernel()([range(9)])
    with pytest.raises(ValueError, match="center ranks 3 items, but the rankings have 5"):
        DistanceInducedKernel(center=[1, 2, 3])(X)
    with pytest.raises(ValueError, match="Row 0 of center ties items"):
        DistanceInducedKernel(center=[1, 1, 2, 3, 4])(X)


def test_a_number_for_missing():
    X = [[1, 2, 3, -1], [-1, 1, -1, 2], [4, 3, 2, 1]]
    Y = np.where(np.array(X) == -1, NAN, X)
    for kernel in (KendallKernel(-1), HammingKernel(-1), SpearmanKernel(-1)):
        assert (kernel(X) == type(kernel)()(Y)).all()
        assert (kernel(X) == kernel(Y)).all()
    with pytest.raises(ValueError, match="Row 0 of X has missing items"):
        MallowsKernel(missing_values=-1)(X)


# ---------------------------------------------------------------- diffusion
@pytest.mark.parametrize("graph", ["adjacent", "transposition"])
@pytest.mark.parametrize("beta", [0.01, 0.7, 20.0])
def test_diffusion_is_the_heat_kernel_of_the_graph(graph, beta):
    nodes = np.array(list(permutations(range(4))))
    metric, n_neighbors = ("kendall", 3) if graph == "adjacent" else ("cayley", 6)
    adjacency = pairwise_ranking_distances(nodes, metric=metric) == 1
    assert (adjacency.sum(axis=1) == n_neighbors).all()
    expected = expm(beta * (adjacency - n_neighbors * np.eye(len(nodes))))
    kernel = DiffusionKernel(beta=beta, graph=graph)
    np.testing.assert_allclose(kernel(nodes), expected, atol=1e-14)
    np.testing.assert_allclose(kernel(nodes[5:], nodes[:9]), expected[5:, :9], atol=1e-14)
    np.testing.assert_allclose(kernel(nodes).sum(axis=0), 1, rtol=1e-12)


def test_diffusion_at_its_largest_size():
    rng = np.random.default_rng(3)
    X = rng.permuted(np.tile(np.arange(8), (30, 1)), axis=1)
    gram = DiffusionKernel(beta=0.5)(X)
    assert np.linalg.eigvalsh(gram)[0] > 0
    # Heat is the same at the same cycle type of s t^-1 when any two items may swap.
    by_transpositions = DiffusionKernel(beta=0.5, graph="transposition")
    relabeled = X[:, rng.permutation(8)]
    np.testing.assert_allclose(by_transpositions(X), by_transpositions(relabeled), rtol=1e-12)
    np.testing.assert_allclose(by_transpositions(X), by_transpositions(rng.permutation(8)[X]), rtol=1e-12)


# ---------------------------------------------------------------- memory
@pytest.mark.parametrize(
    ("kernel", "n_samples", "n_items", "top"),
    [
        (MallowsKernel(nu=1e-3), 300, 100, 10),
        (MallowsKernel(nu=1e-5), 80, 300, 300),
        (KendallKernel(), 300, 100, 10),
        (HammingKernel(), 800, 60, 10),
    ],
    ids=ids,
)
def test_memory_is_bounded_by_working_memory(kernel, n_samples, n_items, top):
    rng = np.random.default_rng(4)
    X = np.minimum(rng.permuted(np.tile(np.arange(n_items), (n_samples, 1)), axis=1), top)
    expected = kernel(X)
    ranks = densify(X)
    megabyte = 2**20
    pair_lists = 3 * 8 * n_items * (n_items - 1) // 2
    with sklearn.config_context(working_memory=2):
        tracemalloc.start()
        gram = kernel._pairwise(ranks)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    np.testing.assert_allclose(gram, expected, rtol=1e-10, atol=1e-300)
    assert n_samples * n_items**2 * 4 > 8 * megabyte
    # A fixed few megabytes for tiles, look-up tables and blocks of features, besides the result and the list of pairs.
    assert peak < gram.nbytes + pair_lists + 2 * megabyte + 6 * megabyte


# ---------------------------------------------------------------- learning
@pytest.fixture(scope="module")
def two_centers():
    """Top-4 lists of 6 items near one of two opposite centers, and which."""
    rng = np.random.default_rng(5)
    y = np.arange(80) % 2
    scores = np.where(y[:, None] == 1, np.arange(6), np.arange(6)[::-1]) + rng.normal(0, 1.5, (80, 6))
    return np.minimum(np.argsort(np.argsort(scores, axis=1), axis=1), 4), y


def test_support_vector_machine(two_centers):
    X, y = two_centers
    for kernel in (MallowsKernel(nu=0.2), KendallKernel(), SpearmanKernel()):
        model = SVC(kernel="precomputed").fit(kernel(X[:50]), y[:50])
        assert model.score(kernel(X[50:], X[:50]), y[50:]) > 0.85
        assert SVC(kernel=kernel).fit(X[:50], y[:50]).score(X[50:], y[50:]) > 0.85


def test_gaussian_process_classifier_learns_nu(two_centers):
    X, y = two_centers
    start = MallowsKernel(nu=5.0)
    model = GaussianProcessClassifier(start).fit(X[:50], y[:50])
    fixed = GaussianProcessClassifier(start, optimizer=None).fit(X[:50], y[:50])
    assert model.kernel_.nu < 2.0
    assert model.log_marginal_likelihood_value_ > fixed.log_marginal_likelihood_value_ + 1
    assert model.score(X[50:], y[50:]) > 0.85
    combined = ConstantKernel() * MallowsKernel() + KendallKernel()
    assert GaussianProcessClassifier(combined).fit(X[:50], y[:50]).score(X[50:], y[50:]) > 0.85


def test_gaussian_process_regressor_finds_the_nu_that_made_the_data():
    rng = np.random.default_rng(6)
    X = rng.permuted(np.tile(np.arange(6), (400, 1)), axis=1)
    truth = ConstantKernel(1.0) * MallowsKernel(nu=0.4)
    y = np.linalg.cholesky(truth(X) + 1e-2 * np.eye(400)) @ rng.normal(size=400)
    # Repeated rankings make the Gram matrix singular without the noise, which the model learns too.
    kernel = ConstantKernel(3.0, (1e-2, 1e2)) * MallowsKernel(nu=0.05) + WhiteKernel(0.1, (1e-4, 1e1))
    model = GaussianProcessRegressor(kernel).fit(X, y)
    learned = model.kernel_.get_params()
    assert 0.2 < learned["k1__k2__nu"] < 0.8
    assert 3e-3 < learned["k2__noise_level"] < 3e-2


def test_gaussian_process_regressor_learns_in_a_product(two_centers):
    X, y = two_centers
    start = MallowsKernel(nu=3.0) * SemimetricKernel("kendall", nu=1e-3, nu_bounds="fixed")
    fixed = GaussianProcessRegressor(start, alpha=0.1, optimizer=None).fit(X[:50], y[:50])
    model = GaussianProcessRegressor(start, alpha=0.1).fit(X[:50], y[:50])
    assert model.kernel_.get_params()["k1__nu"] < 1.0
    assert model.kernel_.get_params()["k2__nu"] == 1e-3
    assert model.log_marginal_likelihood_value_ > fixed.log_marginal_likelihood_value_ + 1
    assert np.mean((model.predict(X[50:]) > 0.5) == y[50:]) > 0.85


@pytest.mark.parametrize("graph", ["adjacent", "transposition"])
def test_diffusion_for_long_is_uniform(graph):
    nodes = np.array(list(permutations(range(4))))
    np.testing.assert_allclose(DiffusionKernel(beta=1e300, graph=graph)(nodes), 1 / 24, rtol=1e-15)
    gap = np.linalg.eigvalsh(np.diag([3.0] * 24) - (pairwise_ranking_distances(nodes) == 1))[1]
    assert gap == pytest.approx(2 - 2 * np.cos(np.pi / 4))
    # just before it is taken to be uniform, the heat is so to rounding
    almost = {"adjacent": 70.0, "transposition": 10.0}[graph]
    np.testing.assert_allclose(DiffusionKernel(beta=almost, graph=graph)(nodes), 1 / 24, rtol=1e-12)
    gram, gradient = DiffusionKernel(beta=1e9, graph=graph)(nodes, eval_gradient=True)
    assert not gradient.any()
    np.testing.assert_allclose(gram, 1 / 24)
