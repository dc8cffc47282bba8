"""Displays of rankings: what they show, not how it looks."""

import subprocess
import sys

import matplotlib
import matplotlib.pyplot
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from skrank.inspection import PairwisePreferenceDisplay, RankDistributionDisplay
from skrank.inspection._rank_distribution import place_shares
from skrank.stats import pairwise_majority

DISPLAYS = [PairwisePreferenceDisplay, RankDistributionDisplay]
NAN = np.nan


@pytest.fixture(autouse=True)
def _no_windows():
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")


def test_place_shares_average_over_the_orders_of_ties(consistent_rankings):
    rng = np.random.default_rng(0)
    ranks = rng.integers(0, 3, (20, 4))
    ranks = np.array([np.unique(row, return_inverse=True)[1] for row in ranks])
    weights = rng.random(20)
    expected = np.zeros((4, 4))
    for row, weight in zip(ranks, weights, strict=True):
        full = consistent_rankings(row)
        for item in range(4):
            expected[item] += weight * np.bincount(full[:, item], minlength=4) / len(full)
    np.testing.assert_allclose(place_shares(ranks, weights), expected / weights.sum(), atol=1e-12)


def test_missing_items_take_no_place():
    display = RankDistributionDisplay.from_rankings([[1, 2, NAN], [1, NAN, NAN]])
    assert display.item_names.tolist() == ["x0", "x1", "x2"]
    np.testing.assert_allclose(display.shares, [[1, 0, 0], [0, 0.5, 0], [0, 0, 0]])
    assert len(display.bars_) == 3  # two places that are taken, and none


def test_full_rankings_fill_every_bar():
    rng = np.random.default_rng(1)
    display = RankDistributionDisplay.from_rankings(np.argsort(rng.random((30, 5)), axis=1))
    np.testing.assert_allclose(display.shares.sum(axis=0), 1)
    assert len(display.bars_) == 5


def test_majorities_are_those_of_stats_in_the_order_of_the_consensus():
    frame = pd.DataFrame([[2, 1, 3], [2, 1, 3], [1, 3, NAN]], columns=["egg", "tuna", "squid"])
    display = PairwisePreferenceDisplay.from_rankings(frame, sample_weight=[1, 2, 1])
    assert display.item_names.tolist() == ["tuna", "egg", "squid"]
    expected = pairwise_majority(frame, sample_weight=[1, 2, 1]).fractions[np.ix_([1, 0, 2], [1, 0, 2])]
    np.testing.assert_array_equal(display.fractions, expected)
    assert [text.get_text() for text in display.ax_.texts][:2] == ["75", "100"]


@pytest.mark.parametrize("display", DISPLAYS)
def test_own_axes_names_and_errors(display):
    _, ax = matplotlib.pyplot.subplots()
    shown = display.from_rankings([[1, 2], [2, 1]], item_names=["egg", 7], ax=ax)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert [label.get_text() for label in ax.get_yticklabels()] == ["egg", "7"]
    with pytest.raises(ValueError, match="item_names has 1 names"):
        display.from_rankings([[1, 2]], item_names=["egg"])


@pytest.mark.parametrize("display", DISPLAYS)
def test_many_items_are_cut_and_that_is_said(display):
    names = [f"a long name of the item number {item}" for item in range(9)]
    shown = display.from_rankings([np.arange(9)], item_names=names, max_items=4)
    labels = [label.get_text() for label in shown.ax_.get_yticklabels()]
    number = "{0}. " if display is PairwisePreferenceDisplay else ""  # where columns have numbers instead
    expected = [number.format(item + 1) + names[item] for item in range(4)]
    assert [" ".join(label.split()) for label in labels] == expected
    assert all(len(line) <= 24 for label in labels for line in label.split("\n"))
    assert "(the first 4 of 9 items)" in shown.ax_.get_xlabel()
    assert shown.item_names.tolist() == names


@pytest.mark.parametrize("display", DISPLAYS)
def test_dollars_in_names_are_no_mathematics(display):
    shown = display.from_rankings([[0, 1]], item_names=["$5 & $6_x", "a$^b$"])
    assert [label.get_text() for label in shown.ax_.get_yticklabels()] == [r"\$5 & \$6_x", r"a\$^b\$"]
    shown.figure_.draw_without_rendering()


class TwoKinds(BaseEstimator):
    """A mixture of rankings that put the first item first and those that put it last."""

    def fit(self, X, y=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict_proba(self, X):
        first = np.asarray(X)[:, 0] == 1
        return np.column_stack([first, ~first]).astype(float)


@pytest.mark.parametrize("display", DISPLAYS)
def test_one_component_of_a_mixture(display):
    X = np.array([[1, 2, 3], [1, 3, 2], [3, 2, 1]])
    of_component = display.from_estimator(TwoKinds().fit(X), X, component=1, sample_weight=[1, 1, 2])
    alone = display.from_rankings(X[2:])
    assert of_component.item_names.tolist() == alone.item_names.tolist() == ["x2", "x1", "x0"]
    name = "shares" if display is RankDistributionDisplay else "fractions"
    np.testing.assert_allclose(getattr(of_component, name), getattr(alone, name))
    with pytest.raises(ValueError, match="component is 2, but the estimator has components 0 to 1"):
        display.from_estimator(TwoKinds().fit(X), X, component=2)


def test_matplotlib_is_imported_only_to_plot():
    code = "import sys, skrank.inspection; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
