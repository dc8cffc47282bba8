"""PartialRankingKernel: methods, outputs, pipelines, invariances, shapes, errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import clone, config_context
from sklearn.cluster import DBSCAN, AgglomerativeClustering, SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.kernels import (
    KendallKernel,
    MallowsKernel,
    MarginalizedKernel,
    PartialRankingKernel,
    SemimetricKernel,
    SpearmanKernel,
)
from skrank.kernels._names import KERNEL_NAMES
from skrank.metrics import pairwise_ranking_distances
from skrank.stats import mallows

nan = np.nan


@parametrize_with_checks(
    [
        PartialRankingKernel(random_state=0),
        PartialRankingKernel("kendall", output="distance"),
        PartialRankingKernel("semimetric_spearman", nu=0.01, normalize=True, n_draws=5, random_state=0),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    with warnings.catch_warnings():
        # Constant columns and single rows have median distance 0.
        warnings.filterwarnings("ignore", message="The median distance")
        check(estimator)


def ballots(n=80, gaps=False, seed=0):
    """Top-3-of-6 ballots around two opposite centers, and which one each is from."""
    y = np.arange(n) % 2
    X = np.vstack([mallows(np.arange(6)[:: 1 - 2 * c], phi=0.5).rvs(1, random_state=seed + s) for s, c in enumerate(y)])
    X = X.clip(max=3).astype(float)
    if gaps:
        X[np.random.default_rng(seed).random(X.shape) < 0.2] = nan
    return X, y


# ---------------------------------------------------------------- what is computed
@pytest.mark.parametrize("name", KERNEL_NAMES)
@pytest.mark.parametrize("kind", ["full", "ties", "gaps"])
def test_names_are_kernels_exact_or_sampled(name, kind):
    X, _ = ballots(12, gaps=kind == "gaps")
    if kind == "full":
        X = X.argsort(axis=1).argsort(axis=1)
    model = PartialRankingKernel(name, random_state=3)
    gram = model.fit_transform(X)
    closed = {"kendall": 2, "hamming": 2, "spearman": 2, "mallows": 1, "polynomial": 1, "semimetric_kemeny": 2}
    exact = closed.get(name, 0) >= ("full", "ties", "gaps").index(kind)
    assert (model.method_ == "exact") == exact
    if exact:
        np.testing.assert_allclose(gram, model.kernel_(X), rtol=1e-12)
    else:
        seed = model._seed
        sampled = MarginalizedKernel(model.kernel_, method=model.method_, random_state=seed)
        np.testing.assert_allclose(gram, sampled(X), rtol=1e-12)
    np.testing.assert_allclose(gram, gram.T, rtol=1e-13)
    assert np.linalg.eigvalsh(gram).min() > -1e-10
    assert (model.nu_ is None) == (name in ("kendall", "polynomial", "hamming", "spearman", "diffusion"))


def test_nu_is_the_inverse_of_the_median_distance():
    X, _ = ballots(40)
    upper = np.triu_indices(40, 1)
    distances = pairwise_ranking_distances(X, metric="kendall")[upper]
    assert PartialRankingKernel().fit(X).nu_ == pytest.approx(1 / np.median(distances))
    gaps, _ = ballots(41, gaps=True)
    distances = pairwise_ranking_distances(gaps, metric="kendall")[np.triu_indices(41, 1)]
    assert PartialRankingKernel(random_state=0).fit(gaps).nu_ == pytest.approx(1 / np.median(distances))
    full = X.argsort(axis=1).argsort(axis=1)
    for metric in ("spearman_footrule", "spearman", "hamming", "lp"):
        params = {"p": SemimetricKernel(metric).p} if metric == "lp" else {}
        distances = pairwise_ranking_distances(full, metric=metric, **params)[upper]
        model = PartialRankingKernel(f"semimetric_{metric}").fit(full)
        assert model.nu_ == pytest.approx(1 / np.median(distances))
    # On ties, of the mean distance between samples.
    estimates = [PartialRankingKernel("semimetric_spearman", random_state=seed).fit(X).nu_ for seed in range(10)]
    signs = 1 / np.mean(estimates)
    many = PartialRankingKernel("semimetric_spearman", n_draws=200, random_state=99).fit(X)
    assert signs == pytest.approx(1 / many.nu_, rel=0.05)


def test_nu_is_used_for_names_that_have_one():
    X, _ = ballots(10)
    np.testing.assert_allclose(PartialRankingKernel(nu=0.7).fit_transform(X), MallowsKernel(0.7)(X), rtol=1e-12)
    kernel = MallowsKernel(nu=0.3)
    np.testing.assert_allclose(PartialRankingKernel(kernel, nu=0.7).fit_transform(X), kernel(X), rtol=1e-12)
    np.testing.assert_allclose(PartialRankingKernel("kendall", nu=0.7).fit_transform(X), KendallKernel()(X), rtol=1e-12)
    assert PartialRankingKernel(kernel).fit(X).nu_ == 0.3


@pytest.mark.parametrize("X", [[[1, 2, 3], [1, 2, 3], [1, 2, 3]], [[1, 2, 3]]])
def test_median_zero_warns_and_uses_one(X):
    with pytest.warns(UserWarning, match="median distance between the rankings is 0"):
        assert PartialRankingKernel().fit(X).nu_ == 1.0


@pytest.mark.parametrize("kernel", ["mallows", "kendall", "semimetric_hamming"])
@pytest.mark.parametrize("method", ["auto", "antithetic", "monte_carlo", "herding"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("output", ["kernel", "distance"])
@pytest.mark.parametrize("normalize", [False, True])
def test_transform_agrees_with_fit_transform(kernel, method, gaps, output, normalize):
    X, _ = ballots(15, gaps=gaps)
    X = np.vstack([X, X[:2]])
    model = PartialRankingKernel(kernel, method=method, n_draws=4, output=output, normalize=normalize, random_state=5)
    matrix = model.fit_transform(X)
    assert matrix.dtype == np.float64
    np.testing.assert_allclose(model.transform(X), matrix, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.vstack([model.transform(X[s : s + 1]) for s in range(17)]), matrix, atol=1e-13)
    np.testing.assert_allclose(matrix[15:], matrix[:2], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(model.transform((X + 2).astype(np.float32)), matrix, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(clone(model).set_params(n_jobs=2).fit_transform(X), matrix, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(clone(model).fit(X).transform(X[3:9]), matrix[3:9], rtol=1e-12, atol=1e-13)
    if output == "distance":
        assert (matrix >= 0).all()
        assert (matrix == matrix.T).all()
        assert (np.diag(matrix) == 0).all()
        assert matrix[15, 0] == matrix[16, 1] == 0
        assert (np.diag(model.transform(X)) == 0).all()


def test_values_do_not_depend_on_the_other_rows():
    X, _ = ballots(30, gaps=True)
    model = PartialRankingKernel(nu=0.2, random_state=5)
    whole = model.fit_transform(X)
    np.testing.assert_allclose(clone(model).fit_transform(X[10:]), whole[10:, 10:], rtol=1e-12)
    order = np.random.default_rng(0).permutation(30)
    np.testing.assert_allclose(clone(model).fit_transform(X[order]), whole[np.ix_(order, order)], rtol=1e-12)


def test_distance_and_normalization_are_those_of_the_kernel():
    X, _ = ballots(20, gaps=True)
    K = PartialRankingKernel(nu=0.2, random_state=5).fit_transform(X)
    norms = np.diag(K)
    D = PartialRankingKernel(nu=0.2, random_state=5, output="distance").fit_transform(X)
    np.testing.assert_allclose(D, norms[:, None] + norms - 2 * K, atol=1e-12)
    N = PartialRankingKernel(nu=0.2, random_state=5, normalize=True).fit_transform(X)
    np.testing.assert_allclose(N, K / np.sqrt(norms[:, None] * norms), rtol=1e-12)
    D = PartialRankingKernel(nu=0.2, random_state=5, normalize=True, output="distance").fit_transform(X)
    np.testing.assert_allclose(D, 2 - 2 * N, atol=1e-12)


def test_a_ranking_that_says_nothing_has_norm_zero_under_kendall():
    X = [[1, 2, 3], [1, 1, 1], [nan, nan, nan]]
    K = PartialRankingKernel("kendall", normalize=True).fit_transform(X)
    np.testing.assert_array_equal(K, np.diag([1.0, 0.0, 0.0]))
    D = PartialRankingKernel("kendall", normalize=True, output="distance").fit_transform(X)
    np.testing.assert_array_equal(D, [[0, 1, 1], [1, 0, 0], [1, 0, 0]])


def test_repeated_rankings_are_computed_once(monkeypatch):
    X, _ = ballots(10, gaps=True)
    repeated = X[np.random.default_rng(0).integers(10, size=200)]
    model = PartialRankingKernel(nu=0.2, random_state=0).fit(repeated)
    assert len(model._training.content.positions) <= 10
    np.testing.assert_allclose(
        model.transform(X), PartialRankingKernel(nu=0.2, random_state=0).fit(repeated).transform(X)
    )
    single = PartialRankingKernel(nu=0.2, random_state=0).fit(X).transform(X)
    rows = [
        int(np.flatnonzero((np.nan_to_num(X, nan=-1) == np.nan_to_num(row, nan=-1)).all(axis=1))[0]) for row in repeated
    ]
    np.testing.assert_allclose(model.transform(X), single[:, rows], rtol=1e-12)


def test_a_prior_is_used_and_never_exact():
    X, _ = ballots(12)
    prior = mallows(np.arange(6), phi=0.2)
    model = PartialRankingKernel(nu=0.2, prior=prior, n_draws=40, random_state=0)
    gram = model.fit_transform(X)
    assert model.method_ == "antithetic"
    uniform = PartialRankingKernel(nu=0.2).fit_transform(X)
    assert abs(gram - uniform).max() > 0.05
    with pytest.raises(ValueError, match="no closed form under a prior"):
        model.set_params(method="exact").fit(X)


# ---------------------------------------------------------------- kernel objects
def test_combinations_of_kernels(consistent_rankings):
    X = np.array([[0, 1, 2, 2], [0, 0, 1, 1], [nan, 0, nan, 1]])
    product = KendallKernel() * MallowsKernel(0.2)
    model = PartialRankingKernel(product, n_draws=400, random_state=0)
    support = [consistent_rankings(row) for row in X]
    truth = np.array([[product(a, b).mean() for b in support] for a in support])
    off_diagonal = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(model.fit_transform(X)[off_diagonal], truth[off_diagonal], atol=0.05)
    assert model.method_ != "exact"
    total = KendallKernel() + 2.0 * SpearmanKernel()
    model = PartialRankingKernel(total)
    np.testing.assert_allclose(model.fit_transform(X), total(X), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(model.set_params(n_jobs=2).fit_transform(X), total(X), rtol=1e-12, atol=1e-15)
    assert model.method_ == "exact"
    assert model.nu_ is None


# ---------------------------------------------------------------- pipelines
@pytest.mark.parametrize("gaps", [False, True])
def test_classifiers_and_regressors_in_cross_validation(gaps):
    X, y = ballots(80, gaps=gaps)
    for kernel in ("mallows", "kendall"):
        features = PartialRankingKernel(kernel, random_state=0)
        assert cross_val_score(make_pipeline(features, SVC(kernel="precomputed")), X, y).mean() > 0.85
        ridge = make_pipeline(features, KernelRidge(kernel="precomputed"))
        assert cross_val_score(ridge, X, y - 0.5).mean() > 0.4
    neighbors = make_pipeline(
        PartialRankingKernel(output="distance", random_state=0), KNeighborsClassifier(metric="precomputed")
    )
    assert cross_val_score(neighbors, X, y).mean() > 0.85


@pytest.mark.parametrize("gaps", [False, True])
def test_clusterings_and_embeddings(gaps):
    X, y = ballots(60, gaps=gaps)
    kernel = PartialRankingKernel(random_state=0)
    distance = PartialRankingKernel(output="distance", normalize=True, random_state=0)
    spectral = SpectralClustering(2, affinity="precomputed", random_state=0)
    assert adjusted_rand_score(y, make_pipeline(kernel, spectral).fit_predict(X)) > 0.5
    agglomerative = AgglomerativeClustering(2, metric="precomputed", linkage="average")
    assert adjusted_rand_score(y, make_pipeline(distance, agglomerative).fit_predict(X)) > 0.5
    radius = np.quantile(distance.fit_transform(X), 0.15)
    density = DBSCAN(eps=radius, metric="precomputed")
    labels = make_pipeline(distance, density).fit_predict(X)
    assert (labels >= 0).mean() > 0.5
    np.testing.assert_array_equal(labels, density.fit_predict(distance.fit_transform(X)))
    components = make_pipeline(kernel, KernelPCA(2, kernel="precomputed")).fit(X)
    assert abs(np.corrcoef(components.transform(X)[:, 0], y)[0, 1]) > 0.8
    map_of = TSNE(2, metric="precomputed", init="random", perplexity=10, random_state=0, max_iter=250)
    assert make_pipeline(distance, map_of).fit_transform(X).shape == (60, 2)


def test_grid_search_over_every_parameter():
    X, y = ballots(40)
    pipeline = make_pipeline(PartialRankingKernel(random_state=0), SVC(kernel="precomputed"))
    grid = [
        {
            "partialrankingkernel__nu": ["median", 0.05, 0.5],
            "partialrankingkernel__method": ["auto", "antithetic", "monte_carlo"],
            "partialrankingkernel__n_draws": [4, 8],
        },
        {"partialrankingkernel__kernel": ["kendall", "semimetric_hamming", KendallKernel(), MallowsKernel(nu=0.2)]},
        {
            "partialrankingkernel__kernel": [MallowsKernel(), SemimetricKernel("kendall")],
            "partialrankingkernel__kernel__nu": [0.05, 0.5],
        },
    ]
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.85
    assert len(search.cv_results_["params"]) == 18 + 4 + 4
    # The two ways to say Mallows at nu = .05 are one.
    scores = {
        str(p): s for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    by_name = [s for p, s in scores.items() if "'partialrankingkernel__nu': 0.05" in p and "auto" in p]
    by_object = [s for p, s in scores.items() if "MallowsKernel" in p and "kernel__nu': 0.05" in p]
    assert set(by_name) == set(by_object)


# ---------------------------------------------------------------- input
@pytest.mark.parametrize("kernel", KERNEL_NAMES)
@pytest.mark.parametrize(
    "X",
    [
        [[1, 2, 3]],
        [[1], [2]],
        [[1, 1, 1], [2, 2, 2]],
        [[nan, nan, nan], [nan, nan, nan]],
        [[1, 2, 3], [1, 2, 3], [3, 2, 1]],
        [[nan], [1.0]],
    ],
    ids=["one ranking", "one item", "all tied", "all missing", "duplicates", "one item, missing"],
)
@pytest.mark.parametrize("output", ["kernel", "distance"])
def test_smallest_shapes(kernel, X, output):
    X = np.array(X, float)
    model = PartialRankingKernel(kernel, nu=0.5, output=output, random_state=0)
    matrix = model.fit_transform(X)
    assert matrix.shape == (len(X), len(X))
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(model.transform(X), matrix, atol=1e-14)
    if output == "distance":
        same = np.array([[np.array_equal(a - a.min(), b - b.min(), equal_nan=True) for b in X] for a in X])
        assert (matrix[same] == 0).all()


def test_all_missing_samples_every_ranking():
    gram = PartialRankingKernel(nu=0.5, n_draws=300, random_state=0).fit_transform([[nan] * 3, [0, 1, 2]])
    distances = np.array([0, 1, 1, 2, 2, 3])
    assert gram[0, 1] == pytest.approx(np.exp(-0.5 * distances).mean(), abs=0.02)


@pytest.mark.parametrize("container", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.polars_names)])
def test_data_frames(container):
    X, _ = ballots(10, gaps=True)
    columns = ["ale", "bock", "cider", "dark", "export", "fruit"]
    frame = container(dict(zip(columns, X.T, strict=True)))
    model = PartialRankingKernel(nu=0.2, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == columns
    expected = PartialRankingKernel(nu=0.2, random_state=0).fit_transform(X)
    np.testing.assert_allclose(model.transform(frame), expected, rtol=1e-12)
    assert model.get_feature_names_out().tolist() == [f"partialrankingkernel{s}" for s in range(10)]
    out = model.set_output(transform="pandas").transform(frame)
    assert isinstance(out, pd.DataFrame)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[columns[::-1]])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, bool])
def test_dtypes(dtype):
    X = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 1]])
    expected = PartialRankingKernel(nu=0.5).fit_transform(X.astype(float))
    np.testing.assert_array_equal(PartialRankingKernel(nu=0.5).fit_transform(X.astype(dtype)), expected)


def test_pickle_and_random_state():
    X, _ = ballots(10, gaps=True)
    model = PartialRankingKernel(random_state=0).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    assert (PartialRankingKernel(random_state=1).fit_transform(X) != model.transform(X)).any()
    state = np.random.RandomState(3)
    with_state = PartialRankingKernel(random_state=state).fit(X)
    np.testing.assert_allclose(with_state.transform(X), with_state.transform(X))


def test_memory_setting_changes_nothing():
    X, _ = ballots(60, gaps=True)
    for kernel in ("mallows", "semimetric_spearman_footrule", "kendall"):
        model = PartialRankingKernel(kernel, random_state=0, n_draws=4)
        whole = model.fit_transform(X)
        with config_context(working_memory=0.01):
            np.testing.assert_allclose(clone(model).fit_transform(X), whole, rtol=1e-12, atol=1e-14)


# ---------------------------------------------------------------- errors
def test_rows_without_a_closed_form_are_named():
    X, _ = ballots(10)
    gaps = X.copy()
    gaps[4, 2] = nan
    with pytest.raises(ValueError, match="Row 4 of X has missing items.*method='antithetic'"):
        PartialRankingKernel(method="exact").fit(gaps)
    model = PartialRankingKernel().fit(X)
    assert model.method_ == "exact"
    with pytest.raises(ValueError, match="Row 4 of X has missing items.*method='antithetic'"):
        model.transform(gaps)
    full = X.argsort(axis=1).argsort(axis=1)
    model = PartialRankingKernel("semimetric_spearman").fit(full)
    with pytest.raises(ValueError, match="Row 0 of X ties items.*method='antithetic'"):
        model.transform(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbf"}, "kernel"),
        ({"kernel": "footrule"}, "kernel"),
        ({"nu": 0}, "nu"),
        ({"nu": "mean"}, "nu"),
        ({"method": "gibbs"}, "method"),
        ({"n_draws": 0}, "n_draws"),
        ({"output": "similarity"}, "output"),
        ({"prior": "uniform"}, "prior"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=f"'{message}' parameter"):
        PartialRankingKernel(**parameters).fit([[1, 2, 3], [3, 2, 1]])


def test_orderings_and_infinities_are_refused():
    with pytest.raises(ValueError, match="ranks_from_orderings"):
        PartialRankingKernel().fit([["ale", "bock"], ["bock", "ale"]])
    with pytest.raises(ValueError, match="ranks must be finite"):
        PartialRankingKernel().fit([[1, np.inf], [2, 1]])
    with pytest.raises(ValueError, match="features"):
        PartialRankingKernel().fit([[1, 2, 3], [3, 2, 1]]).transform([[1, 2]])


def test_an_indefinite_semimetric_is_refused():
    X = np.array([[0, 1, 2], [1, 2, 0]])
    with pytest.raises(ValueError, match="negative type"):
        PartialRankingKernel(SemimetricKernel("cayley")).fit_transform(X)


@pytest.mark.parametrize("n_copies", [2, 3])
def test_white_noise_is_on_the_diagonal_alone(n_copies):
    X = [[0, 1, 2]] * n_copies + [[2, 1, 0]]
    kernel = PartialRankingKernel(WhiteKernel(0.5) + KendallKernel())
    signs = np.array([1] * n_copies + [-1])
    expected = np.multiply.outer(signs, signs)
    np.testing.assert_allclose(kernel.fit_transform(X), expected + 0.5 * np.eye(n_copies + 1))
    np.testing.assert_allclose(kernel.transform(X), expected)


def test_constants_keep_the_closed_form_on_either_side():
    X = [[0, 1, 1], [np.nan, 1, 0], [2, 1, 0]]
    expected = 3 * KendallKernel()(X)
    for kernel in (ConstantKernel(3) * KendallKernel(), KendallKernel() * ConstantKernel(3)):
        transformer = PartialRankingKernel(kernel).fit(X)
        assert transformer.method_ == "exact"
        np.testing.assert_allclose(transformer.transform(X), expected, atol=1e-15)
    shifted = PartialRankingKernel(KendallKernel() + ConstantKernel(2)).fit_transform(X)
    np.testing.assert_allclose(shifted, expected / 3 + 2, atol=1e-15)
    # a square of expectations is not the expectation of a square
    assert PartialRankingKernel(KendallKernel() * KendallKernel()).fit(X).method_ != "exact"


def test_clones_sample_alike_unless_told_otherwise():
    X = [[0, 1, np.nan, 2], [1, np.nan, 0, np.nan], [2, 0, 1, np.nan]]
    kernel = PartialRankingKernel("mallows", nu=0.2)
    first, second = (clone(kernel).fit_transform(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    kernel.set_params(random_state=None)
    first, second = (clone(kernel).fit_transform(X) for _ in range(2))
    assert (first != second).any()
