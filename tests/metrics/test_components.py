"""Matching mixture components."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from skrank._mallows import log_distance_distribution
from skrank.datasets import make_hard_mallows_pair, make_mallows_mixture
from skrank.metrics import match_components
from skrank.metrics._components import center_distances, jeffreys_divergences
from skrank.stats import mallows


def test_divergences_equal_enumeration():
    rng = np.random.default_rng(0)
    for n_items in (1, 2, 5):
        X = np.array(list(itertools.permutations(range(n_items))))
        sides = [
            (rng.permuted(np.tile(np.arange(n_items), (k, 1)), axis=1), rng.uniform(0.05, 0.99, k)) for k in (3, 2)
        ]
        log_p, log_q = ([mallows(*parameters).logpmf(X) for parameters in zip(*side, strict=True)] for side in sides)
        expected = [[((np.exp(p) - np.exp(q)) * (p - q)).sum() for q in log_q] for p in log_p]
        assert jeffreys_divergences(*sides) == pytest.approx(np.array(expected), rel=1e-8, abs=1e-10)


def test_distances_between_centers():
    first, second = np.array([[0, 1, 2], [2, 1, 0]]), np.array([[0, 2, 1]])
    assert center_distances(first, second).tolist() == [[1], [2]]


@pytest.mark.parametrize("centers", ["random", "close", "same"])
def test_a_relabeled_mixture_is_found_again(centers):
    data = make_mallows_mixture(
        10, 12, 4, centers=centers, phi=[0.2, 0.4, 0.6, 0.8], weights=[4, 3, 2, 1], random_state=1, return_X_y=False
    )
    order = np.array([2, 0, 3, 1])
    shuffled = (data.centers[order], data.dispersions[order] + 0.01, data.weights[order])
    match = match_components(data, shuffled)
    assert (order[match.components] == np.arange(4)).all()
    assert (match.center_distances == 0).all()
    assert match.dispersion_errors == pytest.approx(0.01)
    assert (match.weight_errors == 0).all()
    assert len(match.unmatched) == 0
    # Labels of the shuffled mixture become those of the first one.
    assert (match.relabel(np.arange(4)) == order).all()


def test_equal_components_go_by_weight():
    centers, dispersions = [[0, 1, 2]] * 2, [0.5, 0.5]
    match = match_components((centers, dispersions, [0.3, 0.7]), (centers, dispersions, [0.6, 0.4]))
    assert match.components.tolist() == [1, 0]
    assert match.weight_errors == pytest.approx([0.1, -0.1])


@pytest.mark.parametrize("dispersion", [0.0, 1.0])
def test_the_ends_of_the_dispersion(dispersion):
    truth = ([[0, 1, 2], [2, 1, 0]], [dispersion, 0.5], [0.5, 0.5])
    fitted = ([[2, 0, 1], [1, 0, 2]], [0.5, dispersion], [0.5, 0.5])
    assert match_components(truth, fitted).components.tolist() == [1, 0]


def test_numbers_of_components_may_differ():
    three = ([[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]], [0.3, 0.3, 0.3], [0.5, 0.3, 0.2])
    two = ([[1, 3, 0, 2], [0, 1, 3, 2]], [0.3, 0.4], [0.6, 0.4])
    fewer = match_components(three, two)
    assert fewer.components.tolist() == [1, -1, 0]
    assert fewer.center_distances[[0, 2]].tolist() == [1, 0]
    assert np.isnan([fewer.center_distances[1], fewer.dispersion_errors[1], fewer.weight_errors[1]]).all()
    more = match_components(two, three)
    assert more.components.tolist() == [2, 0]
    assert more.unmatched.tolist() == [1]
    assert more.relabel([0, 1, 2, 1]).tolist() == [1, -1, 0, -1]


def test_estimators_bunches_and_tuples():
    centers, dispersions, weights = [[0, 1, 2], [2, 0, 1]], [0.1, 0.2], [0.4, 0.6]
    fitted = SimpleNamespace(centers_=centers, dispersions_=dispersions, weights_=weights)
    parameters = SimpleNamespace(centers=centers, dispersions=dispersions, weights=weights)
    for mixture in (fitted, parameters, (centers, dispersions, weights)):
        assert match_components(mixture, fitted).components.tolist() == [0, 1]


def test_bad_mixtures():
    good = ([[0, 1, 2]], [0.5], [1.0])
    with pytest.raises(TypeError, match="estimate must be a fitted Mallows mixture.*got ndarray"):
        match_components(good, np.zeros((1, 3)))
    with pytest.raises(ValueError, match="reference ranks 3 items, estimate 2"):
        match_components(good, ([[0, 1]], [0.5], [1.0]))
    with pytest.raises(ValueError, match="reference's dispersions must be 1 numbers"):
        match_components(([[0, 1, 2]], [0.5, 0.5], [1.0]), good)
    with pytest.raises(ValueError, match="estimate's weights must be"):
        match_components(good, ([[0, 1, 2]], [0.5], [1.5]))
    with pytest.raises(ValueError, match="estimate's centers ties items"):
        match_components(good, ([[0, 1, 1]], [0.5], [1.0]))


def total_variation_by_enumeration(one, other):
    X = np.array(list(itertools.permutations(range(len(one[0])))))
    return np.abs(mallows(*one).pmf(X) - mallows(*other).pmf(X)).sum() / 2


def test_total_variation_between_components_equals_enumeration():
    first = ([[0, 1, 2, 3], [3, 2, 1, 0]], [0.3, 0.5], [0.6, 0.4])
    second = ([[3, 1, 2, 0], [0, 1, 2, 3]], [0.55, 0.2], [0.42, 0.58])
    match = match_components(first, second)
    expected = [
        total_variation_by_enumeration((first[0][i], first[1][i]), (second[0][j], second[1][j]))
        for i, j in enumerate(match.components)
    ]
    assert match.total_variations == pytest.approx(expected)
    assert (match.total_variation_errors == 0).all()
    assert np.isnan(match_components(first, ([[0, 1, 2, 3]], [0.3], [1.0])).total_variations[1])


def test_total_variation_of_many_items_is_estimated():
    center, other = np.arange(15), np.r_[1, 0, np.arange(2, 15)]
    match = match_components(([center], [0.5], [1.0]), ([other], [0.5], [1.0]))
    # Two neighbors exchanged: (1 - phi) / (1 + phi), the difference of the probabilities of either order. Every draw
    # has this value, so the standard error is that of rounding.
    assert match.total_variation_errors[0] < 1e-12
    assert match.total_variations[0] == pytest.approx(1 / 3, rel=1e-12)
    far = match_components(([center], [0.5], [1.0]), ([center[::-1]], [0.9], [1.0]))
    assert 0 < far.total_variation_errors[0] < 0.01


@pytest.mark.parametrize(
    ("theta", "by", "expected"),
    [
        (0.1, "parameters", True),
        (0.09, "parameters", False),
        (0.05, "base_parameters", True),
        (0.04, "base_parameters", False),
    ],
)
def test_closeness_in_parameters(theta, by, expected):
    first = ([[0, 1, 2], [2, 1, 0]], [0.3, 0.5], [0.6, 0.4])
    second = ([[2, 1, 0], [0, 1, 2]], [0.55, 0.3], [0.5, 0.5])
    assert match_components(first, second).is_close(theta, by=by) is expected


def test_closeness_is_that_of_the_best_relabeling():
    # Nearly uniform components: their centers say little, weights decide which relabeling is close.
    first = ([[0, 1, 2], [2, 1, 0]], [0.97, 0.97], [0.8, 0.2])
    second = ([[2, 1, 0], [0, 1, 2]], [0.97, 0.97], [0.8, 0.2])
    match = match_components(first, second)
    assert match.is_close(0.1)
    assert not match.is_close(0.1, by="parameters")
    assert not match_components(first, ([[0, 1, 2]], [0.97], [1.0])).is_close(1)
    with pytest.raises(ValueError, match="by must be"):
        match.is_close(0.1, by="center")


def test_the_concentric_pair_is_not_component_wise_close():
    mu, n_components = 1 / 160, 2
    first, second = make_hard_mallows_pair("concentric", n_items=160, mu=mu, n_samples=1, random_state=0)
    match = match_components(first, second)
    assert not match.is_close(mu)
    weights = np.concatenate([first.weights, second.weights])
    assert weights.min() >= 1 / (10 * 4**n_components)
    # Rankings at one distance from the shared center are equally likely in both mixtures.
    laws = [
        sum(
            w * np.exp(log_distance_distribution(160, phi)) for w, phi in zip(one.weights, one.dispersions, strict=True)
        )
        for one in (first, second)
    ]
    assert np.abs(laws[0] - laws[1]).sum() / 2 <= 4 * (8 * mu * n_components) ** (2 * n_components - 1)
    dispersions = [*first.dispersions, *second.dispersions, 1.0]
    laws = [np.exp(log_distance_distribution(160, phi)) for phi in dispersions]
    assert all(np.abs(one - other).sum() / 2 >= mu for one, other in itertools.combinations(laws, 2))
