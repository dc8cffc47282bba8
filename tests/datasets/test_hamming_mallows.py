"""Rankings from the Mallows model of Hamming's distance, against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank.datasets import make_rankings
from skrank.datasets._hamming_mallows import displaced_probabilities, log_derangements, random_derangements


def test_derangements_are_counted():
    assert np.exp(log_derangements(8)) == pytest.approx([1, 0, 1, 2, 9, 44, 265, 1854, 14833])
    assert np.isfinite(log_derangements(500)[2:]).all()


@pytest.mark.parametrize("phi", [0.0, 0.2, 0.7, 1.0])
def test_probabilities_of_distances_equal_enumeration(phi):
    every = np.array(list(itertools.permutations(range(6))))
    displaced = (every != np.arange(6)).sum(axis=1)
    weights = np.bincount(displaced, phi ** displaced.astype(float), 7)
    assert displaced_probabilities(6, phi) == pytest.approx(weights / weights.sum())


@pytest.mark.parametrize("phi", [0.3, 1.0])
def test_draws_have_the_probabilities_of_the_model(phi):
    center = [2, 0, 3, 1]
    X = make_rankings(6000, 4, center=center, phi=phi, distance="hamming", random_state=0)
    every = np.array(list(itertools.permutations(range(4))))
    weights = phi ** (every != center).sum(axis=1).astype(float)
    counts = [(X == one).all(axis=1).sum() for one in every]
    assert chisquare(counts, 6000 * weights / weights.sum()).pvalue > 1e-3


def test_extremes_and_top_lists():
    assert (make_rankings(5, 4, center=[1, 0, 2, 3], phi=0, distance="hamming") == [1, 0, 2, 3]).all()
    assert (make_rankings(3, 1, distance="hamming") == 0).all()
    lists = make_rankings(20, 6, phi=0.5, distance="hamming", top_k=2, random_state=0)
    assert lists.max() == 2


def test_random_derangements_are_uniform():
    drawn = random_derangements(2000, 4, np.random.default_rng(0))
    assert (drawn != np.arange(4)).all()
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 9
    assert chisquare(counts).pvalue > 1e-3
