"""The local search for Kemeny orderings: local optima, disjoint moves, recombination."""

import itertools

import numpy as np
import pytest

from skrank.stats import _kemeny_search
from skrank.stats._kemeny import borda_orderings, exact_ordering, preferences_from_pair_sums
from skrank.stats._kemeny_search import WINDOW, insertion_search, ordering_values, recombined


def random_problems(seed, n_problems, n_items):
    rng = np.random.default_rng(seed)
    preferences = preferences_from_pair_sums(rng.standard_normal((n_problems, n_items * (n_items - 1) // 2)))
    return preferences, rng.permuted(np.tile(np.arange(n_items), (n_problems, 1)), axis=1)


def noisy_majorities(seed, n_items, n_rankings=25):
    """Preferences of rankings that agree on the long run of the items and not on neighbors."""
    rng = np.random.default_rng(seed)
    scores = np.arange(n_items) / 4 + 3 * rng.standard_normal((n_rankings, n_items))
    ranks = np.argsort(np.argsort(scores, axis=1), axis=1)
    return np.sign(ranks[:, None, :] - ranks[:, :, None]).sum(axis=0)[None].astype(float)


def value_by_definition(preferences, ordering):
    return sum(preferences[a, b] for a, b in itertools.combinations(ordering, 2))


def assert_no_insertion_gains(preferences, ordering):
    between = preferences[np.ix_(ordering, ordering)]
    for source in range(len(ordering)):
        # What the item at this place gains by moving past its neighbors, further and further.
        assert np.cumsum(-between[source, source + 1 :]).max(initial=0) < 1e-6
        assert np.cumsum(between[source, :source][::-1]).max(initial=0) < 1e-6


@pytest.mark.parametrize("n_perturbations", [0, 3])
@pytest.mark.parametrize("n_items", [1, 2, 6, 30, 4 * WINDOW + 5])
def test_the_search_ends_where_no_insertion_gains(n_items, n_perturbations):
    preferences, starts = random_problems(n_items, 3, n_items)
    orderings, values = insertion_search(preferences, starts, n_perturbations=n_perturbations)
    assert (np.sort(orderings, axis=1) == np.arange(n_items)).all()
    assert (values >= ordering_values(preferences, starts)).all()
    for problem, ordering, value in zip(preferences, orderings, values, strict=True):
        assert value == pytest.approx(value_by_definition(problem, ordering))
        if not n_perturbations:
            assert_no_insertion_gains(problem, ordering)


def test_windows_find_what_moves_over_all_places_leave():
    preferences = noisy_majorities(1, 4 * WINDOW + 40)
    ordering, _ = insertion_search(preferences, borda_orderings(preferences))
    assert_no_insertion_gains(preferences[0], ordering[0])


def test_moves_near_are_the_best_within_the_window():
    preferences, orderings = random_problems(2, 2, 12)
    gains, steps = _kemeny_search._best_moves_near(preferences, np.arange(2), orderings, 3)
    for m, source in itertools.product(range(2), range(12)):
        start = value_by_definition(preferences[m], orderings[m])

        def gain(target, m=m, source=source, start=start):
            moved = np.insert(np.delete(orderings[m], source), target, orderings[m][source])
            return (value_by_definition(preferences[m], moved) - start) / 2

        targets = [t for t in range(max(source - 3, 0), min(source + 4, 12)) if t != source]
        assert gains[m, source] == pytest.approx(max(map(gain, targets)))
        assert gain(source + steps[m, source]) == pytest.approx(gains[m, source])


def test_moves_in_bulk_gain_the_sum_of_their_gains():
    preferences, orderings = random_problems(3, 4, 40)
    gains, steps = _kemeny_search._best_moves_near(preferences, np.arange(4), orderings, 4)
    moved = orderings.copy()
    changed = _kemeny_search._make_disjoint_moves(moved, gains, steps, np.zeros(4))
    assert changed.all()
    assert (np.sort(moved, axis=1) == np.arange(40)).all()
    difference = (ordering_values(preferences, moved) - ordering_values(preferences, orderings)) / 2
    possible = np.unique(np.concatenate([[0.0], gains[gains > 0]]))
    for m in range(4):
        assert gains[m].max() <= difference[m] + 1e-9
        assert difference[m] <= gains[m][gains[m] > 0].sum() + 1e-9
    assert len(possible) > 4


def test_orderings_of_one_problem_share_its_matrix():
    preferences, starts = random_problems(4, 1, 15)
    starts = np.array([np.roll(starts[0], shift) for shift in range(6)])
    shared, values = insertion_search(preferences, starts, problems=np.zeros(6, int))
    copied, copied_values = insertion_search(np.repeat(preferences, 6, axis=0), starts)
    assert (shared == copied).all()
    assert (values == copied_values).all()


def test_recombination_takes_the_better_of_each_stretch():
    rng = np.random.default_rng(5)
    preferences, _ = random_problems(6, 5, 30)
    blocks = np.arange(30).reshape(10, 3)
    first, second = (np.array([rng.permuted(blocks, axis=1).ravel() for _ in range(5)]) for _ in range(2))
    both = recombined(preferences, np.arange(5), first, second, np.zeros(5))
    for m in range(5):
        for block in range(0, 30, 3):
            choices = [value_by_definition(preferences[m], one[m, block : block + 3]) for one in (first, second)]
            assert value_by_definition(preferences[m], both[m, block : block + 3]) == pytest.approx(max(choices))


def test_recombination_in_blocks_is_the_same(monkeypatch):
    preferences, first = random_problems(7, 4, 20)
    second = first[:, ::-1].copy()
    expected = recombined(preferences, np.arange(4), first, second, np.zeros(4))
    monkeypatch.setattr(_kemeny_search, "row_blocks", lambda n, *_, **__: (slice(i, i + 1) for i in range(n)))
    assert (recombined(preferences, np.arange(4), first, second, np.zeros(4)) == expected).all()
    assert (ordering_values(preferences, expected) >= ordering_values(preferences, first) - 1e-9).all()
    assert (ordering_values(preferences, expected) >= ordering_values(preferences, second) - 1e-9).all()


def test_perturbations_never_lose_and_mostly_reach_the_optimum():
    preferences, starts = random_problems(8, 30, 12)
    _, without = insertion_search(preferences, starts)
    _, few = insertion_search(preferences, starts, n_perturbations=30)
    optimum = ordering_values(preferences, np.array([exact_ordering(problem) for problem in preferences]))
    assert (few >= without - 1e-9).all()
    assert (few <= optimum + 1e-9).all()
    assert np.isclose(few, optimum).mean() >= 0.8


def test_the_result_is_a_function_of_the_problem_and_the_seed():
    preferences = noisy_majorities(9, 60)
    start = borda_orderings(preferences)
    one, other = (insertion_search(preferences, start, n_perturbations=5, seed=3)[0] for _ in range(2))
    assert (one == other).all()
