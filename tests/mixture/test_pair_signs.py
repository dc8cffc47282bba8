import numpy as np
import pytest

from skrank._rankings import pair_signs
from skrank.mixture import _pair_signs
from skrank.mixture._pair_signs import PairSigns


def _ranks(rng, n_rows, n_items, n_buckets=None):
    if n_buckets is None:
        return rng.permuted(np.tile(np.arange(n_items, dtype=np.int8), (n_rows, 1)), axis=1)
    values = rng.integers(0, n_buckets, (n_rows, n_items))
    return np.array([np.unique(row, return_inverse=True)[1] for row in values], dtype=np.int8)


@pytest.fixture(params=[(2, None), (5, None), (5, 3), (12, None), (12, 4), (25, None), (25, 8)], ids=str)
def case(request):
    n_items, n_buckets = request.param
    rng = np.random.default_rng(n_items)
    ranks = _ranks(rng, 300, n_items, n_buckets)
    centers = _ranks(rng, 4, n_items)
    return ranks, centers, rng


@pytest.mark.parametrize(("kept", "few_rows"), [(True, 0), (False, 0), (False, 400)])
def test_operations_against_the_signs(case, kept, few_rows, monkeypatch):
    if not kept:
        monkeypatch.setattr(_pair_signs, "KEPT_SIGNS", 0)
    monkeypatch.setattr(_pair_signs, "FEW_ROWS", few_rows)
    monkeypatch.setattr(_pair_signs, "BLOCK", 128)
    ranks, centers, rng = case
    data = PairSigns(ranks)
    signs, center_signs = pair_signs(ranks, dtype=float), pair_signs(centers, dtype=float)
    np.testing.assert_array_equal(data.distances(centers), (center_signs[:, None] * signs < 0).sum(axis=2))
    weights = rng.normal(size=(3, len(ranks)))
    np.testing.assert_allclose(data.pair_sums(weights), weights @ signs, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(data.pair_sums(weights, absolute=True), weights @ np.abs(signs), rtol=1e-5, atol=1e-4)
    assert data.has_ties == (signs == 0).any()


def test_adjacent_signs(case):
    ranks, centers, _ = case
    items = np.argsort(centers[0])
    expected = np.sign(ranks[:, items[1:]].astype(int) - ranks[:, items[:-1]])
    np.testing.assert_array_equal(PairSigns(ranks).adjacent_signs(centers[0]), expected.T)


def test_patterns_count_buckets(case):
    ranks, _, _ = case
    data = PairSigns(ranks)
    if not data.has_ties:
        assert data.patterns is None
        return
    for row, pattern in zip(ranks[:50], data.pattern, strict=False):
        sizes = np.unique(row, return_counts=True)[1]
        np.testing.assert_array_equal(data.patterns[pattern], np.bincount(sizes, minlength=ranks.shape[1] + 1))


def test_subset_is_the_table_of_those_rows(case):
    ranks, centers, rng = case
    data = PairSigns(ranks, rng.random(len(ranks)))
    rows = np.array([3, 5, 8, 100])
    part, fresh = data.subset(rows, np.arange(4)), PairSigns(ranks[rows], np.arange(4))
    np.testing.assert_array_equal(part.distances(centers), fresh.distances(centers))
    np.testing.assert_allclose(part.pair_sums(fresh.weights[None]), fresh.pair_sums(fresh.weights[None]))
    assert part.total_weight == fresh.total_weight == 6
    np.testing.assert_array_equal(data.subset(rows).weights, data.weights[rows])
    if data.has_ties:
        np.testing.assert_array_equal(part.patterns[part.pattern], data.patterns[data.pattern[rows]])


def test_rankings_break_ties_by_item_number():
    data = PairSigns(np.array([[1, 0, 1, 0], [0, 1, 2, 3]], np.int8))
    np.testing.assert_array_equal(data.rankings([0, 1]), [[2, 0, 3, 1], [0, 1, 2, 3]])


def test_coverage_is_the_proportion_of_pairs_that_are_ordered():
    ranks = np.array([[0, 1, 2, 3], [0, 1, 1, 1], [0, 0, 1, 1]], np.int8)  # 6, 3 and 4 of 6 pairs
    assert PairSigns(ranks).coverage == pytest.approx(13 / 18)
    assert PairSigns(ranks, np.array([0.0, 2.0, 1.0])).coverage == pytest.approx(10 / 18)
    assert PairSigns(ranks[:1]).coverage == 1
