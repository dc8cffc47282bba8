import matplotlib
import numpy as np
import pytest
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
    X = np.random.default_rng(0).standard_normal((130, 1))
    display = OrdinalEmbeddingDisplay.from_embedding(X, item_names=range(130))
    np.testing.assert_allclose(display.scatter_[0].get_offsets()[:, 0], X[:, 0])
    assert not display.ax_.texts
    assert len(OrdinalEmbeddingDisplay.from_embedding(X, item_names=range(130), names=True).ax_.texts) == 130


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
    X = np.array([[0.0, 0], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1], [1, 1]])
    display = OrdinalEmbeddingDisplay.from_embedding(X, item_names=[f"item {number}" for number in range(7)])
    shown = [text.get_text() for text in display.ax_.texts]
    assert len(shown) == 5  # one, and four around the six in one place
    assert display.ax_.get_xlabel().endswith("(room for 5 of 7 names)")
    assert len(OrdinalEmbeddingDisplay.from_embedding(X, item_names=range(7), names=True).ax_.texts) == 7


def test_bad_input(model):
    with pytest.raises(ValueError, match="components 0 to 2"):
        OrdinalEmbeddingDisplay.from_estimator(model, components=(0, 3))
    with pytest.raises(ValueError, match="labels must have one entry for each of the 12 items"):
        OrdinalEmbeddingDisplay.from_estimator(model, labels=[0, 1])
    with pytest.raises(NotFittedError):
        OrdinalEmbeddingDisplay.from_estimator(StochasticTripletEmbedding())
    with pytest.raises(TypeError, match="PCA has no embedding_"):
        OrdinalEmbeddingDisplay.from_estimator(PCA().fit(np.eye(3)))
