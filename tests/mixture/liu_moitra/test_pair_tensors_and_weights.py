"""Heavy hitters, pair tensors and moment weights of Liu and Moitra on whole populations: all rankings, weighted."""

import itertools

import numpy as np
import pytest

from skrank._rankings import densify, pair_signs
from skrank.mixture._liu_moitra._heavy_cells import heavy_hitters, heavy_prefixes, place_pairs, prefix_fraction
from skrank.mixture._liu_moitra._pair_tensors import (
    log_prefix_probability,
    mixture_pair_tensor,
    pair_tensor,
    pair_test_functions,
    rest_pairs,
    scan_pair_tensor,
    tensor_proposals,
)
from skrank.mixture._liu_moitra._test_functions import pair_tensor_of
from skrank.mixture._liu_moitra._weights import annihilators, moment_weights, prefix_moment_weights, ratio_of_moments
from skrank.mixture._liu_moitra._zagier import all_permutations
from skrank.stats._kemeny import local_kemeny

CENTERS = np.array([[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4], [5, 2, 0, 3, 1, 4]])
DISPERSIONS = np.array([0.2, 0.45, 0.7])
WEIGHTS = np.array([0.5, 0.2, 0.3])


def mallows_pmf(ranks, center, dispersion):
    inverted = (pair_signs(ranks, dtype=float) != pair_signs(np.asarray(center)[None], dtype=float)).sum(axis=1)
    weights = np.power(float(dispersion), inverted)
    return weights / weights.sum()


def population(centers=CENTERS, dispersions=DISPERSIONS, weights=WEIGHTS):
    """All rankings of the items and their probabilities under each component and the mixture."""
    ranks = all_permutations(centers.shape[1])
    components = np.array([mallows_pmf(ranks, c, phi) for c, phi in zip(centers, dispersions, strict=True)])
    return ranks, components, weights @ components


# ---------------------------------------------------------------- heavy cells
def test_heavy_hitters_are_at_most_four_over_alpha_and_hold_the_tight_centers():
    """Fact 2: phi < 1/(2 n) gives a center at least half of its component's mass."""
    centers, dispersions, alpha = CENTERS[[0, 2]], np.array([0.08, 0.9]), 0.1
    ranks, _, pmf = population(centers, dispersions, np.array([alpha, 1 - alpha]))
    rows = heavy_hitters(ranks, 1000 * pmf, alpha / 4)
    assert len(rows) <= 4 / alpha
    assert ranks[rows[0]].tolist() == centers[0].tolist()
    assert (pmf[rows] >= alpha / 4).all()
    assert np.delete(pmf, rows).max() < alpha / 4
    assert (np.diff(pmf[rows]) <= 0).all()


def test_tied_rankings_are_no_heavy_hitters():
    assert heavy_hitters(np.array([[0, 0, 1], [0, 1, 2]]), np.array([9.0, 1.0]), 0.05).tolist() == [1]


def test_every_prefix_of_a_center_is_heavy():
    """Claim 5: the first L items of a center have at least the share alpha gamma^L, twice the threshold."""
    ranks, _, pmf = population()
    gamma, alpha = 0.3, 0.2
    for n_pairs in (1, 2, 3):
        cells = heavy_prefixes(ranks, pmf, n_pairs, min_weight=prefix_fraction(alpha, gamma, 2 * n_pairs))
        listed = [cell.pairs.tolist() for cell in cells]
        for center in CENTERS:
            assert np.sort(np.argsort(center)[: 2 * n_pairs].reshape(-1, 2), axis=1).tolist() in listed


def test_cells_partition_the_rankings():
    ranks, _, pmf = population()
    cells = heavy_prefixes(ranks, pmf, 2)
    assert len(cells) == 15 * 6
    assert np.sort(np.concatenate([cell.rows for cell in cells])).tolist() == list(range(720))
    assert sum(cell.weight for cell in cells) == pytest.approx(1)
    for cell in cells[:5]:
        order = np.argsort(ranks[cell.rows], axis=1)[:, :4].reshape(-1, 2, 2)
        assert (np.sort(order, axis=2) == cell.pairs).all()
        assert cell.weight == pytest.approx(pmf[cell.rows].sum())
    assert [cell.weight for cell in heavy_prefixes(ranks, pmf, 2, top=3)] == [cell.weight for cell in cells[:3]]


def test_ties_inside_a_pair_of_places_keep_a_ranking_in_its_cell():
    ranks = np.array([[0, 0, 1, 2, 3], [1, 0, 2, 2, 2], [0, 1, 1, 2, 3], [0, 1, 2, 3, 3]])
    assert place_pairs(ranks).tolist() == [[0, 0, 1, 1, 2], [0, 0, -1, -1, -1], [0, -1, -1, 1, 2], [0, 0, 1, -1, -1]]
    cells = heavy_prefixes(ranks, np.ones(4), 1)
    assert [(cell.pairs.tolist(), cell.rows.tolist()) for cell in cells] == [([[0, 1]], [0, 1, 3])]
    assert [cell.rows.tolist() for cell in heavy_prefixes(ranks, np.ones(4), 2)] == [[0]]
    assert heavy_prefixes(np.zeros((3, 5), int), np.ones(3), 1) == []


# ---------------------------------------------------------------- pair tensors
PREFIXES = [np.array([[0, 1]]), np.array([[0, 1], [2, 3]]), np.array([[2, 5], [1, 4]]), np.array([[3, 4], [0, 2]])]


@pytest.mark.parametrize("pairs", PREFIXES)
def test_prefix_probability_equals_enumeration(pairs):
    ranks, components, pmf = population()
    [cell] = [c for c in heavy_prefixes(ranks, pmf, len(pairs)) if np.array_equal(c.pairs, pairs)]
    expected = components[:, cell.rows].sum(axis=1)
    assert np.exp(log_prefix_probability(CENTERS, DISPERSIONS, pairs)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pairs", PREFIXES)
def test_pair_tensor_equals_enumeration_and_has_rank_k(pairs):
    """Lemma 10: D = sum_i w_i Pr_i[S] t_i q_i', and Claim 6's T = sum_i w_i Pr_i[S] t_i."""
    ranks, _, pmf = population()
    [cell] = [c for c in heavy_prefixes(ranks, pmf, len(pairs)) if np.array_equal(c.pairs, pairs)]
    counts, sums = pair_tensor(ranks[cell.rows], pmf[cell.rows], pairs)
    masses, tensors, differences = mixture_pair_tensor(CENTERS, DISPERSIONS, WEIGHTS, pairs)
    rest, i, j = rest_pairs(6, pairs)
    assert counts == pytest.approx(masses @ tensors, rel=1e-12)
    assert sums[:, rest] == pytest.approx(((masses * tensors.T) @ differences)[:, rest], abs=1e-15)
    assert (differences[:, ~rest] == 0).all()
    assert (np.sign(differences[:, rest]) == np.sign(CENTERS[:, j] - CENTERS[:, i])).all()


def centers_with_one_prefix(n_pairs, n_items):
    """Three centers that begin with the same pairs, the a-th flips pair a; the other items in random orders."""
    rng = np.random.default_rng(4)
    orders = []
    for flipped in range(3):
        order = np.concatenate([np.arange(2 * n_pairs), 2 * n_pairs + rng.permutation(n_items - 2 * n_pairs)])
        if flipped < n_pairs:
            order[[2 * flipped, 2 * flipped + 1]] = order[[2 * flipped + 1, 2 * flipped]]
        orders.append(order)
    return np.argsort(orders, axis=1), np.arange(2 * n_pairs).reshape(-1, 2)


@pytest.mark.parametrize("n_pairs", [2, 3])
def test_pair_tensor_of_three_components_has_rank_three(n_pairs):
    centers, pairs = centers_with_one_prefix(n_pairs, 12)
    masses, tensors, differences = mixture_pair_tensor(centers, DISPERSIONS, WEIGHTS, pairs)
    singular = np.linalg.svd((masses * tensors.T) @ differences, compute_uv=False)
    assert singular[2] > 1e-4 * singular[0]
    assert singular[3] < 1e-14 * singular[0]


def test_rows_of_the_pseudo_inverse_are_test_functions():
    flips = np.array([[0, 0], [0, 1], [1, 1]], bool)
    Z = pair_test_functions(np.array([50.0, 9.0, 3.0, 20.0]), DISPERSIONS, flips)
    assert Z @ pair_tensor_of(DISPERSIONS, flips).T == pytest.approx(np.eye(3), abs=1e-12)


@pytest.mark.parametrize("n_pairs", [2, 3])
def test_scan_finds_the_components_of_an_exact_tensor(n_pairs):
    """Lemma 10 without guesses: dispersions and flips from the span."""
    centers, pairs = centers_with_one_prefix(n_pairs, 12)
    masses, tensors, differences = mixture_pair_tensor(centers, DISPERSIONS, WEIGHTS, pairs)
    rest, _, _ = rest_pairs(12, pairs)
    masses = 1e9 * masses / masses.sum()
    found, flips = scan_pair_tensor(masses @ tensors, ((masses * tensors.T) @ differences)[:, rest], 3)
    order = np.argsort(found)
    assert found[order] == pytest.approx(DISPERSIONS)
    assert (flips[order] == (centers[:, pairs[:, 0]] > centers[:, pairs[:, 1]])).all()


def test_tensor_proposals_hold_the_centers_that_have_the_prefix():
    """Components that share a prefix up to flips come out of one cell, each with its own order of the other items."""
    centers = np.array([[0, 1, 2, 3, 4, 5, 6], [1, 0, 3, 2, 6, 4, 5], [0, 1, 3, 2, 5, 6, 4]])
    ranks, _, pmf = population(centers, np.array([0.2, 0.45, 0.7]))
    cell = heavy_prefixes(ranks, 1e8 * pmf, 2, top=1)[0]
    assert cell.pairs.tolist() == [[0, 1], [2, 3]]
    preferences = tensor_proposals(ranks[cell.rows], 1e8 * pmf[cell.rows], cell.pairs, 3)
    found = np.argsort(local_kemeny(preferences)[0], axis=1)
    assert {tuple(c) for c in centers} <= {tuple(c) for c in found}


# ---------------------------------------------------------------- Claim 6
def test_prefix_moment_weights_are_exact_on_the_population():
    ranks, _, pmf = population()
    assert prefix_moment_weights(ranks, 300 * pmf, CENTERS, DISPERSIONS) == pytest.approx(WEIGHTS, rel=1e-10)


def test_prefix_moment_weights_say_nothing_of_equal_dispersions():
    """Z annihilates the component itself where another one has its dispersion and orders the pair alike."""
    centers, dispersions = np.array([[0, 1, 2, 3], [0, 1, 3, 2]]), np.array([0.5, 0.5])
    ranks, _, pmf = population(centers, dispersions, np.array([0.4, 0.6]))
    assert np.isnan(prefix_moment_weights(ranks, pmf, centers, dispersions)).all()


@pytest.mark.parametrize("offset", [0, 1])
def test_annihilators_vanish_under_all_other_components(offset):
    ranks, components, _ = population()
    for own in range(3):
        means = components @ annihilators(ranks, CENTERS, DISPERSIONS, own, offset=offset)
        assert np.delete(means, own) == pytest.approx([0, 0], abs=1e-14)
        assert means[own] > 1e-4
        expected = annihilators(ranks, CENTERS, DISPERSIONS, own, offset=offset, expected=True)
        assert components[own] @ expected == pytest.approx(means[own], abs=1e-14)
        assert (expected >= 0).all()


def test_ratio_of_moments_is_exact_on_the_population():
    ranks, components, pmf = population()
    tables = [(ranks, component) for component in components]
    found = ratio_of_moments(ranks, pmf, CENTERS, DISPERSIONS, tables)
    assert found == pytest.approx(WEIGHTS, rel=1e-10)
    equal_dispersions = np.full(3, 0.5)
    ranks, components, pmf = population(dispersions=equal_dispersions)
    found = ratio_of_moments(ranks, pmf, CENTERS, equal_dispersions, [(ranks, c) for c in components])
    assert found == pytest.approx(WEIGHTS, rel=1e-10)


def test_ratio_of_moments_is_exact_with_ties():
    """Ties as coarsenings of full rankings, whatever their patterns."""
    ranks, components, _ = population()
    by_place = np.array([[0, 1, 2, 3, 4, 4], [0, 1, 2, 3, 3, 3], [0, 1, 1, 2, 3, 4]])
    shares = np.array([0.5, 0.3, 0.2])
    tied = np.concatenate([buckets[ranks] for buckets in by_place])
    tables = [(tied, np.concatenate([share * component for share in shares])) for component in components]
    pmf = WEIGHTS @ [table[1] for table in tables]
    assert ratio_of_moments(tied, pmf, CENTERS, DISPERSIONS, tables) == pytest.approx(WEIGHTS, rel=1e-10)


def test_moment_weights_with_drawn_denominators():
    ranks, _, pmf = population()
    found = moment_weights(ranks, pmf, CENTERS, DISPERSIONS)
    # Only the denominators are random; their relative standard error is about 2 % with 4000 draws.
    assert found == pytest.approx(WEIGHTS, rel=0.12)
    assert moment_weights(ranks, pmf, CENTERS[:1], DISPERSIONS[:1]).tolist() == [1.0]


def test_moment_weights_say_nothing_where_nothing_is_known():
    top_one = densify(np.array(list(itertools.permutations([0, 1, 1, 1]))))
    centers = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    assert np.isnan(moment_weights(top_one, np.ones(len(top_one)), centers, np.array([0.2, 0.5]))).all()
