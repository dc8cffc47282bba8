"""Lists of few of many items: the same values as from dense rankings, at the cost of the lists."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from skrank import _sparse_rankings
from skrank._rankings import densify
from skrank._sparse_rankings import as_lists, to_ranks
from skrank.kernels import KendallKernel, MallowsKernel, PartialRankingKernel

nan = np.nan


def random_lists(n_rankings, n_items, longest, absent, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    X = np.full((n_rankings, n_items), nan)
    for row in X:
        length = rng.integers(0, longest + 1)
        row[rng.choice(n_items, length, replace=False)] = rng.integers(0, 3, length) if ties else np.arange(length)
    return np.where(np.isnan(X), 99.0 if absent == "last" else nan, X)


def sparse(X, absent):
    """The entries that are listed, zeros among them."""
    listed = X != 99 if absent == "last" else ~np.isnan(X)
    rows, items = np.nonzero(listed)
    return csr_array((X[listed], (rows, items)), shape=X.shape)


@pytest.mark.parametrize("absent", ["last", "missing"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_items", [4, 9, 80])
def test_values_are_those_of_dense_rankings(absent, ties, n_items, monkeypatch):
    monkeypatch.setattr(_sparse_rankings, "MIN_ITEMS", 1)
    monkeypatch.setattr(_sparse_rankings, "PAIRS_RATIO", 0)
    ranks = densify(random_lists(25, n_items, min(n_items - 1, 12), absent, ties))
    other = densify(random_lists(7, n_items, min(n_items - 1, 12), absent, ties, seed=1))
    kernels = [KendallKernel()] if absent == "missing" else [KendallKernel(), MallowsKernel(0.03), MallowsKernel(2.0)]
    for kernel in kernels:
        lists, other_lists = kernel._prepare(ranks), kernel._prepare(other)
        if isinstance(kernel, MallowsKernel) and ties:
            assert lists is ranks
            continue
        assert lists is not ranks
        np.testing.assert_array_equal(to_ranks(lists), ranks)
        for pair in ((lists, None), (lists, other_lists), (lists, other), (ranks, other_lists)):
            dense = [to_ranks(side) for side in pair]
            np.testing.assert_allclose(kernel._pairwise(*pair), kernel._pairwise(*dense), rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(kernel._diag(lists), kernel._diag(ranks), rtol=1e-11, atol=1e-14)


def test_long_lists_and_few_items_stay_dense():
    assert as_lists(densify(random_lists(5, 40, 3, "last"))) is None
    assert as_lists(densify(np.tile(np.arange(100), (3, 1)))) is None
    assert as_lists(densify(random_lists(5, 100, 10, "last"))) is not None


@pytest.mark.parametrize("absent", ["last", "missing"])
@pytest.mark.parametrize("kernel", ["kendall", "mallows", "hamming"])
@pytest.mark.parametrize("n_items", [12, 100])
def test_sparse_matrices_give_what_dense_ones_give(absent, kernel, n_items):
    X = random_lists(20, n_items, 6, absent, seed=3)
    options = {"normalize": True, "output": "distance", "random_state": 0, "n_draws": 6}
    dense = PartialRankingKernel(kernel, **options).fit(X)
    model = PartialRankingKernel(kernel, unranked=absent, **options)
    np.testing.assert_allclose(model.fit_transform(sparse(X, absent)), dense.transform(X), rtol=1e-9, atol=1e-12)
    assert model.method_ == dense.method_
    assert model.nu_ == pytest.approx(dense.nu_)
    for form in (sparse(X, absent).tocsc(), sparse(X, absent).tocoo()):
        np.testing.assert_allclose(
            model.transform(form[:7] if form.format == "csc" else form.tocsr()[:7]),
            dense.transform(X[:7]),
            rtol=1e-9,
            atol=1e-12,
        )


def test_the_cost_is_that_of_the_lists():
    # 300 lists of 10 of 100000 items: as a dense matrix 30 MB of int8, and 10^10 pairs.
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.choice(100_000, 10, replace=False) for _ in range(300)])
    X = csr_array((np.tile(np.arange(10), 300), items, np.arange(0, 3001, 10)), shape=(300, 100_000))
    for kernel, unranked in (("kendall", "missing"), ("kendall", "last"), ("mallows", "last")):
        tracemalloc.start()
        gram = PartialRankingKernel(kernel, unranked=unranked, normalize=True).fit_transform(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert np.isfinite(gram).all()
        np.testing.assert_allclose(np.diag(gram), 1, rtol=1e-9)
        assert peak < 2e7
    with pytest.raises(ValueError, match="no form for sparse matrices"):
        PartialRankingKernel("mallows", unranked="missing").fit(csr_array((30_000, 100_000)))


@pytest.mark.parametrize(
    ("data", "unranked", "message"),
    [
        ([1.0, 2.0], None, "unranked='last'.*or unranked='missing'"),
        ([1.0, nan], "last", r"X\[1, 2\] is nan: stored ranks must be finite"),
    ],
)
def test_bad_sparse_matrices(data, unranked, message):
    X = csr_array((data, ([0, 1], [1, 2])), shape=(2, 3))
    with pytest.raises(TypeError if unranked is None else ValueError, match=message):
        PartialRankingKernel("kendall", unranked=unranked).fit(X)


def test_an_item_has_one_rank():
    X = csr_array((np.array([1, 2]), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 3))
    with pytest.raises(ValueError, match="several ranks of one item"):
        PartialRankingKernel("kendall", unranked="last").fit(X)
