"""Refits to many redraws at once, against refits one by one."""

import warnings

import numpy as np
import pytest

from skrank.datasets import make_mallows_mixture
from skrank.mixture import MallowsMixture
from skrank.mixture._bootstrap_refits import Refits, accelerator, climb, expectation_of_all, refit, transposed
from skrank.mixture._em import em, evaluated, expectation
from skrank.mixture._model import Mixture, pseudo_log_likelihood
from skrank.mixture._transpositions import best_transposition, polish

TOL = 1e-9


@pytest.fixture(scope="module", params=[None, 3], ids=["full", "top 3"])
def close(request):
    """A mixture of two close components, its table, and counts of redraws."""
    X = make_mallows_mixture(300, 6, 2, centers="close", phi=[0.4, 0.6], top_k=request.param, random_state=1)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # centers are not determined, which makes redraws differ
        model = MallowsMixture(2, random_state=0).fit(X)
    data = model._table(X)[0]
    rng = np.random.default_rng(0)
    counts = rng.multinomial(300, data.weights / 300, size=12).astype(float)
    return data, model._mixture(), counts


def redrawn(data, counts):
    rows = np.flatnonzero(counts)
    return data.subset(rows, counts[rows])


def one(refits, draw):
    return Mixture(refits.centers[draw], refits.dispersions[draw], refits.weights[draw])


def repeated(mixture, n_draws):
    values = mixture.centers, mixture.dispersions, mixture.weights
    return Refits(*(np.repeat(value[None], n_draws, axis=0) for value in values))


def test_e_steps_are_those_of_each_redraw(close):
    data, mixture, counts = close
    responsibilities, bounds = expectation_of_all(data, repeated(mixture, 12), counts.astype(np.float32))
    np.testing.assert_allclose(responsibilities[3], expectation(data, mixture)[0], atol=1e-5)
    for draw, bound in enumerate(bounds):
        sample = redrawn(data, counts[draw])
        by_hand = evaluated(sample, mixture).lower_bound
        assert bound == pytest.approx(by_hand, abs=1e-6)
    assert pseudo_log_likelihood(data.n_items, mixture.dispersions) < 0  # it is counted


def test_accelerated_steps_arrive_where_many_plain_ones_do(close):
    data, mixture, counts = close
    newton = accelerator(data, mixture)
    refits, bounds = climb(data, repeated(mixture, 12), counts.astype(np.float32), newton, TOL)
    for draw in range(12):
        plain = em(redrawn(data, counts[draw]), mixture, max_iter=3000, tol=1e-13)
        assert bounds[draw] >= plain.lower_bound - 3e-5  # a hundredth of a nat
        if np.array_equal(plain.centers, refits.centers[draw]):
            np.testing.assert_allclose(refits.dispersions[draw], plain.dispersions, atol=0.01)
            np.testing.assert_allclose(refits.weights[draw], plain.weights, atol=0.02)


def test_transpositions_gain_what_they_gain_one_by_one(close):
    data, mixture, counts = close
    worse = Mixture(mixture.centers[:, [1, 0, 2, 3, 4, 5]], mixture.dispersions, mixture.weights)
    moved, draws = transposed(data, repeated(worse, 12), counts.astype(np.float32))
    for draw in range(12):
        sample = redrawn(data, counts[draw])
        gain, best = best_transposition(sample, worse)
        assert (draw in draws) == (gain > 1e-7)
        if draw in draws:
            np.testing.assert_array_equal(moved.centers[np.flatnonzero(draws == draw)[0]], best.centers)


def test_refits_are_as_good_as_polished_ones(close):
    data, mixture, counts = close
    refits, responsibilities = refit(data, mixture, counts, TOL)
    found = [evaluated(redrawn(data, counts[draw]), one(refits, draw)).lower_bound for draw in range(12)]
    polished = [polish(redrawn(data, counts[draw]), mixture).lower_bound for draw in range(12)]
    assert np.quantile(np.subtract(polished, found), 0.8) < 3e-5
    np.testing.assert_allclose(responsibilities[0], expectation(data, one(refits, 0))[0], atol=1e-4)
    np.testing.assert_allclose(refits.weights.sum(axis=1), 1)


def test_one_component_is_refitted_too():
    X = make_mallows_mixture(100, 5, 1, phi=0.5, random_state=0)[0]
    model = MallowsMixture(1, random_state=0).fit(X)
    data = model._table(X)[0]
    counts = np.random.default_rng(0).multinomial(100, data.weights / 100, size=3)
    refits, _ = refit(data, model._mixture(), counts, TOL)
    for draw in range(3):
        plain = em(redrawn(data, counts[draw].astype(float)), model._mixture())
        np.testing.assert_array_equal(refits.centers[draw], plain.centers)
        np.testing.assert_allclose(refits.dispersions[draw], plain.dispersions, atol=1e-5)
