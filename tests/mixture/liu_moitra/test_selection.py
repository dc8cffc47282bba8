"""Candidate centers and the choice among them."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from skrank._rankings import aggregate, densify
from skrank.datasets import make_mallows_mixture
from skrank.mixture._liu_moitra._candidate_centers import candidate_centers
from skrank.mixture._liu_moitra._selection import (
    DISPERSIONS,
    add_atom,
    best_atom,
    concave_weights,
    finite_step_gains,
    make_atoms,
    select_atoms,
)
from skrank.mixture._model import Mixture, log_densities
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._transpositions import polish


def table(centers, dispersions, weights, n_samples, seed, top_k=None):
    n_components, n_items = centers.shape
    X, _ = make_mallows_mixture(
        n_samples,
        n_items,
        n_components,
        centers=centers,
        phi=dispersions,
        weights=weights,
        top_k=top_k,
        random_state=seed,
    )
    distinct = aggregate(densify(X))
    return PairSigns(distinct.ranks, distinct.weights)


@pytest.fixture(scope="module")
def separated():
    rng = np.random.default_rng(6)
    centers = np.array([rng.permutation(10) for _ in range(3)])
    dispersions, weights = np.array([0.15, 0.45, 0.6]), np.array([0.4, 0.3, 0.3])
    return table(centers, dispersions, weights, 3000, 7), Mixture(centers, dispersions, weights)


def test_candidates_are_distinct_permutations_that_hold_the_centers(separated):
    data, truth = separated
    candidates = candidate_centers(data, 3)
    assert (np.sort(candidates, axis=1) == np.arange(10)).all()
    assert len(np.unique(candidates, axis=0)) == len(candidates)
    assert {tuple(c) for c in truth.centers} <= {tuple(c) for c in candidates}


def test_pair_tensors_find_centers_that_no_cell_has_as_its_consensus(monkeypatch):
    """Three components that differ in flips of neighbors: each heavy cell mixes them (Lemma 10)."""
    base = np.arange(12)
    centers = np.array(
        [base, base[[1, 0, 3, 2, 4, 5, 7, 6, 9, 8, 10, 11]], base[[0, 1, 3, 2, 5, 4, 6, 7, 8, 9, 11, 10]]]
    )
    found = {}
    for least in (40, np.inf):
        monkeypatch.setattr("skrank.mixture._liu_moitra._candidate_centers.LEAST_TENSOR_WEIGHT", least)
        hits = 0
        for seed in range(5):
            candidates = {
                tuple(c) for c in candidate_centers(table(centers, [0.2, 0.45, 0.7], np.ones(3) / 3, 4000, seed), 3)
            }
            hits += sum(tuple(c) in candidates for c in centers)
        found[least] = hits
    assert found[40] > found[np.inf]


def test_top_lists_have_prefix_cells_and_no_suffix_cells():
    rng = np.random.default_rng(2)
    centers = np.array([rng.permutation(9), rng.permutation(9)])
    data = table(centers, [0.2, 0.5], np.array([0.5, 0.5]), 3000, 3, top_k=4)
    candidates = candidate_centers(data, 2)
    tops = {tuple(np.argsort(c)[:4]) for c in candidates}
    assert {tuple(np.argsort(c)[:4]) for c in centers} <= tops


def test_weights_of_rows_are_repeats(separated):
    data, _ = separated
    repeated = PairSigns(np.repeat(data.ranks.T, 2, axis=0), np.repeat(data.weights / 2, 2))
    assert np.array_equal(candidate_centers(data, 3), candidate_centers(repeated, 3))


# ---------------------------------------------------------------- selection
def test_finite_step_gains_are_those_of_the_definition(separated):
    data, truth = separated
    atoms = make_atoms(data, truth.centers)
    base = log_densities(data, truth.centers[:1], np.array([0.7]))[0]
    gains = finite_step_gains(atoms.log_densities, base, data.weights)
    share = data.weights / data.weights.sum()
    for atom in range(len(gains)):
        exact = log_densities(data, atoms.centers[[atom]], atoms.dispersions[[atom]])[0]
        expected = max(
            (np.logaddexp(np.log1p(-eps) + base, np.log(eps) + exact) - base) @ share for eps in (0.05, 0.15, 0.4)
        )
        assert gains[atom] == pytest.approx(expected, abs=1e-3)


def test_a_spike_on_one_ranking_has_a_derivative_but_no_gain(separated):
    """Why the step is finite: f_spike / f is astronomic on one row, and worth nothing."""
    data, truth = separated
    components = log_densities(data, truth.centers, truth.dispersions)
    log_density = logsumexp(components + np.log(truth.weights)[:, None], axis=0)
    row = int(log_density.argmin())
    spike = log_densities(data, data.rankings(np.array([row])), np.array([1e-3]))
    share = data.weights / data.weights.sum()
    assert np.exp(np.minimum(spike[0] - log_density, 60)) @ share - 1 > 10
    assert finite_step_gains(spike.astype(np.float32), log_density, data.weights)[0] < 0


def test_concave_weights_approach_the_optimum(separated):
    data, truth = separated
    L = log_densities(data, truth.centers, truth.dispersions)
    weights, log_density = concave_weights(L, data.weights, n_iter=500)

    def loss(logits):
        return -(logsumexp(L + (logits - logsumexp(logits))[:, None], axis=0) @ data.weights) / data.total_weight

    best = minimize(loss, np.zeros(3))
    assert weights.sum() == pytest.approx(1)
    assert -(log_density @ data.weights) / data.total_weight == pytest.approx(best.fun, abs=1e-7)
    few, few_density = concave_weights(L, data.weights)
    assert abs((few_density - log_density) @ data.weights) / data.total_weight < 1e-3


def test_selection_finds_separated_components(separated):
    data, truth = separated
    atoms = make_atoms(data, candidate_centers(data, 3))
    mixture = select_atoms(data, atoms, 3, 0.02)
    assert mixture.n_components == 3
    assert mixture.weights.sum() == pytest.approx(1)
    assert set(mixture.dispersions) <= set(DISPERSIONS)
    polished = polish(data, mixture)
    assert {tuple(c) for c in polished.centers} == {tuple(c) for c in truth.centers}


def test_adding_an_atom_never_lowers_the_likelihood_and_keeps_weights_above_the_minimum(separated):
    data, _ = separated
    atoms = make_atoms(data, candidate_centers(data, 3))
    mixture = best_atom(data, atoms)
    value = log_densities(data, mixture.centers, mixture.dispersions)[0] @ data.weights
    for _ in range(2):
        mixture = add_atom(data, mixture, atoms, 0.05)
        components = log_densities(data, mixture.centers, mixture.dispersions)
        after = logsumexp(components + np.log(mixture.weights)[:, None], axis=0) @ data.weights
        assert after > value
        assert mixture.weights.min() >= 0.05
        value = after
