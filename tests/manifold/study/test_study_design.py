"""Queries: balance, no repetition, and the most informative ones against brute force."""

import numpy as np
import pytest

from skrank.manifold._study._design import (
    balanced_triplets,
    informative_triplets,
    new_triplets,
    repeated_triplets,
    triplet_codes,
)
from skrank.manifold._study._information import (
    covariance,
    expected_procrustes_error,
    information,
    information_matrix,
    jacobian,
    margins,
)
from skrank.manifold._study._record import Query


@pytest.mark.parametrize("n_items", [3, 4, 25])
def test_every_item_has_each_role_equally_often(n_items):
    triplets = balanced_triplets(n_items, 4 * n_items, np.random.default_rng(0))
    for role in triplets.T:
        assert (np.bincount(role, minlength=n_items) == 4).all()
    assert (np.diff(np.sort(triplets, axis=1)) > 0).all()


def test_triplets_are_new_as_long_as_there_are_others():
    rng = np.random.default_rng(0)
    n_different = 6 * 5 * 4 // 2
    asked = new_triplets(6, 40, [], rng)
    codes = triplet_codes(asked, 6)
    assert len(np.unique(codes)) == 40
    further = triplet_codes(new_triplets(6, 15, codes, rng), 6)
    assert len(np.unique(further)) == 15
    assert not np.isin(further, codes).any()
    assert len(new_triplets(6, 2 * n_different, codes, rng)) == 2 * n_different


def test_codes_ignore_which_item_is_left():
    triplets = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0]])
    codes = triplet_codes(triplets, 3)
    assert codes[0] == codes[1]
    assert len(np.unique(codes)) == 3


def test_repeated_triplets_are_half_the_raters_own():
    rng = np.random.default_rng(0)
    own = [Query(*triplet, "ann") for triplet in balanced_triplets(20, 60, rng).tolist()]
    others = [Query(*triplet, "bob") for triplet in balanced_triplets(20, 60, rng).tolist()]
    again = triplet_codes(repeated_triplets(own + others, "ann", 40, rng), 20)
    is_own = np.isin(again, triplet_codes([query[:3] for query in own[:50]], 20))
    assert is_own.sum() == 20  # and none of the last ten, which have just been answered
    assert np.isin(again[~is_own], triplet_codes([query[:3] for query in others], 20)).all()
    assert len(repeated_triplets([], "ann", 5, rng)) == 0


def test_chosen_triplets_lower_the_expected_error_most():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((9, 2))
    known = information_matrix(points, balanced_triplets(9, 200, rng), 0.1)
    candidates = new_triplets(9, 60, [], rng)
    chosen = informative_triplets(points, covariance(points, known), candidates, 4, lapse=0.1)
    spread = covariance(points, known)
    for triplet in chosen:
        derivatives = jacobian(points, candidates).toarray()
        variance = np.einsum("ij,jk,ik->i", derivatives, spread, derivatives)
        weight = information(margins(points, candidates) / np.sqrt(1 + np.pi / 8 * variance), 0.1)
        precision = np.linalg.inv(spread)
        errors = [
            expected_procrustes_error(points, np.linalg.inv(precision + w * np.outer(row, row)))
            for w, row in zip(weight, derivatives, strict=True)
        ]
        best = int(np.argmin(errors))
        np.testing.assert_array_equal(triplet, candidates[best])
        spread = np.linalg.inv(precision + weight[best] * np.outer(derivatives[best], derivatives[best]))
        candidates = np.delete(candidates, best, axis=0)
