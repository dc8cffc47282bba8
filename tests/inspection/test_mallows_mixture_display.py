import matplotlib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture

from skrank.datasets import make_mallows_mixture
from skrank.inspection import MallowsMixtureDisplay
from skrank.mixture import MallowsMixture

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture
def mixture():
    X, _ = make_mallows_mixture(400, 5, 2, phi=0.3, random_state=0)
    yield MallowsMixture(2, random_state=0).fit(X)
    plt.close("all")


def test_a_line_is_an_items_place_in_every_center(mixture):
    display = MallowsMixtureDisplay.from_estimator(mixture, item_names=list("abcde"))
    for item, line in enumerate(display.lines_):
        np.testing.assert_array_equal(line.get_ydata(), mixture.centers_[:, item])
    labels = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert labels[0].startswith(f"{100 * mixture.weights_[0]:.1f} %")
    # The first place is on top.
    assert display.ax_.get_ylim()[0] > display.ax_.get_ylim()[1]


def test_it_draws_on_given_axes_and_refuses_others(mixture):
    _, ax = plt.subplots()
    display = MallowsMixtureDisplay.from_estimator(mixture, ax=ax)
    assert display.ax_ is ax
    assert list(display.item_names) == ["x0", "x1", "x2", "x3", "x4"]
    with pytest.raises(ValueError, match="item_names has 2 names"):
        MallowsMixtureDisplay.from_estimator(mixture, item_names=["a", "b"])
    with pytest.raises(NotFittedError):
        MallowsMixtureDisplay.from_estimator(MallowsMixture())
    with pytest.raises(TypeError, match="GaussianMixture has no centers_"):
        MallowsMixtureDisplay.from_estimator(GaussianMixture().fit(np.random.default_rng(0).normal(size=(20, 2))))
