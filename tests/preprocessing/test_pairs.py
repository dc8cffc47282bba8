"""Pairwise wins -> rank matrices."""

import itertools

import numpy as np
import pandas as pd
import pytest

from skrank.preprocessing import ranks_from_pairs, ranks_from_wins

NAN = np.nan


def test_all_pairs_of_a_bucket_order_give_it_back():
    rng = np.random.default_rng(0)
    ranks = rng.integers(1, 4, (30, 5)).astype(float)
    ranks[rng.random((30, 5)) < 0.2] = NAN
    pairs, groups = [], []
    for row, (i, j) in itertools.product(range(30), itertools.permutations(range(5), 2)):
        if ranks[row, i] < ranks[row, j]:
            pairs.append((i, j))
            groups.append(row)
    found = ranks_from_pairs(pairs, groups=groups, items=range(5), unranked="missing")
    for row, group in zip(found, np.unique(groups), strict=True):
        expected = ranks[group]
        compared = np.array([((expected < v) | (expected > v)).any() for v in expected])
        levels = np.unique(expected[compared])
        np.testing.assert_array_equal(
            row, [levels.searchsorted(v) if c else NAN for v, c in zip(expected, compared, strict=True)]
        )


def test_transitivity_fills_a_chain():
    np.testing.assert_array_equal(ranks_from_pairs([(3, 2), (2, 1), (1, 0)]), [[3, 2, 1, 0]])


def test_majority_and_weights_decide():
    pairs = [("a", "b"), ("b", "a"), ("b", "a")]
    np.testing.assert_array_equal(ranks_from_pairs(pairs), [[1, 0]])
    np.testing.assert_array_equal(ranks_from_pairs(pairs, sample_weight=[3, 1, 1]), [[0, 1]])
    np.testing.assert_array_equal(ranks_from_pairs(pairs, sample_weight=[2, 1, 1]), [[0, 0]])


@pytest.mark.parametrize("unranked", ["last", "missing"])
def test_items_without_a_pair(unranked):
    ranks = ranks_from_pairs([("b", "a")], items=["a", "b", "c"], unranked=unranked)
    np.testing.assert_array_equal(ranks, [[1, 0, 2 if unranked == "last" else NAN]])


def test_rows_follow_sorted_groups():
    frame = pd.DataFrame({"winner": ["a", "b"], "loser": ["b", "a"]})
    np.testing.assert_array_equal(ranks_from_pairs(frame, groups=pd.Series(["z", "y"])), [[1, 0], [0, 1]])


def test_copeland_ranks_a_cycle():
    cycle = [(0, 1), (1, 2), (2, 0), (0, 3)]
    np.testing.assert_array_equal(ranks_from_pairs(cycle, method="copeland"), [[0, 1, 1, 2]])


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ([(0, 1), (1, 2), (2, 0)], {}, r"pairs of group all make a cycle \(among columns \[0, 1, 2\]\).*BradleyTerry"),
        ([(0, 1), (2, 3)], {}, r"not enough for a ranking: nothing says whether column 0 or column 3"),
        ([(0, 1), (1, 1)], {}, r"Row 1 of pairs compares 1 with itself"),
        ([(0, 1), (1, None)], {}, r"Row 1 of pairs holds a gap"),
        ([(0, 1), (1, 2)], {"items": [0, 1]}, r"Row 1 of pairs holds an unknown item: 2"),
        ([(0, 1), (1, 2)], {"groups": ["x", "y"]}, r"No pair of group x has item 2.*unranked"),
        ([(0, 1, 2)], {}, r"shape \(n_pairs, 2\).*ranks_from_wins"),
        ([(0, 1)], {"groups": ["x", "y"]}, "inconsistent numbers of samples"),
        ([(0, 1)], {"sample_weight": [-1]}, "[Nn]egative"),
    ],
)
def test_pairs_that_are_no_ranking(pairs, options, message):
    with pytest.raises(ValueError, match=message):
        ranks_from_pairs(pairs, **options)


def test_wins_equal_their_pairs():
    rng = np.random.default_rng(1)
    wins = rng.integers(0, 5, (20, 4, 4))
    wins[:, range(4), range(4)] = 0
    sample, i, j = np.nonzero(wins)
    pairs = np.column_stack([i, j])
    from_pairs = ranks_from_pairs(
        pairs, groups=sample, items=range(4), sample_weight=wins[sample, i, j], method="copeland", unranked="missing"
    )
    np.testing.assert_array_equal(ranks_from_wins(wins, method="copeland", unranked="missing"), from_pairs)


@pytest.mark.parametrize(
    ("wins", "message"),
    [
        ([[0, 1], [0, 2]], "item 1 was preferred to itself"),
        ([[0, -1], [1, 0]], "[Nn]egative"),
        ([[0, 1, 2], [0, 0, 1]], "shape"),
        (np.zeros((2, 2)), "No win or loss of sample 0 has item 0"),
    ],
)
def test_wins_that_are_no_wins(wins, message):
    with pytest.raises(ValueError, match=message):
        ranks_from_wins(wins)


def test_groups_are_labels_of_any_type():
    pairs = [[0, 1], [1, 2], [0, 1]]
    mixed = ranks_from_pairs(pairs, groups=["b", 1, "b"], unranked="missing")
    np.testing.assert_array_equal(mixed, [[np.nan, 0, 1], [0, 1, np.nan]])  # sorted within types: int, then str
    np.testing.assert_array_equal(ranks_from_pairs(pairs, groups=[1, "1", 1], unranked="missing")[0], [0, 1, np.nan])
    tuples = ranks_from_pairs(pairs, groups=[("ann", 1), ("ann", 2), ("ann", 1)], unranked="missing")
    np.testing.assert_array_equal(tuples, [[0, 1, np.nan], [np.nan, 0, 1]])
    np.testing.assert_array_equal(ranks_from_pairs(pairs, groups=np.array([[2], [1], [2]]), unranked="missing"), mixed)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", None, "a"], r"groups\[1\] is None"),
        ([1.0, 2.0, np.nan], r"groups\[2\] is nan"),
        (np.array([[1, 2], [1, 2], [1, 2]]), r"shape \(n_pairs,\), got \(3, 2\)"),
        (["a", "b"], "inconsistent"),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), "masked"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        ranks_from_pairs([[0, 1], [1, 2], [0, 1]], groups=groups, unranked="missing")


@pytest.mark.parametrize("order", list(itertools.permutations([0.1, 0.2, 0.3])))
def test_rounding_of_weights_does_not_decide(order):
    pairs = [["a", "b"]] * 3 + [["b", "a"]]
    assert ranks_from_pairs(pairs, items=["a", "b"], sample_weight=[*order, 0.6]).tolist() == [[0, 0]]
    assert ranks_from_wins([[0, sum(order)], [0.6, 0]]).tolist() == [[0, 0]]
    assert ranks_from_wins([[0, 2**60], [2**60 - 512, 0]]).tolist() == [[0, 1]]  # whole numbers are exact
