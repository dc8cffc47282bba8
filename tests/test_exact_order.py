"""Ranks in types that floats do not hold, and the columns of frames whose names are no strings."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from skrank._rankings import check_rankings
from skrank.kernels import PartialRankingKernel
from skrank.mixture import MallowsMixture

LARGE = 2**53
DAYS = pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"], utc=True))


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [LARGE, None], "b": [LARGE + 1, 1]}, dtype="Int64"),
        pl.DataFrame({"a": [LARGE, None], "b": [LARGE + 1, 1]}),
        [[LARGE, LARGE + 1], [None, 1]],
        [[2**70, 2**70 + 1], [None, 1]],
        np.ma.array([[LARGE, LARGE + 1], [7, 1]], mask=[[0, 0], [1, 0]]),
        pd.DataFrame({"a": pd.to_timedelta(["1min", None]), "b": pd.to_timedelta(["2min", "3min"])}),
        pd.DataFrame(
            {"a": pd.to_datetime(["2026-01-01", None], utc=True), "b": pd.to_datetime(["2026-01-02"] * 2, utc=True)}
        ),
        np.array([["2026-01-01", "2026-01-02"], ["NaT", "2026-01-01"]], dtype="M8[s]"),
    ],
    ids=["Int64", "polars", "lists", "beyond 64 bits", "masked", "durations", "dates", "date array"],
)
def test_what_floats_would_tie_or_refuse_is_ordered_exactly(X):
    assert check_rankings(X).tolist() == [[0, 1], [-1, 0]]


def test_finishing_times_keep_their_names():
    times = pd.DataFrame({"ann": pd.to_timedelta(["1min", "3min"]), "ben": pd.to_timedelta(["2min", "1min"])})
    model = PartialRankingKernel("kendall").fit(times)
    assert model.feature_names_in_.tolist() == ["ann", "ben"]
    assert model.transform(times).tolist() == [[1, -1], [-1, 1]]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (
            pd.DataFrame({"a": pd.to_datetime(["2026-01-01"]), "b": [3]}),
            ValueError,
            "cannot be compared with each other",
        ),
        ([[1, 2], [1]], ValueError, "rows of X differ in length"),
        (csr_array(np.eye(3)), TypeError, r"sparse matrix, whose zeros would be ranks. Pass X.toarray\(\)"),
    ],
)
def test_the_remedy_is_named(X, error, message):
    with pytest.raises(error, match=message):
        check_rankings(X)


@pytest.mark.parametrize(
    "columns", [[10, 20, 30], pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)]), [1.5, 2.5, 3.5]]
)
def test_columns_in_another_order_are_refused_whatever_they_are_called(columns):
    frame = pd.DataFrame([[1, 2, 3], [3, 2, 1]], columns=columns)
    model = PartialRankingKernel("kendall").fit(frame)
    assert model.transform(frame.iloc[:1]).tolist() == [[1, -1]]
    with pytest.raises(ValueError, match="must be the items of the fit in the same order"):
        model.transform(frame.iloc[:, ::-1])
    model.fit(frame.to_numpy())  # forgets them
    model.transform(frame.iloc[:, ::-1])


def test_a_mixture_minds_the_columns_too():
    frame = pd.DataFrame(np.tile([[0, 1, 2], [0, 2, 1]], (300, 1)), columns=[3, 1, 2])
    model = MallowsMixture(random_state=0).fit(frame)
    with pytest.raises(ValueError, match="in the same order"):
        model.predict(frame[[1, 2, 3]])
