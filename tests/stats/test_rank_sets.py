"""Rank sets of consensus rankings: what they are made of, and that they cover."""

import numpy as np
import pandas as pd
import pytest

from skrank.datasets import make_rankings
from skrank.stats import borda_consensus, kemeny_consensus, mallows
from skrank.stats._rank_sets import n_redrawn, rank_sets, redrawn_weights

CONSENSUS = {"kemeny": kemeny_consensus, "borda": borda_consensus}


def test_rank_sets_leave_out_what_redraws_rule_out():
    # Item 0 always first; items 1 and 2 take turns; item 3 is last in 19 of 20 redraws.
    places = np.array([[0, 1, 2, 3], [0, 2, 1, 3]] * 9 + [[0, 1, 2, 3], [0, 1, 3, 2]], float)
    sets = rank_sets(places, np.arange(4.0), 0.9)
    assert sets.low.tolist() == [0, 1, 1, 3]
    assert sets.high.tolist() == [0, 2, 2, 3]
    assert sets.neighbor_agreement == pytest.approx([1.0, 11 / 20, 19 / 20])
    assert rank_sets(places, np.arange(4.0), 0.99).high.tolist() == [0, 2, 3, 3]
    proportions = sets.place_proportions
    assert proportions.sum(axis=1) == pytest.approx(np.ones(4))
    assert proportions[3].tolist() == [0, 0, 0.05, 0.95]


def test_items_without_a_place_have_no_rank_set():
    X = [[0, 1, np.nan, 2], [1, 0, np.nan, 2], [0, 1, np.nan, 2]]
    for consensus in CONSENSUS.values():
        sets = consensus(X, n_draws=20).rank_sets
        assert np.isnan(sets.low[2])
        assert np.isnan(sets.places[:, 2]).all()
        assert len(sets.neighbor_agreement) == 2
        assert sets.high[3] == 2


def test_the_table_has_names_and_counts_from_one():
    X = pd.DataFrame(make_rankings(80, 3, center=[2, 0, 1], phi=0.3, random_state=0), columns=["a", "b", "c"])
    result = kemeny_consensus(X, n_draws=50)
    table = pd.DataFrame(result.rank_sets.to_dict())
    assert table["item"].tolist() == ["b", "c", "a"]
    assert table["rank"].tolist() == [1, 2, 3]
    assert (table["low"] <= table["rank"]).all()
    assert np.isnan(table["before_next"].iloc[-1])
    assert "b  " in str(result.rank_sets).splitlines()[1]
    assert kemeny_consensus(X).rank_sets is None


def test_redraws_are_a_function_of_the_rankings_and_the_seed():
    X = make_rankings(40, 5, phi=0.8, random_state=1)
    for consensus in CONSENSUS.values():
        one, repeated = (consensus(X, n_draws=30, random_state=3).rank_sets.places for _ in range(2))
        counted = consensus(np.unique(X, axis=0), sample_weight=np.unique(X, axis=0, return_counts=True)[1], n_draws=30)
        assert (one == repeated).all()
        assert (counted.rank_sets.places == consensus(X, n_draws=30).rank_sets.places).all()


def test_redrawn_weights_keep_the_total_and_the_mean():
    weights = np.array([1.0, 4.0, 5.0])
    redrawn = redrawn_weights(weights, 4000, np.random.default_rng(0))
    assert (redrawn == np.rint(redrawn)).all()
    assert redrawn.sum(axis=1) == pytest.approx(np.full(4000, 10.0))
    assert redrawn.mean(axis=0) == pytest.approx(weights, abs=0.15)
    assert n_redrawn(np.array([0.5, 0.5, 0.5])) == 3
    assert n_redrawn(np.array([1e6, 0.5])) == 1


@pytest.mark.parametrize("method", ["kemeny", "borda"])
@pytest.mark.parametrize(("phi", "n_samples"), [(0.9, 40), (0.95, 60)])
def test_rank_sets_cover_the_places_of_the_population(method, phi, n_samples):
    model, rng = mallows(np.arange(7), phi), np.random.default_rng(5)
    covered = []
    for _ in range(120):
        sets = CONSENSUS[method](model.rvs(n_samples, random_state=rng), n_draws=100, random_state=0).rank_sets
        covered.append(((sets.low <= np.arange(7)) & (np.arange(7) <= sets.high)).mean())
    # At least the level, less three standard errors of the mean over data sets.
    assert np.mean(covered) >= 0.9 - 3 * np.std(covered) / np.sqrt(len(covered))
