"""Kernel matrices: repetitions, blocks, normalization, distances."""

import numpy as np
import pytest

from skrank._rankings import densify
from skrank.kernels import KendallKernel, MallowsKernel, MarginalizedKernel, PartialRankingKernel
from skrank.kernels._gram import kernel_matrix, pairwise_matrix, prepare, spread

RANKINGS = densify(np.random.default_rng(0).integers(0, 3, (40, 5)))


@pytest.mark.parametrize("kernel", [MallowsKernel(0.2), MarginalizedKernel(MallowsKernel(0.2), n_draws=3)])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("distance", [False, True])
def test_the_matrix_is_that_of_single_pairs(kernel, normalize, distance):
    rows, columns = prepare(kernel, RANKINGS), prepare(kernel, RANKINGS[:7])
    matrix = kernel_matrix(kernel, rows, columns, normalize=normalize, distance=distance)
    for i, j in ((0, 0), (3, 5), (39, 6)):
        own, other = kernel.diag(RANKINGS[[i, j]])
        value = kernel(RANKINGS[[i]], RANKINGS[[j]])[0, 0]
        if normalize:
            own, other, value = 1, 1, value / np.sqrt(own * other)
        assert matrix[i, j] == pytest.approx(own + other - 2 * value if distance else value, abs=1e-12)
    symmetric = kernel_matrix(kernel, rows, normalize=normalize, distance=distance)
    np.testing.assert_allclose(symmetric[:, :7], matrix, rtol=1e-12, atol=1e-15)


def test_distinct_rankings_are_prepared_where_half_of_the_rows_are_repetitions():
    kernel = KendallKernel()
    distinct = densify(np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2]]))
    assert prepare(kernel, distinct).inverse is None
    assert prepare(kernel, distinct[[0, 0, 1, 2, 2]]).inverse is None
    content, inverse = prepare(kernel, distinct[[2, 0, 0, 2]])
    np.testing.assert_array_equal(content[inverse], distinct[[2, 0, 0, 2]])
    assert len(content) == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_fill_the_matrix(n_jobs):
    values = np.random.default_rng(1).random((11, 11))
    values += values.T
    sizes = []

    def evaluate(rows, columns=None):
        sizes.append(len(rows))
        return values[np.ix_(rows, rows if columns is None else columns)]

    places = np.arange(11)
    np.testing.assert_array_equal(pairwise_matrix(evaluate, places, block_rows=4, n_jobs=n_jobs), values)
    assert max(sizes) == 4
    block = pairwise_matrix(evaluate, places, places[2:5], block_rows=3, n_jobs=n_jobs)
    np.testing.assert_array_equal(block, values[:, 2:5])


def test_spread_is_indexing():
    values = np.random.default_rng(2).random((4, 3, 2))
    rows, columns = np.array([3, 0, 0, 2, 3]), np.array([1, 1, 2, 0])
    np.testing.assert_array_equal(spread(values, rows, columns), values[rows][:, columns])
    np.testing.assert_array_equal(spread(values, rows, None), values[rows])
    np.testing.assert_array_equal(spread(values, None, columns), values[:, columns])
    assert spread(values, None, None) is values


def test_too_many_items_for_a_kernel_are_refused_at_once():
    with pytest.raises(ValueError, match="ranks 9 items, but DiffusionKernel is computed for up to 8"):
        PartialRankingKernel("diffusion").fit([list(range(9))])
