"""Identities of the steps from scores to coordinates."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from skrank.manifold._landmark_geometry import (
    estimate_shifts,
    farthest_points,
    landmark_geometry,
    landmark_mds,
    least_squares_shifts,
    principal_axes,
    project_edm,
    shifted,
)


def hollow(scores):
    W = np.array(scores, float)
    np.fill_diagonal(W, 0.0)
    return W


def exact_scores(X, n_landmarks):
    """Squared distances from the first items, each column of mean zero over the other items, and the means."""
    D = cdist(X, X[:n_landmarks], "sqeuclidean")
    means = D.sum(axis=0) / (len(X) - 1)
    scores = D - means
    scores[np.arange(n_landmarks), np.arange(n_landmarks)] = 0
    return scores, means


def test_closed_form_of_the_shifts_is_least_squares():
    rng = np.random.default_rng(0)
    n = 7
    W = hollow(rng.standard_normal((n, n)))
    rows, right = [], []
    for i in range(n):
        for j in range(i + 1, n):
            row = np.zeros(n)
            row[i], row[j] = 1, -1
            rows.append(row)
            right.append(W[i, j] - W[j, i])
    rows.append(np.ones(n))
    right.append(-W.sum() / (n - 1))
    solution = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    np.testing.assert_allclose(least_squares_shifts(W), solution, atol=1e-12)

    # and it minimizes the distance of the shifted scores from symmetric hollow matrices of mean zero
    def distance(sigma):
        shift = W + sigma
        np.fill_diagonal(shift, 0.0)
        off = shift.sum() / (n * (n - 1))
        return ((shift - shift.T) ** 2).sum() / 4 + n * (n - 1) * off**2

    np.testing.assert_allclose(minimize(distance, np.zeros(n)).x, solution, atol=1e-4)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("extra", [0, 4])
def test_the_mean_squared_distance_is_the_second_eigenvalue(d, extra):
    n_landmarks = d + 3 + extra
    D = cdist(*[np.random.default_rng(d).standard_normal((n_landmarks, d))] * 2, "sqeuclidean")
    mean = D.sum() / (n_landmarks * (n_landmarks - 1))
    centered = D - mean * (1 - np.eye(n_landmarks))
    assert np.linalg.eigvalsh(centered)[-2] == pytest.approx(mean, rel=1e-10)


@pytest.mark.parametrize(("d", "n_landmarks"), [(1, 4), (2, 5), (2, 20), (5, 8), (10, 13), (10, 40)])
def test_exact_distances_give_exact_coordinates(d, n_landmarks):
    X = np.random.default_rng(n_landmarks).standard_normal((60, d))
    scores, means = exact_scores(X, n_landmarks)
    geometry = landmark_geometry(hollow(scores[:n_landmarks]), d)
    np.testing.assert_allclose(geometry.shifts, means, rtol=1e-9)
    Y = geometry.place(scores)
    Y[:n_landmarks] = geometry.points
    np.testing.assert_allclose(cdist(Y, Y), cdist(X, X), atol=1e-8)
    assert geometry.n_axes == d


def test_too_few_landmarks_are_refused():
    with pytest.raises(ValueError, match=r"4 landmarks do not determine .* n_components \+ 3 = 5"):
        estimate_shifts(np.zeros((4, 4)), 2)


def test_projection_on_distance_matrices():
    rng = np.random.default_rng(0)
    n = 8
    center = np.eye(n) - 1 / n
    for _ in range(5):
        A = 3 * rng.standard_normal((n, n)) + 3
        E = project_edm(A)
        np.testing.assert_array_equal(E, E.T)
        np.testing.assert_array_equal(np.diag(E), 0)
        assert np.linalg.eigvalsh(center @ E @ center).max() < 1e-9 * E.max()
        np.testing.assert_allclose(project_edm(E), E, atol=1e-6 * E.max())  # idempotent
        # optimal: the residual makes an obtuse angle with the way to any other distance matrix (a convex cone)
        residual = (A + A.T) / 2 - np.diag(np.diag(A)) - E
        assert np.linalg.norm(residual) > 1
        for _ in range(200):
            points = rng.standard_normal((n, n)) * rng.random(n)
            other = cdist(points, points, "sqeuclidean")
            assert np.sum(residual * (other - E)) < 1e-4 * np.linalg.norm(residual) * np.linalg.norm(other - E)
        assert abs(np.sum(residual * E)) < 1e-4 * np.linalg.norm(residual) * np.linalg.norm(E)
    np.testing.assert_array_equal(project_edm(np.zeros((4, 4))), 0)


def test_collinear_landmarks_leave_other_axes_at_zero():
    X = np.random.default_rng(0).standard_normal((30, 2))
    X[:6, 1] = 0
    scores, _ = exact_scores(X, 6)
    geometry = landmark_geometry(hollow(scores[:6]), 2)
    assert geometry.n_axes == 1
    Y = geometry.place(scores)
    Y[:6] = geometry.points
    assert np.isfinite(Y).all()
    np.testing.assert_array_equal(Y[:, 1], 0)
    np.testing.assert_allclose(cdist(Y[:, :1], Y[:, :1]), cdist(X[:, :1], X[:, :1]), atol=1e-6)


def test_signs_do_not_depend_on_the_solver():
    E = cdist(*[np.random.default_rng(0).standard_normal((7, 2))] * 2, "sqeuclidean")
    points, eigenvalues, _ = landmark_mds(E, 2)
    assert np.all(points[np.abs(points).argmax(axis=0), [0, 1]] > 0)
    assert eigenvalues[0] >= eigenvalues[1] > 0


def test_shifted_is_symmetric_and_hollow():
    W = hollow([[0, 1, 5], [3, 0, 2], [4, 6, 0]])
    E = shifted(W, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(E, [[0, 3.5, 6.5], [3.5, 0, 6.5], [6.5, 6.5, 0]])


def test_farthest_points_are_greedy_maxmin_and_distinct():
    X = np.array([[0.0], [1.0], [10.0], [4.0]])
    assert sorted(farthest_points(X, 3, np.random.RandomState(0)).tolist()) == [0, 2, 3]
    assert sorted(farthest_points(np.zeros((5, 2)), 5, np.random.RandomState(0)).tolist()) == list(range(5))


@pytest.mark.parametrize("shape", [(10, 3), (2, 5)])
def test_principal_axes_keep_distances_and_fix_signs(shape):
    X = np.random.default_rng(0).standard_normal(shape) + 3
    turned = principal_axes(X)
    assert turned.shape == shape
    np.testing.assert_allclose(cdist(turned, turned), cdist(X, X), atol=1e-9)
    np.testing.assert_allclose(turned.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(principal_axes(-X), turned, atol=1e-9)
