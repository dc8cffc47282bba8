import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.datasets import make_triplets
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold import StochasticTripletEmbedding
from skrank.metrics import procrustes_error, triplet_accuracy

NOT_TRIPLETS = "the check's X is a matrix of features; here X holds indices of three different items a row"
CHECKS_THAT_NEED_FEATURES = (
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_all_zero_sample_weights_error",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
)


@parametrize_with_checks(
    [StochasticTripletEmbedding()],
    expected_failed_checks=lambda estimator: dict.fromkeys(CHECKS_THAT_NEED_FEATURES, NOT_TRIPLETS),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def answers():
    return make_triplets(n_items=40, n_triplets=12_000, noise="logistic", random_state=0)


@pytest.fixture(scope="module")
def fitted(answers):
    return StochasticTripletEmbedding(random_state=0).fit(answers[0])


def test_recovers_the_coordinates(answers, fitted):
    triplets, X = answers
    assert fitted.embedding_.shape == X.shape
    assert fitted.n_features_in_ == 3
    assert procrustes_error(X, fitted.embedding_) < 0.02
    assert fitted.score(triplets) == triplet_accuracy(fitted.embedding_, triplets)
    assert fitted.score(triplets) > triplet_accuracy(X, triplets) - 0.002
    largest = fitted.embedding_[np.abs(fitted.embedding_).argmax(axis=0), [0, 1]]
    assert np.all(largest > 0)


def test_the_three_formats_give_one_embedding(answers, fitted):
    triplets = answers[0]
    left = np.random.default_rng(0).random(len(triplets)) < 0.5
    asked = np.where(left[:, None], triplets, triplets[:, [0, 2, 1]])
    for responses in (left, left.astype(int), np.where(left, 1, -1)):
        embedding = StochasticTripletEmbedding(random_state=0).fit_transform(asked, responses)
        np.testing.assert_array_equal(embedding, fitted.embedding_)
        assert fitted.score(asked, responses) == fitted.score(triplets)


def test_counts_and_weights_are_repeated_responses(answers):
    triplets = answers[0][:3000]
    counts = np.random.default_rng(0).integers(1, 4, 3000)
    model = StochasticTripletEmbedding(alpha=0.1, tol=1e-4, random_state=0)
    repeated = clone(model).fit(np.repeat(triplets, counts, axis=0))
    for other in (clone(model).fit(triplets, counts), clone(model).fit(triplets, sample_weight=counts)):
        np.testing.assert_allclose(other.embedding_, repeated.embedding_, atol=1e-3)
        assert other.loss_ == pytest.approx(repeated.loss_)


def test_order_of_the_answers_changes_nothing_beyond_the_tolerance(answers, fitted):
    other = StochasticTripletEmbedding(random_state=1).fit(answers[0][::-1])
    assert procrustes_error(fitted.embedding_, other.embedding_) < 1e-5


@pytest.mark.parametrize("frame", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.polars_names)])
def test_data_frames(answers, fitted, frame):
    columns = dict(zip(["anchor", "near", "far"], answers[0].T, strict=True))
    model = StochasticTripletEmbedding(random_state=0).fit(frame(columns))
    np.testing.assert_array_equal(model.embedding_, fitted.embedding_)
    assert list(model.feature_names_in_) == ["anchor", "near", "far"]


def test_clone_and_pickle(answers, fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(clone(fitted).fit(answers[0]).embedding_, fitted.embedding_)


def test_warm_start_needs_no_iteration(answers):
    fitted = StochasticTripletEmbedding(alpha=0.0, random_state=0).fit(answers[0])
    warm = StochasticTripletEmbedding(alpha=0.0, init=fitted.embedding_).fit(answers[0])
    assert warm.n_iter_ == 0
    np.testing.assert_allclose(warm.embedding_, fitted.embedding_)
    cold = StochasticTripletEmbedding(alpha=0.0, init="random", random_state=1000).fit(answers[0])  # 0: the points
    assert cold.n_iter_ > fitted.n_iter_
    assert cold.loss_ == pytest.approx(fitted.loss_, abs=0.1)


def test_grid_search_finds_the_dimension(answers):
    search = GridSearchCV(
        StochasticTripletEmbedding(n_items=40, random_state=0), {"n_components": [1, 2]}, cv=3, error_score="raise"
    )
    search.fit(answers[0])
    assert search.best_params_ == {"n_components": 2}
    assert search.best_score_ > 0.7


class Recorder:
    def __init__(self):
        self.begun = self.ended = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1

    def on_fit_task_end(self, estimator, context):
        self.ended += 1
        return self.ended == 3


@pytest.mark.callbacks
def test_callbacks_see_each_iteration_and_can_stop(answers):
    recorder = Recorder()
    model = StochasticTripletEmbedding(random_state=0).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(answers[0])
    assert model.n_iter_ == 3
    assert recorder.begun == recorder.ended == 4  # three iterations and the fit itself


def test_memory_is_proportional_to_the_answers():
    n_items, n_triplets = 20_000, 40_000
    triplets, _ = make_triplets(n_items, n_triplets, noise="logistic", random_state=0)
    tracemalloc.start()
    with pytest.warns(ConvergenceWarning), pytest.warns(InsufficientDataWarning):
        StochasticTripletEmbedding(n_items=n_items, max_iter=2, random_state=0).fit(triplets)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n_items**2 / 8  # bits of a matrix; a matrix of bytes would be eight times that


def test_answers_without_noise_keep_finite_coordinates():
    triplets, X = make_triplets(n_items=30, n_triplets=6000, random_state=0)
    model = StochasticTripletEmbedding(random_state=0).fit(triplets)
    with pytest.warns(ConvergenceWarning, match="responses have no noise"):
        StochasticTripletEmbedding(max_iter=3, random_state=0).fit(triplets)
    assert np.isfinite(model.embedding_).all()
    assert model.score(triplets) > 0.99
    assert procrustes_error(X, model.embedding_) < 0.01


def test_duplicate_points():
    X = np.repeat(np.random.default_rng(0).standard_normal((10, 2)), 3, axis=0)
    triplets, _ = make_triplets(n_triplets=10_000, coordinates=X, noise="logistic", random_state=0)
    assert procrustes_error(X, StochasticTripletEmbedding(random_state=0).fit_transform(triplets)) < 0.05


def test_answers_that_are_pure_noise():
    triplets, _ = make_triplets(n_items=20, n_triplets=4000, noise="flip", flip_rate=0.5, random_state=0)
    model = StochasticTripletEmbedding(random_state=0).fit(triplets)
    assert np.isfinite(model.embedding_).all()
    assert model.loss_ <= 4000 * np.log(2)


def test_regularization_shrinks_and_predicts_better_from_few_answers():
    triplets, X = make_triplets(n_items=60, n_triplets=20_600, n_components=3, noise="logistic", random_state=0)
    few, others = triplets[:600], triplets[600:]
    plain, regularized = (
        StochasticTripletEmbedding(3, n_items=60, alpha=alpha, max_iter=1000, random_state=0).fit(few)
        for alpha in (0.0, 1.0)
    )
    assert np.linalg.norm(regularized.embedding_) < np.linalg.norm(plain.embedding_)
    assert regularized.score(others) > plain.score(others)


def test_unseen_items_are_named():
    triplets, _ = make_triplets(n_items=20, n_triplets=4000, noise="logistic", random_state=0)
    with pytest.warns(InsufficientDataWarning, match="2 items occur in no triplet, such as item 20"):
        model = StochasticTripletEmbedding(n_items=22, random_state=0).fit(triplets)
    assert model.embedding_.shape == (22, 2)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_too_few_answers_are_named():
    with pytest.warns(InsufficientDataWarning, match="1 responses are fewer than the 6 coordinates"):
        embedding = StochasticTripletEmbedding(random_state=0).fit_transform([[0, 1, 2]])
    assert embedding.shape == (3, 2)
    assert np.isfinite(embedding).all()


@pytest.mark.filterwarnings("ignore")
def test_more_components_than_the_items_can_fill():
    triplets, _ = make_triplets(n_items=5, n_triplets=2000, noise="logistic", random_state=0)
    embedding = StochasticTripletEmbedding(n_components=7, random_state=0).fit_transform(triplets)
    assert embedding.shape == (5, 7)
    assert np.isfinite(embedding).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"init": np.zeros((4, 2))}, "all rows of init are equal"),
        ({"init": np.zeros((3, 2))}, r"number of items, 3: row 1 is \[1, 2, 3\]"),
        ({"init": np.eye(4)[:, :3]}, r"init must have the shape \(4, 2\), got \(4, 3\)"),
        ({"init": np.full((4, 2), np.nan)}, "init contains NaN"),
        ({"init": "pca"}, "'init' parameter"),
        ({"n_items": 3}, "number of items, 3"),
        ({"n_components": 0}, "'n_components' parameter"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        StochasticTripletEmbedding(**parameters).fit([[0, 1, 2], [1, 2, 3]])


def test_bad_triplets():
    with pytest.raises(ValueError, match=r"must differ.*row 1 is \[2, 2, 1\]"):
        StochasticTripletEmbedding().fit([[0, 1, 2], [2, 2, 1]])
    with pytest.raises(ValueError, match="3 columns"):
        StochasticTripletEmbedding().fit([[0, 1], [2, 0]])
    with pytest.raises(ValueError, match="undecided"):
        StochasticTripletEmbedding().fit([[0, 1, 2], [2, 0, 1]], [2, 0])


# Labels, tensors, raters


def test_items_by_name(answers, fitted):
    triplets, _ = answers
    names = np.array([f"item {number:02d}" for number in range(40)])
    for table in (pd.DataFrame(names[triplets], columns=["a", "b", "c"]), names[triplets].tolist(), names[triplets]):
        model = StochasticTripletEmbedding(random_state=0).fit(table)
        np.testing.assert_array_equal(model.embedding_, fitted.embedding_)
        assert model.items_.tolist() == names.tolist()
    backwards = StochasticTripletEmbedding(items=names[::-1], random_state=0).fit(names[triplets])
    np.testing.assert_array_equal(backwards.items_, names[::-1])
    assert procrustes_error(fitted.embedding_, backwards.embedding_[::-1]) < 1e-4
    numbered = StochasticTripletEmbedding(items=np.arange(40) + 1000, random_state=0).fit(triplets + 1000)
    np.testing.assert_array_equal(numbered.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(numbered.predict(triplets + 1000), fitted.predict(triplets))
    np.testing.assert_array_equal(model.predict(names[triplets]), fitted.predict(triplets))
    assert model.score(names[triplets]) == fitted.score(triplets) == fitted.predict(triplets).mean()
    with pytest.raises(ValueError, match="labels of the 40 items: row 0"):
        model.predict([["item 00", "item 01", "item 99"]])
    with pytest.raises(ValueError, match="labels of the 2 items: row 1"):
        StochasticTripletEmbedding().fit([["a", "b", "a"], ["a", "b", None]])
    with pytest.raises(ValueError, match="n_items is 40"):
        StochasticTripletEmbedding(items=names, n_items=30).fit(names[triplets])


class Tensor:
    """The part of the package sparse that holds a tensor of counts."""

    ndim = 3

    def __init__(self, triplets, counts, n_items):
        self.coords, self.data, self.shape = np.asarray(triplets).T, np.asarray(counts), (n_items,) * 3


def test_a_sparse_tensor_of_counts(answers, fitted):
    triplets, _ = answers
    turned = np.where(np.arange(len(triplets))[:, None] % 2, triplets, triplets[:, [0, 2, 1]])
    tensor = Tensor(turned, np.where(np.arange(len(triplets)) % 2, 1, -1), 40)
    model = StochasticTripletEmbedding(random_state=0).fit(tensor)
    np.testing.assert_array_equal(model.embedding_, fitted.embedding_)
    assert model.score(tensor) == fitted.score(triplets)
    with pytest.raises(ValueError, match="leave y out"):
        StochasticTripletEmbedding().fit(tensor, [1])


def test_raters():
    triplets, X = make_triplets(60, 4000, noise="flip", flip_rate=0.0, random_state=0)
    rater = np.array(["ann", "bob"])[np.arange(4000) % 2]
    guessed = (rater == "bob") & (np.random.default_rng(0).random(4000) < 0.5)
    triplets[guessed, 1:] = triplets[guessed, :0:-1]
    model = StochasticTripletEmbedding(lapse="auto", random_state=0).fit(triplets, rater=rater)
    assert model.raters_.tolist() == ["ann", "bob"]
    np.testing.assert_allclose(model.lapse_, [0, 0.5], atol=0.06)
    assert procrustes_error(X, model.embedding_) < 0.02
    assert StochasticTripletEmbedding(lapse=0.1).fit(triplets).lapse_ == pytest.approx(0.1)
    assert StochasticTripletEmbedding(lapse=0.1).fit(triplets, rater=rater).lapse_.tolist() == [0.1, 0.1]


def test_the_number_of_components_and_the_kernel_are_chosen():
    triplets, _ = make_triplets(50, 6000, n_components=3, noise="logistic", random_state=0)
    model = StochasticTripletEmbedding("auto", kernel="auto", random_state=0).fit(triplets)
    assert (model.n_components_, model.kernel_) == (3, "logistic")
    assert model.embedding_.shape == (50, 3)
    assert model.held_out_log_likelihood_.argmax() == 2
    assert -np.log(2) < model.held_out_log_likelihood_.min()
    with pytest.raises(ValueError, match='is used with kernel="student" only'):
        StochasticTripletEmbedding(nu=1.0).fit(triplets)
    student = StochasticTripletEmbedding(kernel="student", nu=1.0, random_state=0).fit(triplets)
    assert (student.kernel_, student.alpha_) == ("student", 0.1)
