import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group
from sklearn import config_context

from skrank.metrics import procrustes_error, triplet_accuracy


@pytest.mark.parametrize("seed", range(5))
def test_procrustes_error_is_scipys_disparity(seed):
    rng = np.random.default_rng(seed)
    reference, embedding = rng.standard_normal((2, 20, 3))
    expected = procrustes(reference, embedding)[2]
    assert procrustes_error(reference, embedding) == pytest.approx(expected, abs=1e-12)
    assert procrustes_error(embedding, reference) == pytest.approx(expected, abs=1e-12)


def test_procrustes_error_ignores_similarity_transformations():
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((15, 3))
    rotation = ortho_group.rvs(3, random_state=0)
    for matrix in (rotation, rotation * [-1, 1, 1]):
        assert procrustes_error(reference, 7 * reference @ matrix + [1, -2, 30]) < 1e-12


def test_procrustes_error_between_different_numbers_of_columns():
    X = np.random.default_rng(1).standard_normal((12, 3))
    padded = np.column_stack([X[:, :2], np.zeros(12)])
    assert procrustes_error(X, X[:, :2]) == pytest.approx(procrustes(X, padded)[2])


def test_procrustes_error_refuses_a_point_and_other_lengths():
    with pytest.raises(ValueError, match="all rows of embedding are equal"):
        procrustes_error([[0.0], [1.0]], [[0.1], [0.1]])
    with pytest.raises(ValueError, match="inconsistent"):
        procrustes_error([[0.0], [1.0]], [[0.1], [0.2], [0.4]])
    with pytest.raises(ValueError, match="reference contains NaN"):
        procrustes_error([[0.0], [np.nan]], [[0.1], [0.2]])


def test_triplet_accuracy_against_a_matrix_of_distances():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10, 2))
    triplets = np.array([rng.choice(10, 3, replace=False) for _ in range(200)])
    D = cdist(X, X)
    right = D[triplets[:, 0], triplets[:, 1]] < D[triplets[:, 0], triplets[:, 2]]
    assert triplet_accuracy(X, triplets) == right.mean()
    assert triplet_accuracy(X, triplets, right) == 1
    assert triplet_accuracy(X, triplets, np.where(right, 2, 1)) == 2 * right.sum() / (len(right) + right.sum())
    with config_context(working_memory=0):
        assert triplet_accuracy(X, triplets) == right.mean()


def test_triplet_accuracy_counts_a_tie_one_half():
    assert triplet_accuracy([[0.0], [1.0], [-1.0]], [[0, 1, 2], [1, 0, 2]]) == 0.75


def test_triplet_accuracy_refuses_unknown_items():
    with pytest.raises(ValueError, match=r"number of items, 3: row 0 is \[0, 1, 3\]"):
        triplet_accuracy([[0.0], [1.0], [2.0]], [[0, 1, 3]])
