"""MixtureBootstrapDisplay draws what the bootstrap says."""

import numpy as np
import pytest

from skrank.datasets import make_mallows_mixture
from skrank.inspection import MixtureBootstrapDisplay
from skrank.mixture import MallowsMixture

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_rows_are_items_in_the_order_of_the_center():
    X = make_mallows_mixture(300, 5, 2, phi=0.5, weights=[0.6, 0.4], random_state=0)[0]
    mixture = MallowsMixture(2, random_state=0).fit(X)
    sure = mixture.bootstrap(X, 20)
    display = MixtureBootstrapDisplay.from_bootstrap(sure, component=1)
    order = np.argsort(mixture.centers_[1])
    np.testing.assert_array_equal(display.image_.get_array(), sure.place_shares[1][order])
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [f"x{item}" for item in order]
    for row, line in enumerate(display.ax_.lines):
        first, last = sure.rank_sets()[1, order[row]]
        np.testing.assert_allclose(line.get_xdata(), [first - 0.4, last + 0.4])
    assert display.ax_.get_title().startswith("component 1: ")
    same = MixtureBootstrapDisplay.from_estimator(mixture, X, n_draws=20, component=1)
    np.testing.assert_array_equal(same.place_shares, display.place_shares)
    with pytest.raises(ValueError, match="component is 2, but the mixture has components 0 to 1"):
        MixtureBootstrapDisplay.from_bootstrap(sure, component=2)
