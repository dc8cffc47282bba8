"""q-factorials, mean distances, and sampling from Mallows models and from partial rankings."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank._mallows import (
    bucket_patterns,
    dispersion_from_mean_distance,
    expected_distance_coefficients,
    log_distance_distribution,
    log_mahonian,
    log_pattern_probabilities,
    log_q_factorial,
    mean_distance,
    mirror,
    sample_mallows,
    settle,
    uniform_positions,
)
from skrank._random import hash_rows, mix, random_words, uniform
from skrank._rankings import densify, pair_signs

NUS = [0.0, 1e-9, 1e-4, 0.01, 0.5, 3.0, 40.0, np.inf]


def inversions(positions):
    return ((1 - pair_signs(positions, dtype=float)) / 2).sum(axis=1)


def all_rankings(n_items):
    return np.array(list(itertools.permutations(range(n_items))))


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_tables_equal_enumeration(n_items, nu):
    distances = inversions(all_rankings(n_items))
    weights = np.where(distances == 0, 1.0, np.exp(-nu * np.maximum(distances, 1)))
    assert np.exp(log_q_factorial(n_items, nu)[n_items]) == pytest.approx(weights.sum(), rel=1e-12)
    assert mean_distance(n_items, nu)[n_items] == pytest.approx(
        (weights @ distances) / weights.sum(), rel=1e-9, abs=1e-12
    )


def test_mean_distance_is_minus_the_derivative():
    step = 1e-5
    for nu in (0.001, 0.0196, 0.0204, 0.3):
        slope = (log_q_factorial(40, nu + step) - log_q_factorial(40, nu - step)) / (2 * step)
        assert mean_distance(40, nu) == pytest.approx(-slope, rel=1e-6, abs=1e-6)


def test_moment_equation_inverts_the_mean_distance():
    phi = np.array([0.0, 0.01, 0.3, 0.5, 0.9, 0.99, 1.0])
    with np.errstate(divide="ignore"):
        distances = mean_distance(20, -np.log(phi))[:, 20]
    assert dispersion_from_mean_distance(20, distances) == pytest.approx(phi, abs=1e-6)
    assert dispersion_from_mean_distance(20, distances, n_steps=6) == pytest.approx(phi, abs=1e-12)
    assert dispersion_from_mean_distance(20, 200.0) == 1.0
    assert dispersion_from_mean_distance(20, 0.0) == 0.0


@pytest.mark.parametrize("n_items", [2, 5, 40, 300])
def test_moment_equation_of_bucket_orders_is_solved_to_rounding(n_items):
    rng = np.random.default_rng(n_items)
    ranks = densify(rng.integers(0, 3, (30, n_items)).astype(float))
    patterns, pattern = bucket_patterns(ranks)
    shares = rng.dirichlet(np.ones(len(patterns)), size=50)
    coefficients = expected_distance_coefficients(patterns, shares)
    phi = np.concatenate([np.geomspace(1e-5, 0.5, 25), 1 - np.geomspace(1e-5, 0.4, 25)])
    distances = (mean_distance(n_items, -np.log(phi)) * coefficients).sum(axis=1)
    solved = dispersion_from_mean_distance(n_items, distances, coefficients, n_steps=6)
    assert solved == pytest.approx(phi, rel=1e-9)
    assert dispersion_from_mean_distance(n_items, distances, coefficients) == pytest.approx(phi, rel=1e-5)


def test_patterns_count_the_buckets_of_each_size():
    ranks = densify(np.array([[0.0, 0, 1, 2], [5, 1, 1, 0], [0, 0, 0, 0], [3, 2, 1, 0]]))
    patterns, pattern = bucket_patterns(ranks)
    expected = [[0, 2, 1, 0, 0], [0, 2, 1, 0, 0], [0, 0, 0, 0, 1], [0, 4, 0, 0, 0]]
    np.testing.assert_array_equal(patterns[pattern], expected)
    assert len(patterns) == 3


@pytest.mark.parametrize("nu", [0.0, 0.3, 2.0, np.inf])
def test_pattern_probabilities_are_sums_over_consistent_rankings(nu):
    ranks = densify(np.array([[0.0, 0, 1, 1, 1], [0, 1, 2, 2, 3], [0, 0, 0, 0, 0]]))
    full = all_rankings(5)
    weights = np.exp(-nu * inversions(full)) if nu < np.inf else (inversions(full) == 0).astype(float)
    patterns, pattern = bucket_patterns(ranks)
    probabilities = np.exp(log_pattern_probabilities(patterns, nu)[pattern])
    for ranking, probability in zip(ranks, probabilities, strict=True):
        consistent = [(np.diff(ranking[np.argsort(one)].astype(int)) >= 0).all() for one in full]
        assert probability == pytest.approx(weights[consistent].sum() / weights.sum(), rel=1e-12)


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 6])
def test_log_mahonian_counts_inversions(n_items):
    counts = np.bincount(inversions(all_rankings(n_items)).astype(int))
    np.testing.assert_allclose(np.exp(log_mahonian(n_items)), counts, rtol=1e-12)


@pytest.mark.parametrize("n_items", [120, 300])
def test_log_mahonian_of_many_items(n_items):
    # Knuth, The Art of Computer Programming 3, section 5.1.1: the first counts are polynomials in n.
    expected = [1, n_items - 1, (n_items - 2) * (n_items + 1) / 2, n_items * (n_items**2 - 7) / 6]
    counts = log_mahonian(n_items)
    np.testing.assert_allclose(counts[:4], np.log(expected), rtol=1e-12)
    np.testing.assert_allclose(np.logaddexp.reduce(counts), np.log(np.arange(1, n_items + 1)).sum(), rtol=1e-12)


@pytest.mark.parametrize("phi", [0.0, 0.4, 1.0])
def test_distances_from_the_center_have_their_distribution(phi):
    distances = inversions(all_rankings(6)).astype(int)
    weights = np.bincount(distances, phi**distances)
    assert np.exp(log_distance_distribution(6, phi)) == pytest.approx(weights / weights.sum(), abs=1e-14)


@pytest.mark.parametrize("nu", [0.0, 0.7, 1.2])
def test_repeated_insertion_has_the_mallows_distribution(nu):
    rng = np.random.default_rng(11)
    center = np.array([2, 0, 3, 1])
    draws = sample_mallows(np.broadcast_to(center, (40_000, 4)), nu, rng)
    rankings, counts = np.unique(draws, axis=0, return_counts=True)
    assert len(rankings) == 24
    relative = rankings[:, np.argsort(center)]  # items in the center's order: distance to the identity
    expected = np.exp(-nu * inversions(relative) - log_q_factorial(4, nu)[4])
    # One level-1e-4 test each.
    assert chisquare(counts, 40_000 * expected).pvalue > 1e-4


def test_all_mass_on_the_center_without_dispersion():
    rng = np.random.default_rng(0)
    centers = rng.permuted(np.tile(np.arange(9), (5, 1)), axis=1)
    assert (sample_mallows(centers, np.inf, rng) == centers).all()


def test_conditional_draws_have_the_conditional_distribution(consistent_rankings):
    rng = np.random.default_rng(12)
    row, nu = np.array([1.0, 0, 1, 0, 1]), 0.6
    ranks = np.broadcast_to(densify(row[None]), (40_000, 5))
    draws = sample_mallows(np.broadcast_to(np.arange(5), (40_000, 5)), nu, rng, ranks)
    support = consistent_rankings(row)
    weights = np.exp(-nu * inversions(support))
    index = {tuple(positions): k for k, positions in enumerate(support)}
    counts = np.bincount([index[tuple(positions)] for positions in draws], minlength=len(support))
    assert chisquare(counts, 40_000 * weights / weights.sum()).pvalue > 1e-4


@pytest.mark.parametrize("row", [[0, 0, 1, 1, 1], [0, np.nan, 0, 1, np.nan], [np.nan] * 4, [3, 1, 2, 0], [0]])
def test_uniform_consistent_sampling_and_its_mirror(row, consistent_rankings):
    row = np.array(row, float)
    ranks = densify(row[None])
    support = {tuple(positions): k for k, positions in enumerate(consistent_rankings(row))}
    words = random_words(hash_rows(ranks, seed=5), 20_000 * len(row)).reshape(1, 20_000, len(row))
    draws = settle(ranks, uniform_positions(words))
    mirrored = mirror(ranks, draws)
    assert (mirror(ranks, mirrored) == draws).all()
    for sample in (draws, mirrored):
        counts = np.bincount([support[tuple(positions)] for positions in sample[0]], minlength=len(support))
        if len(support) > 1:
            assert chisquare(counts).pvalue > 1e-4


def test_without_gaps_the_mirror_is_the_farthest_consistent_ranking(consistent_rankings):
    row = np.array([0, 1, 0, 1, 1.0])
    ranks, support = densify(row[None]), consistent_rankings(row)
    signs = pair_signs(support, dtype=float)
    mirrored = mirror(ranks, support[None])[0]
    distances = (signs.shape[1] - signs @ signs.T) / 2
    own = (signs.shape[1] - (signs * pair_signs(mirrored, dtype=float)).sum(axis=1)) / 2
    assert (own == distances.max(axis=1)).all()
    assert ((distances == distances.max(axis=1, keepdims=True)).sum(axis=1) == 1).all()


def test_random_words_are_a_function_of_the_row_and_the_seed():
    rows = np.array([[0, 1, 2], [2, 1, 0], [0, 1, 2]], np.int8)
    keys = hash_rows(rows, seed=1)
    assert keys[0] == keys[2] != keys[1]
    assert (hash_rows(rows.astype(np.int64), seed=1) == keys).all()
    assert not (hash_rows(rows, seed=2) == keys).any()
    assert (random_words(keys, 5)[:, 2:] == random_words(keys, 3, start=2)).all()


def test_splitmix64_reference_values():
    # The first outputs of splitmix64 seeded with 1234567: the reference values of its test suites.
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert random_words(np.array([1234567], np.uint64), 5)[0].tolist() == expected


def test_uniform_numbers_fill_the_interval():
    numbers = uniform(random_words(np.array([9], np.uint64), 50_000)[0])
    assert 0 <= numbers.min()
    assert numbers.max() < 1
    assert chisquare(np.histogram(numbers, 64, (0, 1))[0]).pvalue > 1e-4
    assert len(np.unique(mix(np.arange(1000, dtype=np.uint64)))) == 1000
