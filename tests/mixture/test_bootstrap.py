"""Redrawn voters: intervals, rank sets, agreement of neighbors, recovery."""

import numpy as np
import pytest

from skrank.datasets import make_mallows_mixture
from skrank.mixture import MallowsMixture
from skrank.mixture._bootstrap import MixtureBootstrap
from skrank.mixture._em import expectation


@pytest.fixture(scope="module")
def two_groups():
    X = make_mallows_mixture(400, 5, n_components=2, phi=[0.4, 0.6], weights=[0.6, 0.4], random_state=0)[0]
    return X, MallowsMixture(2, random_state=0).fit(X)


def made(drawn_centers):
    """A result of one component whose center is 0, 1, 2, ..., and of these centers in the redraws."""
    drawn = np.array(drawn_centers)[:, None]
    n_draws, _, n_items = drawn.shape
    return MixtureBootstrap(
        np.ones(1),
        np.array([0.5]),
        np.arange(n_items)[None],
        np.ones((n_draws, 1)),
        np.full((n_draws, 1), 0.5),
        drawn,
        np.linspace(0, 1, n_draws)[:, None],
        np.array(list("abcdefgh")[:n_items], dtype=object),
    )


def test_neighbors_places_and_recovery_are_counts():
    result = made([[0, 1, 2]] * 7 + [[1, 0, 2]] * 2 + [[2, 0, 1]])
    np.testing.assert_allclose(result.neighbor_agreement, [[0.7, 1.0]])
    np.testing.assert_allclose(result.place_shares[0], [[0.7, 0.2, 0.1], [0.3, 0.7, 0], [0, 0.1, 0.9]])
    assert result.recovery == pytest.approx([0.5])
    assert result.n_draws == 10


@pytest.mark.parametrize(
    ("level", "expected"),
    # Of ten redraws item 0 is first in 7, second in 2, third in 1; half of 1 - level may stray on a side.
    [(0.9, [[0, 2], [0, 1], [1, 2]]), (0.8, [[0, 1], [0, 1], [2, 2]]), (0.3, [[0, 0], [1, 1], [2, 2]])],
)
def test_rank_sets_leave_half_of_the_rest_on_either_side(level, expected):
    result = made([[0, 1, 2]] * 7 + [[1, 0, 2]] * 2 + [[2, 0, 1]])
    np.testing.assert_array_equal(result.rank_sets(level)[0], expected)


def test_a_rank_set_holds_the_place_in_the_mixture():
    np.testing.assert_array_equal(made([[1, 0]] * 20).rank_sets()[0], [[0, 1], [0, 1]])


def test_intervals_are_those_of_a_proportion_where_groups_are_apart():
    X, y = make_mallows_mixture(500, 6, n_components=2, centers="reversed", phi=0.2, weights=[0.7, 0.3], random_state=0)
    share = np.bincount(y).max() / 500
    result = MallowsMixture(2, random_state=0).fit(X).bootstrap(X, n_draws=200)
    low, high = result.weight_intervals()[0]
    error = np.sqrt(share * (1 - share) / 500)
    np.testing.assert_allclose([low, high], [share - 1.96 * error, share + 1.96 * error], atol=0.25 * error)
    assert result.weight_intervals(0.5)[0, 0] > low


def test_refits_are_seeded_and_workers_change_nothing(two_groups):
    X, mixture = two_groups
    first, again = mixture.bootstrap(X, 10), mixture.bootstrap(X, 10)
    parallel = MallowsMixture(2, random_state=0, n_jobs=2).fit(X).bootstrap(X, 10)
    for other in (again, parallel):
        np.testing.assert_array_equal(other.drawn_weights, first.drawn_weights)
        np.testing.assert_array_equal(other.drawn_centers, first.drawn_centers)
    assert len(np.unique(first.drawn_weights[:, 0])) == 10


def test_weights_are_voters_and_so_are_groups(two_groups):
    X, mixture = two_groups
    ranks, counts = np.unique(X, axis=0, return_counts=True)
    rows, weighted = mixture.bootstrap(X, 5), mixture.bootstrap(ranks, 5, sample_weight=counts)
    np.testing.assert_array_equal(rows.drawn_weights, weighted.drawn_weights)
    # Ten copies of each row that are one voter's say no more about the weights than one.
    twice = np.repeat(X, 10, axis=0)
    tight = MallowsMixture(2, random_state=0).fit(twice, groups=np.repeat(np.arange(len(X)), 10))
    voters = tight.bootstrap(twice, 30, groups=np.repeat(np.arange(len(X)), 10)).drawn_weights.std(axis=0)
    assert (voters > 0.5 * np.sqrt(0.6 * 0.4 / len(X))).all()


def test_a_component_that_is_there_comes_back_also_by_a_search(two_groups):
    X, mixture = two_groups
    for search in (False, True):
        result = mixture.bootstrap(X, 10, search=search)
        assert (result.recovery >= 0.9).all()
        assert result.drawn_centers.shape == (10, 2, 5)


def test_averaged_probabilities_are_those_of_the_refits(two_groups):
    X, mixture = two_groups
    result = mixture.bootstrap(X[::10], 30)  # 40 voters: refits differ much
    averaged = result.predict_proba(X)
    np.testing.assert_allclose(averaged.sum(axis=1), 1)
    refits = [
        mixture._mixture().__class__(*one)
        for one in zip(result.drawn_centers, result.drawn_dispersions, result.drawn_weights, strict=True)
    ]
    by_hand = np.mean([expectation(mixture._table(X)[0], refit)[0] for refit in refits], axis=0)
    np.testing.assert_allclose(averaged, by_hand.T[mixture._table(X)[1]], atol=1e-6)
    sharpest = np.max([expectation(mixture._table(X)[0], refit)[0].max(axis=0).mean() for refit in refits])
    assert averaged.max(axis=1).mean() < sharpest


def test_table_and_text_name_items_and_bounds(two_groups):
    X, mixture = two_groups
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    result = MallowsMixture(2, random_state=0).fit(frame).bootstrap(frame, 20)
    table = pandas.DataFrame(result.table())
    assert table.shape == (10, 13)
    assert (table.weight_low < table.weight).all()
    assert (table.dispersion < table.dispersion_high).all()
    assert ((table.place_low <= table.place) & (table.place <= table.place_high)).all()
    assert table.groupby("component").item.agg("".join).map(sorted).tolist() == [list("abcde")] * 2
    assert table.above_next.isna().sum() == 2
    text = str(result)
    assert text.count("came back in 100 % of 20 redraws") == 2
    assert "     1  " in text
    assert repr(result) == "MixtureBootstrap(n_draws=20, recovery=[1.0, 1.0])"


@pytest.mark.filterwarnings("ignore::skrank.exceptions.InsufficientDataWarning")
def test_missing_items_are_refitted_by_their_model(two_groups):
    X, _ = two_groups
    gaps = np.where(np.random.default_rng(0).random(X.shape) < [0, 0, 0.3, 0.3, 0.3], np.nan, X)
    for missing in ("subset", "marginal"):
        mixture = MallowsMixture(2, missing=missing, random_state=0).fit(gaps)
        result = mixture.bootstrap(gaps, 4)
        assert result.missing == missing
        assert np.isfinite(result.drawn_dispersions).all()
        assert result.predict_proba(gaps).shape == (400, 2)


def test_bad_arguments(two_groups):
    X, mixture = two_groups
    with pytest.raises(ValueError, match="n_draws must be a positive integer, got 0"):
        mixture.bootstrap(X, 0)
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 95"):
        mixture.bootstrap(X, 3).weight_intervals(95)
