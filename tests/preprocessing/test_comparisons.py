import numpy as np
import pandas as pd
import pytest

from skrank.preprocessing import ranks_from_comparisons

NAN = np.nan


def test_a_comparison_is_a_ranking_of_two_items():
    X = ranks_from_comparisons(["b", "c"], ["a", "a"])
    np.testing.assert_array_equal(X, [[1, 0, NAN], [1, NAN, 0]])
    np.testing.assert_array_equal(ranks_from_comparisons([1, 2], [0, 0]), X)


def test_ties_counts_and_items():
    X = ranks_from_comparisons(["b", "c"], ["a", "a"], ties=[False, True], counts=[2, 1], items=["c", "b", "a", "d"])
    np.testing.assert_array_equal(X, [[NAN, 0, 1, NAN], [NAN, 0, 1, NAN], [0, NAN, 0, NAN]])
    assert len(ranks_from_comparisons(["b", "c"], ["a", "a"], counts=[0, 3.0])) == 3


def test_columns_of_a_frame():
    frame = pd.DataFrame({"winner": ["x", "y"], "loser": ["y", "x"]})
    np.testing.assert_array_equal(ranks_from_comparisons(frame.winner, frame.loser), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], ["a"]), "Row 0 of comparisons compares 'a' with itself"),
        ((["a", None], ["b", "c"]), "Row 1 of comparisons holds a gap"),
        ((["a"], ["b", "c"]), "inconsistent numbers"),
        (([], []), "winners is empty"),
    ],
)
def test_bad_comparisons(arguments, message):
    with pytest.raises(ValueError, match=message):
        ranks_from_comparisons(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"items": ["a", "c"]}, "unknown item: 'b'"),
        ({"ties": [0.5]}, "ties must hold 1 values True or False"),
        ({"counts": [1.5]}, r"counts\[0\] is 1.5"),
        ({"counts": [1, 2]}, r"counts must have shape \(1,\)"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        ranks_from_comparisons(["a"], ["b"], **options)
