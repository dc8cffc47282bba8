"""The display of a kernel matrix: what it shows, not how it looks."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from skrank.datasets import make_mallows_mixture, make_rankings
from skrank.inspection import RankingKernelDisplay
from skrank.inspection._base import representative_rows
from skrank.kernels import KendallKernel, PartialRankingKernel
from skrank.metrics import dendrogram_purity

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NAN = np.nan


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_the_matrix_is_the_kernels_in_the_order_of_the_tree():
    X = make_rankings(20, 6, phi=0.8, random_state=0)
    display = RankingKernelDisplay.from_rankings(X, kernel="kendall")
    assert sorted(display.rows) == list(range(20))
    np.testing.assert_array_equal(display.rows, hierarchy.leaves_list(display.tree))
    expected = PartialRankingKernel("kendall").fit_transform(X)[np.ix_(display.rows, display.rows)]
    np.testing.assert_allclose(display.gram, expected, atol=1e-14)
    np.testing.assert_array_equal(display.image_.get_array(), display.gram)
    # The leaves of the tree are level with the rows: both have the first ranking on top.
    assert display.ax_.get_ylim() == (19.5, -0.5)
    assert display.dendrogram_ax_.get_ylim() == (200, 0)


def test_linkages_are_of_kernel_distances():
    X = make_rankings(12, 5, random_state=0)
    squared = PartialRankingKernel("kendall", output="distance").fit_transform(X)
    for linkage in ("ward", "average"):
        tree = RankingKernelDisplay.from_rankings(X, kernel="kendall", linkage=linkage).tree
        expected = hierarchy.linkage(squareform(np.sqrt(squared), checks=False), linkage)
        np.testing.assert_allclose(tree[:, 2], expected[:, 2], atol=1e-7)


def test_groups_are_branches():
    X, y = make_mallows_mixture(50, 6, n_components=2, centers="reversed", phi=0.2, random_state=0)
    display = RankingKernelDisplay.from_rankings(X, labels=y)
    assert dendrogram_purity(display.tree, y) == 1
    assert np.count_nonzero(np.diff(display.labels)) == 1
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["0", "1"]


def test_rankings_are_written_with_the_items_names():
    frame = pd.DataFrame([[1, 2, 3], [2, 2, 1], [1, NAN, 2], [NAN, NAN, NAN]], columns=["egg", "tuna", "a" * 30])
    display = RankingKernelDisplay.from_rankings(frame, kernel="kendall")
    long = "a" * 30
    assert set(display.names) == {
        f"egg > tuna > {long}",
        f"{long} > egg = tuna",
        f"egg > {long}",
        "(nothing)",
    }
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(display.names)


def test_no_name_is_cut_in_rankings():
    names = ["a second bridge over the river near the old town hall", "b" * 25, "c" * 25, "d"]
    display = RankingKernelDisplay.from_rankings([[1, 2, 3, 4], [4, 1, 2, 3]], item_names=names)
    texts = {" ".join(name.split()) for name in display.names}
    dots = "\N{HORIZONTAL ELLIPSIS}"
    assert texts == {f"{names[0]} > {dots}", f"{'b' * 25} > {dots}"}
    assert any("\n" in name for name in display.names)


def test_weights_are_repeats_and_many_rankings_a_stated_sample():
    X = [[0, 1, 2], [1, 0, 2], [2, 1, 0]]
    weighted = RankingKernelDisplay.from_rankings(X, sample_weight=[2, 0, 3])
    assert sorted(weighted.rows) == [0, 0, 2, 2, 2]
    assert weighted.note == ""
    sample = RankingKernelDisplay.from_rankings(X, kernel="kendall", sample_weight=[2000, 0, 3000.5], max_rankings=50)
    assert sample.gram.shape == (50, 50)
    assert set(sample.rows) == {0, 2}
    assert sample.ax_.get_xlabel() == "50 of 5000.5 rankings, drawn at random"
    assert not sample.ax_.get_yticklabels()


def test_a_fitted_kernel_keeps_its_scale_on_other_rankings():
    X = make_rankings(30, 5, top_k=2, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = PartialRankingKernel(random_state=0, output="distance").fit(frame)
    others = make_rankings(8, 5, top_k=3, random_state=1)
    _, ax = plt.subplots()
    display = RankingKernelDisplay.from_estimator(fitted, pd.DataFrame(others, columns=list("abcde")), ax=ax)
    assert display.ax_ is ax
    settled = PartialRankingKernel(fitted.kernel_, method=fitted.method_, random_state=0)
    np.testing.assert_allclose(display.gram, settled.fit_transform(others[display.rows]))
    assert display.names[0].startswith(tuple("abcde"))
    with pytest.warns(UserWarning, match="feature names"):  # an array, with the names of the fit
        assert RankingKernelDisplay.from_estimator(fitted, others).names[0].startswith(tuple("abcde"))


def test_a_kernel_object_and_negative_values():
    X = make_rankings(6, 4, random_state=0)
    display = RankingKernelDisplay.from_rankings(X, kernel=KendallKernel())
    assert display.image_.get_clim() == (-1, 1)
    assert display.image_.get_cmap().name == "RdBu"
    assert RankingKernelDisplay.from_rankings(X).image_.get_cmap().name == "cividis"


@pytest.mark.filterwarnings("error")
def test_equal_rankings_are_drawn_without_a_warning():
    display = RankingKernelDisplay.from_rankings(np.zeros((3, 4)), kernel="kendall")
    np.testing.assert_array_equal(display.tree[:, 2], 0)


def test_errors():
    X = make_rankings(6, 4, random_state=0)
    with pytest.raises(ValueError, match="max_rankings must be a whole number from 2 to 800, got 1000"):
        RankingKernelDisplay.from_rankings(X, max_rankings=1000)
    with pytest.raises(ValueError, match="labels must have one entry for each of the 6"):
        RankingKernelDisplay.from_rankings(X, labels=[1, 2])
    with pytest.raises(ValueError, match="linkage must be one of 'ward', 'average'.*, got 'centroid'"):
        RankingKernelDisplay.from_rankings(X, linkage="centroid")
    with pytest.raises(ValueError, match="There is one ranking"):
        RankingKernelDisplay.from_rankings(X[:1])
    with pytest.raises(NotFittedError):
        RankingKernelDisplay.from_estimator(PartialRankingKernel(), X)
    with pytest.raises(TypeError, match="must be a PartialRankingKernel, got StandardScaler"):
        RankingKernelDisplay.from_estimator(StandardScaler(), X)
    with pytest.raises(ValueError, match="X has 4 features, but PartialRankingKernel is expecting 3"):
        RankingKernelDisplay.from_estimator(PartialRankingKernel().fit(X[:, :3]), X)


def test_a_sample_of_counted_rankings_holds_none_twice():
    weights = np.repeat([1.0, 0.0, 3.0], [400, 5, 200])
    rows, drawn = representative_rows(weights, 900)
    assert drawn
    assert len(rows) == 900
    times = np.bincount(rows, minlength=len(weights))
    assert (times <= weights).all()
    assert abs(times[405:].sum() - 540) < 4 * np.sqrt(900 * 0.6 * 0.4)
