import numpy as np
import pytest

from skrank.manifold._row_index import RowIndex, row_keys


def test_equal_rows_have_equal_keys_whatever_their_type():
    X = np.array([[1, 2], [3, 4], [1, 2]])
    keys = row_keys(X)
    assert keys[0] == keys[2] != keys[1]
    np.testing.assert_array_equal(row_keys(X.astype(np.float32)), keys)
    np.testing.assert_array_equal(row_keys(X[:, ::-1]), row_keys(X[:, ::-1].copy()))
    assert row_keys(np.array([[0.0]])) == row_keys(np.array([[-0.0]]))
    assert row_keys(X[:, ::-1])[0] != keys[0]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_long_integer_identifiers_are_told_apart(dtype):
    """Identifiers of 64 bits, whose neighbors are the same float."""
    ids = (np.arange(1000) + 1_700_000_000_000_000_000).astype(dtype)[:, None]
    index, first, inverse = RowIndex.build(ids)
    assert len(first) == 1000
    np.testing.assert_array_equal(index.find(ids[::-1]), inverse[::-1])
    least = np.array([[-(2**63)], [-(2**63) + 1], [2**63 - 1], [2**63 - 2]])
    assert len(np.unique(row_keys(least))) == 4


def test_a_key_depends_on_its_row_alone():
    X = np.random.default_rng(0).standard_normal((50, 3))
    np.testing.assert_array_equal(row_keys(X)[7:9], row_keys(X[7:9]))
    ids = np.array([["b"], ["a"], ["long name"]], dtype=object)
    np.testing.assert_array_equal(row_keys(ids)[:2], row_keys(ids[:2].astype(str)))


def test_distinct_rows_are_found_again():
    X = np.array([["x", "1"], ["y", "2"], ["x", "1"], ["z", "3"]])
    index, first, inverse = RowIndex.build(X)
    assert len(first) == 3
    np.testing.assert_array_equal(X[first][inverse], X)
    np.testing.assert_array_equal(index.find(X), inverse)
    np.testing.assert_array_equal(index.find(np.array([["x", "2"], ["z", "3"]])), [-1, inverse[3]])


def test_the_distinct_rows_do_not_depend_on_the_order():
    X = np.random.default_rng(0).integers(0, 5, (40, 2))
    order = np.random.default_rng(1).permutation(40)
    _, first, _ = RowIndex.build(X)
    _, permuted_first, _ = RowIndex.build(X[order])
    np.testing.assert_array_equal(X[first], X[order][permuted_first])
    assert len(first) == len(np.unique(X, axis=0))
