"""The circulant design against brute force."""

import numpy as np
import pytest

from skrank.manifold import _designs
from skrank.manifold._designs import CirculantDesign, draw_shifts, largest_n_shifts, sum_tanh


def incidence(n_positions, shifts):
    rows = [(t, (t + s) % n_positions) for s in shifts for t in range(n_positions)]
    B = np.zeros((len(rows), n_positions))
    for row, (left, right) in enumerate(rows):
        B[row, left], B[row, right] = 1, -1
    return B


@pytest.mark.parametrize("n_positions", [3, 4, 5, 12, 51])
def test_every_pair_is_compared_at_most_once_and_all_items_equally_often(n_positions):
    for n_shifts in range(1, largest_n_shifts(n_positions) + 1):
        shifts = draw_shifts(n_positions, n_shifts, np.random.RandomState(n_shifts))
        assert len(shifts) == n_shifts
        B = incidence(n_positions, shifts)
        pairs = {tuple(sorted(np.flatnonzero(row))) for row in B}
        assert len(pairs) == len(B) == n_positions * n_shifts
        np.testing.assert_array_equal(np.abs(B).sum(axis=0), 2 * n_shifts)
        laplacian = B.T @ B
        assert np.linalg.eigvalsh(laplacian)[1] > 1e-9  # connected


@pytest.mark.parametrize("n_positions", [9, 10, 30, 49, 50])
def test_two_designs_share_no_pair_and_are_both_connected(n_positions):
    first = draw_shifts(n_positions, 2, np.random.RandomState(0))
    second = draw_shifts(n_positions, largest_n_shifts(n_positions) - 2, np.random.RandomState(1), exclude=first)
    assert sorted([*first, *second]) == list(range(1, largest_n_shifts(n_positions) + 1))
    for shifts in (first, second):
        B = incidence(n_positions, shifts)
        assert np.linalg.eigvalsh(B.T @ B)[1] > 1e-9


def test_the_largest_number_of_shifts_is_all_pairs_of_an_odd_number():
    assert 51 * largest_n_shifts(51) == 51 * 50 // 2


@pytest.mark.parametrize("chunk", [7, 1 << 15])
def test_passes_equal_the_incidence_matrix(monkeypatch, chunk):
    monkeypatch.setattr(_designs, "BLOCK_SIZE", chunk)
    rng = np.random.default_rng(0)
    n_positions = 23
    shifts = draw_shifts(n_positions, 6, np.random.RandomState(0))
    B = incidence(n_positions, shifts)
    scores = rng.standard_normal(n_positions)
    np.testing.assert_allclose(sum_tanh(scores, shifts), B.T @ np.tanh(B @ scores), atol=1e-12)
    assert CirculantDesign(n_positions, shifts).n_comparisons == len(B)
