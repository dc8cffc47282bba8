"""The functional core: densities, EM, adjacent transpositions and description lengths against brute force."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from skrank._mallows import log_q_factorial, sample_mallows
from skrank.metrics._components import center_distances
from skrank.mixture._em import em, evaluated, expectation, maximization, one_component
from skrank.mixture._model import (
    Mixture,
    all_centers_length,
    description_length,
    log_densities,
    pseudo_log_likelihood,
    ranked,
)
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._transpositions import best_transposition, polish, polish_large, transposition_gains


def _kendall(first, second):
    return sum(
        (first[i] < first[j]) != (second[i] < second[j]) for i, j in itertools.combinations(range(len(first)), 2)
    )


def _weak_orders(n_items):
    rows = {tuple(np.unique(v, return_inverse=True)[1]) for v in itertools.product(range(n_items), repeat=n_items)}
    return np.array(sorted(rows), np.int8)


def _tied_table(seed, n_rows=200, n_items=7, n_buckets=4):
    rng = np.random.default_rng(seed)
    ranks = np.array([np.unique(rng.integers(0, n_buckets, n_items), return_inverse=True)[1] for _ in range(n_rows)])
    return PairSigns(ranks.astype(np.int8), rng.integers(1, 4, n_rows).astype(float)), rng


def _start(rng, n_items, k):
    centers = np.array([rng.permutation(n_items) for _ in range(k)])
    return Mixture(centers, rng.uniform(0.3, 0.8, k), np.full(k, 1 / k))


@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
def test_density_of_a_bucket_order_is_that_of_its_full_rankings(n_items, consistent_rankings):
    orders = _weak_orders(n_items)
    center, phi = np.random.default_rng(n_items).permutation(n_items), 0.37
    data = PairSigns(orders)
    found = np.exp(log_densities(data, center[None], np.array([phi]))[0])
    normalizer = np.exp(log_q_factorial(n_items, -np.log(phi)))[-1]
    expected = [sum(phi ** _kendall(full, center) for full in consistent_rankings(row)) / normalizer for row in orders]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Bucket orders of one shape partition the full rankings.
    for shape in np.unique(data.pattern):
        ordered_shapes = {}
        for row, value in zip(orders[data.pattern == shape], found[data.pattern == shape], strict=True):
            key = tuple(np.bincount(row))
            ordered_shapes[key] = ordered_shapes.get(key, 0) + value
        np.testing.assert_allclose(list(ordered_shapes.values()), 1, rtol=1e-12)


def test_expectation_is_bayes_rule():
    data, rng = _tied_table(0)
    mixture = _start(rng, 7, 3)
    joint = np.exp(log_densities(data, mixture.centers, mixture.dispersions)) * mixture.weights[:, None]
    responsibilities, log_likelihood, log_density = expectation(data, mixture, with_log_density=True)
    np.testing.assert_allclose(responsibilities, joint / joint.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(log_density, np.log(joint.sum(axis=0)))
    np.testing.assert_allclose(log_likelihood, np.average(log_density, weights=data.weights))


@pytest.mark.parametrize("tied", [False, True])
def test_maximization_solves_the_moment_equation(tied):
    data, rng = _tied_table(1)
    if not tied:
        data = PairSigns(np.array([rng.permutation(7) for _ in range(200)], np.int8), data.weights)
    row_weights = (rng.random((2, data.n_rows)) * data.weights).astype(np.float32)
    centers, dispersions, distances = maximization(data, row_weights)
    np.testing.assert_array_equal(distances, data.distances(centers))

    def objective(phi):
        values = (log_densities(data, centers, phi) * row_weights).sum(axis=1)
        return values + np.array([pseudo_log_likelihood(7, phi[[i]]) for i in range(2)])

    # The maximum in phi, from both sides, closer than a table could give it.
    step = 1e-6
    slope = (objective(dispersions + step) - objective(dispersions - step)) / (2 * step)
    curvature = (objective(dispersions + 1e-3) - 2 * objective(dispersions) + objective(dispersions - 1e-3)) / 1e-6
    assert (np.abs(slope / curvature) < 2e-6).all()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_em_never_lowers_the_penalized_likelihood(tied, seed):
    data, rng = _tied_table(seed)
    if not tied:
        data = PairSigns(np.array([rng.permutation(7) for _ in range(200)], np.int8), data.weights)
    mixture = evaluated(data, _start(rng, 7, 3))
    for _ in range(30):
        # em keeps the better of the two mixtures, so look at the step itself.
        responsibilities = expectation(data, mixture)[0] * data.weights.astype(np.float32)
        centers, dispersions, _ = maximization(data, responsibilities, mixture.centers, data.distances(mixture.centers))
        weights = responsibilities.sum(axis=1, dtype=float)
        after = evaluated(data, Mixture(centers, dispersions, weights / weights.sum()))
        assert after.lower_bound >= mixture.lower_bound - 1e-9
        mixture = after


def test_em_with_fixed_centers_moves_nothing_else():
    data, rng = _tied_table(3)
    start = _start(rng, 7, 2)
    fixed = em(data, start, max_iter=2000, fixed_centers=True)
    np.testing.assert_array_equal(fixed.centers, start.centers)
    assert fixed.converged
    assert fixed.lower_bound > evaluated(data, start).lower_bound


def test_repeated_rows_equal_weights():
    data, rng = _tied_table(4)
    repeated = PairSigns(np.repeat(data.ranks.T, data.weights.astype(int), axis=0))
    start = _start(rng, 7, 3)
    first, second = polish(data, start), polish(repeated, start)
    np.testing.assert_array_equal(first.centers, second.centers)
    np.testing.assert_allclose(first.dispersions, second.dispersions, rtol=1e-4)
    np.testing.assert_allclose(first.lower_bound, second.lower_bound, rtol=1e-6)


def test_no_dispersion_is_hard_coded():
    data = PairSigns(np.arange(6, dtype=np.int8)[None], np.array([50.0]))
    few, many = one_component(data), one_component(data.subset([0], np.array([5e6])))
    # Half a pseudo-ranking at distance 1 among 50: mean distance .5 / 50.5 = (n - 1) phi to first order.
    assert few.dispersions[0] == pytest.approx(0.5 / 50.5 / 5, rel=0.01)
    assert many.dispersions[0] == pytest.approx(1e-7 / 5, rel=0.01)


# ---------------------------------------------------------------- adjacent transpositions
@pytest.mark.parametrize("tied", [False, True])
def test_transposition_gains_are_exact(tied):
    data, rng = _tied_table(5)
    if not tied:
        data = PairSigns(np.array([rng.permutation(7) for _ in range(200)], np.int8), data.weights)
    # The second center is the first with two pairs exchanged: exchanges of a pair in both are possible.
    centers = np.array([np.arange(7), [1, 0, 2, 3, 5, 4, 6], rng.permutation(7)])
    mixture = evaluated(data, Mixture(centers, np.array([0.3, 0.6, 0.8]), np.array([0.3, 0.3, 0.4])))
    gains, moves = transposition_gains(data, mixture, expectation(data, mixture)[0])
    assert len(moves) >= 3 * 6 + 2
    for gain, (components, first, second) in zip(gains, moves, strict=True):
        after = centers.copy()
        for component in components:
            after[component, [first, second]] = centers[component, [second, first]]
        expected = evaluated(data, replace(mixture, centers=after)).log_likelihood - mixture.log_likelihood
        assert gain == pytest.approx(expected, abs=1e-7)
    gain, after = best_transposition(data, mixture)
    assert gain == gains.max()
    assert evaluated(data, after).log_likelihood == pytest.approx(mixture.log_likelihood + gain, abs=1e-7)


def test_polish_leaves_em_fixed_points():
    rng = np.random.default_rng(6)
    base = np.arange(12)
    other = base.copy()
    other[[2, 3, 6, 7]] = base[[3, 2, 7, 6]]
    rows = np.concatenate([sample_mallows(np.tile(c, (600, 1)), 0.9, rng) for c in (base, other)])
    data = PairSigns(rows)
    swapped = base.copy(), other.copy()
    swapped[0][[2, 3]], swapped[1][[2, 3]] = other[[2, 3]], base[[2, 3]]
    start = Mixture(np.array(swapped), np.full(2, np.exp(-0.9)), np.full(2, 0.5))
    truth = polish(data, replace(start, centers=np.array([base, other])))
    stuck, polished, large = em(data, start), polish(data, start), polish_large(data, start)
    np.testing.assert_array_equal(stuck.centers, start.centers)
    assert polished.lower_bound > stuck.lower_bound
    assert polished.lower_bound == pytest.approx(truth.lower_bound, abs=1e-5)
    assert large.lower_bound == pytest.approx(truth.lower_bound, abs=1e-5)


# ---------------------------------------------------------------- description length
def test_centers_are_coded_from_the_nearest():
    rng = np.random.default_rng(7)
    first, far = rng.permutation(15), rng.permutation(15)
    near = first.copy()
    near[np.argsort(first)[[3, 4]]] = [4, 3]
    assert center_distances(first[None], near[None])[0, 0] == 1
    free = np.log(np.arange(1, 16)).sum()
    one_swap = np.log(106) + np.log(14)
    assert all_centers_length(first[None]) == pytest.approx(free)
    assert all_centers_length(np.array([first, near])) == pytest.approx(free + one_swap)
    nearer = min(all_centers_length(np.array([far, near])), all_centers_length(np.array([far, first])))
    assert all_centers_length(np.array([far, near, first])) == pytest.approx(nearer + one_swap)


def test_a_spike_never_beats_components():
    data, rng = _tied_table(8)
    good = evaluated(data, _start(rng, 7, 2))
    spike = replace(good, weights=np.array([0.999, 0.001]), log_likelihood=good.log_likelihood + 1)
    assert description_length(data, spike) < description_length(data, good)
    assert ranked(data, [spike, good, good], min_weight=0.02) == [good, spike]
