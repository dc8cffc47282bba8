"""Mixtures on Dask's arrays and data frames: the fit of the draw, polished where the partitions lie."""

import pickle

import numpy as np
import pandas as pd
import pytest

from skrank import MallowsMixture
from skrank.datasets import make_mallows_mixture
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture import SeparatedMallowsMixture
from skrank.mixture._partitions import _engines

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

FULL, _ = make_mallows_mixture(4000, 7, n_components=2, phi=0.5, random_state=3)
TIED = FULL.clip(max=3)
GAPS = np.where((np.random.default_rng(2).random(FULL.shape) < 0.3) & (np.arange(7) > 1), np.nan, FULL)
OPTIONS = {"subsample": 200, "random_state": 0}


@pytest.fixture(autouse=True)
def scheduler():
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_close(mixture, local, atol=1e-3):
    np.testing.assert_array_equal(mixture.centers_, local.centers_)
    np.testing.assert_allclose(mixture.weights_, local.weights_, atol=atol)
    np.testing.assert_allclose(mixture.dispersions_, local.dispersions_, atol=atol)
    assert mixture.lower_bound_ == pytest.approx(local.lower_bound_, abs=1e-6)
    assert mixture.description_length_ == pytest.approx(local.description_length_, abs=0.01)
    assert mixture.n_samples_required_ == local.n_samples_required_


@pytest.mark.parametrize("X", [FULL, TIED, GAPS], ids=["full", "tied", "missing"])
@pytest.mark.parametrize("n_components", [2, "auto"])
def test_dask_fits_are_local_ones(X, n_components):
    options = {"missing": "subset", "max_components": 3, "criterion": "mdl", **OPTIONS}
    mixture = MallowsMixture(n_components, **options).fit(da.from_array(X, chunks=(700, 4)))
    assert_close(mixture, MallowsMixture(n_components, **options).fit(X))
    assert mixture.converged_
    assert mixture.path_[1].description_length == mixture.description_length_


def test_few_rows_are_fitted_as_local_ones():
    options = {"random_state": 0}
    mixture = MallowsMixture(2, **options).fit(da.from_array(GAPS[:500], chunks=(100, 7)))
    local = MallowsMixture(2, **options).fit(GAPS[:500])
    np.testing.assert_array_equal(mixture.dispersions_, local.dispersions_)
    assert mixture.missing_log_likelihoods_ == local.missing_log_likelihoods_


def test_separated_mixtures_take_partitions():
    X, _ = make_mallows_mixture(4000, 7, n_components=2, phi=[0.3, 0.6], random_state=3)
    mixture = SeparatedMallowsMixture(2, **OPTIONS).fit(da.from_array(X, chunks=(1000, 7)))
    assert_close(mixture, SeparatedMallowsMixture(2, **OPTIONS).fit(X))
    assert mixture.moment_weights_ == pytest.approx(mixture.weights_, abs=0.15)


@pytest.mark.parametrize("X", [FULL, TIED, GAPS], ids=["full", "tied", "missing"])
def test_predictions_are_lazy_and_equal_local_ones(X):
    lazy = da.from_array(X, chunks=(700, 7))
    mixture = MallowsMixture(2, **OPTIONS).fit(lazy)
    for method in ("predict", "predict_proba", "score_samples"):
        predicted = getattr(mixture, method)(lazy)
        assert isinstance(predicted, da.Array)
        expected = getattr(mixture, method)(X)
        assert predicted.chunks[0] == lazy.chunks[0]
        assert predicted.shape == expected.shape
        np.testing.assert_allclose(predicted.compute(), expected, rtol=1e-12)
    for method in ("score", "bic", "aic"):
        assert getattr(mixture, method)(lazy) == pytest.approx(getattr(mixture, method)(X))


def test_no_partition_reaches_the_client():
    received = []

    def get(graph, keys, **options):
        result = dask.get(graph, keys, **options)
        received.append(len(pickle.dumps(result)))
        return result

    X = da.from_array(FULL, chunks=(1000, 7), asarray=True)
    with dask.config.set(scheduler=get):
        MallowsMixture(2, subsample=100, random_state=0).fit(X)
    # One draw of 400 rows, then sums: 21 pairs and 8 buckets of two components.
    assert received[0] < 1.1 * 400 * 7 * FULL.itemsize
    assert max(received[1:]) < 4000 < FULL[:1000].nbytes


def test_a_cluster_gives_the_same():
    distributed = pytest.importorskip("distributed")
    X = da.from_array(TIED, chunks=(1000, 7))
    local = MallowsMixture(2, **OPTIONS).fit(X)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster), dask.config.set(scheduler="distributed"):
        mixture = MallowsMixture(2, **OPTIONS).fit(X.persist())
        np.testing.assert_array_equal(mixture.centers_, local.centers_)
        np.testing.assert_allclose(mixture.dispersions_, local.dispersions_, rtol=1e-9)
        np.testing.assert_array_equal(mixture.predict(X).compute(), local.predict(TIED))


def test_rows_that_order_nothing_do_not_count():
    X = GAPS.copy()
    X[:1000] = np.nan
    lazy = da.from_array(X, chunks=(700, 7))
    mixture = MallowsMixture(2, **OPTIONS)
    with pytest.warns(InsufficientDataWarning, match="order no two items"):
        mixture.fit(lazy)
    assert mixture.missing_ == "subset"
    np.testing.assert_allclose(mixture.predict_proba(lazy)[:700].compute(), np.tile(mixture.weights_, (700, 1)))
    assert mixture.score(lazy) == pytest.approx(mixture.score(X[1000:]))


def test_what_is_refused_names_the_remedy():
    lazy = da.from_array(FULL, chunks=(1000, 7))
    with pytest.raises(ValueError, match="sample_weight is not supported.*Repeat rows"):
        MallowsMixture(2).fit(lazy, sample_weight=np.ones(4000))
    with pytest.raises(ValueError, match="groups is not supported"):
        MallowsMixture(2).fit(lazy, groups=np.arange(4000))
    with pytest.raises(ValueError, match="missing='marginal' needs all rankings in one place"):
        MallowsMixture(2, missing="marginal", **OPTIONS).fit(da.from_array(GAPS, chunks=(1000, 7)))
    mixture = MallowsMixture(2, **OPTIONS).fit(lazy)
    for method in (mixture.predict_ranking, mixture.stability, mixture.bootstrap):
        with pytest.raises(TypeError, match="Bring rows here"):
            method(lazy)
    wrong = np.where(np.arange(1000)[:, None] == 500, np.inf, FULL[:1000])
    with pytest.raises(ValueError, match=r"In rows 3000 to 3999 of X: X\[500, 0\] is inf"):
        next(_engines(wrong, 3000))


def test_data_frames_keep_names():
    dd = pytest.importorskip("dask.dataframe")
    names = list("abcdefg")
    frame = pd.DataFrame(FULL, columns=names)
    lazy = dd.from_pandas(frame, npartitions=5)
    mixture = MallowsMixture(2, **OPTIONS).fit(lazy)
    assert mixture.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(mixture.predict(lazy).compute(), mixture.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        mixture.predict(lazy[names[::-1]])
