"""Predictions for items that a voter did not rank."""

import itertools

import numpy as np
import pandas as pd
import pytest

from skrank._mallows import sample_mallows
from skrank._rankings import densify
from skrank.datasets import make_rankings
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture import MallowsMixture
from skrank.mixture._prediction import (
    marginal_pair_probabilities,
    nearest_consistent_rankings,
    subset_pair_probabilities,
)


def partial_rankings(rng, n_rows, n_items):
    values = rng.integers(n_items, size=(n_rows, n_items)).astype(float)
    values[rng.random(values.shape) < 0.5] = np.nan
    return values


def kendall(first, second):
    pairs = itertools.combinations(range(len(first)), 2)
    return sum((first[a] < first[b]) != (second[a] < second[b]) for a, b in pairs)


def test_the_nearest_consistent_ranking_is_the_nearest(consistent_rankings):
    rng = np.random.default_rng(0)
    values = partial_rankings(rng, 60, 5)
    centers = np.array([rng.permutation(5) for _ in values])
    found = nearest_consistent_rankings(densify(values), centers)
    for row, center, ranking in zip(values, centers, found, strict=True):
        consistent = consistent_rankings(row)
        assert (consistent == ranking).all(axis=1).any()
        assert kendall(ranking, center) == min(kendall(full, center) for full in consistent)


def test_marginal_pairs_are_conditional_probabilities(consistent_rankings):
    rng = np.random.default_rng(1)
    values = partial_rankings(rng, 12, 5)
    centers, phi = np.array([rng.permutation(5) for _ in range(2)]), np.array([0.4, 0.7])
    responsibilities = rng.dirichlet(np.ones(2), len(values))
    found = marginal_pair_probabilities(densify(values), responsibilities, centers, phi, n_draws=20_000)
    for row, shares, probabilities in zip(values, responsibilities, found, strict=True):
        consistent = consistent_rankings(row)
        before = consistent[:, :, None] < consistent[:, None, :]
        expected = np.full((5, 5), 0.0)
        for share, center, p in zip(shares, centers, phi, strict=True):
            weights = np.array([p ** kendall(full, center) for full in consistent])
            expected += share * np.einsum("rij,r->ij", before, weights / weights.sum())
        np.testing.assert_allclose(probabilities[~np.eye(5, dtype=bool)], expected[~np.eye(5, dtype=bool)], atol=0.03)
        np.testing.assert_allclose(probabilities + probabilities.T, 1, atol=1e-9)


def test_subset_pairs_are_those_of_a_ranking_of_two_items_more():
    rng = np.random.default_rng(3)
    n_items = 6
    values = np.array([rng.permutation(n_items) for _ in range(30)], float)
    for row in values:
        row[rng.choice(n_items, rng.integers(2, n_items + 1), replace=False)] = np.nan
    centers, phi = np.array([rng.permutation(n_items) for _ in range(2)]), np.array([0.25, 0.6])
    responsibilities = rng.dirichlet(np.ones(2), len(values))
    found = subset_pair_probabilities(densify(values), responsibilities, centers, phi)
    for row, shares, probabilities in zip(values, responsibilities, found, strict=True):
        for i, j in itertools.combinations(range(n_items), 2):
            items = sorted({*np.flatnonzero(~np.isnan(row)), i, j})
            expected = 0.0
            for share, center, p in zip(shares, centers, phi, strict=True):
                total = ahead = 0.0
                for order in itertools.permutations(items):
                    pairs = list(itertools.combinations(order, 2))
                    if any(row[a] > row[b] for a, b in pairs):
                        continue
                    weight = p ** sum(center[a] > center[b] for a, b in pairs)
                    total, ahead = total + weight, ahead + weight * (order.index(i) < order.index(j))
                expected += share * ahead / total
            assert probabilities[i, j] == pytest.approx(expected)
            assert probabilities[j, i] == pytest.approx(1 - expected)


def test_subset_pairs_of_a_row_that_ranks_nothing_are_comparisons():
    centers, phi = np.array([[3, 2, 1, 0], [0, 1, 2, 3]]), np.array([0.25, 0.5])
    found = subset_pair_probabilities(np.full((1, 4), -1, np.int8), np.full((1, 2), 0.5), centers, phi)
    assert found[0, 2, 0] == pytest.approx(0.5 / 1.25 + 0.5 * 0.5 / 1.5)
    tied = subset_pair_probabilities(np.array([[0, 0, -1, -1]], np.int8), np.array([[1.0, 0.0]]), centers, phi)
    assert tied[0, 1, 0] == pytest.approx(1 / 1.25)


def test_estimators_predict_what_was_left_out():
    rng = np.random.default_rng(2)
    centers = np.array([np.arange(8), np.arange(8)[::-1]])
    component = rng.integers(2, size=900)
    full = sample_mallows(centers[component], np.full(900, 0.8), rng)
    X = full.astype(float)
    X[rng.random(X.shape) < 0.4] = np.nan
    with pytest.warns(InsufficientDataWarning, match="order no two items"):
        mixture = MallowsMixture(2, random_state=0).fit(X)
    probabilities = mixture.predict_pairwise_proba(X[:300])
    ranking = mixture.predict_ranking(X[:300])
    ahead = full[:300, :, None] < full[:300, None, :]
    unknown = np.isnan(X[:300])[:, :, None] | np.isnan(X[:300])[:, None, :]
    unknown &= ~np.eye(8, dtype=bool)
    known = ~unknown & ~np.eye(8, dtype=bool)
    np.testing.assert_allclose(probabilities[known], ahead[known], atol=1e-9)
    # Calibrated, and it separates: knowing nothing gives .25.
    assert np.mean(((probabilities - ahead) ** 2)[unknown]) < 0.2
    for low, high in itertools.pairwise([0.5, 0.7, 0.85, 1.01]):
        cell = unknown & (probabilities >= low) & (probabilities < high)
        assert ahead[cell].mean() == pytest.approx(probabilities[cell].mean(), abs=0.04)
    predicted = ranking[:, :, None] < ranking[:, None, :]
    # As often right as the more probable order is, up to the noise.
    expected = np.maximum(probabilities, 1 - probabilities)[unknown].mean()
    assert (predicted == ahead)[unknown].mean() == pytest.approx(expected, abs=0.03)
    assert (predicted == ahead)[~unknown].all()


def test_rows_that_rank_nothing_get_the_largest_component():
    X = np.repeat([np.arange(6), np.arange(6)[::-1]], [70, 30], axis=0)
    mixture = MallowsMixture(2, random_state=0).fit(X)
    nothing = np.full((1, 6), np.nan)
    np.testing.assert_array_equal(mixture.predict_ranking(nothing)[0], np.arange(6))
    assert mixture.predict_pairwise_proba(nothing)[0, 0, 5] == pytest.approx(0.7, abs=0.02)


def test_a_judge_has_one_component():
    X = np.repeat([np.arange(6), np.arange(6)[::-1]], [70, 30], axis=0)
    mixture = MallowsMixture(2, random_state=0).fit(X)
    rows = np.full((2, 6), np.nan)
    rows[0, :3] = [2, 1, 0]
    ranking = mixture.predict_ranking(rows, groups=["ann", "ann"])
    np.testing.assert_array_equal(ranking, [np.arange(6)[::-1]] * 2)
    assert mixture.predict_pairwise_proba(rows, groups=["ann", "ann"])[1, 5, 0] > 0.9


def test_samples_keep_the_names_of_items():
    X = pd.DataFrame(make_rankings(60, 3, phi=0.2, random_state=0), columns=["egg", "tuna", "squid"])
    mixture = MallowsMixture(1, random_state=0).fit(X)
    ranks, component = mixture.sample(5)
    assert list(ranks.columns) == ["egg", "tuna", "squid"]
    assert ranks.shape == (5, 3)
    plain, same = MallowsMixture(1, random_state=0).fit(X.to_numpy()).sample(5)
    np.testing.assert_array_equal(ranks.to_numpy(), plain)
    np.testing.assert_array_equal(component, same)
