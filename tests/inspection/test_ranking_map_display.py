"""RankingMapDisplay: coordinates, counts and classes."""

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

from skrank.datasets import make_mallows_mixture
from skrank.inspection import RankingMapDisplay
from skrank.kernels import PartialRankingKernel


@pytest.fixture(autouse=True)
def _no_windows():
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")


def test_points_are_the_distinct_rankings_at_their_principal_components():
    X, y = make_mallows_mixture(80, 4, 2, centers="reversed", phi=0.3, random_state=0)
    display = RankingMapDisplay.from_rankings(X, kernel="kendall", labels=y)
    gram = PartialRankingKernel("kendall").fit_transform(X)
    pca = KernelPCA(2, kernel="precomputed").fit(gram)
    seen, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    np.testing.assert_array_equal(display.counts, counts)
    first = [np.flatnonzero((np.column_stack([X, y]) == row).all(axis=1))[0] for row in seen]
    expected = pca.transform(gram)[first]
    np.testing.assert_allclose(np.abs(display.coordinates), np.abs(expected), atol=1e-8)
    spread = pca.transform(gram).var(axis=0) / (np.trace(gram) / 80 - gram.mean())
    np.testing.assert_allclose(display.explained_variance_ratio, spread)
    assert [len(points.get_offsets()) for points in display.scatter_] == [np.sum(seen[:, -1] == k) for k in (0, 1)]
    # Opposite groups are apart along the first component.
    side = np.sign(display.coordinates[:, 0])
    agreement = display.counts[side == np.sign(2 * display.labels - 1)].sum() / 80
    assert max(agreement, 1 - agreement) > 0.9


def test_weights_are_counts_and_many_are_sampled():
    X = [[0, 1, 2], [2, 1, 0]]
    display = RankingMapDisplay.from_rankings(X, sample_weight=[3, 1])
    assert sorted(display.counts.tolist()) == [1, 3]
    sample = RankingMapDisplay.from_rankings(X, sample_weight=[300, 100], max_rankings=40)
    assert sample.counts.sum() == 40
    assert "40 of 400 rankings" in sample.ax_.get_xlabel()
    survey = RankingMapDisplay.from_rankings(np.repeat(X, 20, axis=0), sample_weight=np.tile([0.5, 1.5], 20))
    assert survey.counts.sum() == 32  # 40^2 / (20 * .25 + 20 * 2.25)


def test_equal_rankings_are_one_point():
    display = RankingMapDisplay.from_rankings(np.tile([0, 1, 2], (5, 1)))
    np.testing.assert_array_equal(display.coordinates, [[0, 0]])
    assert display.counts.tolist() == [5]


def test_bad_input():
    with pytest.raises(ValueError, match="There is one ranking"):
        RankingMapDisplay.from_rankings([[0, 1]])
    with pytest.raises(ValueError, match="labels must have one entry for each of the 2 rankings"):
        RankingMapDisplay.from_rankings([[0, 1], [1, 0]], labels=[1])
