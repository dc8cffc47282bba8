"""Sums over and draws of consistent full rankings against enumeration."""

import numpy as np
import pytest

from skrank._mallows import log_q_factorial
from skrank._random import hash_rows, random_words, uniform
from skrank._rankings import densify, pair_signs
from skrank.stats._mallows_completions import completion_sums, insertion_draws, shapes
from skrank.stats._mallows_missing import completions, log_weight


def partial_rankings(rng, n_rows, n_items, missing=0.5):
    values = rng.integers(n_items, size=(n_rows, n_items)).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return densify(values)


def enumerated(row, center, nu, consistent_rankings):
    full = consistent_rankings(np.where(row < 0, np.nan, row))
    signs, center_signs = pair_signs(full.astype(np.int8)), pair_signs(center[None].astype(np.int8))
    distances = (signs != center_signs).sum(axis=1)
    weights = np.exp(-nu * distances)
    return np.log(weights.sum()), distances @ weights / weights.sum()


@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
@pytest.mark.parametrize("nu", [0.0, 0.4, 2.0])
def test_sums_are_those_over_all_full_rankings(n_items, nu, consistent_rankings):
    rng = np.random.default_rng(n_items)
    ranks, center = partial_rankings(rng, 40, n_items), rng.permutation(n_items)
    seen = 0
    for shape, rows, items in shapes(ranks):
        log_sums, mean_distances = completion_sums(shape, center[items], nu)
        seen += len(rows)
        for row, *found in zip(rows, log_sums, mean_distances, strict=True):
            np.testing.assert_allclose(found, enumerated(ranks[row], center, nu, consistent_rankings), atol=1e-9)
    assert seen == 40


def test_sums_are_those_of_one_ranking_at_a_time():
    rng = np.random.default_rng(0)
    ranks, center = partial_rankings(rng, 30, 9, 0.4), rng.permutation(9)
    for shape, rows, items in shapes(ranks):
        log_sums, _ = completion_sums(shape, center[items], 0.7)
        expected = [log_weight(completions(ranks[row][np.argsort(center)], 0.7)) for row in rows]
        np.testing.assert_allclose(log_sums, expected, atol=1e-10)


def test_draws_are_consistent_and_their_weights_unbiased(consistent_rankings):
    rng = np.random.default_rng(1)
    n_items, nu, n_draws = 6, 0.6, 20_000
    ranks, center = partial_rankings(rng, 8, n_items), rng.permutation(n_items)
    numbers = uniform(random_words(hash_rows(ranks), n_items * n_draws)).reshape(8, n_items, n_draws)
    log_weights, distances, positions = insertion_draws(ranks, center, nu, numbers.transpose(1, 0, 2))
    for row, ranking in enumerate(ranks):
        draws = positions[:, row].T
        np.testing.assert_array_equal(np.sort(draws[:50], axis=1), np.tile(np.arange(n_items), (50, 1)))
        strict = (ranking[:, None] >= 0) & (ranking >= 0) & (ranking[:, None] < ranking)
        assert (draws[:, :, None] < draws[:, None, :])[:, strict].all()
        signs = pair_signs(draws) != pair_signs(center[None].astype(np.int8))
        np.testing.assert_array_equal(distances[row], signs.sum(axis=1))
        log_sum, mean_distance = enumerated(ranking, center, nu, consistent_rankings)
        weights = np.exp(log_weights[row])
        expected = np.exp(log_sum - log_q_factorial(n_items, nu)[-1])
        # Four standard errors, of the weights as drawn.
        assert weights.mean() == pytest.approx(expected, abs=4 * weights.std() / np.sqrt(n_draws) + 1e-12)
        error = np.std(weights * (distances[row] - mean_distance)) / weights.mean() / np.sqrt(n_draws)
        assert weights @ distances[row] / weights.sum() == pytest.approx(mean_distance, abs=4 * error + 1e-12)


def test_without_missing_items_and_ties_the_weight_is_the_probability():
    rng = np.random.default_rng(2)
    ranks, center = np.array([rng.permutation(7) for _ in range(5)], np.int8), rng.permutation(7)
    log_weights, distances, positions = insertion_draws(ranks, center, 0.5, rng.random((7, 5, 3)))
    np.testing.assert_array_equal(positions.transpose(1, 2, 0), np.repeat(ranks[:, None], 3, axis=1))
    np.testing.assert_allclose(log_weights, -0.5 * distances - log_q_factorial(7, 0.5)[-1])
