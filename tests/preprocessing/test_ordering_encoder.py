"""OrderingEncoder as a scikit-learn transformer."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank.preprocessing import OrderingEncoder, ranks_from_orderings

BALLOTS = [["tuna", "egg"], ["squid", None], ["egg", "tuna"]]
RANKS = {"last": [[1, 2, 0], [1, 0, 1], [0, 2, 1]], "missing": [[1, np.nan, 0], [np.nan, 0, np.nan], [0, np.nan, 1]]}


@parametrize_with_checks(
    [OrderingEncoder(unranked="missing"), OrderingEncoder(unranked="last")],
    expected_failed_checks=lambda estimator: {
        "check_estimators_dtypes": "its rows repeat a value, which is an item listed twice",
        "check_estimators_pickle": "its rows have NaN before values, which is a gap before an item",
        "check_fit_idempotent": "its test rows hold values, that is items, unknown to fit",
    },
)
def test_sklearn_compatible(estimator, check):
    check(estimator)


@pytest.mark.parametrize("unranked", ["last", "missing"])
@pytest.mark.parametrize(
    "container",
    [
        list,
        lambda rows: np.array(rows, dtype=object),
        lambda rows: pd.DataFrame(rows, columns=["first", "second"]),
        lambda rows: pd.DataFrame(rows, columns=["first", "second"], dtype="string"),
        lambda rows: pd.DataFrame(rows, columns=["first", "second"], dtype="category"),
        lambda rows: pl.DataFrame(rows, schema=["first", "second"], orient="row"),
    ],
)
def test_ranks_and_back(container, unranked):
    encoder = OrderingEncoder(unranked=unranked)
    np.testing.assert_array_equal(encoder.fit_transform(container(BALLOTS)), RANKS[unranked])
    np.testing.assert_array_equal(encoder.transform(container(BALLOTS)), RANKS[unranked])
    assert encoder.items_.tolist() == ["egg", "squid", "tuna"]
    assert encoder.inverse_transform(RANKS[unranked]).tolist() == BALLOTS


def test_none_raises_as_soon_as_an_item_is_left_out():
    with pytest.raises(ValueError, match=r"Row 0 of X leaves out 'squid': \['tuna', 'egg'\]"):
        OrderingEncoder().fit(BALLOTS)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_item_names_are_feature_names(output):
    encoder = OrderingEncoder(unranked="last").set_output(transform=output)
    frame = encoder.fit_transform(pd.DataFrame(BALLOTS))
    assert list(frame.columns) == ["egg", "squid", "tuna"]
    assert encoder.get_feature_names_out().tolist() == ["egg", "squid", "tuna"]


@pytest.mark.parametrize(
    ("ballots", "items"),
    [
        ([[3, 1], [1, 2]], [1, 2, 3]),
        ([[3.0, np.nan], [1.0, 2.0]], [1, 2, 3]),
        ([[0.5, 1], [1, 2]], [0.5, 1, 2]),
        ([["10", 10], [(1, 2), "10"]], [10, "10", (1, 2)]),
    ],
)
def test_labels_keep_their_type(ballots, items):
    encoder = OrderingEncoder(unranked="missing").fit(ballots)
    assert encoder.items_.tolist() == items
    assert list(map(type, encoder.items_.tolist())) == [
        type(item) if encoder.items_.dtype == object else encoder.items_.dtype.type(0).item().__class__
        for item in items
    ]
    back = encoder.inverse_transform(encoder.transform(ballots)).tolist()
    assert back == [[None if label != label else label for label in row] for row in ballots]


def test_same_names_of_different_labels_are_an_error_only_where_names_are_needed():
    encoder = OrderingEncoder().fit([["10", 10]])
    assert encoder.transform([["10", 10]]).tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="same name"):
        encoder.get_feature_names_out()


def test_items_set_the_columns_and_unknown_items_are_errors():
    encoder = OrderingEncoder(items=["a", "b", "c"], unranked="last").fit([["c"]])
    assert encoder.transform([["b"]]).tolist() == [[1, 0, 1]]
    with pytest.raises(ValueError, match="Row 0 of X holds the unknown item 'd'"):
        encoder.transform([["d"]])
    with pytest.raises(ValueError, match="features"):
        encoder.transform([["a", "b"]])


def test_inverse_knows_the_room_on_a_ballot():
    full = OrderingEncoder(items=range(3), unranked="last").fit([[0, 1]])
    assert full.inverse_transform([[1, 2, 3]]).tolist() == [[0, 1]]
    for unranked, ranks in (("last", [1, 2, 3, 4]), ("missing", [1, 2, 3, np.nan])):
        short = OrderingEncoder(items=range(4), unranked=unranked).fit([[0, 1]])
        with pytest.raises(ValueError, match="Row 0 of X ranks more items than a ballot has choices"):
            short.inverse_transform([ranks])


def test_clone_pickle_and_pipeline():
    rng = np.random.default_rng(0)
    names = np.array(list("abcd"), dtype=object)
    ballots = names[np.argsort(rng.random((60, 4)), axis=1)]
    y = ranks_from_orderings(ballots, items=names)[:, 0] <= 1
    pipeline = make_pipeline(OrderingEncoder(), LogisticRegression())
    assert pipeline.fit(ballots, y).score(ballots, y) == 1
    assert clone(pipeline).fit(ballots.tolist(), y).score(ballots, y) == 1
    revived = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(revived.predict(ballots), pipeline.predict(ballots))


def test_all_gaps_is_an_error():
    with pytest.raises(ValueError, match="no item at all"):
        OrderingEncoder(unranked="last").fit([[None, ""]])


def test_inverse_of_other_items_and_shorter_ballots():
    encoder = OrderingEncoder(items=["a", "b", "c"], unranked="missing").fit([["a", "b"], ["c", None]])
    with pytest.raises(ValueError, match="X has 2 columns, but the encoder knows 3 items"):
        encoder.inverse_transform([[0, 1]])
    # all of these rank one item: the ballots are as wide as those of fit all the same
    shorter = encoder.inverse_transform([[0, np.nan, np.nan], [np.nan, np.nan, 0]])
    assert shorter.tolist() == [["a", None], ["c", None]]
    with pytest.raises(ValueError, match="Row 1 of X ranks more items than a ballot has choices"):
        encoder.inverse_transform([[0, 1, np.nan], [0, 1, 2]])


def test_items_must_be_some():
    with pytest.raises(ValueError, match="at least one label"):
        OrderingEncoder(items=[]).fit([["a"]])


def test_unknown_items_are_left_out_on_request():
    encoder = OrderingEncoder(unranked="missing", handle_unknown="ignore").fit(BALLOTS)
    nan = np.nan
    expected = [[1, nan, 0], [nan, nan, nan], [0, nan, nan]]  # salmon before, alone, and after
    ballots = [["salmon", "tuna", "egg"], ["salmon", None, None], ["egg", "salmon", None]]
    with pytest.raises(ValueError, match="features"):
        encoder.transform(ballots)
    encoder = OrderingEncoder(unranked="missing", handle_unknown="ignore", items=["egg", "squid", "tuna"]).fit(ballots)
    np.testing.assert_array_equal(encoder.transform(ballots), expected)
    last = OrderingEncoder(unranked="last", handle_unknown="ignore", items=["egg", "squid", "tuna"])
    np.testing.assert_array_equal(last.fit_transform(ballots), [[1, 2, 0], [0, 0, 0], [0, 1, 1]])
    with pytest.raises(ValueError, match="unknown item 'salmon'"):
        clone(encoder).set_params(handle_unknown="error").fit(ballots)
    with pytest.raises(ValueError, match="is empty at choice 0"):  # empty cells are not unknown items
        encoder.transform([[None, "egg", None]])
    with pytest.raises(ValueError, match="handle_unknown"):
        clone(encoder).set_params(handle_unknown="drop").fit(ballots)


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_are_inverted_to_frames(library):
    names = ["first", "second"]
    ballots = pd.DataFrame(BALLOTS, columns=names) if library is pd else pl.DataFrame(BALLOTS, names, orient="row")
    encoder = OrderingEncoder(unranked="last").set_output(transform=library.__name__).fit(ballots)
    ranks = encoder.transform(ballots)
    back = encoder.inverse_transform(ranks)
    assert isinstance(back, library.DataFrame)
    # Older versions of scikit-learn do not know the column names of every version of polars.
    assert list(back.columns) == (names if hasattr(encoder, "feature_names_in_") else ["choice1", "choice2"])
    assert [[label if isinstance(label, str) else None for label in row] for row in back.to_numpy()] == BALLOTS
    with pytest.raises(ValueError, match="column 0 is 'tuna' and not 'egg'"):
        encoder.inverse_transform(ranks[["tuna", "squid", "egg"]])
