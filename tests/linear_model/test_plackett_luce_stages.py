from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from skrank._rankings import densify
from skrank.linear_model._davidson_luce import DavidsonLuceLikelihood, elementary, without_one
from skrank.linear_model._stages import StageLikelihood, tied_first

NAN = np.nan
RANKS = densify(
    np.array(
        [
            [0, 1, 2, 3],
            [1, 0, 0, 2],
            [0, 0, 1, 1],
            [0, NAN, 1, 2],
            [0, 0, 0, 1],
            [1, 1, 0, 2],
            [0, 0, 1, NAN],
            [2, 1, 1, 0],
            [0, 1, 1, 1],
            [0, 0, NAN, NAN],
            [NAN, NAN, 0, NAN],
        ]
    )
)
WEIGHTS = np.random.default_rng(0).random(len(RANKS)) + 0.5


def any_order(scores, ranks):
    """Sum of the probabilities of all orders that break the ties."""
    items = np.flatnonzero(ranks >= 0)
    total = 0.0
    for order in permutations(items):
        if all(ranks[a] <= ranks[b] for a, b in zip(order, order[1:], strict=False)):
            worth = np.exp(scores[list(order)])
            total += np.prod(worth / np.cumsum(worth[::-1])[::-1])
    return total


def ties_as_outcomes(parameters, ranks):
    """Product over stages of the weight of what was chosen over that of all sets of 1, 2 or 3 open items."""
    delta = {1: 1.0, 2: np.exp(parameters[4]), 3: np.exp(parameters[5])}

    def weight(chosen):
        return delta[len(chosen)] * np.exp(parameters[list(chosen)].mean())

    probability = 1.0
    for bucket in range(ranks.max() + 1):
        left = np.flatnonzero(ranks >= bucket)
        sets = [chosen for size in (1, 2, 3) for chosen in combinations(left, size)]
        probability *= weight(np.flatnonzero(ranks == bucket)) / sum(map(weight, sets))
    return probability


CASES = [
    (StageLikelihood(RANKS, WEIGHTS, 0.3), any_order),
    (DavidsonLuceLikelihood(RANKS, WEIGHTS, 0.3, (2, 3)), ties_as_outcomes),
]


@pytest.mark.parametrize("scale", [0.1, 1, 4])
@pytest.mark.parametrize(("likelihood", "brute_force"), CASES, ids=["break", "davidson-luce"])
def test_probabilities_and_derivatives(likelihood, brute_force, scale):
    at = scale * np.random.default_rng(1).standard_normal(4 + likelihood.n_others)
    expected = [brute_force(at, ranks) for ranks in RANKS]
    np.testing.assert_allclose(np.exp(likelihood.log_likelihoods(at)), expected, rtol=1e-8)
    value, gradient = likelihood.value_and_gradient(at)
    assert value == pytest.approx(-WEIGHTS @ np.log(expected) + 0.15 * at[:4] @ at[:4])
    numeric = approx_fprime(at, lambda x: likelihood.value_and_gradient(x)[0], 1e-7)
    np.testing.assert_allclose(gradient, numeric, atol=2e-6)
    information = likelihood.information(at)
    matrix = information.tocsr().toarray()
    numeric = approx_fprime(at, lambda x: likelihood.value_and_gradient(x)[1], 1e-7)
    np.testing.assert_allclose(matrix, numeric, atol=2e-6)
    np.testing.assert_allclose(information.diagonal, matrix.diagonal(), rtol=1e-9)
    vector = np.random.default_rng(2).normal(size=len(at))
    np.testing.assert_allclose(information.product(vector), matrix @ vector, atol=1e-9)


@pytest.mark.parametrize(("likelihood", "brute_force"), CASES, ids=["break", "davidson-luce"])
def test_contributions_of_rankings_add_up(likelihood, brute_force):
    at = np.random.default_rng(1).standard_normal(4 + likelihood.n_others)
    numbers = np.arange(len(RANKS))
    penalty = np.where(np.arange(len(at)) < 4, 0.3, 0.0)
    gradient, information = -penalty * at, np.diag(penalty)
    for terms in likelihood.contributions(at, (numbers, numbers, WEIGHTS)):
        np.add.at(gradient, terms.parameters, terms.gradient)
        np.add.at(information, (terms.parameters[:, :, None], terms.parameters[:, None, :]), terms.information)
    np.testing.assert_allclose(gradient, -likelihood.value_and_gradient(at)[1], atol=1e-9)
    np.testing.assert_allclose(information, likelihood.information(at).tocsr().toarray(), atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_probability_that_tied_items_come_first_against_inclusion_and_exclusion(size):
    rng = np.random.default_rng(size)
    log_ratio = 2 * rng.standard_normal((20, size))
    worth = np.exp(log_ratio)
    expected = np.zeros(20)
    for k in range(size + 1):
        for members in combinations(range(size), k):
            expected += (-1) ** k / (1 + worth[:, list(members)].sum(axis=1))
    log_probability, slope, curvature = tied_first(log_ratio)
    np.testing.assert_allclose(np.exp(log_probability), expected, rtol=1e-7, atol=1e-11)
    numeric = np.array([approx_fprime(row, lambda r: tied_first(r[None])[0][0], 1e-6) for row in log_ratio])
    np.testing.assert_allclose(slope, numeric, atol=1e-5)
    numeric = np.array([approx_fprime(row, lambda r: tied_first(r[None])[1][0], 1e-6) for row in log_ratio])
    np.testing.assert_allclose(curvature, numeric.reshape(curvature.shape), atol=1e-5)


def test_extreme_worths_do_not_overflow():
    log_probability, slope, curvature = tied_first(np.array([[-300.0, -300.0], [300, 300], [-300, 300]]))
    np.testing.assert_allclose(log_probability, [np.log(2) - 600, 0, -300], atol=1e-8)
    np.testing.assert_allclose(slope, [[1, 1], [0, 0], [1, 0]], atol=1e-8)
    assert np.isfinite(curvature).all()
    likelihood = StageLikelihood(RANKS, WEIGHTS, 0.0)
    assert np.isfinite(likelihood.value_and_gradient(np.array([-400.0, 0, 400, 0]))[0])


def test_elementary_symmetric_polynomials():
    x = np.array([[1.0, 2, 3, 4]])
    e = elementary(x, 3)
    assert [value.item() for value in e] == [1, 10, 35, 50]
    np.testing.assert_allclose(without_one(x, e, 2), [[26, 19, 14, 11]])


@pytest.mark.parametrize("size", [1, 4, 13, 40, 200])
def test_equal_items_have_a_product_as_their_probability(size):
    log_ratio = np.array([-300.0, -6, -3, 0, 3, 8])
    odds = np.exp(-log_ratio)[:, None] / np.arange(1, size + 1)
    log_probability, slope, curvature = tied_first(np.tile(log_ratio[:, None], size))
    np.testing.assert_allclose(log_probability, -np.log1p(odds).sum(axis=1), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(slope.sum(axis=1), (odds / (1 + odds)).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(curvature.sum(axis=(1, 2)), -(odds / (1 + odds) ** 2).sum(axis=1), rtol=1e-5, atol=1e-6)
