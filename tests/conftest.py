"""Brute force that several tests share, and how many examples property tests try."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import settings
from sklearn.utils.validation import _get_feature_names

from skrank._callbacks import HAS_CALLBACKS

# The same few examples each time; `pytest --hypothesis-profile=thorough tests/trust` tries many others.
settings.register_profile("quick", max_examples=30, derandomize=True, database=None, deadline=None)
settings.register_profile("thorough", max_examples=3000, deadline=None)
settings.load_profile("quick")


def pytest_runtest_setup(item):
    if item.get_closest_marker("callbacks") and not HAS_CALLBACKS:
        pytest.skip("scikit-learn has callbacks from version 1.9 on")
    if item.get_closest_marker("polars_names") and _get_feature_names(pl.DataFrame({"a": [1]})) is None:
        pytest.skip("this scikit-learn does not read the column names of this polars")


@pytest.fixture
def progress_bar():
    """scikit-learn's progress bar; a test that uses it is marked `callbacks`."""
    from sklearn.callback import ProgressBar

    return ProgressBar()


def _consistent_rankings(row):
    """All full rankings (positions) consistent with one row of a rank matrix, by the definition."""
    row = np.asarray(row, float)
    n_items = len(row)
    found = []
    for permutation in itertools.permutations(range(n_items)):
        positions = np.array(permutation)
        # Comparisons with NaN are false: missing items are free.
        if not ((row[:, None] < row) & (positions[:, None] > positions)).any():
            found.append(positions)
    return np.array(found)


@pytest.fixture(scope="session")
def consistent_rankings():
    """The function row -> all full rankings consistent with it, ndarray of shape (n_rankings, n_items)."""
    return _consistent_rankings
