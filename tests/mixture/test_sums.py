"""EM by sums over parts of the rankings: the sums, and the mixture that they lead to."""

import numpy as np
import pytest

from skrank._rankings import densify
from skrank.datasets import make_mallows_mixture
from skrank.mixture._em import em
from skrank.mixture._model import Mixture
from skrank.mixture._sums import gains_of, maximized, polish_by_sums, sums_of
from skrank.mixture._transpositions import polish, polish_large
from skrank.mixture._voters import make_table

FULL, _ = make_mallows_mixture(400, 7, n_components=2, phi=0.5, random_state=3)
TIED = FULL.clip(max=3)
GAPS = np.where((np.random.default_rng(2).random(FULL.shape) < 0.3) & (np.arange(7) > 1), np.nan, FULL)
START = Mixture(np.array([FULL[0], FULL[0][::-1]]), np.array([0.7, 0.4]), np.array([0.6, 0.4]))


class Parts:
    """Rankings in several tables."""

    def __init__(self, X, n_parts):
        self.tables = [make_table(densify(part))[0] for part in np.array_split(X.astype(float), n_parts)]

    def _total(self, function, mixture):
        first, *others = (function(data, mixture) for data in self.tables)
        for other in others:
            first = first + other
        return first

    def sums(self, mixture):
        return self._total(sums_of, mixture)

    def transpositions(self, mixture):
        return self._total(gains_of, mixture)


@pytest.mark.parametrize("X", [FULL, TIED, GAPS], ids=["full", "tied", "missing"])
def test_sums_add_up_over_parts(X):
    whole, parts = Parts(X, 1).sums(START), Parts(X, 3).sums(START)
    for name in ("total_weight", "log_likelihood", "n_ordered", "weights", "disagreements", "pair_sums", "buckets"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-5, atol=1e-3)
    gains, moves, total_weight = Parts(X, 3).transpositions(START)
    expected = Parts(X, 1).transpositions(START)
    np.testing.assert_allclose(gains, expected.gains, rtol=1e-5, atol=1e-3)
    assert (moves, total_weight) == (expected.moves, 400)


@pytest.mark.parametrize("X", [FULL, TIED, GAPS], ids=["full", "tied", "missing"])
def test_a_step_by_sums_is_a_step_of_em(X):
    by_sums = maximized(Parts(X, 3).sums(START), START)
    data = make_table(densify(X.astype(float)))[0]
    after = em(data, START, max_iter=1, tol=-np.inf)
    np.testing.assert_array_equal(by_sums.centers, after.centers)
    np.testing.assert_allclose(by_sums.dispersions, after.dispersions, rtol=1e-5)
    np.testing.assert_allclose(by_sums.weights, after.weights, rtol=1e-5)


@pytest.mark.parametrize("X", [FULL, TIED, GAPS], ids=["full", "tied", "missing"])
def test_the_polish_by_sums_ends_where_the_other_one_does(X):
    data = make_table(densify(X.astype(float)))[0]
    start = polish(make_table(densify(X[:100].astype(float)))[0], START)
    mixture, sums = polish_by_sums(Parts(X, 3), start)
    local = polish_large(data, start)
    assert mixture.converged
    np.testing.assert_array_equal(mixture.centers, local.centers)
    np.testing.assert_allclose(mixture.dispersions, local.dispersions, atol=1e-3)
    np.testing.assert_allclose(mixture.weights, local.weights, atol=1e-3)
    assert mixture.lower_bound == pytest.approx(local.lower_bound, abs=1e-6)
    assert sums.coverage == pytest.approx(data.coverage)


def test_a_transposition_leaves_an_optimum_of_em():
    # Of two close centers at equal dispersions EM stays at either side of a pair that both order alike.
    rng = np.random.default_rng(0)
    X, _ = make_mallows_mixture(3000, 6, n_components=2, phi=0.6, random_state=5)
    found = []
    for _ in range(5):
        start = Mixture(rng.random((2, 6)).argsort(axis=1), np.full(2, 0.5), np.full(2, 0.5))
        parts = Parts(X, 2)
        polished, _ = polish_by_sums(parts, start)
        gains, _, total_weight = parts.transpositions(polished)
        found.append(polished.lower_bound)
        assert gains.max() / total_weight < 1e-6
    assert max(found) >= polish_large(make_table(densify(X.astype(float)))[0], start).lower_bound - 1e-6


def test_max_iter_is_a_limit():
    mixture, _ = polish_by_sums(Parts(FULL, 2), START, max_iter=1)
    assert mixture.n_iter == 1
    assert not mixture.converged
