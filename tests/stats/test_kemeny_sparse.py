"""The local search on few compared pairs of many items, against tables of all pairs."""

import numpy as np
import pytest

from skrank.stats._kemeny_search import ordering_values
from skrank.stats._kemeny_sparse import (
    ComparedPairs,
    _best_moves,
    borda_ordering,
    ordering_value,
    sparse_kemeny,
)


def problem(rng, n_items, n_pairs, with_scores):
    i, j = np.triu_indices(n_items, 1)
    chosen = rng.choice(len(i), min(n_pairs, len(i)), replace=False)
    pairs = ComparedPairs(n_items, i[chosen], j[chosen])
    values = rng.normal(size=len(chosen))
    scores = rng.random(n_items) if with_scores else np.zeros(n_items)
    table = scores[:, None] - scores
    table[pairs.first, pairs.second] += values
    table[pairs.second, pairs.first] -= values
    return scores, pairs, values, table


def moved(ordering, place, step):
    rest = np.delete(ordering, place)
    return np.insert(rest, place + step, ordering[place])


@pytest.mark.parametrize("with_scores", [False, True])
def test_values_and_moves_equal_their_definitions(with_scores):
    rng = np.random.default_rng(0)
    scores, pairs, values, table = problem(rng, 9, 12, with_scores)
    ordering = rng.permutation(9)
    before = ordering_values(table[None], ordering[None])[0]
    assert ordering_value(scores, pairs, values, ordering) == pytest.approx(before)
    assert borda_ordering(scores, pairs, values).tolist() == np.argsort(-table.sum(axis=1)).tolist()
    gains, steps = _best_moves(scores, pairs.directed(values), ordering)
    compared = np.zeros((9, 9), bool)
    compared[pairs.first, pairs.second] = compared[pairs.second, pairs.first] = True
    for place, (gain, step) in enumerate(zip(gains, steps, strict=True)):
        after = ordering_values(table[None], moved(ordering, place, step)[None])[0]
        assert gain == pytest.approx((after - before) / 2)
        # No move next to a compared item, or by one place, is better.
        for other in set(range(-place, 9 - place)) - {0}:
            if abs(other) == 1 or compared[ordering[place], ordering[place + other]]:
                value = ordering_values(table[None], moved(ordering, place, other)[None])[0]
                assert (value - before) / 2 <= gain + 1e-9


@pytest.mark.parametrize("with_scores", [False, True])
def test_nothing_gains_in_the_end(with_scores):
    rng = np.random.default_rng(1)
    for _ in range(5):
        scores, pairs, values, table = problem(rng, 40, 120, with_scores)
        ordering = sparse_kemeny(scores, pairs, values, [rng.permutation(40)])
        assert sorted(ordering) == list(range(40))
        value = ordering_value(scores, pairs, values, ordering)
        assert value >= ordering_value(scores, pairs, values, borda_ordering(scores, pairs, values)) - 1e-9
        assert _best_moves(scores, pairs.directed(values), ordering)[0].max() < 1e-6
        if with_scores:
            continue
        for place in range(40):  # without scores no move at all gains
            for step in set(range(-place, 40 - place)) - {0}:
                assert ordering_values(table[None], moved(ordering, place, step)[None])[0] <= value + 1e-6


def test_transitive_majorities_are_kept():
    rng = np.random.default_rng(2)
    truth = rng.permutation(60)
    place = np.argsort(truth)
    _, pairs, values, _ = problem(rng, 60, 1500, False)
    values = np.abs(values) * np.sign(place[pairs.second] - place[pairs.first])
    ordering = sparse_kemeny(np.zeros(60), pairs, values)
    assert ordering_value(np.zeros(60), pairs, values, ordering) == pytest.approx(np.abs(values).sum(), rel=0.01)
    scores = rng.random(60)
    nothing = ComparedPairs(60, *np.zeros((2, 0), int))
    assert sparse_kemeny(scores, nothing, np.zeros(0), [rng.permutation(60)]).tolist() == np.argsort(-scores).tolist()
