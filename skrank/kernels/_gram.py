"""Kernel matrices of all kernels: repeated rankings, blocks of rows, normalization and distances.

A kernel prepares rankings once, ``content = kernel._prepare(ranks)``: most keep them as they are, a sampled kernel
draws its samples. ``kernel._pairwise(content, other_content)`` then gives the values between blocks of rows. Whatever
is common to all matrices is done here, on the distinct rankings.
"""

import contextlib
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import gen_batches
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank._rankings import aggregate, row_blocks
from skrank._sparse_rankings import Lists, to_ranks

BLOCK_ROWS = 128
# Blocks of a matrix that could be computed at once, but whose progress is reported.
TRACKED_BLOCKS = 16
# Squared distances below this proportion of the norms are rounding: those of equal rankings.
ROUNDING = 1e-12


class Prepared(NamedTuple):
    """Rankings as a kernel computes with them.

    content : Any
        What the kernel has prepared: it has a length, and slices of rows can be taken of it.
    inverse : ndarray of shape (n_rows,), or None
        Which row of `content` each ranking is; None means row by row.
    """

    content: Any
    inverse: np.ndarray | None


def prepare(kernel, ranks):
    """Prepare rankings for a kernel, densified ones or `Lists`; each distinct one once if half of them are repeated."""
    if isinstance(ranks, Lists):
        lists = kernel._prepare_lists(ranks)
        if lists is not None:
            return Prepared(lists, None)
        ranks = to_ranks(ranks)
    if kernel._is_function:
        table = aggregate(ranks)
        if 2 * len(table.ranks) <= len(ranks):
            return Prepared(kernel._prepare(table.ranks), table.inverse)
    return Prepared(kernel._prepare(ranks), None)


# ---------------------------------------------------------------- the matrix
def kernel_matrix(kernel, rankings, other=None, *, normalize=False, distance=False, n_jobs=None, track=None):
    """Kernel values, or squared distances, between all rankings of one or two sets.

    Parameters
    ----------
    kernel : RankingKernel
    rankings, other : Prepared
        By this kernel; `other` None means `rankings`, and the matrix is then symmetric.
    normalize : bool, default=False
        Divide each value by the square roots of both rankings' values with themselves.
    distance : bool, default=False
        Return K(R, R) + K(R', R') - 2 K(R, R').
    n_jobs : int, default=None
        Number of joblib workers that take blocks of rows.
    track : callable, default=None
        ``track(blocks, n_blocks)`` iterates over the blocks as they are computed, and may report it.

    Returns
    -------
    matrix : ndarray of shape (n_rankings, n_other), float64
    """
    right = rankings if other is None else other
    content, other_content = rankings.content, None if other is None else other.content
    options = {"block_rows": kernel._block_rows, "n_jobs": n_jobs, "track": track}
    matrix = pairwise_matrix(kernel._pairwise, content, other_content, **options)
    if normalize or distance:
        norms = kernel._diag(content)
        other_norms = norms if other is None else kernel._diag(other_content)
        if normalize:
            norms, other_norms = normalize_kernel(matrix, norms, other_norms)
        if distance:
            kernel_to_distance(matrix, norms, other_norms)
    return spread(matrix, rankings.inverse, right.inverse)


def kernel_matrix_and_gradient(kernel, rankings):
    """The symmetric kernel matrix, and its derivatives in `theta` on the last axis of a second array."""
    gram, gradient = kernel._pairwise_and_gradient(rankings.content)
    return spread(gram, rankings.inverse, rankings.inverse), spread(gradient, rankings.inverse, rankings.inverse)


# ---------------------------------------------------------------- blocks of rows
def pairwise_matrix(evaluate, left, right=None, *, block_rows=None, n_jobs=None, track=None):
    """``evaluate(left, right)`` by blocks of rows; right None means the symmetric ``evaluate(left)``.

    `block_rows` None means as many at once as pays. See `kernel_matrix` for `n_jobs` and `track`.
    """
    matrix = None
    for rows, values in computed_blocks(evaluate, left, right, block_rows, n_jobs, track):
        if len(values) == len(left):
            return values
        if matrix is None:
            matrix = np.empty((len(left), len(left if right is None else right)))
        if right is None:
            matrix[rows, rows.start :] = values
            matrix[rows.start :, rows] = values.T
        else:
            matrix[rows] = values
    return matrix


def computed_blocks(evaluate, left, right, block_rows, n_jobs, track):
    """Generate (rows, values) of a matrix; where it is symmetric, the values from the diagonal on."""
    n_workers = effective_n_jobs(n_jobs)
    small = block_rows is not None
    if not small and n_workers == 1 and track is None:
        yield slice(0, len(left)), evaluate(left, right)
        return
    if not small:
        # Several blocks for each worker even out the rows of a triangle.
        block_rows = max(-(-len(left) // max(4 * n_workers, 0 if track is None else TRACKED_BLOCKS)), 1)
    row_bytes = 8 * len(left if right is None else right) * 2 * n_workers
    blocks = list(row_blocks(len(left), row_bytes, max_rows=block_rows))
    # Everything and slices: a cluster is sent each array once.
    tasks = (delayed(_block)(evaluate, left, rows, right, small) for rows in blocks)
    # Workers are the threads; a product inside one of them uses no more.
    with threadpool_limits(1, "blas") if n_workers > 1 else contextlib.nullcontext():
        computed = Parallel(n_jobs, prefer="threads", return_as="generator")(tasks)
        yield from zip(blocks, computed if track is None else track(computed, len(blocks)), strict=True)


def _block(evaluate, left, rows, right, small):
    if right is not None:
        return evaluate(left[rows], right)
    if small:
        values = evaluate(left[rows], left[rows.start :])
        # Sums of a pair in either order agree to rounding alone.
        below = np.tril_indices(len(values), -1)
        values[below] = values[below[::-1]]
        return values
    own, later = evaluate(left[rows]), left[rows.stop :]
    return np.hstack([own, evaluate(left[rows], later)]) if len(later) else own


# ---------------------------------------------------------------- normalization, distances, repetitions
def normalize_kernel(matrix, norms, other_norms):
    """Divide by the square roots of the diagonals, in place; returns the diagonals of the result."""
    scale, other_scale = (np.where(values > 0, np.sqrt(values), 1.0) for values in (norms, other_norms))
    for rows in gen_batches(len(matrix), BLOCK_ROWS):
        matrix[rows] /= np.multiply.outer(scale[rows], other_scale)
    return (norms > 0).astype(float), (other_norms > 0).astype(float)


def kernel_to_distance(matrix, norms, other_norms):
    """Turn kernel values into squared distances of the embeddings, in place."""
    for rows in gen_batches(len(matrix), BLOCK_ROWS):
        block = matrix[rows]
        total = np.add.outer(norms[rows], other_norms)
        np.subtract(total, 2 * block, out=block)
        block[block <= ROUNDING * total] = 0


def spread(values, rows, columns):
    """``values[rows][:, columns]``, each distinct row gathered once and copied to where it belongs; None means all."""
    if rows is None:
        return values if columns is None else np.take(values, columns, axis=1)
    if columns is None:
        return values[rows]
    result = np.empty((len(rows), len(columns), *values.shape[2:]))
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(len(values) + 1))
    for distinct, (start, stop) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        row = values[distinct][columns]
        for place in order[start:stop]:
            result[place] = row
    return result
