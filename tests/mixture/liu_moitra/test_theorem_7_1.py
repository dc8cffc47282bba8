"""Theorem 7.1 end to end on exact distributions of few items."""

import numpy as np
import pytest

from skrank._total_variation import all_rankings
from skrank.mixture._liu_moitra._theorem_7_1 import (
    candidate_prefixes,
    mixing_weights,
    mixture_distribution,
    recovered_center,
    theorem_7_1,
)
from skrank.stats import mallows

GRID = np.array([0.3, 0.6, 0.8])
MIXTURES = {
    "far centers": ([[0, 1, 2, 3, 4], [3, 1, 0, 4, 2]], [0.3, 0.6], [0.6, 0.4]),
    "neighbors exchanged": ([[0, 1, 2, 3, 4], [0, 1, 2, 4, 3]], [0.3, 0.8], [0.3, 0.7]),
    "one center": ([[2, 0, 3, 1], [2, 0, 3, 1]], [0.3, 0.6], [0.5, 0.5]),
}


def given(name):
    return tuple(np.array(values) for values in MIXTURES[name])


def test_the_distribution_is_that_of_the_models():
    centers, dispersions, weights = given("far centers")
    X = all_rankings(5)
    expected = sum(w * mallows(c, phi).pmf(X) for c, phi, w in zip(centers, dispersions, weights, strict=True))
    assert mixture_distribution(centers, dispersions, weights) == pytest.approx(expected)


@pytest.mark.parametrize("name", MIXTURES)
def test_step_1_lists_the_prefix_of_every_center(name):
    centers, dispersions, weights = given(name)
    probabilities = mixture_distribution(centers, dispersions, weights)
    least = weights.min() * (1 - dispersions.max()) ** 2 / 2
    prefixes = candidate_prefixes(probabilities, centers.shape[1], 2, least).tolist()
    assert all(np.argsort(center)[:2].tolist() in prefixes for center in centers)


@pytest.mark.parametrize("own", [0, 1])
def test_step_2_recovers_a_center_from_right_guesses(own):
    centers, dispersions, weights = given("far centers")
    probabilities = mixture_distribution(centers, dispersions, weights)
    prefix = np.argsort(centers[own])[:2]
    flips = centers[[1 - own]][:, prefix[0]] > centers[[1 - own]][:, prefix[1]]
    found = recovered_center(probabilities, prefix, dispersions[[1 - own]], flips)
    assert found.tolist() == centers[own].tolist()


def test_step_3_gives_the_weights():
    centers, dispersions, weights = given("far centers")
    probabilities = mixture_distribution(centers, dispersions, weights)
    assert mixing_weights(probabilities, centers, dispersions) == pytest.approx(weights)


@pytest.mark.parametrize("name", MIXTURES)
def test_the_steps_find_the_mixture(name):
    centers, dispersions, weights = given(name)
    probabilities = mixture_distribution(centers, dispersions, weights)
    found = theorem_7_1(probabilities, 2, GRID, least_weight=0.25, gamma=0.2)
    assert found[0].tolist() == centers.tolist()
    assert found[1] == pytest.approx(dispersions)
    assert found[2] == pytest.approx(weights)
    assert found[3] < 1e-12


def test_a_distribution_of_another_kind_leaves_a_difference():
    probabilities = mixture_distribution(np.array([[0, 1, 2, 3]]), np.array([0.6]), np.ones(1))
    assert theorem_7_1(probabilities, 2, GRID, least_weight=0.25, gamma=0.2)[3] > 0.01
    with pytest.raises(ValueError, match="not as separated"):
        theorem_7_1(probabilities, 2, GRID[:1], least_weight=0.25, gamma=0.2)
