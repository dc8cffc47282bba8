import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from skrank.manifold import distances_from_differences


def squared_distances(n_points, n_components, seed):
    points = np.random.default_rng(seed).standard_normal((n_points, n_components))
    return cdist(points, points, "sqeuclidean")


@pytest.mark.parametrize("n_components", [1, 2, 5])
@pytest.mark.parametrize("n_more", [3, 20])
def test_constants_of_exact_differences(n_components, n_more):
    D = squared_distances(n_components + n_more, n_components, seed=n_components)
    constants = np.random.default_rng(1).normal(scale=10, size=len(D))
    recovered = distances_from_differences(D - constants, n_components)
    assert_allclose(recovered.distances, D, atol=1e-5)
    assert_allclose(recovered.constants, constants, atol=1e-9)


def test_diagonal_is_ignored_and_input_kept():
    D = squared_distances(8, 2, seed=0)
    other = D.copy()
    np.fill_diagonal(other, 7.0)
    kept = other.copy()
    assert_allclose(distances_from_differences(other, 2).distances, distances_from_differences(D, 2).distances)
    assert_allclose(other, kept)


def test_errors_of_the_constants_are_below_those_of_the_differences():
    D = squared_distances(40, 2, seed=2)
    noise = np.random.default_rng(3).normal(scale=0.01, size=D.shape)
    _, constants = distances_from_differences(D + noise, 2)
    # A mean over 40 rows: sqrt(40) times smaller, and a maximum of 40.
    assert np.abs(constants).max() < 0.01


def test_points_in_more_dimensions_bias_the_constants():
    D = squared_distances(40, 6, seed=4)
    assert np.abs(distances_from_differences(D, 6).constants).max() < 1e-9
    assert np.abs(distances_from_differences(D, 2).constants).max() > 0.1


def test_result_is_a_euclidean_distance_matrix():
    D = squared_distances(12, 2, seed=5) + np.random.default_rng(6).normal(scale=0.3, size=(12, 12))
    distances, _ = distances_from_differences(D, 2)
    assert_allclose(distances, distances.T, atol=1e-12)
    assert_allclose(np.diag(distances), 0)
    center = np.eye(12) - 1 / 12
    assert np.linalg.eigvalsh(-center @ distances @ center).min() > -1e-8


def test_bad_input():
    with pytest.raises(ValueError, match="one row and one column are needed for each point"):
        distances_from_differences(np.zeros((7, 6)), 2)
    with pytest.raises(ValueError, match="at least n_components \\+ 3 = 6 points are needed"):
        distances_from_differences(squared_distances(5, 2, seed=0), 3)
    with pytest.raises(ValueError, match="differences contains NaN"):
        distances_from_differences(np.full((6, 6), np.nan), 2)
