"""Orderings <-> rank matrices, by the definition and with every way a list of lists goes wrong."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank.preprocessing import orderings_from_ranks, ranks_from_orderings, ranks_from_scores

NAN = np.nan


def by_definition(orderings, items, unranked):
    ranks = np.full((len(orderings), len(items)), NAN)
    for row, labels in enumerate(orderings):
        for place, label in enumerate(labels):
            ranks[row, items.index(label)] = place
        if unranked == "last":
            ranks[row, np.isnan(ranks[row])] = len(labels)
    return ranks


@pytest.mark.parametrize("unranked", ["last", "missing"])
@pytest.mark.parametrize("items", [list(range(6)), list("fbacde"), [1, "1", 2.5, (0, 1), None.__class__, b"x"]])
def test_ragged_lists_of_any_labels(items, unranked):
    rng = np.random.default_rng(0)
    orderings = [[items[i] for i in rng.permutation(6)[: rng.integers(0, 7)]] for _ in range(50)]
    ranks = ranks_from_orderings(orderings, items=items, unranked=unranked)
    np.testing.assert_array_equal(ranks, by_definition(orderings, items, unranked))


@pytest.mark.parametrize("container", [list, np.asarray, pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")])
def test_containers_agree(container):
    orderings = [["b", "a", "c"], ["c", "b", "a"]]
    ranks = ranks_from_orderings(container(orderings), items=["a", "b", "c"])
    np.testing.assert_array_equal(ranks, [[1, 0, 2], [2, 1, 0]])


@pytest.mark.parametrize("gap", [None, NAN, "", pd.NA, pd.NaT, np.float32("nan"), np.datetime64("NaT")])
def test_every_gap_ends_a_ballot(gap):
    table = np.array([["b", gap], ["b", "a"]], dtype=object)
    ranks = ranks_from_orderings(table, items=["a", "b"], unranked="missing")
    np.testing.assert_array_equal(ranks, [[NAN, 0], [1, 0]])


def test_float_ids_with_gaps_are_ids():
    frame = pd.DataFrame({"first": [2, 0], "second": [1, None]})
    assert frame["second"].dtype.kind == "f"
    np.testing.assert_array_equal(ranks_from_orderings(frame, unranked="last"), [[2, 1, 0], [0, 1, 1]])


def test_empty_string_is_an_item_where_items_say_so():
    np.testing.assert_array_equal(ranks_from_orderings([["", "a"]], items=["a", ""]), [[1, 0]])


def test_items_give_the_order_of_columns():
    np.testing.assert_array_equal(ranks_from_orderings([[30, 10, 20]], items=[30, 20, 10]), [[0, 2, 1]])


@pytest.mark.parametrize(
    ("orderings", "options", "message"),
    [
        ([[0, 1], [1]], {}, r"Row 1 of orderings leaves out 0: \[1, None\].*unranked='last'.*unranked='missing'"),
        ([[0, 1, 2], [1, 2, 1]], {}, r"Row 1 of orderings lists 1 twice: \[1, 2, 1\]"),
        ([[0, 1, 2, 1]], {}, r"Row 0 of orderings lists 1 twice"),
        ([["a", "b"], ["a", "c"]], {"items": ["a", "b"]}, r"Row 1 of orderings holds the unknown item 'c' at choice 1"),
        ([["a", None, "b"]], {"items": ["a", "b"]}, r"Row 0 of orderings is empty at choice 1 .*before 'b'"),
        ([[1, 2, 3], [3, 2, 1]], {}, r"Row 0 of orderings holds 3, and 0 never occurs.*items=range\(1, 4\)"),
        ([[0, 2, 3], [3, 2, 0]], {}, r"Row 0 of orderings holds 3, but the 3 ids that occur are not 0, ..., 2"),
        ([[0, 1], [1, 2]], {"items": range(2)}, r"Row 1 .* unknown item 2 .*items=range\(1, 3\)"),
        ([[0, 1], [1, 2]], {"items": range(1, 3)}, r"Row 0 .* unknown item 0 .*items=range\(2\)"),
        ([[0, 1], [1, -1]], {"items": range(2)}, r"Row 1 .* unknown item -1"),
        ([["a", "b"]], {}, r"labels that are not column numbers \('a'\).*OrderingEncoder"),
        ([0, 1, 2], {}, r"Expected 2D array.*row 0 of orderings is 0"),
        (np.arange(3), {}, r"Expected 2D array.*got 1D array"),
        (["abc", "bca"], {}, r"row 0 of orderings is 'abc'"),
        ([["a", "b"]], {"items": ["a", "b", "a"]}, r"items\[2\] is 'a', which is already items\[0\]"),
        ([], {"items": ["a"]}, "orderings is empty"),
        ([["a", "b"]], {"items": {"a", "b"}}, r"items must be a list .*in the order of the columns; got \{"),
        ([["a", "b"]], {"items": ["a", None]}, r"items\[1\] is None"),
        ([["a", "b"]], {"items": ["a", "b"], "unranked": "worst"}, "unranked"),
    ],
)
def test_errors_name_row_and_value(orderings, options, message):
    with pytest.raises(ValueError, match=message):
        ranks_from_orderings(orderings, **options)


def test_unhashable_labels_are_refused():
    with pytest.raises(TypeError, match="hashable"):
        ranks_from_orderings([[{}, []]], items=["a"])


@pytest.mark.parametrize("unranked", [None, "last", "missing"])
@pytest.mark.parametrize("n_items", [1, 5, 130])
def test_round_trip(unranked, n_items):
    rng = np.random.default_rng(1)
    ranks = np.argsort(rng.random((40, n_items)), axis=1) + 0.0
    if unranked is not None and n_items > 2:
        kept = rng.integers(0, n_items - 1, 40)[:, None]
        ranks = np.where(ranks < kept, ranks, kept if unranked == "last" else NAN)
    orderings = orderings_from_ranks(ranks, unranked=unranked)
    np.testing.assert_array_equal(ranks_from_orderings(orderings, items=range(n_items), unranked=unranked), ranks)


def test_orderings_carry_the_names_of_a_dataframe():
    frame = pd.DataFrame([[2, 1]], columns=["egg", "tuna"])
    assert orderings_from_ranks(frame).tolist() == [["tuna", "egg"]]


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        ([[1, 2], [1, 1]], {}, r"Row 1 of X ties items.*unranked='last'"),
        ([[1, 1, 2]], {"unranked": "last"}, r"Row 0 of X ties items"),
        ([[1, 2], [1, NAN]], {}, r"Row 1 of X has missing items.*unranked='missing'"),
        ([[1, 2], [1, NAN]], {"unranked": "last"}, r"Row 1 of X has missing items"),
        ([[1, 2]], {"items": ["a"]}, r"items has 1 labels, but X has 2 columns"),
    ],
)
def test_what_an_ordering_cannot_tell(X, options, message):
    with pytest.raises(ValueError, match=message):
        orderings_from_ranks(X, **options)


def test_scores_by_the_definition():
    rng = np.random.default_rng(2)
    scores = rng.integers(-3, 4, (60, 5)) / 2
    scores[rng.random((60, 5)) < 0.2] = NAN
    for sign, higher in ((1, True), (-1, False)):
        ranks = ranks_from_scores(scores * sign, higher_is_preferred=higher)
        for row, expected in zip(ranks, scores, strict=True):
            levels = sorted(set(expected[~np.isnan(expected)]), reverse=True)
            np.testing.assert_array_equal(row, [NAN if np.isnan(v) else levels.index(v) for v in expected])


def test_scores_refuse_infinity():
    with pytest.raises(ValueError, match=re.escape("scores[1, 0]")):
        ranks_from_scores([[0, 1], [np.inf, 0]])


def test_masked_entries_are_gaps():
    ballots = np.ma.array([[1, 2, 0], [0, 2, 1]], mask=[[0, 0, 1], [0, 0, 0]])
    np.testing.assert_array_equal(ranks_from_orderings(ballots, unranked="last"), [[2, 0, 1], [0, 2, 1]])


def test_sets_are_ties():
    orderings = [["a", {"b", "c"}], [{"b"}, {"a"}, {"c"}], [frozenset("ca"), "b"]]
    found = ranks_from_orderings(orderings, items=list("abc"))
    assert found.tolist() == [[0, 1, 1], [1, 0, 2], [0, 1, 0]]
    assert ranks_from_orderings([[{"a", "b"}]], items=list("abc"), unranked="last").tolist() == [[0, 0, 1]]
    assert np.isnan(ranks_from_orderings([[{"a", "b"}]], items=list("abc"), unranked="missing")[0, 2])
    with pytest.raises(ValueError, match="Row 0 of orderings leaves out 'c'"):
        ranks_from_orderings([[{"a", "b"}]], items=list("abc"))
    with pytest.raises(ValueError, match="lists 'a' twice"):
        ranks_from_orderings([[{"a", "b"}, "a"]], items=list("abc"))
    with pytest.raises(ValueError, match="Row 0 of orderings is a set, which has no order"):
        ranks_from_orderings([{"a"}, {"b", "c"}], items=list("abc"))


def test_a_series_of_lists():
    series = pd.Series([["a", "b"], ["b"]], index=["x", "y"])
    assert ranks_from_orderings(series, items=["a", "b"], unranked="last").tolist() == [[0, 1], [1, 0]]


def test_scores_in_frames_keep_their_names():
    import pandas as pd
    import polars as pl

    scores = pd.DataFrame([[3, 5, None], [1, 1, 2]], columns=["egg", "tuna", "squid"], index=["ann", "bob"])
    ranks = ranks_from_scores(scores)
    expected = pd.DataFrame([[1, 0, np.nan], [1, 1, 0]], columns=scores.columns, index=scores.index, dtype=float)
    pd.testing.assert_frame_equal(ranks, expected)
    other = ranks_from_scores(pl.DataFrame({"egg": [3, 1], "tuna": [5, 1]}))
    assert other.columns == ["egg", "tuna"]
    np.testing.assert_array_equal(other.to_numpy(), [[1, 0], [0, 0]])
