import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import expit
from scipy.stats import chisquare

from skrank.datasets import make_triplets
from skrank.metrics import triplet_accuracy


def test_questions_are_uniform_over_different_items():
    triplets, _ = make_triplets(n_items=4, n_triplets=48_000, coordinates=np.zeros((4, 1)), random_state=0)
    _, counts = np.unique(triplets, axis=0, return_counts=True)
    assert len(counts) == 24
    assert chisquare(counts).pvalue > 1e-4  # false alarm rate: 1e-4


def test_answers_without_noise_are_right():
    triplets, X = make_triplets(n_items=30, n_triplets=2000, n_components=3, random_state=1)
    assert X.shape == (30, 3)
    assert triplet_accuracy(X, triplets) == 1


def test_logistic_noise_has_its_probabilities():
    X = np.array([[0.0], [1.0], [1.2]])
    triplets, _ = make_triplets(n_triplets=60_000, coordinates=X, noise="logistic", scale=2.0, random_state=0)
    D = cdist(X, X, "sqeuclidean")
    for anchor, near, far in ([0, 1, 2], [1, 0, 2], [2, 0, 1]):
        asked = triplets[triplets[:, 0] == anchor]
        share = np.mean(asked[:, 1] == near)
        p = expit(-2 * (D[anchor, near] - D[anchor, far]))
        assert abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / len(asked))  # false alarm rate: 7e-6


def test_automatic_scale_ignores_the_units():
    X = np.random.default_rng(0).standard_normal((20, 2))
    one, _ = make_triplets(n_triplets=500, coordinates=X, noise="logistic", random_state=0)
    other, _ = make_triplets(n_triplets=500, coordinates=1024 * X, noise="logistic", random_state=0)
    np.testing.assert_array_equal(one, other)


def test_flips_have_their_rate():
    triplets, X = make_triplets(n_triplets=40_000, noise="flip", flip_rate=0.2, random_state=0)
    assert abs(triplet_accuracy(X, triplets) - 0.8) < 4.5 * np.sqrt(0.16 / 40_000)  # false alarm rate: 7e-6


def test_equal_points_and_bad_parameters():
    triplets, _ = make_triplets(n_triplets=50, coordinates=np.ones((5, 2)), noise="logistic", random_state=0)
    assert triplets.shape == (50, 3)
    for parameters in ({"n_items": 2}, {"noise": "gauss"}, {"flip_rate": 0.6}, {"scale": 0.0}):
        with pytest.raises(ValueError, match="parameter of make_triplets must be"):
            make_triplets(**parameters)
    with pytest.raises(ValueError, match="minimum of 3 is required"):
        make_triplets(coordinates=[[0.0], [1.0]])
