"""The weighted Kemeny core against brute force over all orderings."""

import itertools

import numpy as np
import pytest

from skrank.stats._kemeny import (
    MAX_EXACT_ITEMS,
    borda_orderings,
    exact_ordering,
    kemeny_ordering,
    local_kemeny,
    preferences_from_pair_sums,
)
from skrank.stats._kemeny_search import ordering_values


def random_pair_sums(rng, n_problems, n_items, integers=False):
    shape = (n_problems, n_items * (n_items - 1) // 2)
    return rng.integers(-3, 4, shape).astype(float) if integers else rng.standard_normal(shape)


def value_by_definition(preferences, ordering):
    return sum(preferences[a, b] for a, b in itertools.combinations(ordering, 2))


def best_value(preferences):
    return max(value_by_definition(preferences, order) for order in itertools.permutations(range(len(preferences))))


def test_values_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    preferences = preferences_from_pair_sums(random_pair_sums(rng, 5, 7))
    assert (preferences == -preferences.swapaxes(1, 2)).all()
    orderings = rng.permuted(np.tile(np.arange(7), (5, 1)), axis=1)
    expected = [value_by_definition(q, order) for q, order in zip(preferences, orderings, strict=True)]
    assert ordering_values(preferences, orderings) == pytest.approx(expected)


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_exact_ordering_equals_brute_force(n_items):
    rng = np.random.default_rng(n_items)
    for integers in (False, True):
        for preferences in preferences_from_pair_sums(random_pair_sums(rng, 4, n_items, integers))[:, :n_items]:
            ordering = exact_ordering(preferences)
            assert sorted(ordering) == list(range(n_items))
            optimum = best_value(preferences)
            assert value_by_definition(preferences, ordering) == pytest.approx(optimum)
            if integers:
                first = next(
                    order
                    for order in itertools.permutations(range(n_items))
                    if value_by_definition(preferences, order) == optimum
                )
                assert tuple(ordering) == first


@pytest.mark.parametrize("integers", [False, True])
def test_components_of_the_majority_graph_do_not_lose_the_optimum(integers):
    rng = np.random.default_rng(10 + integers)
    for preferences in preferences_from_pair_sums(random_pair_sums(rng, 60, 9, integers) + 0.4 * (not integers)):
        ordering, is_exact = kemeny_ordering(preferences)
        assert is_exact
        optimum = value_by_definition(preferences, exact_ordering(preferences))
        assert value_by_definition(preferences, ordering) == pytest.approx(optimum)


def test_local_search_never_beats_and_mostly_reaches_the_optimum():
    rng = np.random.default_rng(3)
    pair_sums = random_pair_sums(rng, 40, 11)
    preferences = preferences_from_pair_sums(pair_sums)
    orderings, values = local_kemeny(pair_sums)
    optimum = ordering_values(preferences, np.array([exact_ordering(q) for q in preferences]))
    assert (values <= optimum + 1e-9).all()
    assert values == pytest.approx(ordering_values(preferences, orderings))
    restarted = [value_by_definition(q, kemeny_ordering(q, method="local")[0]) for q in preferences]
    assert (restarted >= values - 1e-9).all()
    # Random tournaments are the hard case; real preferences are nearly transitive.
    assert np.mean(np.isclose(restarted, optimum)) >= 0.8


def test_an_improvement_starts_from_the_given_ordering_alone():
    rng = np.random.default_rng(14)
    pair_sums = random_pair_sums(rng, 30, 12)
    preferences = preferences_from_pair_sums(pair_sums)
    starts = rng.permuted(np.tile(np.arange(12), (30, 1)), axis=1)
    better = local_kemeny(pair_sums, starts, thorough=False)[0]
    assert (np.sort(better, axis=1) == np.arange(12)).all()
    assert (ordering_values(preferences, better) > ordering_values(preferences, starts)).all()
    for _ in range(12):
        again, values = local_kemeny(pair_sums, better, thorough=False)
        assert (values >= ordering_values(preferences, better) - 1e-9).all()
        better = again
    assert (local_kemeny(pair_sums, better, thorough=False)[0] == better).all()


def test_given_starts_win_ties_and_never_lose_value():
    rng = np.random.default_rng(4)
    pair_sums = random_pair_sums(rng, 20, 12)
    starts = np.array([exact_ordering(q) for q in preferences_from_pair_sums(pair_sums)])
    orderings, _ = local_kemeny(pair_sums, starts)
    assert (orderings == starts).all()
    indifferent, values = local_kemeny(np.zeros((20, 66)), starts)
    assert (indifferent == starts).all()
    assert (values == 0).all()


def test_equal_items_are_settled_by_borda_then_by_number():
    assert kemeny_ordering(np.zeros((5, 5)))[0].tolist() == [0, 1, 2, 3, 4]
    cycle = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]], float)
    assert kemeny_ordering(cycle)[0].tolist() == [0, 1, 2]
    assert borda_orderings(cycle[None])[0].tolist() == [0, 1, 2]


def test_long_transitive_majorities_are_solved_exactly():
    rng = np.random.default_rng(5)
    order = rng.permutation(300)
    place = np.argsort(order)
    preferences = np.sign(place[None, :] - place[:, None]) * 1.0
    ordering, is_exact = kemeny_ordering(preferences)
    assert is_exact
    assert (ordering == order).all()


def test_too_many_items_in_a_cycle():
    n_items = MAX_EXACT_ITEMS + 1
    rng = np.random.default_rng(6)
    preferences = preferences_from_pair_sums(random_pair_sums(rng, 1, n_items))[0]
    with pytest.raises(ValueError, match=f"cannot solve {n_items} items"):
        kemeny_ordering(preferences, method="exact")
    with pytest.raises(ValueError, match=f"sets of {n_items} items"):
        exact_ordering(preferences)
    ordering, is_exact = kemeny_ordering(preferences)
    assert not is_exact
    assert sorted(ordering) == list(range(n_items))


def test_transitive_majorities_need_no_search(monkeypatch):
    monkeypatch.setattr("skrank.stats._kemeny.insertion_search", None)
    rng = np.random.default_rng(7)
    orders = rng.permuted(np.tile(np.arange(12), (5, 1)), axis=1)
    signs = np.sign(np.argsort(orders)[:, None, :] - np.argsort(orders)[:, :, None])
    pair_sums = (signs * rng.uniform(0.1, 1, signs.shape))[:, *np.triu_indices(12, 1)]
    orderings, values = local_kemeny(pair_sums, orders[::-1])
    assert (orderings == orders).all()
    assert values == pytest.approx(np.abs(pair_sums).sum(axis=1))


def test_ties_between_majorities_leave_a_start_that_agrees_where_it_is():
    first_before_second = np.zeros((1, 6))
    first_before_second[0, 0] = 1
    for start in ([3, 0, 2, 1], [0, 1, 2, 3]):
        assert local_kemeny(first_before_second, np.array([start]))[0].tolist() == [start]
    assert local_kemeny(first_before_second, np.array([[1, 0, 2, 3]]))[1].tolist() == [1.0]
