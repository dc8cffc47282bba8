"""The rank matrix: validation, densified form, aggregation, pair signs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skrank._mallows import settle, uniform_positions
from skrank._rankings import (
    MISSING,
    _lexicographic_order,
    aggregate,
    bucket_places,
    bucket_sizes,
    check_rankings,
    check_weights,
    densify,
    expected_pair_signs,
    mean_places,
    n_buckets,
    n_ranked,
    ordering,
    pair_indices,
    pair_signs,
    rows_with_ties,
)

NAN = np.nan


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, NAN, 1], r"sample_weight\[1\] is nan"),
        ([1, 1, np.inf], r"sample_weight\[2\] is inf"),
        ([-1, 1, 1], r"sample_weight\[0\] is -1"),
        ([1e308] * 3, "adds up to inf"),
        ([1e16, 0, 0], "adds up to 1e\\+16"),
        ([1e-16, 0, 0], "adds up to 1e-16"),
        ([1, 1], "expected"),
        ([0, 0, 0], "non-zero"),
        (np.ma.array([1, 1, 1], mask=[0, 1, 0]), "1 entries masked"),
    ],
)
def test_weights_that_cannot_be_counted_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        check_weights(weights, np.zeros((3, 2)))


def test_masked_entries_are_missing():
    masked = np.ma.array([[2, 1, 3], [5, 5, 4]], mask=[[0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(check_rankings(masked), [[0, MISSING, 1], [1, 1, 0]])
    np.testing.assert_array_equal(check_rankings(np.ma.array([[2, 1]])), [[1, 0]])


def dense_by_definition(row):
    distinct = sorted({value for value in row if not np.isnan(value)})
    return [MISSING if np.isnan(value) else distinct.index(value) for value in row]


@st.composite
def rank_matrices(draw):
    values = st.one_of(st.just(NAN), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 6)))
    return draw(hnp.arrays(np.float64, shape, elements=values))


@given(rank_matrices())
def test_densified_form_is_the_definition(X):
    assert densify(X).tolist() == [dense_by_definition(row) for row in X]


@given(rank_matrices())
def test_densified_form_depends_on_the_order_alone(X):
    ranks = densify(X)
    # Powers of two scale without rounding, so no two distinct values meet.
    assert (densify(X * 1024) == ranks).all()
    assert (densify(np.where(ranks == MISSING, NAN, ranks * 0.1 - 7)) == ranks).all()


@pytest.mark.parametrize("shift", [0, 100, -(2**40)])
def test_word_and_sort_paths_agree(shift):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 64, (200, 70)).astype(float)
    X[rng.random(X.shape) < 0.2] = NAN
    far = X.copy()
    far[0] = np.where(np.arange(70) == 0, 1e6, far[0])  # one large value sends the whole block through the sort
    assert (densify(X + shift)[1:] == densify(far)[1:]).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, np.float64, bool])
def test_number_types_give_the_same_ranks(dtype):
    X = np.array([[0, 1, 1], [1, 0, 1]])
    assert check_rankings(X.astype(dtype)).tolist() == X.tolist()


def test_neighbors_at_the_ends_of_the_integers_are_told_apart():
    # As floats these are equal, so a span taken in floats would be 0.
    assert check_rankings(np.array([[2**62, 2**62 + 500, 2**62 + 100]])).tolist() == [[0, 2, 1]]
    assert check_rankings(np.array([[2**64 - 1, 2**64 - 2, 2**64 - 600]], dtype=np.uint64)).tolist() == [[2, 1, 0]]
    assert check_rankings(np.array([[-(2**63), 2**63 - 1, 0]])).tolist() == [[0, 2, 1]]


def test_python_objects_that_are_numbers():
    expected = [[0, MISSING, 1]]
    assert check_rankings([[0, None, 1]]).tolist() == expected
    assert check_rankings(np.array([[0, None, 1]], dtype=object)).tolist() == expected
    assert check_rankings(pd.DataFrame([[0, None, 1]], dtype="category")).tolist() == expected
    frame = pd.DataFrame([[0, pd.NA, 1]], dtype=object)
    with pytest.raises(ValueError, match=r"X holds pandas.NA among Python objects.*astype\('Float64'\)"):
        check_rankings(frame)
    assert check_rankings(frame.astype("Float64")).tolist() == expected


def test_data_frames_and_missing_values():
    data = {"a": [1, 2], "b": [None, 2], "c": [0, 5]}
    expected = [[1, MISSING, 0], [0, 0, 1]]
    assert check_rankings(pd.DataFrame(data)).tolist() == expected
    assert check_rankings(pd.DataFrame(data).convert_dtypes()).tolist() == expected
    assert check_rankings(pl.DataFrame(data)).tolist() == expected


def test_no_item_ranked_and_one_item():
    assert check_rankings([[NAN, NAN]]).tolist() == [[MISSING, MISSING]]
    assert check_rankings([[7.5]]).tolist() == [[0]]


def test_many_items_do_not_overflow():
    for n_items in (127, 128, 129, 300):
        X = np.arange(n_items)[None, ::-1].astype(float)
        X[0, 0] = NAN
        signs = pair_signs(check_rankings(X))
        i, j = pair_indices(n_items)
        assert (signs[0] == np.where(i == 0, 0, -1)).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1, 2, 3], "Expected 2D array"),
        ([[1, np.inf]], r"X\[0, 1\] is inf"),
        ([[1, 2], [-np.inf, 0]], r"X\[1, 0\] is -inf"),
        ([["a", "b"]], "OrderingEncoder"),
        (np.array([["a", 1]], dtype=object), "OrderingEncoder"),
        (pl.DataFrame({"a": ["x"], "b": ["y"]}), "OrderingEncoder"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
    ],
)
def test_bad_input_is_named(X, message):
    with pytest.raises(ValueError, match=message):
        check_rankings(X)


def test_refused_gaps_and_ties_name_the_row_and_the_remedy():
    with pytest.raises(ValueError, match=r'X\[1, 0\] is NaN.*unranked="last"'):
        check_rankings([[1, 2], [NAN, 1]], allow_missing=False, remedy='Use unranked="last".')
    with pytest.raises(ValueError, match=r"Row 1 of Y ties items \(\[3, 3\]\)"):
        check_rankings([[1, 2], [3, 3]], allow_ties=False, input_name="Y")


def test_weights_are_checked():
    X = np.zeros((2, 2))
    assert check_weights(None, X).tolist() == [1, 1]
    with pytest.raises(ValueError, match="non-zero"):
        check_weights([0, 0], X)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        check_weights([1, -1], X)


@given(rank_matrices(), st.randoms(use_true_random=False))
def test_aggregation_equals_repetition_and_ignores_row_order(X, random):
    ranks = densify(X)
    weights = np.array([random.randint(0, 3) for _ in ranks], float)
    if not weights.any():
        weights[0] = 1
    table = aggregate(ranks, weights)
    repeated = aggregate(np.repeat(ranks, weights.astype(int), axis=0))
    assert (table.ranks == repeated.ranks).all()
    assert (table.weights == repeated.weights).all()
    for s in range(len(ranks)):
        if weights[s]:
            assert (table.ranks[table.inverse[s]] == ranks[s]).all()
        else:
            assert table.inverse[s] == -1
    permutation = random.sample(range(len(ranks)), len(ranks))
    shuffled = aggregate(ranks[permutation], weights[permutation])
    assert (shuffled.ranks == table.ranks).all()
    assert (shuffled.weights == table.weights).all()


def test_aggregation_is_lexicographic():
    rng = np.random.default_rng(0)
    for n_items, n_values in ((5, 3), (40, 2)):
        ranks = densify(rng.integers(0, n_values, (300, n_items)))
        distinct, inverse, counts = np.unique(ranks, axis=0, return_inverse=True, return_counts=True)
        table = aggregate(ranks)
        assert (table.ranks == distinct).all()
        assert (table.inverse == inverse.ravel()).all()  # a column in numpy 2.0.0
        assert (table.weights == counts).all()


@given(rank_matrices())
def test_bucket_tables_are_the_definitions(X):
    ranks = densify(X)
    first, size = bucket_places(ranks)
    for s, row in enumerate(ranks):
        ranked = row[row != MISSING]
        assert n_ranked(ranks)[s] == len(ranked)
        assert n_buckets(ranks)[s] == len(set(ranked))
        assert rows_with_ties(ranks)[s] == (len(set(ranked)) < len(ranked))
        assert bucket_sizes(ranks)[s].tolist() == [int((ranked == b).sum()) for b in range(len(row))]
        for i, rank in enumerate(row):
            if rank == MISSING:
                assert (first[s, i], size[s, i]) == (MISSING, 0)
            else:
                assert first[s, i] == (ranked < rank).sum()
                assert size[s, i] == (ranked == rank).sum()
    assert np.allclose(mean_places(ranks), np.where(ranks == MISSING, NAN, first + (size - 1) / 2), equal_nan=True)


def test_ordering_puts_ties_by_number_and_missing_items_last():
    assert ordering(np.array([[1, MISSING, 0, 1, 0]], np.int8)).tolist() == [[2, 4, 0, 3, 1]]


def test_expected_signs_equal_enumeration(consistent_rankings):
    rng = np.random.default_rng(1)
    for n_items in (1, 2, 3, 4, 5):
        X = rng.integers(0, 3, (12, n_items)).astype(float)
        X[rng.random(X.shape) < 0.4] = NAN
        ranks = densify(X)
        for s, row in enumerate(X):
            enumerated = pair_signs(consistent_rankings(row), dtype=float).mean(axis=0)
            assert expected_pair_signs(ranks)[s] == pytest.approx(enumerated, abs=1e-12)


def test_settled_random_positions_are_consistent_and_cover_all(consistent_rankings):
    rng = np.random.default_rng(2)
    row = np.array([0, NAN, 0, 1, NAN])
    ranks = densify(row[None])
    draws = settle(ranks, uniform_positions(rng.integers(0, 2**63, (1, 4000, 5), dtype=np.uint64)))[0]
    assert sorted(map(tuple, np.unique(draws, axis=0))) == sorted(map(tuple, consistent_rankings(row)))


@pytest.mark.parametrize("n_distinct", [2, 40, 10_000])
@pytest.mark.parametrize("n_first", [1, 30, 10_000])
def test_the_lexicographic_order_of_words(n_distinct, n_first):
    rng = np.random.default_rng(0)
    words = np.stack([rng.integers(n_first, size=5000), rng.integers(n_distinct, size=5000), np.arange(5000) % 3])
    words = words.astype(np.uint64)
    np.testing.assert_array_equal(words[:, _lexicographic_order(words)], words[:, np.lexsort(words[::-1])])
    np.testing.assert_array_equal(words[0][_lexicographic_order(words[:1])], np.sort(words[0]))
