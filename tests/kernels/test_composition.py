"""Combinations of kernels as kernels on rankings."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from skrank._rankings import densify
from skrank.kernels import HammingKernel, KendallKernel, MallowsKernel, MarginalizedKernel, SpearmanKernel
from skrank.kernels._composition import as_ranking_kernel


def test_what_combinations_are_exact_on():
    everything = {"ties", "missing"}

    def exact_on(kernel):
        return as_ranking_kernel(kernel).exact_on

    assert exact_on(KendallKernel() + 2.0 * SpearmanKernel()) == everything
    assert exact_on(KendallKernel() + MallowsKernel()) == {"ties"}
    assert exact_on(ConstantKernel() * HammingKernel()) == everything
    assert exact_on(KendallKernel() * MallowsKernel()) == set()
    assert exact_on(KendallKernel() ** 2) == set()
    assert exact_on(MarginalizedKernel(KendallKernel() ** 2)) == everything


def test_a_number_stands_for_missing_in_all_parts():
    combined = MallowsKernel(missing_values=-1) + KendallKernel()
    assert as_ranking_kernel(combined).missing_values == -1
    assert np.isnan(as_ranking_kernel(MallowsKernel() * HammingKernel()).missing_values)


def test_noise_is_no_function_of_rankings():
    assert as_ranking_kernel(KendallKernel() + ConstantKernel())._is_function
    assert not as_ranking_kernel(KendallKernel() + WhiteKernel())._is_function


def test_equal_rankings_of_two_rows_share_no_noise():
    ranks = densify(np.array([[0, 1, 2], [0, 1, 1]]))
    combined = as_ranking_kernel((KendallKernel() + WhiteKernel(0.5)) * MallowsKernel(0.2))
    expected = KendallKernel().diag(ranks) * MallowsKernel(0.2).diag(ranks)
    np.testing.assert_allclose(combined._between_equals(ranks), expected)


def test_what_is_no_kernel_is_refused():
    with pytest.raises(TypeError, match="kernel must be a kernel object"):
        as_ranking_kernel("mallows")
