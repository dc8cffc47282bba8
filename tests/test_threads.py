"""Passes over rows in threads: same results in the same order, whatever the number of threads."""

import threading

import numpy as np
import pytest

from skrank import MallowsMixture, _threads
from skrank._rankings import densify
from skrank._threads import over_chunks, row_threads
from skrank.datasets import make_mallows_mixture


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(_threads, "CHUNK_ROWS", 100)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("n_rows", [0, 1, 100, 101, 1050])
def test_chunks_cover_the_rows_in_order(n_jobs, n_rows):
    with row_threads(n_jobs):
        chunks = over_chunks(lambda rows: range(n_rows)[rows], n_rows)
    assert [row for chunk in chunks for row in chunk] == list(range(n_rows))


def test_chunks_run_at_the_same_time():
    both = threading.Barrier(2, timeout=30)  # breaks unless two chunks wait at once
    with row_threads(2):
        over_chunks(lambda rows: both.wait(), 200)


def test_the_context_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), row_threads(2):
        over_chunks(lambda rows: 1 / 0, 200)
    threads = over_chunks(lambda rows: threading.get_ident(), 200)
    assert set(threads) == {threading.get_ident()}


@pytest.mark.parametrize("top_k", [None, 4])
def test_mixtures_do_not_depend_on_the_number_of_threads(top_k, monkeypatch):
    monkeypatch.setattr(_threads, "CHUNK_ROWS", 600)
    X, _ = make_mallows_mixture(1050, 7, n_components=2, phi=0.5, top_k=top_k, random_state=0)
    weights = np.random.default_rng(0).random(len(X))
    one, two = (
        MallowsMixture(2, init="kmeans", random_state=0, n_jobs=n).fit(X, sample_weight=weights) for n in (1, 2)
    )
    assert two.lower_bound_ == one.lower_bound_
    for name in ("weights_", "centers_", "dispersions_"):
        np.testing.assert_array_equal(getattr(two, name), getattr(one, name))
    np.testing.assert_array_equal(two.predict_proba(X), one.predict_proba(X))
    np.testing.assert_array_equal(two.score_samples(X), one.score_samples(X))


def test_chunks_leave_the_densified_form_as_it_is(monkeypatch):
    X = np.random.default_rng(0).choice([0.5, 2, 3, np.nan], size=(1050, 6))
    with row_threads(2):
        by_chunks = densify(X)
    monkeypatch.setattr(_threads, "CHUNK_ROWS", 10_000)
    np.testing.assert_array_equal(by_chunks, densify(X))
