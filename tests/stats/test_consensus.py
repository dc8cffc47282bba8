"""Consensus rankings of full and partial rankings, against their definitions."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from skrank.stats import borda_consensus, kemeny_consensus, pairwise_majority


def random_rankings(rng, n_samples, n_items, missing=0.2, n_values=4):
    X = rng.integers(0, n_values, (n_samples, n_items)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def wins_by_definition(X, weights):
    with np.errstate(invalid="ignore"):
        return np.einsum("s,sab->ab", weights, X[:, :, None] < X[:, None, :])


def distance_by_definition(X, weights, ranks):
    before = ranks[:, None] < ranks
    return (wins_by_definition(X, weights) * before.T).sum()


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_kemeny_equals_brute_force(n_items):
    rng = np.random.default_rng(n_items)
    for _ in range(3):
        X = random_rankings(rng, 15, n_items)
        X[0] = np.arange(n_items)
        weights = rng.random(15)
        result = kemeny_consensus(X, sample_weight=weights)
        best = min(
            distance_by_definition(X, weights, np.array(ranks)) for ranks in itertools.permutations(range(n_items))
        )
        assert result.is_exact
        assert sorted(result.ranks) == list(range(n_items))
        assert result.distance == pytest.approx(best)
        assert result.distance == pytest.approx(distance_by_definition(X, weights, result.ranks))


def test_majorities_and_borda_equal_their_definitions():
    rng = np.random.default_rng(7)
    X, weights = random_rankings(rng, 40, 5), rng.integers(0, 4, 40)
    wins = wins_by_definition(X, weights)
    result = pairwise_majority(X, sample_weight=weights)
    assert (result.wins == wins).all()
    assert (result.majority == (wins > wins.T)).all()
    off_diagonal = ~np.eye(5, dtype=bool)
    assert result.fractions[off_diagonal] == pytest.approx(wins[off_diagonal] / (wins + wins.T)[off_diagonal])
    assert np.isnan(np.diagonal(result.fractions)).all()
    scores = (wins - wins.T).sum(axis=1)
    borda = borda_consensus(X, sample_weight=weights)
    assert (borda.scores == scores).all()
    assert borda.ranks.tolist() == [np.unique(scores[scores > s]).size for s in scores]


def test_borda_of_full_rankings_is_the_order_of_mean_ranks():
    rng = np.random.default_rng(8)
    X = rng.permuted(np.tile(np.arange(6), (31, 1)), axis=1)
    assert (np.argsort(borda_consensus(X).ranks, kind="stable") == np.argsort(X.mean(axis=0), kind="stable")).all()


def test_condorcet_winner_and_cycle():
    assert pairwise_majority([[0, 1, 2], [0, 2, 1]]).condorcet_winner == 0
    assert pairwise_majority([[0, 1, 2], [1, 2, 0], [2, 0, 1]]).condorcet_winner is None
    cycle = kemeny_consensus([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    assert cycle.ranks.tolist() == [0, 1, 2]
    assert cycle.distance == 4


@pytest.mark.parametrize("consensus", [kemeny_consensus, borda_consensus])
def test_weights_are_repeats_and_row_order_does_not_matter(consensus):
    rng = np.random.default_rng(9)
    X, weights = random_rankings(rng, 30, 8), rng.integers(0, 3, 30)
    weighted, repeated = consensus(X, sample_weight=weights), consensus(np.repeat(X, weights, axis=0))
    assert (weighted.ranks == repeated.ranks).all()
    order = rng.permutation(30)
    shuffled = consensus(X[order], sample_weight=0.1 * weights[order])
    assert (shuffled.ranks == weighted.ranks).all()


@pytest.mark.parametrize("consensus", [kemeny_consensus, borda_consensus])
def test_items_that_nobody_ranks_stay_unranked(consensus):
    X = [[0, np.nan, 1, 3], [1, np.nan, 0, 3], [0, 2, 1, np.nan]]
    result = consensus(X, sample_weight=[1, 1, 0])
    assert np.isnan(result.ranks).tolist() == [False, True, False, False]
    assert result.ordering.tolist() == [0, 2, 3]
    nothing = consensus(np.full((2, 3), np.nan))
    assert np.isnan(nothing.ranks).all()
    assert len(nothing.ordering) == 0


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_item_names_come_out_again(frame):
    X = frame({"tea": [1, 2, 1], "coffee": [0, 0, 2], "water": [2, 1, 0]})
    for result in (kemeny_consensus(X), borda_consensus(X)):
        assert result.item_names.tolist() == ["tea", "coffee", "water"]
        assert result.ordering[0] == "coffee"
    assert pairwise_majority(X).condorcet_winner == "coffee"


def test_longer_rankings_with_a_known_consensus():
    rng = np.random.default_rng(10)
    center = rng.permutation(40)
    X = np.tile(center, (61, 1)).astype(float)
    # Each ranking has one pair of neighbors exchanged: every majority still goes with the center.
    for row in X:
        place = rng.integers(39)
        a, b = np.flatnonzero(row == place)[0], np.flatnonzero(row == place + 1)[0]
        row[[a, b]] = row[[b, a]]
    result = kemeny_consensus(X)
    assert result.is_exact
    assert (result.ranks == center).all()
    assert result.distance == 61
    # Without a cycle of majorities there is nothing to search, and the result is known to be the best.
    assert kemeny_consensus(X, method="local").is_exact


def test_a_long_cycle_is_not_claimed_to_be_solved_exactly():
    rotations = np.array([np.roll(np.arange(24), shift) for shift in range(24)])
    result = kemeny_consensus(rotations)
    assert not result.is_exact
    assert result.distance == distance_by_definition(rotations * 1.0, np.ones(24), result.ranks)
    # A rotation is a best ranking of all rotations.
    assert result.distance == distance_by_definition(rotations * 1.0, np.ones(24), rotations[0] * 1.0)
    with pytest.raises(ValueError, match="24 items that form one cycle"):
        kemeny_consensus(rotations, method="exact")


def test_bad_input():
    with pytest.raises(ValueError, match="Expected 2D array"):
        kemeny_consensus([0, 1, 2])
    with pytest.raises(ValueError, match="must be finite"):
        borda_consensus([[0, np.inf]])
    with pytest.raises(ValueError, match="nonnegative"):
        pairwise_majority([[0, 1]], sample_weight=[-1])
    with pytest.raises(ValueError, match="method"):
        kemeny_consensus([[0, 1]], method="best")


@pytest.mark.parametrize("unranked", ["last", "missing"])
def test_borda_of_sparse_rankings_is_that_of_dense_ones(unranked):
    rng = np.random.default_rng(3)
    listed = rng.random((40, 12)) < 0.3
    listed[:, -1] = False  # an item that nobody lists
    ranks = rng.integers(0, 4, listed.shape)  # zeros are ranks, equal ones ties
    X = np.where(listed, ranks, 9 if unranked == "last" else np.nan)
    lists = csr_array((ranks[listed], np.nonzero(listed)), shape=listed.shape)
    weights = rng.integers(0, 4, 40)
    sparse = borda_consensus(lists, sample_weight=weights, unranked=unranked)
    dense = borda_consensus(X, sample_weight=weights)
    np.testing.assert_array_equal(sparse.scores, dense.scores)
    np.testing.assert_array_equal(sparse.ranks, dense.ranks)
    assert np.isnan(sparse.ranks[-1]) == (unranked == "missing")
    np.testing.assert_array_equal(borda_consensus(lists, unranked=unranked).scores, borda_consensus(X).scores)
    sets, others = (borda_consensus(one, unranked=unranked, n_draws=400).rank_sets for one in (lists, X))
    # Two proportions of 400 redraws: .035 is the largest standard error of their difference.
    np.testing.assert_allclose(sets.place_proportions, others.place_proportions, atol=0.15)


def test_borda_of_a_wide_catalog():
    lists = csr_array(([0, 1, 1, 0], ([0, 0, 1, 1], [7, 99_999, 7, 99_999])), shape=(2, 100_000))
    result = borda_consensus(lists, unranked="last")
    assert result.scores[[7, 99_999, 0]].tolist() == [2 * 99_998.0, 2 * 99_998.0, -4.0]
    assert result.ranks[[7, 99_999, 0]].tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="n_draws=0"):
        borda_consensus(lists, unranked="last", n_draws=10)
    with pytest.raises(TypeError, match="unranked='last'"):
        borda_consensus(lists)
