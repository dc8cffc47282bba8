"""SeparatedMallowsMixture: recovery, ties, weights, warnings, scikit-learn's contract."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import skrank
from skrank._rankings import aggregate, densify
from skrank.datasets import make_mallows_mixture, make_rankings
from skrank.exceptions import InsufficientDataWarning, SeparationWarning
from skrank.mixture import MallowsMixture, SeparatedMallowsMixture
from skrank.mixture._model import Mixture
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._transpositions import polish


def draw(centers, dispersions, weights, n_samples, seed):
    n_components, n_items = centers.shape
    return make_mallows_mixture(
        n_samples, n_items, n_components, centers=centers, phi=dispersions, weights=weights, random_state=seed
    )[0]


def random_centers(n_items, n_components, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n_items) for _ in range(n_components)])


def close_centers(n_items):
    """Three centers that differ in flips of neighbors."""
    base = np.arange(n_items)
    second, third = base.copy(), base.copy()
    second[[0, 1, 4, 5]], third[[2, 3, 4, 5]] = [1, 0, 5, 4], [3, 2, 5, 4]
    return np.array([base, second, third])


@parametrize_with_checks([SeparatedMallowsMixture(max_iter=50)])
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        # The checks fit a few random rankings: too little for any mixture.
        warnings.simplefilter("ignore", InsufficientDataWarning)
        check(estimator)


@pytest.mark.parametrize(
    ("centers", "dispersions", "n_samples"),
    [
        (random_centers(12, 3, 0), (0.05, 0.6, 0.75), 2000),
        (close_centers(12), (0.2, 0.45, 0.7), 3000),
        (np.repeat(random_centers(12, 1, 1), 3, axis=0), (0.2, 0.5, 0.8), 3000),
    ],
    ids=["random", "close", "same"],
)
def test_reaches_the_likelihood_of_a_start_at_the_truth(centers, dispersions, n_samples):
    weights = np.ones(3) / 3
    for seed in range(2):
        X = draw(centers, dispersions, weights, n_samples, seed)
        mixture = SeparatedMallowsMixture(3, random_state=seed).fit(X)
        table = aggregate(densify(X))
        oracle = polish(PairSigns(table.ranks, table.weights), Mixture(centers, np.array(dispersions), weights))
        assert n_samples * (mixture.score(X) - oracle.log_likelihood) > -0.1


def test_moment_weights_agree_with_the_likelihood_weights():
    X = draw(random_centers(12, 2, 3), (0.3, 0.7), np.array([0.7, 0.3]), 4000, 5)
    mixture = SeparatedMallowsMixture(2, random_state=0).fit(X)
    assert mixture.weights_ == pytest.approx([0.7, 0.3], abs=0.03)
    # Six standard errors of the moment weights, which are about .01 here.
    assert mixture.moment_weights_ == pytest.approx([0.7, 0.3], abs=0.06)


def test_auto_finds_the_number_of_components():
    centers = random_centers(10, 2, 4)
    for n_components in (1, 2):
        X = draw(centers[:n_components], [0.3, 0.6][:n_components], np.full(n_components, 1 / n_components), 1500, 6)
        mixture = SeparatedMallowsMixture("auto", max_components=4, random_state=0).fit(X)
        assert mixture.n_components_ == n_components
        assert [entry.n_components for entry in mixture.path_] == list(range(1, n_components + 2))


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_without_exchange_it_is_a_deterministic_start():
    X = draw(close_centers(10), (0.2, 0.45, 0.7), np.ones(3) / 3, 2500, 8)
    fits = [SeparatedMallowsMixture(3, exchange=False, random_state=seed).fit(X) for seed in (0, 1)]
    assert np.array_equal(fits[0].centers_, fits[1].centers_)
    assert fits[0].description_length_ == fits[1].description_length_
    exchanged = SeparatedMallowsMixture(3, random_state=0).fit(X)
    assert exchanged.description_length_ <= fits[0].description_length_ + 1e-6


# ---------------------------------------------------------------- the weighted table
def test_repeated_rows_equal_sample_weight_and_order_does_not_matter():
    X = draw(random_centers(7, 2, 9), (0.2, 0.6), np.array([0.5, 0.5]), 800, 10)
    distinct, counts = np.unique(X, axis=0, return_counts=True)
    assert len(distinct) < len(X)
    expected = SeparatedMallowsMixture(2, random_state=0).fit(X)
    shuffled = np.random.default_rng(1).permutation(len(X))
    for fitted in (
        SeparatedMallowsMixture(2, random_state=0).fit(distinct, sample_weight=counts),
        SeparatedMallowsMixture(2, random_state=0).fit(X[shuffled]),
        SeparatedMallowsMixture(2, random_state=0).fit(10 * X - 3.5),
    ):
        assert np.array_equal(fitted.centers_, expected.centers_)
        assert np.array_equal(fitted.weights_, expected.weights_)
        assert np.array_equal(fitted.dispersions_, expected.dispersions_)
        assert np.array_equal(fitted.moment_weights_, expected.moment_weights_)


def test_top_lists_and_ties():
    """The first five of ten items, the others tied last; then random buckets."""
    centers, weights = random_centers(10, 2, 11), np.array([0.6, 0.4])
    X = draw(centers, (0.2, 0.6), weights, 4000, 12)
    top = SeparatedMallowsMixture(2, random_state=0).fit(np.minimum(X, 5))
    assert np.array_equal(top.centers_, centers)
    assert top.dispersions_ == pytest.approx([0.2, 0.6], abs=0.03)
    assert top.moment_weights_ == pytest.approx(weights, abs=0.06)
    buckets = np.sort(np.random.default_rng(0).integers(0, 8, X.shape), axis=1)
    tied = np.take_along_axis(buckets, X.astype(int), axis=1)
    fitted = SeparatedMallowsMixture(2, random_state=0).fit(tied)
    assert np.array_equal(fitted.centers_, centers)
    assert fitted.dispersions_ == pytest.approx([0.2, 0.6], abs=0.03)


def test_moment_weights_are_nan_where_ties_leave_no_pairs():
    X = np.minimum(draw(random_centers(6, 2, 13), (0.2, 0.6), np.array([0.6, 0.4]), 1000, 14), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientDataWarning)
        warnings.simplefilter("ignore", SeparationWarning)
        mixture = SeparatedMallowsMixture(2, random_state=0).fit(X)
    assert np.isnan(mixture.moment_weights_).all()
    assert np.isfinite(mixture.weights_).all()


def test_larger_data_are_searched_on_a_subsample_and_polished_on_all():
    centers = random_centers(9, 2, 15)
    X = draw(centers, (0.3, 0.7), np.array([0.6, 0.4]), 6000, 16)
    mixture = SeparatedMallowsMixture(2, subsample=1000, random_state=0).fit(X)
    assert np.array_equal(mixture.centers_, centers)
    assert mixture.description_length_ == pytest.approx(
        SeparatedMallowsMixture(2, random_state=0).fit(X).description_length_, abs=0.1
    )


# ---------------------------------------------------------------- warnings and errors
def test_warns_of_close_dispersions():
    X = draw(random_centers(10, 2, 17), (0.5, 0.5), np.array([0.6, 0.4]), 2000, 18)
    with pytest.warns(SeparationWarning, match=r"closer than separation=0.05.*MallowsMixture") as record:
        mixture = SeparatedMallowsMixture(2, random_state=0).fit(X)
    assert record[0].filename == __file__
    assert np.abs(np.diff(mixture.dispersions_))[0] < 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SeparatedMallowsMixture(2, separation=0, random_state=0).fit(X)


def test_warns_of_dispersions_near_one():
    X = draw(random_centers(10, 2, 17), (0.3, 0.75), np.array([0.6, 0.4]), 3000, 18)
    with pytest.warns(SeparationWarning, match=r"component 1 is within separation=0.3 of 1.*MallowsMixture"):
        SeparatedMallowsMixture(2, separation=0.3, random_state=0).fit(X)


def test_candidates_come_from_complete_rankings():
    centers = random_centers(8, 2, 5)
    X = draw(centers, (0.2, 0.7), (0.6, 0.4), 900, 6).astype(float)
    X[::3, 2] = np.nan
    mixture = SeparatedMallowsMixture(2, random_state=0).fit(X)
    np.testing.assert_array_equal(mixture.centers_, centers)
    np.testing.assert_allclose(mixture.dispersions_, [0.2, 0.7], atol=0.06)
    with pytest.raises(ValueError, match="only 1 of 3 voters"):
        SeparatedMallowsMixture().fit([[0, 1, 2], [1, 0, np.nan], [np.nan, 0, 1]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"separation": -0.1}, "separation"),
        ({"max_prefix": 1}, "max_prefix"),
        ({"n_components": "many"}, "n_components"),
        ({"exchange": "yes"}, "exchange"),
    ],
)
def test_parameters_are_validated(parameters, message):
    with pytest.raises(ValueError, match=message):
        SeparatedMallowsMixture(**parameters).fit([[0, 1, 2], [1, 0, 2]])


@pytest.mark.parametrize("n_items", [2, 3, 4])
def test_few_items_leave_no_prefixes_but_a_fit(n_items):
    X = make_rankings(500, n_items, center=np.arange(n_items), phi=0.5, random_state=19)
    mixture = SeparatedMallowsMixture(1).fit(X)
    assert mixture.centers_.tolist() == [list(range(n_items))]
    assert mixture.moment_weights_.tolist() == [1.0]
    assert mixture.dispersions_ == pytest.approx(MallowsMixture(1).fit(X).dispersions_, abs=1e-6)


# ---------------------------------------------------------------- scikit-learn
class Recorder:
    """A callback that writes down the tasks that end."""

    def __init__(self):
        self.tasks = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(context.task_name)

    def teardown(self, estimator, context):
        pass


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
@pytest.mark.parametrize("frame", [pd.DataFrame, pytest.param(pl.DataFrame, marks=pytest.mark.polars_names)])
def test_data_frames(frame):
    X = draw(random_centers(6, 2, 20), (0.2, 0.7), np.array([0.5, 0.5]), 600, 21)
    mixture = SeparatedMallowsMixture(2, separation=0.1, max_prefix=4, random_state=0)
    fitted = clone(mixture).fit(frame(dict(zip("abcdef", X.T, strict=True))))
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    assert np.array_equal(fitted.centers_, mixture.fit(X).centers_)


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_clone_pickle_and_search():
    assert skrank.SeparatedMallowsMixture is SeparatedMallowsMixture
    X = draw(random_centers(6, 2, 20), (0.2, 0.7), np.array([0.5, 0.5]), 600, 21)
    mixture = SeparatedMallowsMixture(2, separation=0.1, max_prefix=4, random_state=0)
    assert clone(mixture).get_params() == mixture.get_params()
    mixture.fit(X)
    again = pickle.loads(pickle.dumps(mixture))
    assert np.array_equal(again.predict_proba(X), mixture.predict_proba(X))
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), SeparatedMallowsMixture(exchange=False, random_state=0)),
        {"separatedmallowsmixture__n_components": [1, 2]},
        cv=2,
    ).fit(X)
    assert search.best_params_["separatedmallowsmixture__n_components"] == 2


@pytest.mark.callbacks
def test_callbacks_see_the_tasks():
    X = draw(random_centers(6, 2, 20), (0.2, 0.7), np.array([0.5, 0.5]), 1200, 21)
    recorder = Recorder()
    SeparatedMallowsMixture(2, random_state=0).set_callbacks(recorder).fit(X)
    assert {"exchange", "polish"} <= set(recorder.tasks)
