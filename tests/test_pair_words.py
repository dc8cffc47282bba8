"""Packed pair words against plain counting of pairs."""

from itertools import combinations

import numpy as np
import pytest

from skrank._pair_words import (
    are_full,
    disagreements,
    full_words,
    kendall_distances,
    n_words,
    pair_words,
    word_distances,
)
from skrank._rankings import MISSING, densify


def random_rankings(n_rows, n_items, seed, *, ties=False, missing=False):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, max(n_items // 2, 2), (n_rows, n_items)) if ties else rng.random((n_rows, n_items))
    values = values.astype(float)
    if missing:
        values[rng.random(values.shape) < 0.3] = np.nan
    return densify(values)


def unpacked(words):
    """Bits of each row, of shape (n_rows, 64 n_words)."""
    shifts = np.arange(64, dtype=np.uint64)
    return ((words.T[:, :, None] >> shifts) & np.uint64(1)).reshape(words.shape[1], -1)


def counted_oppositely(first, second):
    n_ranked = sum(
        (first[i] < first[j] and second[i] > second[j]) or (first[i] > first[j] and second[i] < second[j])
        for i, j in combinations(range(len(first)), 2)
        if MISSING not in (first[i], first[j], second[i], second[j])
    )
    return n_ranked


@pytest.mark.parametrize("n_items", [1, 2, 3, 11, 12, 13, 40])
@pytest.mark.parametrize(("ties", "missing"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("n_rows", [1, 8, 77])
def test_words_hold_the_order_of_every_pair(n_items, n_rows, ties, missing):
    ranks = random_rankings(n_rows, n_items, 3, ties=ties, missing=missing)
    before, ordered = pair_words(ranks)
    assert before.shape == (n_words(n_items), n_rows)
    bits = unpacked(before)
    open_bits = unpacked(ordered) if ordered is not None else None
    pairs = list(combinations(range(n_items), 2))
    assert not bits[:, len(pairs) :].any()
    for p, (i, j) in enumerate(pairs):
        both = (ranks[:, i] != MISSING) & (ranks[:, j] != MISSING)
        np.testing.assert_array_equal(bits[:, p], both & (ranks[:, i] < ranks[:, j]))
        if open_bits is not None:
            np.testing.assert_array_equal(open_bits[:, p], both & (ranks[:, i] != ranks[:, j]))


def test_words_do_not_depend_on_blocks_or_memory_order(monkeypatch):
    ranks = random_rankings(500, 30, 1, ties=True)
    expected = pair_words(ranks)
    monkeypatch.setattr("skrank._pair_words.BLOCK_BITS", 1)
    for given in (ranks, np.asfortranarray(ranks)):
        for words, reference in zip(pair_words(given), expected, strict=True):
            np.testing.assert_array_equal(words, reference)


def test_full_words_take_any_leading_shape():
    positions = random_rankings(24, 13, 2).reshape(4, 6, 13)
    words = full_words(positions)
    assert words.shape == (n_words(13), 4, 6)
    np.testing.assert_array_equal(words.reshape(n_words(13), -1), full_words(positions.reshape(24, 13)))


@pytest.mark.parametrize("n_items", [1, 5, 12, 40])
@pytest.mark.parametrize(("ties", "missing"), [(False, False), (True, False), (True, True)])
def test_word_distances_count_pairs_in_opposite_order(n_items, ties, missing):
    centers = random_rankings(3, n_items, 5)
    ranks = random_rankings(20, n_items, 6, ties=ties, missing=missing)
    expected = [[counted_oppositely(center, ranking) for ranking in ranks] for center in centers]
    np.testing.assert_array_equal(word_distances(full_words(centers), *pair_words(ranks)), expected)
    out = np.empty((3, 20))
    assert word_distances(full_words(centers), *pair_words(ranks), out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("tile", [1, 64, 1 << 16])
def test_tiles_make_no_difference(monkeypatch, tile):
    positions = random_rankings(300, 20, 7)
    words = full_words(positions)
    expected = np.bitwise_count(words[:, :, None] ^ words[:, None]).sum(axis=0)
    monkeypatch.setattr("skrank._pair_words.TILE", max(tile, 128))
    np.testing.assert_array_equal(kendall_distances(positions), expected)
    np.testing.assert_array_equal(kendall_distances(positions, positions[:40]), expected[:, :40])
    np.testing.assert_array_equal(kendall_distances(positions[:40], positions), expected[:40])


def test_distances_of_more_pairs_than_a_byte_or_two_hold():
    n_items = 400
    ahead = np.arange(n_items)[None].astype(np.int16)
    assert kendall_distances(ahead, ahead[:, ::-1])[0, 0] == n_items * (n_items - 1) // 2


@pytest.mark.parametrize("ties", [False, True])
def test_disagreements_with_a_center_are_its_distances(ties):
    ranks = random_rankings(50, 17, 8, ties=ties)
    center = random_rankings(1, 17, 9)
    expected = word_distances(full_words(center), *pair_words(ranks))[0]
    np.testing.assert_array_equal(disagreements(ranks, center[0]), expected)


def test_full_rankings_are_told_from_others():
    assert are_full(random_rankings(30, 6, 0))
    assert not are_full(densify(np.array([[0.0, 1, 2], [0, 1, 1]])))
    assert not are_full(densify(np.array([[0.0, 1, 2], [0, 1, np.nan]])))
