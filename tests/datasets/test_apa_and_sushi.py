"""The embedded APA ballots and the reader of the SUSHI order format."""

import re
from importlib import resources

import numpy as np
import pytest

from skrank.datasets import load_apa, load_sushi_order


def test_apa_counts():
    apa = load_apa()
    ranked = (~np.isnan(apa.data)).sum(axis=1)
    assert apa.item_names.tolist() == list("ABCDE")
    assert {int(m): int(apa.sample_weight[ranked == m].sum()) for m in np.unique(ranked)} == {
        1: 5141,
        2: 2462,
        3: 2108,
        5: 5738,
    }
    assert len(np.unique(apa.data, axis=0)) == 205


def test_apa_first_order_summary_of_the_complete_ballots():
    # Diaconis (1989), table 2: percent of the complete ballots that put candidate i in place j.
    apa = load_apa()
    complete = ~np.isnan(apa.data).any(axis=1)
    ranks, weight = apa.data[complete], apa.sample_weight[complete]
    share = [[weight[ranks[:, item] == place].sum() / weight.sum() for place in range(5)] for item in range(5)]
    np.testing.assert_array_equal(
        np.round(100 * np.array(share)),
        [[18, 26, 23, 17, 15], [14, 19, 25, 25, 18], [28, 17, 14, 18, 23], [20, 17, 19, 20, 23], [20, 21, 20, 19, 20]],
    )


def test_apa_unranked():
    last = load_apa(unranked="last").data
    missing = load_apa(unranked="missing").data
    np.testing.assert_array_equal(
        np.where(np.isnan(missing), np.nanmax(missing, axis=1, keepdims=True) + 1, missing), last
    )
    with pytest.raises(ValueError, match="leaves out candidate"):
        load_apa(unranked=None)


def test_apa_as_a_frame_and_as_a_pair():
    apa = load_apa()
    data, sample_weight = load_apa(return_X_y=True, as_frame=True)
    assert data.columns.tolist() == apa.item_names.tolist()
    np.testing.assert_array_equal(data, apa.data)
    np.testing.assert_array_equal(sample_weight, apa.sample_weight)


def test_apa_table_is_package_data():
    assert resources.files("skrank.datasets").joinpath("data/apa_1980.csv").is_file()


def sushi(folder, text):
    path = folder / "x.order"
    path.write_text(text)
    return path


def test_sushi_order(tmp_path):
    path = sushi(tmp_path, "3 1\n0 3 2 0 1\n0 3 2 0 1\n")
    found = load_sushi_order(path, item_names=["ebi", "anago", "maguro"])
    assert found.data.tolist() == [[1, 2, 0], [1, 2, 0]]
    assert found.item_names.tolist() == ["ebi", "anago", "maguro"]
    assert found.sample_weight.tolist() == [1, 1]
    path = sushi(tmp_path, "3 1\n0 1 2\n")
    assert load_sushi_order(path, unranked="last").data.tolist() == [[1, 1, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 2\n0 3 0 1 2\n", "line 1: expected 'n_items 1'"),
        ("3 1\n", "line 1: no orders"),
        ("3 1\n0 3 0 1 2\n0 3 0 1\n", "line 3: expected '0 length item item ...'"),
        ("3 1\n0 3 0 1 2\n\n0 3 0 1 2\n", "line 3: expected '0 length"),
        ("3 1\n1 3 0 1 2\n", "line 2: expected '0 length"),
        ("3 1\n0 3 0 1 3\n", "line 2: item 3, but the items are 0 to 2"),
        ("3 1\n0 3 0 1 0\n", "line 2: item 0 is listed more than once"),
        ("3 1\n0 3 0 1 b\n", "line 2: expected whole numbers, found '0 3 0 1 b'"),
        ("3 1\n0 3 0 1 2\n0 2 0 1\n", "line 3: only 2 of the 3 items. Choose unranked='last'"),
        ("", "line 1: the file is empty"),
    ],
)
def test_broken_sushi_order(tmp_path, text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        load_sushi_order(sushi(tmp_path, text))


def test_sushi_names_must_be_as_many_as_items(tmp_path):
    path = tmp_path / "lunch.order"
    path.write_text("3 1\n0 3 2 0 1\n")
    assert load_sushi_order(path, item_names=["egg", "tuna", "squid"]).item_names.tolist() == ["egg", "tuna", "squid"]
    with pytest.raises(ValueError, match="item_names has 2 names, but .* has 3 items"):
        load_sushi_order(path, item_names=["egg", "tuna"])
