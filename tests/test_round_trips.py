"""Every estimator through what users do with estimators: pickle, clone, print, set_output, frames with item names."""

import importlib.util
import inspect
import json
import pickle
from importlib import import_module

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

import skrank
from skrank.__main__ import main
from skrank.datasets import make_mallows_mixture, make_triplets
from skrank.inspection import (
    MallowsMixtureDisplay,
    OrdinalEmbeddingDisplay,
    PairwisePreferenceDisplay,
    RankDistributionDisplay,
    RankingKernelDisplay,
)
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernels import KendallKernel, MallowsKernel, PartialRankingKernel
from skrank.linear_model import BradleyTerry, PersonalBradleyTerry, PlackettLuce
from skrank.manifold import LandmarkOrdinalEmbedding, StochasticTripletEmbedding
from skrank.mixture import BradleyTerryMixture, MallowsMixture, SeparatedMallowsMixture
from skrank.preprocessing import OrderingEncoder

matplotlib.use("Agg")
import matplotlib.pyplot as plt

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

ITEMS = ["egg", "squid", "tuna", "sm\u00f8rrebr\u00f8d", "roe"]
RANKS = pd.DataFrame(
    make_mallows_mixture(60, 5, 2, centers="reversed", phi=0.4, random_state=0)[0],
    columns=ITEMS,
    index=[f"voter {number}" for number in range(60)],
)
ORDERINGS = pd.DataFrame(np.array(ITEMS, dtype=object)[np.argsort(RANKS.to_numpy(), axis=1)], index=RANKS.index)
ORDERINGS.columns = [f"choice {number}" for number in range(1, 6)]
POINTS = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["x", "y"], index=range(100, 140))
TRIPLETS = pd.DataFrame(make_triplets(15, 600, random_state=0)[0], columns=["anchor", "near", "far"])
PAIRS = pd.DataFrame(np.random.default_rng(0).permuted(np.tile(np.arange(6), (80, 1)), axis=1)[:, :2])
PAIRS.columns = ["winner", "loser"]

CASES = [
    (MallowsMixture(2, random_state=0), RANKS),
    (SeparatedMallowsMixture(2, random_state=0), RANKS),
    (PartialRankingKernel(random_state=0), RANKS),
    (PartialRankingKernel(KendallKernel() + MallowsKernel(nu=0.2), output="distance", normalize=True), RANKS),
    (MallowsFeatures(30, random_state=0), RANKS),
    (OrderingEncoder(), ORDERINGS),
    (LandmarkOrdinalEmbedding(random_state=0), POINTS),
    (StochasticTripletEmbedding(random_state=0), TRIPLETS),
    (BradleyTerry(), PAIRS),
    (PlackettLuce(), RANKS),
]
# Their fit needs the judge of each comparison.
OF_JUDGES = [PersonalBradleyTerry(), BradleyTerryMixture(2, random_state=0)]
TRANSFORMERS = [(estimator, X) for estimator, X in CASES if hasattr(estimator, "transform")]


def name_of(value):
    return type(value).__name__ if isinstance(value, BaseEstimator) else ""


every_estimator = pytest.mark.parametrize(("estimator", "X"), CASES, ids=name_of)
every_transformer = pytest.mark.parametrize(("estimator", "X"), TRANSFORMERS, ids=name_of)


def results(estimator, X):
    """What a fitted estimator says of data, as arrays."""
    methods = ("transform", "score_samples", "predict", "predict_proba")
    if isinstance(estimator, PlackettLuce):  # fitted to rankings, predicts comparisons
        methods = methods[:2]
    return {name: np.asarray(getattr(estimator, name)(X)) for name in methods if hasattr(estimator, name)}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_no_estimator_is_forgotten():
    packages = [import_module(f"skrank.{package}") for package in skrank._subpackages]
    public = {
        value
        for package in packages
        for value in (getattr(package, name) for name in getattr(package, "__all__", ()))
        if inspect.isclass(value) and issubclass(value, BaseEstimator) and hasattr(value, "fit")
    }
    assert public == {type(estimator) for estimator, _ in CASES} | {type(estimator) for estimator in OF_JUDGES}


@pytest.mark.parametrize("estimator", OF_JUDGES, ids=name_of)
def test_estimators_of_judges_survive_pickling_and_cloning(estimator):
    judges = np.arange(len(PAIRS)) % 8
    fitted = clone(estimator).fit(PAIRS, groups=judges)
    expected = fitted.predict_proba(PAIRS, groups=judges)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(PAIRS, groups=judges), expected)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(fitted))
    again = clone(fitted).fit(PAIRS, groups=judges)
    np.testing.assert_array_equal(again.predict_proba(PAIRS, groups=judges), expected)
    assert repr(fitted) == repr(estimator)


@every_estimator
def test_a_pickled_estimator_says_the_same(estimator, X):
    fitted = clone(estimator).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    expected = results(fitted, X)
    for name, values in results(again, X).items():
        np.testing.assert_array_equal(values, expected[name])
    assert vars(again).keys() == vars(fitted).keys()
    for name in ("embedding_", "centers_", "coef_"):
        if hasattr(fitted, name):
            np.testing.assert_array_equal(getattr(again, name), getattr(fitted, name))


@every_estimator
def test_a_clone_is_not_fitted_and_fits_to_the_same(estimator, X):
    fitted = clone(estimator).fit(X)
    copy = clone(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    assert repr(copy) == repr(estimator)
    expected = results(fitted, X)
    for name, values in results(copy.fit(X), X).items():
        np.testing.assert_array_equal(values, expected[name])


@every_estimator
def test_it_is_shown_as_text_and_in_a_notebook(estimator, X):
    name = type(estimator).__name__
    fitted = clone(estimator).fit(X)
    for one in (estimator, fitted, make_pipeline(FunctionTransformer(), estimator)):
        assert name in repr(one)
        assert "object at 0x" not in repr(one)
        assert name in one._repr_html_()


@pytest.mark.skipif(
    importlib.util.find_spec("sklearn.utils._repr_html") is None, reason="this scikit-learn shows names only"
)
@every_estimator
def test_a_notebook_shows_each_parameter_and_once_fitted_each_attribute(estimator, X):
    fitted = clone(estimator).fit(X)
    shown = fitted._repr_html_()
    assert all(parameter in shown for parameter in estimator.get_params(deep=False))
    assert all(attribute in shown for attribute in vars(fitted) if attribute.endswith("_"))


@every_transformer
def test_pandas_comes_out(estimator, X):
    expected = clone(estimator).fit(X).transform(X)
    framed = clone(estimator).set_output(transform="pandas")
    for frame in (framed.fit_transform(X), framed.transform(X)):
        assert isinstance(frame, pd.DataFrame)
        np.testing.assert_allclose(frame.to_numpy(), expected, rtol=1e-12, atol=1e-14)
        assert frame.columns.tolist() == framed.get_feature_names_out().tolist()
        assert frame.index.equals(X.index)


@every_transformer
def test_pandas_comes_out_of_a_pipeline(estimator, X):
    pipeline = make_pipeline(FunctionTransformer(), clone(estimator)).set_output(transform="pandas")
    assert pipeline.fit_transform(X).index.equals(X.index)


@every_estimator
def test_names_of_columns_are_kept_and_checked(estimator, X):
    fitted = clone(estimator).fit(X)
    assert fitted.feature_names_in_.tolist() == X.columns.tolist()
    for name in ("transform", "predict"):
        if hasattr(fitted, name):
            with pytest.raises(ValueError, match="feature names"):
                getattr(fitted, name)(X.rename(columns={X.columns[0]: "other"}))


def texts(figure):
    """All that is written in a figure."""
    return {text.get_text() for text in figure.findobj(matplotlib.text.Text)}


def test_item_names_are_in_every_plot():
    mixture = MallowsMixture(2, random_state=0).fit(RANKS)
    displays = [
        MallowsMixtureDisplay.from_estimator(mixture),
        PairwisePreferenceDisplay.from_rankings(RANKS),
        PairwisePreferenceDisplay.from_estimator(mixture, RANKS, component=0),
        RankDistributionDisplay.from_rankings(RANKS),
        RankDistributionDisplay.from_estimator(mixture, RANKS, component=1),
    ]
    for display in displays:
        assert set(ITEMS) <= texts(display.figure_)
    kernel = PartialRankingKernel().fit(RANKS)
    written = texts(RankingKernelDisplay.from_estimator(kernel, RANKS[:10]).figure_)
    assert sum(all(item in text for item in ITEMS) for text in written) > 1
    embedding = StochasticTripletEmbedding(random_state=0).fit(TRIPLETS)
    names = [f"item {number}" for number in range(15)]
    shown = texts(OrdinalEmbeddingDisplay.from_estimator(embedding, item_names=names, names=True).figure_)
    assert set(names) <= shown


@pytest.mark.parametrize("command", ["report", "mixture", "cluster", "test"])
def test_item_names_are_in_every_report(command, tmp_path, capsys):
    path = str(tmp_path / "votes.csv")
    RANKS.to_csv(path, index=False)
    files = [path, path] if command == "test" else [path]
    assert main([command, *files]) == 0
    text = capsys.readouterr().out
    assert all(item in text for item in ITEMS)
    assert main([command, *files, "--json"]) == 0
    written = json.dumps(json.loads(capsys.readouterr().out), ensure_ascii=False)
    assert all(f'"{item}"' in written for item in ITEMS)
