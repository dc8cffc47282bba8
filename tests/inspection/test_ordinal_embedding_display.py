import matplotlib
import numpy as np
import pytest
from matplotlib.text import Text
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from skrank.datasets import make_triplets
from skrank.inspection import OrdinalEmbeddingDisplay
from skrank.manifold import LandmarkOrdinalEmbedding, StochasticTripletEmbedding

matplotlib.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    triplets, _ = make_triplets(n_items=12, n_triplets=1500, n_components=3, noise="logistic", random_state=0)
    return StochasticTripletEmbedding(3, random_state=0).fit(triplets)


def test_points_names_and_axes(model):
    names = [f"item {number}" for number in range(12)]
    display = OrdinalEmbeddingDisplay.from_estimator(model, item_names=names, components=(0, 2))
    np.testing.assert_allclose(display.scatter_[0].get_offsets(), model.embedding_[:, [0, 2]])
    assert [text.get_text() for text in display.ax_.texts] == names
    assert display.ax_.get_ylabel() == "component 2"
    assert display.ax_.get_aspect() == 1
    assert display.figure_ is display.ax_.figure


def test_classes_have_colors_and_a_legend(model):
    _, ax = plt.subplots()
    labels = np.repeat(["a", "b", "c"], 4)
    display = OrdinalEmbeddingDisplay.from_estimator(model, labels=labels, ax=ax)
    assert display.ax_ is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert len({tuple(points.get_facecolor()[0]) for points in display.scatter_}) == 3
    np.testing.assert_allclose(display.scatter_[1].get_offsets(), model.embedding_[4:8, :2])
    assert not ax.texts


@pytest.mark.parametrize("n_classes", [2, 15, 30])
def test_many_classes(n_classes):
    X = np.random.default_rng(0).standard_normal((60, 2))
    display = OrdinalEmbeddingDisplay.from_embedding(X, labels=np.arange(60) % n_classes)
    assert len({tuple(points.get_facecolor()[0]) for points in display.scatter_}) == n_classes


def test_one_component_and_many_items():
    X = np.random.default_rng(0).standard_normal((310, 1))
    display = OrdinalEmbeddingDisplay.from_embedding(X, item_names=range(310))
    np.testing.assert_allclose(display.scatter_[0].get_offsets()[:, 0], X[:, 0])
    assert not display.ax_.texts
    assert len(OrdinalEmbeddingDisplay.from_embedding(X, item_names=range(310), names=True).ax_.texts) == 310


def test_landmarks_get_rings():
    X = np.random.default_rng(0).standard_normal((40, 2))
    model = LandmarkOrdinalEmbedding(2, random_state=0).fit(X)
    display = OrdinalEmbeddingDisplay.from_estimator(model)
    np.testing.assert_allclose(display.landmarks_.get_offsets(), model.embedding_[model.landmarks_])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["landmark"]
    assert OrdinalEmbeddingDisplay.from_embedding(X).landmarks_ is None
    rings = OrdinalEmbeddingDisplay.from_embedding(X, landmarks=[3, 5]).landmarks_
    np.testing.assert_allclose(rings.get_offsets(), X[[3, 5]])


def test_names_that_would_cover_others_are_left_out_and_counted():
    X = np.array([[0.0, 0], *[[1.0, 1]] * 49])
    display = OrdinalEmbeddingDisplay.from_embedding(X, item_names=[f"item {number}" for number in range(50)])
    texts = display.ax_.texts
    assert 10 < len(texts) < 50  # one, and those around the others, which are all in one place
    assert display.ax_.get_xlabel().endswith(f"(room for {len(texts)} of 50 names)")
    display.figure_.draw_without_rendering()
    boxes = np.array([Text.get_window_extent(text).extents for text in texts])
    for number, box in enumerate(boxes):
        others = np.delete(boxes, number, axis=0)
        assert not ((box[:2] < others[:, 2:]) & (box[2:] > others[:, :2])).all(axis=1).any()
    assert len(OrdinalEmbeddingDisplay.from_embedding(X, item_names=range(50), names=True).ax_.texts) == 50


def test_long_names_are_wrapped():
    name = "Protect moors, forests and rivers from further development (including the coast)"
    display = OrdinalEmbeddingDisplay.from_embedding([[0.0, 0], [1, 1]], item_names=[name, "short"])
    assert [" ".join(text.get_text().split()) for text in display.ax_.texts] == [name, "short"]
    assert "\n" in display.ax_.texts[0].get_text()


def test_circles_are_as_wide_as_the_expected_error():
    # n_samples times the mean square error of a place is the Procrustes error times the squared norm of the cloud.
    def noisy(anchors, left, right):
        return ((anchors - left) ** 2).sum(axis=1) - ((anchors - right) ** 2).sum(axis=1) < rng.logistic(size=len(left))

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    model = LandmarkOrdinalEmbedding(2, oracle=noisy, random_state=0).fit(X)
    display = OrdinalEmbeddingDisplay.from_estimator(model)
    squared_norm = ((model.embedding_ - model.embedding_.mean(axis=0)) ** 2).sum()
    assert display.expected_distance**2 * 60 == pytest.approx(model.expected_error_ * squared_norm)
    assert "circles" in display.ax_.get_xlabel()
    assert "circles" not in OrdinalEmbeddingDisplay.from_embedding(X).ax_.get_xlabel()


def test_bad_input(model):
    with pytest.raises(ValueError, match="components 0 to 2"):
        OrdinalEmbeddingDisplay.from_estimator(model, components=(0, 3))
    with pytest.raises(ValueError, match="labels must have one entry for each of the 12 items"):
        OrdinalEmbeddingDisplay.from_estimator(model, labels=[0, 1])
    with pytest.raises(NotFittedError):
        OrdinalEmbeddingDisplay.from_estimator(StochasticTripletEmbedding())
    with pytest.raises(TypeError, match="PCA has no embedding_"):
        OrdinalEmbeddingDisplay.from_estimator(PCA().fit(np.eye(3)))
