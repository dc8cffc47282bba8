"""Splitting, growing and exchanging components."""

from dataclasses import replace

import numpy as np
import pytest

from skrank._mallows import sample_mallows
from skrank._rankings import aggregate
from skrank.mixture._em import em, evaluated, expectation, one_component
from skrank.mixture._model import Mixture, description_length
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._search import SearchOptions, _growth
from skrank.mixture._search._growth import exchange, grow
from skrank.mixture._search._peel import additions
from skrank.mixture._search._split import side, split_directions, splits
from skrank.mixture._transpositions import polish

OPTIONS = SearchOptions()


def drawn(centers, dispersions, counts, seed):
    nu = np.repeat(-np.log(dispersions), counts)
    rankings = sample_mallows(np.repeat(centers, counts, axis=0), nu, np.random.default_rng(seed))
    table = aggregate(rankings)
    return PairSigns(table.ranks, table.weights)


def close_centers(n_items, n_swaps, k):
    """The identity, and others with disjoint pairs of neighbors exchanged, each its own."""
    centers = np.tile(np.arange(n_items), (k, 1))
    for component in range(1, k):
        for swap in range(n_swaps):
            t = 2 * ((component - 1) * n_swaps + swap)
            centers[component, [t, t + 1]] = [t + 1, t]
    return centers


def test_order_bits_of_one_model_have_no_direction():
    data = drawn(np.arange(12)[None], [0.6], [4000], 0)
    mixture = one_component(data)
    nats = [d.nats for d in split_directions(data, data.weights, mixture.centers[0])]
    assert nats == sorted(nats, reverse=True)
    # The largest eigenvalue of a covariance of 11 independent bits of unit variance is near 2 sqrt(11 / 4000).
    assert nats[0] < 4000 * (3 * np.sqrt(11 / 4000)) ** 2 / 4


def test_the_strongest_direction_points_from_one_component_to_the_other():
    centers = close_centers(12, 3, 2)
    data = drawn(centers, [0.4, 0.4], [1000, 1000], 1)
    direction = split_directions(data, data.weights, np.arange(12))[0]
    toward = data.adjacent_signs(np.arange(12))[[0, 2, 4]].sum(axis=0)
    assert abs(np.corrcoef(direction.scores, toward)[0, 1]) > 0.95
    # r = (p - 1/2)^2 4 between any two of three bits: eigenvalue 2 r of the variance 1, N r^2 nats.
    r = (0.6 / 1.4) ** 2
    assert direction.nats == pytest.approx(2000 * r**2, rel=0.2)


def test_side_is_a_share_of_the_component():
    row_weights = np.array([0.5, 0.0, 1.0, 0.5, 2.0])
    scores = np.array([3.0, 0.0, 1.0, 2.0, 4.0])
    assert side(row_weights, scores, 0.5).tolist() == [0.5, 0, 1, 0.5, 0]
    assert side(row_weights, -scores, 0.25).tolist() == [0, 0, 0, 0, 2]


def test_halves_of_a_merged_component_take_its_place():
    far = np.arange(12)[::-1]
    centers = np.vstack([close_centers(12, 3, 2), far])
    data = drawn(centers, [0.4, 0.4, 0.4], [1000, 1000, 1000], 2)
    merged = em(data, Mixture(centers[[2, 0]], np.array([0.4, 0.5]), np.array([1 / 3, 2 / 3])))
    best = splits(data, merged, 2)[0]
    np.testing.assert_array_equal(best.centers[0], far)
    np.testing.assert_array_equal(best.centers[1:][np.lexsort(best.centers[1:].T)], centers[[1, 0]])
    assert best.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(best.weights[1:], merged.weights[1] / 2)


def mixtures_of_three(seed):
    """Rankings of three close components; mixtures of two, of these and another beside them, and from the truth."""
    centers = close_centers(12, 3, 3)
    data = drawn(centers, [0.6] * 3, [500] * 3, seed)
    truth = polish(data, Mixture(centers, np.full(3, 0.6), np.full(3, 1 / 3)))
    two = polish(data, Mixture(centers[:2], np.full(2, 0.6), np.array([2 / 3, 1 / 3])))
    beside = polish(data, additions(data, two, np.random.default_rng(0), replace(OPTIONS, n_kept=1))[0])
    return data, two, beside, truth


def test_growing_finds_what_a_new_component_beside_a_merged_one_may_not():
    stuck = 0
    for seed in (3, 4, 5):
        data, two, beside, truth = mixtures_of_three(seed)
        stuck += description_length(data, beside) > description_length(data, truth) + 3
        grown = polish(data, grow(data, two, np.random.default_rng(0), OPTIONS)[0])
        assert description_length(data, grown) < description_length(data, truth) + 0.1
    assert stuck


def test_exchange_leaves_a_local_optimum():
    data, _, beside, truth = mixtures_of_three(4)
    assert description_length(data, beside) > description_length(data, truth) + 3
    found = exchange(data, beside, np.random.default_rng(0), OPTIONS)
    assert description_length(data, found) < description_length(data, truth) + 0.1
    assert exchange(data, beside, np.random.default_rng(0), replace(OPTIONS, with_exchange=False)) is beside


def test_components_with_rankings_of_their_own_are_not_exchanged(monkeypatch):
    rng = np.random.default_rng(4)
    centers = np.array([rng.permutation(12) for _ in range(3)])
    data = drawn(centers, [0.5] * 3, [300] * 3, 5)
    mixture = polish(data, evaluated(data, Mixture(centers, np.full(3, 0.5), np.full(3, 1 / 3))))
    monkeypatch.setattr(_growth, "grow", None)
    assert exchange(data, mixture, rng, OPTIONS) is mixture


def test_a_spare_component_is_exchanged():
    rng = np.random.default_rng(6)
    centers = np.array([rng.permutation(12) for _ in range(3)])
    data = drawn(centers, [0.5] * 3, [300] * 3, 7)
    near = centers[0].copy()
    near[np.argsort(near)[[3, 4]]] = [4, 3]
    spare = polish(data, Mixture(np.array([centers[0], near, centers[1]]), np.full(3, 0.6), np.full(3, 1 / 3)))
    found = exchange(data, spare, rng, OPTIONS)
    assert sorted(map(tuple, found.centers)) == sorted(map(tuple, centers))
    assert found.log_likelihood == pytest.approx(expectation(data, found)[1])
