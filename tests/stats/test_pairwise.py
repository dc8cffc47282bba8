"""Pairwise wins against counting them one by one."""

import numpy as np
import pytest

from skrank._rankings import MISSING, densify
from skrank.stats import _pairwise, borda_consensus, pairwise_majority
from skrank.stats._pairwise import pairwise_wins


def wins_one_by_one(ranks, weights):
    wins = np.zeros((ranks.shape[1],) * 2)
    for ranking, weight in zip(ranks, weights, strict=True):
        ranked = np.flatnonzero(ranking != MISSING)
        wins[np.ix_(ranked, ranked)] += weight * (ranking[ranked][:, None] < ranking[ranked])
    return wins


def lists(kind, n_rows, n_items, seed=0):
    rng = np.random.default_rng(seed)
    values = np.argsort(np.argsort(rng.random((n_rows, n_items)), axis=1), axis=1).astype(float)
    if kind == "top":
        values = np.minimum(values, rng.integers(0, 6, (n_rows, 1)))
    elif kind == "missing":
        values[values >= rng.integers(0, 6, (n_rows, 1))] = np.nan
    elif kind == "both":
        values = np.minimum(values, 4)
        values[rng.random(values.shape) < 0.05] = np.nan
    elif kind == "ratings":
        values = np.round(4 * rng.random(values.shape))
        values[rng.random(values.shape) < 0.2] = np.nan
    return densify(values)


@pytest.mark.parametrize("kind", ["full", "top", "missing", "both", "ratings"])
@pytest.mark.parametrize("n_items", [2, 9, 50])
@pytest.mark.parametrize("weighting", ["ones", "counts", "halves", "fractions"])
def test_wins_are_those_counted_one_by_one(kind, n_items, weighting):
    ranks = lists(kind, 70, n_items)
    rng = np.random.default_rng(1)
    weights = {
        "ones": np.ones(70),
        "counts": rng.integers(0, 100, 70).astype(float),
        "halves": rng.integers(0, 9, 70) / 2,
        "fractions": rng.random(70),
    }[weighting]
    wins = pairwise_wins(ranks, weights)
    expected = wins_one_by_one(ranks, weights)
    if weighting == "fractions":
        np.testing.assert_allclose(wins.wins, expected, rtol=1e-12)
    else:
        np.testing.assert_array_equal(wins.wins, expected)
        assert wins.noise == 0
        assert wins.counts.dtype == np.int64


def test_short_lists_are_counted_by_what_they_name(monkeypatch):
    monkeypatch.setattr(_pairwise, "_compared", None)
    for kind in ("top", "missing", "both"):
        ranks = lists(kind, 30, 200)
        np.testing.assert_array_equal(pairwise_wins(ranks, np.ones(30)).counts, wins_one_by_one(ranks, np.ones(30)))


@pytest.mark.parametrize("kind", ["full", "top", "both", "ratings"])
def test_borda_scores_are_sums_over_opponents(kind):
    ranks = lists(kind, 40, 12)
    X = np.where(ranks == MISSING, np.nan, ranks)
    wins = pairwise_majority(X).wins
    np.testing.assert_array_equal(borda_consensus(X).scores, (wins - wins.T).sum(axis=1))


def test_a_majority_of_one_among_a_thousand_million_millions_counts():
    result = pairwise_majority([[0, 1], [1, 0]], sample_weight=[5e14, 5e14 - 1])
    assert result.majority.tolist() == [[False, True], [False, False]]
    assert result.condorcet_winner == 0
