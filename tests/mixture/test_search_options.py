"""The rows that a search runs on: draws without replacement."""

import numpy as np
import pytest

from skrank.mixture._search._options import FEW_DRAWN, draw_counts


@pytest.mark.parametrize("size", [3, 150])  # one by one, and at once
def test_draws_are_those_without_replacement(size):
    weights = np.array([100.0, 0, 1, 99, 0])
    assert (size * FEW_DRAWN < weights.sum()) == (size == 3)
    rng = np.random.default_rng(0)
    draws = np.array([draw_counts(weights, size, rng) for _ in range(4000)])
    assert (draws.sum(axis=1) == size).all()
    assert (draws <= weights).all()
    total = weights.sum()
    share = weights / total
    variance = size * share * (1 - share) * (total - size) / (total - 1)  # of the hypergeometric distribution
    # Bounds that a right draw passes with all but 1e-6 of the seeds.
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - size * share), 5 * np.sqrt(variance / 4000) + 1e-12)
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=0.25, atol=1e-12)


def test_fractions_are_drawn_or_not():
    rng = np.random.default_rng(0)
    weights = np.array([0.5, 2.25, 7.0])
    draws = np.array([draw_counts(weights, 5, rng) for _ in range(200)])
    assert set(draws[:, 0]) == {0.0, 0.5}
    assert (draws <= weights).all()
