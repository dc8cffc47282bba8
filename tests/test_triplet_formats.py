import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank._triplets import check_triplets

ROWS = [[0, 1, 2], [3, 0, 1]]


def test_the_three_formats_say_the_same():
    expected = [[0, 1, 2], [3, 1, 0]]
    for responses in ([True, False], [1, 0], [1.0, 0.0], [1, -1]):
        np.testing.assert_array_equal(check_triplets(ROWS, responses), expected)
    np.testing.assert_array_equal(check_triplets(expected), expected)
    np.testing.assert_array_equal(check_triplets(ROWS, [2, -3]), np.repeat(expected, [2, 3], axis=0))


@pytest.mark.parametrize("frame", [np.array, pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")])
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64, float])
def test_inputs_of_any_kind(frame, dtype):
    result = check_triplets(frame(np.array(ROWS, dtype)))
    assert result.dtype == np.int64
    np.testing.assert_array_equal(result, ROWS)


def test_small_indices_do_not_overflow():
    assert check_triplets(np.array([[100, 120, 127]], np.int8)).max() == 127


@pytest.mark.parametrize(
    ("triplets", "responses", "message"),
    [
        ([[0, 1]], None, r"3 columns .* shape \(1, 2\)"),
        (np.empty((0, 3)), None, "0 sample"),
        ([[0, 1, 2], [0, 1.5, 2]], None, r"whole numbers: row 1 is \[0.0, 1.5, 2.0\]"),
        ([[0, 1, 2], [0, -1, 2]], None, r"from 0: row 1 is \[0, -1, 2\]"),
        ([[0, 1, 2], [0, 1, 5]], None, r"number of items, 5: row 1 is \[0, 1, 5\]"),
        ([[0, 1, 2], [1, 1, 2], [2, 0, 0]], None, r"must differ.*row 1 is \[1, 1, 2\] \(1 more rows"),
        ([[0, 1, np.nan]], None, "triplets contains NaN"),
        (ROWS, [1], "inconsistent numbers of samples"),
        (ROWS, [2, 0], "undecided.*row 1 is 0"),
        (ROWS, [2, 0.5], "whole numbers.*row 1 is 0.5"),
        (ROWS, [2, np.nan], "whole numbers.*row 1 is nan"),
        (ROWS, ["a", "b"], "dtype"),
    ],
)
def test_bad_input_names_the_row_and_the_value(triplets, responses, message):
    with pytest.raises(ValueError, match=message):
        check_triplets(triplets, responses, n_items=5)


def test_masked_arrays_are_refused():
    mask = [[0, 0, 1], [0, 0, 0]]
    with pytest.raises(ValueError, match="triplets is a masked array"):
        check_triplets(np.ma.array([[0, 1, 2], [1, 0, 2]], mask=mask))
    with pytest.raises(ValueError, match="responses is a masked array"):
        check_triplets([[0, 1, 2], [1, 0, 2]], np.ma.array([1, 0], mask=[1, 0]))
