"""Closed forms of marginalized kernels, against means over all consistent full rankings."""

import numpy as np
import pytest
import sklearn

from skrank.kernels import (
    DistanceInducedKernel,
    HammingKernel,
    KendallKernel,
    MallowsKernel,
    SemimetricKernel,
    SpearmanKernel,
)
from skrank.kernels import _mallows_gram as mallows_core
from skrank.kernels import _positions as positions_core
from skrank.metrics import _pair_products, pairwise_ranking_distances

NAN = np.nan
EVERYWHERE = [KendallKernel(), HammingKernel(), SpearmanKernel()]


def on_full_rankings(kernel, s, t):
    """The definition on full rankings, from distances that have their own tests."""
    n_items = s.shape[1]
    n_pairs = n_items * (n_items - 1) / 2
    if isinstance(kernel, MallowsKernel):
        return np.exp(-kernel.nu * pairwise_ranking_distances(s, t))
    if isinstance(kernel, KendallKernel):
        return 1 - 2 * pairwise_ranking_distances(s, t) / n_pairs if n_pairs else np.zeros((len(s), len(t)))
    if isinstance(kernel, HammingKernel):
        return (s[:, None] == t).sum(axis=2)
    return np.corrcoef(s, t)[: len(s), len(s) :] if n_items > 1 else np.zeros((len(s), len(t)))


def by_enumeration(kernel, X, Y, consistent_rankings):
    values = np.empty((len(X), len(Y)))
    others = [consistent_rankings(y) for y in Y]
    for row, x in enumerate(X):
        s = consistent_rankings(x)
        whole = on_full_rankings(kernel, s, np.concatenate(others)).mean(axis=0)
        values[row] = [part.mean() for part in np.split(whole, np.cumsum([len(t) for t in others])[:-1])]
    return values


def random_rankings(rng, n_samples, n_items, gaps):
    X = rng.integers(0, rng.integers(1, n_items + 2, (n_samples, 1)), (n_samples, n_items)).astype(float)
    if gaps:
        X[rng.random(X.shape) < rng.random((n_samples, 1))] = NAN
    return X


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("nu", [1e-4, 0.1, 1.0, 30.0])
def test_mallows_over_ties(n_items, nu, consistent_rankings):
    rng = np.random.default_rng(n_items)
    X, Y = (random_rankings(rng, size, n_items, gaps=False) for size in (9, 7))
    kernel = MallowsKernel(nu=nu)
    expected = by_enumeration(kernel, X, Y, consistent_rankings)
    assert np.abs(kernel(X, Y) - expected).max() <= 1e-12 * expected.max()
    square = by_enumeration(kernel, X, X, consistent_rankings)
    assert np.abs(kernel(X) - square).max() <= 1e-12 * square.max()
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12)
    np.testing.assert_allclose(SemimetricKernel("kendall", nu=nu)(X, Y), kernel(X, Y), rtol=1e-14)


@pytest.mark.parametrize("kernel", EVERYWHERE)
@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5])
def test_linear_kernels_over_ties_and_gaps(kernel, n_items, consistent_rankings):
    rng = np.random.default_rng(n_items)
    X, Y = (random_rankings(rng, size, n_items, gaps=True) for size in (10, 8))
    expected = by_enumeration(kernel, X, Y, consistent_rankings)
    assert np.abs(kernel(X, Y) - expected).max() <= 1e-12 * max(np.abs(expected).max(), 1)
    np.testing.assert_allclose(kernel(X), kernel(X, X), atol=1e-13)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), atol=1e-13)


@pytest.mark.parametrize("kernel", [KendallKernel(), HammingKernel()])
def test_six_items_over_ties_and_gaps(kernel, consistent_rankings):
    rng = np.random.default_rng(6)
    X, Y = (random_rankings(rng, size, 6, gaps=True) for size in (6, 4))
    expected = by_enumeration(kernel, X, Y, consistent_rankings)
    assert np.abs(kernel(X, Y) - expected).max() <= 1e-12 * np.abs(expected).max()


def test_spearman_six_items_over_ties_and_gaps(consistent_rankings):
    # Linear in positions, so the mean over pairs is the product of mean positions.
    rng = np.random.default_rng(6)
    X = random_rankings(rng, 12, 6, gaps=True)
    mean = np.array([consistent_rankings(x).mean(axis=0) for x in X]) - 2.5
    np.testing.assert_allclose(SpearmanKernel()(X), mean @ mean.T * 12 / (6 * 35), atol=1e-13)


@pytest.mark.parametrize("table_size", [1, 30, 1000])
def test_any_grouping_of_digits_and_blocks_gives_the_same(monkeypatch, table_size):
    rng = np.random.default_rng(3)
    X, Y = (random_rankings(rng, size, 12, gaps=False) for size in (50, 40))
    top = np.minimum(rng.permuted(np.tile(np.arange(12), (45, 1)), axis=1), 4)
    kernel = MallowsKernel(nu=0.2)
    cases = [(X,), (X, Y), (top,), (top, X), (top[:1], np.argsort(Y, axis=1))]
    expected = [kernel(*case) for case in cases]
    monkeypatch.setattr(mallows_core, "TABLE_SIZE", table_size)
    monkeypatch.setattr(_pair_products, "TILE_ROWS", 16)
    monkeypatch.setattr(_pair_products, "TILE_COLUMNS", 20)
    for megabytes in (0.05, 10):
        with sklearn.config_context(working_memory=megabytes):
            for case, gram in zip(cases, expected, strict=True):
                np.testing.assert_allclose(kernel(*case), gram, rtol=1e-12)


def test_both_ways_to_the_hamming_kernel_agree(monkeypatch):
    X, Y = np.random.default_rng(4).permuted(np.tile(np.arange(10), (2, 20, 1)), axis=2)
    kernel = HammingKernel()
    products = kernel(X), kernel(X, Y)
    monkeypatch.setattr(positions_core, "PRODUCT_ITEMS", 0)
    assert (products[0] == kernel(X)).all()
    assert (products[1] == kernel(X, Y)).all()


def test_many_items_stay_finite_and_within_rounding():
    rng = np.random.default_rng(5)
    n_items = 400
    X = rng.permuted(np.tile(np.arange(n_items), (12, 1)), axis=1)
    X[:6] = np.minimum(X[:6], rng.integers(1, n_items, (6, 1)))
    for nu in (1e-4, 1e-2, 1.0):
        gram = MallowsKernel(nu=nu)(X)
        assert np.isfinite(gram).all()
        assert (gram >= 0).all()
        assert (gram <= 1).all()
        np.testing.assert_allclose(gram[6:, 6:], np.exp(-nu * pairwise_ranking_distances(X[6:])), rtol=1e-9)
        np.testing.assert_allclose(np.diag(gram), MallowsKernel(nu=nu).diag(X), rtol=1e-9)


def test_large_nu_compares_supports():
    # As nu grows only equal full rankings count: 2 of 2 x 6 pairs, hence 1/6.
    gram = MallowsKernel(nu=60.0)([[1, 2, 3, 3], [1, 2, 2, 2]])
    np.testing.assert_allclose(gram, [[1 / 2, 1 / 6], [1 / 6, 1 / 6]], rtol=1e-12)


@pytest.mark.parametrize("metric", ["kendall", "kemeny", "spearman_footrule", "spearman", "hamming", "lp"])
def test_distance_kernels_on_full_rankings(metric):
    rng = np.random.default_rng(6)
    X, Y = rng.permuted(np.tile(np.arange(6), (2, 9, 1)), axis=2)
    p = 1.5
    d = pairwise_ranking_distances(X, Y, metric, p=p)
    np.testing.assert_allclose(SemimetricKernel(metric, nu=0.3, p=p)(X, Y), np.exp(-0.3 * d), rtol=1e-12)
    center = rng.permutation(6)
    for kernel, c in (
        (DistanceInducedKernel(metric, p=p), np.arange(6)),
        (DistanceInducedKernel(metric, center=center * 2.0 - 1, p=p), center),
    ):
        from_c = pairwise_ranking_distances(X, [c], metric, p=p)
        to_c = pairwise_ranking_distances([c], Y, metric, p=p)
        np.testing.assert_allclose(kernel(X, Y), (from_c + to_c - d) / 2, atol=1e-12)
        gram, diagonal = kernel(X), kernel.diag(X)
        np.testing.assert_allclose(diagonal, np.diag(gram), atol=1e-12)
        within = pairwise_ranking_distances(X, metric=metric, p=p)
        np.testing.assert_allclose(diagonal[:, None] + diagonal - 2 * gram, within, atol=1e-12)
