"""PolynomialKendallKernel: values against the definition and enumeration."""

import numpy as np
import pytest
from sklearn import clone

from skrank._mallows import log_mahonian
from skrank.kernels import KendallKernel, PartialRankingKernel, PolynomialKendallKernel
from skrank.kernels._polynomial import inversion_cumulants

TIES = [[0, 1, 2, 2], [2, 2, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 2, 3], [1, 0, 0, 1]]


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7])
def test_values_are_means_over_consistent_rankings(degree, consistent_rankings):
    kernel = PolynomialKendallKernel(degree)
    support = [consistent_rankings(row) for row in TIES]
    truth = np.array([[((1 + KendallKernel()(a, b)) ** degree).mean() for b in support] for a in support])
    np.testing.assert_allclose(kernel(TIES), truth, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel(TIES[:2], TIES), truth[:2], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(TIES), np.diag(truth), rtol=1e-10)
    assert np.linalg.eigvalsh(kernel(TIES)).min() > -1e-10
    full = support[3]
    np.testing.assert_allclose(kernel(full), (1 + KendallKernel()(full)) ** degree, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_items", [1, 2, 30])
def test_any_number_of_items(n_items):
    X = np.random.default_rng(0).integers(0, 4, (6, n_items))
    kernel = PolynomialKendallKernel(3)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-10)


def test_cumulants_of_inversions():
    counts = np.exp(log_mahonian(6))
    law, distances = counts / counts.sum(), np.arange(len(counts))
    centered = distances - law @ distances
    second, fourth = law @ centered**2, law @ centered**4
    assert inversion_cumulants(6, 2)[6] == pytest.approx(second)
    assert inversion_cumulants(6, 4)[6] == pytest.approx(fourth - 3 * second**2)
    assert (inversion_cumulants(6, 2)[:2] == 0).all()


def test_as_a_name_and_an_object():
    X = np.array([[0, 1, 2, 2], [2, np.nan, 0, 1], [0, 1, 2, 3]])
    model = PartialRankingKernel("polynomial", n_draws=2000, random_state=0)
    gram = model.fit_transform(X)
    assert model.method_ != "exact"
    assert model.nu_ is None
    assert gram[0, 2] == pytest.approx(PolynomialKendallKernel()(X[::2])[0, 1], rel=0.02)
    kernel = PolynomialKendallKernel(degree=3)
    assert clone(kernel) == kernel
    assert repr(kernel) == "PolynomialKendallKernel(degree=3)"
    with pytest.raises(ValueError, match="Row 1 of X has missing items"):
        kernel(X)
    with pytest.raises(ValueError, match="degree of PolynomialKendallKernel must be a positive int"):
        PolynomialKendallKernel(degree=0)([[0, 1]])
