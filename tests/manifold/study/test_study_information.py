"""The information of responses: derivatives against differences, covariances and errors against simulation."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from skrank.manifold._study._information import (
    covariance,
    expected_procrustes_error,
    indifferent_directions,
    information,
    information_matrix,
    jacobian,
    margins,
    without_directions,
)
from skrank.metrics import procrustes_error

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((7, 3))
TRIPLETS = np.array([RNG.choice(7, 3, replace=False) for _ in range(40)])


def test_margins_and_their_derivatives():
    anchor, left, right = (POINTS[items] for items in TRIPLETS.T)
    expected = ((anchor - right) ** 2).sum(axis=1) - ((anchor - left) ** 2).sum(axis=1)
    np.testing.assert_allclose(margins(POINTS, TRIPLETS), expected)
    numerical = approx_fprime(POINTS.ravel(), lambda x: margins(x.reshape(7, 3), TRIPLETS))
    np.testing.assert_allclose(jacobian(POINTS, TRIPLETS).toarray(), numerical, atol=1e-5)


@pytest.mark.parametrize("lapse", [0.0, 0.2, 0.5])
def test_information_is_the_variance_of_the_score(lapse):
    margin = np.linspace(-4, 4, 9)
    probability = lapse + (1 - 2 * lapse) * expit(margin)
    slope = (1 - 2 * lapse) * expit(margin) * expit(-margin)
    score_left, score_right = slope / probability, -slope / (1 - probability)
    expected = probability * score_left**2 + (1 - probability) * score_right**2
    np.testing.assert_allclose(information(margin, lapse), expected, atol=1e-12)


def test_information_matrix_sums_over_responses():
    lapses = np.linspace(0, 0.4, len(TRIPLETS))
    derivatives = jacobian(POINTS, TRIPLETS).toarray()
    weights = information(margins(POINTS, TRIPLETS), lapses)
    expected = sum(weight * np.outer(row, row) for weight, row in zip(weights, derivatives, strict=True))
    np.testing.assert_allclose(information_matrix(POINTS, TRIPLETS, lapses), expected)


def test_similarities_do_not_count_as_errors():
    directions = indifferent_directions(POINTS)
    assert directions.shape == (21, 3 + 3 + 1)
    np.testing.assert_allclose(directions.T @ directions, np.eye(7), atol=1e-12)
    turn = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    turn = turn if np.linalg.det(turn) > 0 else -turn
    small = np.eye(3) + 1e-4 * (turn - turn.T)
    change = (1.0001 * POINTS @ small + 1e-4 - POINTS).ravel()
    left = change - directions @ (directions.T @ change)
    assert np.linalg.norm(left) < 1e-3 * np.linalg.norm(change)


def test_projection_of_a_covariance():
    root = RNG.standard_normal((21, 21))
    directions = indifferent_directions(POINTS)
    projector = np.eye(21) - directions @ directions.T
    expected = projector @ root @ root.T @ projector
    np.testing.assert_allclose(without_directions(root @ root.T, directions), expected, atol=1e-9)


def test_the_expected_error_is_that_of_draws_from_the_posterior():
    spread = 0.01 * covariance(POINTS, 10 * information_matrix(POINTS, TRIPLETS, 0.1))
    draws = RNG.multivariate_normal(np.zeros(21), spread, size=2000)
    errors = [procrustes_error(POINTS + draw.reshape(7, 3), POINTS) for draw in draws]
    assert expected_procrustes_error(POINTS, spread) == pytest.approx(np.mean(errors), rel=0.1)
