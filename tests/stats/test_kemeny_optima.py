"""All Kemeny optima, ties among them, and exactness at extreme weights, against brute force."""

import itertools

import numpy as np
import pytest

from skrank.stats import kemeny_consensus
from skrank.stats._kemeny import solved_components
from skrank.stats._kemeny_optima import concatenated, is_unique, optimal_orderings, tied_ranks


def problems(seed, n_problems, n_items, low=-1, high=2):
    rng = np.random.default_rng(seed)
    for _ in range(n_problems):
        upper = np.triu(rng.integers(low, high, (n_items, n_items)), 1)
        yield upper - upper.T


def optima_by_brute_force(preferences):
    orders = list(itertools.permutations(range(len(preferences))))
    values = [sum(preferences[a, b] for a, b in itertools.combinations(order, 2)) for order in orders]
    return {order for order, value in zip(orders, values, strict=True) if value == max(values)}


def finest_common_buckets(optima):
    """Ranks by the bucket order with the most buckets that every ordering follows."""
    first = next(iter(optima))
    cuts = [t for t in range(1, len(first)) if len({frozenset(order[:t]) for order in optima}) == 1]
    ranks = np.empty(len(first), int)
    ranks[list(first)] = np.searchsorted(cuts, np.arange(len(first)), side="right")
    return ranks.tolist()


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_optima_uniqueness_and_ties_equal_brute_force(n_items):
    n_unique = 0
    for preferences in problems(n_items, 60, n_items):
        expected = optima_by_brute_force(preferences)
        components = solved_components(preferences)
        found = optimal_orderings(components, preferences, 1000)
        assert {tuple(order) for order in found.tolist()} == expected
        assert len(found) == len(expected)
        assert found[0].tolist() == concatenated(components).tolist()
        assert is_unique(components, preferences) == (len(expected) == 1)
        assert tied_ranks(components, preferences).tolist() == finest_common_buckets(expected)
        n_unique += len(expected) == 1
    assert n_items == 1 or 3 <= n_unique <= 57


def test_ties_of_more_optima_than_can_be_listed_hold_those_that_are(monkeypatch):
    n_equal = 0
    for preferences in problems(7, 60, 5):
        components = solved_components(preferences)
        expected = tied_ranks(components, preferences)
        with monkeypatch.context() as patch:
            patch.setattr("skrank.stats._kemeny_optima.LISTED_OPTIMA", 1)
            larger = tied_ranks(components, preferences)
        # Items in one bucket stay in one, and buckets stay in order.
        assert (np.diff(larger[np.argsort(expected, kind="stable")]) >= 0).all()
        assert all(len(set(larger[expected == rank])) == 1 for rank in expected)
        n_equal += (larger == expected).all()
    assert n_equal >= 54


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_at_most_so_many_optima_are_listed(limit):
    preferences = np.zeros((12, 12), int)
    found = optimal_orderings(solved_components(preferences), preferences, limit)
    assert found.shape == (limit, 12)
    assert len(np.unique(found, axis=0)) == limit
    assert found[0].tolist() == list(range(12))


def test_consensus_says_whether_it_is_the_only_one():
    clear = kemeny_consensus([[0, 1, 2], [0, 1, 2], [0, 2, 1]], max_optima=10)
    assert clear.is_unique
    assert clear.optima.tolist() == [[0, 1, 2]]
    split = kemeny_consensus([[0, 1, 2], [0, 2, 1]], max_optima=10, ties="keep")
    assert split.is_unique is False
    assert split.optima.tolist() == [[0, 1, 2], [0, 2, 1]]
    assert split.ranks.tolist() == [0, 1, 1]
    assert split.distance == 1
    assert kemeny_consensus([[0, 1, 2], [0, 2, 1]]).ranks.tolist() == [0, 1, 2]


def test_all_optima_have_the_same_distance_and_no_other_ranking_has():
    rng = np.random.default_rng(3)
    X = rng.permuted(np.tile(np.arange(5.0), (6, 1)), axis=1)
    result = kemeny_consensus(X, max_optima=200)

    def distance(ranks):
        return sum(
            ((X[:, a] - X[:, b]) * (ranks[a] - ranks[b]) < 0).sum() for a, b in itertools.combinations(range(5), 2)
        )

    best = {ranks for ranks in itertools.permutations(range(5)) if distance(ranks) == result.distance}
    assert {tuple(ranks) for ranks in result.optima.astype(int).tolist()} == best
    assert all(distance(ranks) >= result.distance for ranks in itertools.permutations(range(5)))


@pytest.mark.parametrize("heavy", [1e12, 1e15 - 5])
def test_light_rankings_decide_what_a_heavy_one_leaves_open(heavy):
    X = [[0, 0, 0, 1], [0, 1, 2, 3], [1, 0, 2, 3]]
    result = kemeny_consensus(X, sample_weight=[heavy, 3, 2])
    assert result.ranks.tolist() == [0, 1, 2, 3]
    assert result.distance == 2
    assert result.is_unique
    reverse = kemeny_consensus(X, sample_weight=[heavy, 2, 3])
    assert reverse.ranks.tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize("heavy", [1e12, 3e14])
def test_cycles_are_solved_exactly_at_extreme_weights(heavy):
    # Three heavy rankings in a cycle; light ones say where to cut it.
    cycle = [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    assert not kemeny_consensus(cycle, sample_weight=[heavy] * 3).is_unique
    for light in itertools.permutations(range(3)):
        result = kemeny_consensus([*cycle, list(light)], sample_weight=[heavy] * 3 + [1], max_optima=6)
        expected = {
            ranks
            for ranks in kemeny_consensus(cycle, max_optima=6).optima.astype(int).tolist()
            for ranks in [tuple(ranks)]
        }
        distances = {
            ranks: sum(
                (light[a] - light[b]) * (ranks[a] - ranks[b]) < 0 for a, b in itertools.combinations(range(3), 2)
            )
            for ranks in expected
        }
        best = {ranks for ranks in expected if distances[ranks] == min(distances.values())}
        assert {tuple(ranks) for ranks in result.optima.astype(int).tolist()} == best


def test_fractions_that_should_be_equal_are_ties():
    result = kemeny_consensus([[0, 1], [0, 1], [1, 0]], sample_weight=[0.1, 0.2, 0.3], ties="keep")
    assert not result.is_unique
    assert result.ranks.tolist() == [0, 0]
    assert kemeny_consensus([[0, 1], [1, 0]], sample_weight=[0.3000001, 0.3]).is_unique


def test_what_is_searched_makes_no_claim():
    rng = np.random.default_rng(0)
    X = rng.permuted(np.tile(np.arange(30.0), (5, 1)), axis=1)
    result = kemeny_consensus(X, method="local", max_optima=10, ties="keep")
    assert not result.is_exact
    assert result.is_unique is None
    assert len(result.optima) == 1
