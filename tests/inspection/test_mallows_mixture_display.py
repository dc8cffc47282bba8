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


def test_neighbors_whose_order_is_not_sure_get_a_bar():
    # 31 against 29 voters order the last two items of three.
    X = np.repeat([[0, 1, 2], [0, 2, 1]], [31, 29], axis=0)
    mixture = MallowsMixture(1, random_state=0).fit(X)
    display = MallowsMixtureDisplay.from_estimator(mixture, X, item_names=list("abc"))
    assert [bar.get_ydata().tolist() for bar in display.unsure_] == [[0.7, 2.3]]  # from the second place to the third
    assert "not sure" in display.ax_.get_xlabel()
    weighted = MallowsMixtureDisplay.from_estimator(mixture, X[[0, -1]], sample_weight=[31, 29])
    np.testing.assert_array_equal(weighted.order_agreement, display.order_agreement)
    assert display.order_agreement[0, 0] == 1
    assert 0.2 < display.order_agreement[0, 1] < 0.95
    assert not MallowsMixtureDisplay.from_estimator(mixture).unsure_


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_many_items_are_cut_and_that_is_said():
    X = make_mallows_mixture(400, 12, 2, phi=0.5, random_state=0)[0]
    mixture = MallowsMixture(2, init="kmeans", polish=False, random_state=0).fit(X)
    names = [f"a long name of the item number {item}" for item in range(12)]
    display = MallowsMixtureDisplay.from_estimator(mixture, item_names=names, max_items=5)
    assert display.ax_.get_xlabel() == "the first 5 of 12 places"
    texts = [text.get_text() for text in display.ax_.texts]
    assert len(texts) == 10
    assert len({text for text in texts if text}) == len(
        {item for center in mixture.centers_ for item in np.flatnonzero(center < 5)}
    )
    with pytest.raises(ValueError, match="X has 11 features"):
        MallowsMixtureDisplay.from_estimator(mixture, X[:, :11])


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


def test_whiskers_are_the_intervals_of_the_shares(mixture):
    X = make_mallows_mixture(400, 5, 2, phi=0.3, random_state=0)[0]
    display = MallowsMixtureDisplay.from_estimator(mixture, X)
    assert display.weight_intervals.shape == (2, 2)
    assert "95 % intervals" in display.ax_.get_xlabel()
    assert "95 %" not in MallowsMixtureDisplay.from_estimator(mixture).ax_.get_xlabel()
    assert "dispersion 0.3" in display.ax_.get_xticklabels()[0].get_text()
