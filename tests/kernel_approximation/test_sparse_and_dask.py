"""MallowsFeatures on sparse rank matrices and on Dask's arrays and data frames."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from skrank._sparse_rankings import check_sparse_rankings
from skrank.kernel_approximation import MallowsFeatures
from skrank.kernel_approximation._list_samples import list_keys
from skrank.kernel_approximation._parity import pair_items
from skrank.kernels import MallowsKernel

ROWS, ITEMS, RANKS = [0, 0, 0, 1, 2, 2], [1, 3, 4, 2, 0, 4], [0.0, 0.0, 7.0, 5.0, 2.0, 1.0]
X = csr_array((RANKS, (ROWS, ITEMS)), shape=(3, 6))


def as_dense(unranked):
    dense = np.full(X.shape, 99.0 if unranked == "last" else np.nan)
    dense[ROWS, ITEMS] = RANKS
    return dense


@pytest.mark.parametrize("n_items", [2, 3, 10, 100])
def test_items_of_pairs(n_items):
    first, second = np.triu_indices(n_items, 1)
    np.testing.assert_array_equal(pair_items(np.arange(len(first)), n_items), [first, second])


def test_items_of_pairs_of_many_items():
    n_items = 1_000_000
    total = n_items * (n_items - 1) // 2
    for pair, items in ((0, (0, 1)), (n_items - 2, (0, n_items - 1)), (n_items - 1, (1, 2)), (total - 1, (-2, -1))):
        np.testing.assert_array_equal(np.ravel(pair_items([pair], n_items)), np.mod(items, n_items))


@pytest.mark.parametrize("unranked", ["last", "missing"])
@pytest.mark.parametrize("method", ["antithetic", "monte_carlo"])
def test_keys_order_items_as_random_consistent_rankings_do(unranked, method, consistent_rankings):
    # Three frequencies of each order among 30000: five standard errors of .003.
    lists = check_sparse_rankings(X, unranked)
    keys = list_keys(lists, np.arange(6), 30_000, 0, method)
    places = keys.argsort(axis=-1).argsort(axis=-1)
    for drawn, row in zip(places, as_dense(unranked), strict=True):
        support = consistent_rankings(row)
        for i, j in ((0, 1), (1, 4), (2, 4), (3, 5), (4, 5)):
            truth = (support[:, i] < support[:, j]).mean()
            for part in (drawn[::2], drawn[1::2]):
                assert abs((part[:, i] < part[:, j]).mean() - truth) < 5 * 0.5 / np.sqrt(15_000)
        # Every draw is one of them.
        assert {tuple(places) for places in drawn[:200]} <= {tuple(places) for places in support}
    chosen = np.array([1, 4])
    np.testing.assert_array_equal(list_keys(lists, chosen, 6, 0, method), keys[:, :6, chosen])
    np.testing.assert_array_equal(list_keys(lists[1:], chosen, 6, 0, method), keys[1:, :6, chosen])
    assert (list_keys(lists, chosen, 6, 1, method) != keys[:, :6, chosen]).any()


def test_antithetic_keys_reverse_what_is_open():
    keys = list_keys(check_sparse_rankings(X, "last"), np.arange(6), 2, 0, "antithetic")
    first, second = keys.transpose(1, 0, 2).argsort(axis=-1).argsort(axis=-1)
    # 1 and 3 are tied, 4 follows, the others are last.
    np.testing.assert_array_equal(first[0] + second[0], [8, 1, 8, 1, 4, 8])


def test_sparse_features_approximate_the_kernel():
    features = MallowsFeatures(20_000, nu=0.2, n_draws=40, dtype=np.float64, unranked="last", random_state=0)
    Z = features.fit_transform(X)
    off_diagonal = ~np.eye(3, dtype=bool)
    exact = MallowsKernel(0.2)(as_dense("last"))
    # 1/sqrt(20000) = .007 from the sets, some .01 from 40 draws.
    np.testing.assert_allclose((Z @ Z.T)[off_diagonal], exact[off_diagonal], atol=0.05)
    assert MallowsFeatures(64, unranked="missing", random_state=0).fit(X).nu_ > 0
    with pytest.raises(TypeError, match="unranked='last'"):
        MallowsFeatures(64).fit(X)


def test_catalogs_of_many_items():
    rng = np.random.default_rng(0)
    items = np.concatenate([rng.choice(100_000, 10, replace=False) for _ in range(200)])
    lists = csr_array((np.tile(np.arange(10), 200), items, np.arange(0, 2001, 10)), shape=(200, 100_000))
    for unranked in ("last", "missing"):
        features = MallowsFeatures(128, unranked=unranked, n_draws=4, random_state=0)
        Z = features.fit_transform(lists)
        assert Z.shape == (200, 128)
        np.testing.assert_array_equal(features.transform(lists[50:90]), Z[50:90])


# ---------------------------------------------------------------- Dask
@pytest.mark.parametrize("n_components", [1, 33])
@pytest.mark.parametrize("n_rows", [700, 2500])
def test_dask_arrays_give_what_local_ones_give(n_rows, n_components):
    da = pytest.importorskip("dask.array")
    rankings = np.random.default_rng(0).random((n_rows, 6)).argsort(axis=1).clip(max=3)
    local = MallowsFeatures(n_components, n_draws=4, random_state=0).fit(rankings)
    lazy = da.from_array(rankings, chunks=(300, 4))
    features = MallowsFeatures(n_components, n_draws=4, random_state=0).fit(lazy)
    assert features.nu_ == local.nu_
    Z = features.transform(lazy)
    assert isinstance(Z, da.Array)
    assert Z.shape == (n_rows, n_components)
    assert Z.chunks[0][0] == 300
    np.testing.assert_array_equal(Z.compute(), local.transform(rankings))
    unknown = lazy[lazy[:, 0] >= 0]
    np.testing.assert_array_equal(features.transform(unknown).compute(), local.transform(rankings))


def test_dask_data_frames_keep_names():
    dd = pytest.importorskip("dask.dataframe")
    names = list("abcd")
    frame = pd.DataFrame(np.random.default_rng(0).random((50, 4)).argsort(axis=1), columns=names)
    lazy = dd.from_pandas(frame, npartitions=3)
    features = MallowsFeatures(16, nu=0.1, random_state=0).fit(lazy)
    assert features.feature_names_in_.tolist() == names
    local = MallowsFeatures(16, nu=0.1, random_state=0).fit_transform(frame)
    np.testing.assert_array_equal(features.transform(lazy).compute(), local)
    with pytest.raises(ValueError, match="feature names"):
        features.transform(lazy[names[::-1]])
