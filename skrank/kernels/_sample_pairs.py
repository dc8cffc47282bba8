"""Means of a kernel over all pairs of samples, in bulk.

The value for two partial rankings with M samples each is a mean over M x M pairs. A kernel that is a function of the
Kendall distance takes three steps: distances, one look-up in a table, a running sum, tile by tile in cache. The pair
signs of a full ranking are bits of 64-bit words (one word up to 11 items), and a distance is the number of bits in
which two rankings' words differ: faster than a product of sign matrices, and exact. Other kernels are evaluated on the
samples of a tile. No array over all pairs of samples of all rankings is ever made.
"""

from functools import partial

import numpy as np
from sklearn.utils import gen_batches

from skrank._pair_words import WORD_BITS, full_words
from skrank._rankings import row_blocks
from skrank.metrics._distances import ranking_distances

# Rankings of a task for a worker.
TASK_ROWS = 64
# Sample pairs of a tile of words: their 64-bit words, 256 KiB, stay in a core's second-level cache.
TILE_PAIRS = 1 << 15
# Samples on each side of a tile of another kernel, and of a call for a few values.
TILE_SAMPLES, CALL_SAMPLES = 720, 128


# ---------------------------------------------------------------- kernel values
def distance_tables(kernel, n_items, gradient=False):
    """Kernel values, and derivatives in `theta`, at the Kendall distances 0, ..., n (n - 1) / 2.

    Returns
    -------
    tables : ndarray of shape (1 or 1 + n_dims, n_distances), float64
        None if the kernel is not a function of the Kendall distance.
    """
    if kernel._metric != "kendall":
        return None
    distances = np.arange(n_items * (n_items - 1) // 2 + 1.0)
    values = np.asarray(kernel._of_distance(distances, n_items), float)[None]
    if not gradient:
        return values
    derivatives = np.asarray(kernel._of_distance_gradient(distances, n_items), float)
    return np.concatenate([values, derivatives.reshape(len(distances), -1).T])


def n_differences(words, other_words):
    """Kendall distances of full rankings from their broadcast words, (n_words, ...)."""
    counts = np.bitwise_count(words ^ other_words)
    return counts[0] if len(counts) == 1 else counts.sum(axis=0, dtype=np.intp)


# ---------------------------------------------------------------- all pairs of rankings
def pair_means(kernel, samples, other=None):
    """Mean kernel value over all sample pairs, for all pairs of rankings.

    Parameters
    ----------
    kernel : RankingKernel
        On full rankings.
    samples, other : Samples
        Of n_rankings and n_other rankings; other None means `samples`, and the result is then exactly symmetric.

    Returns
    -------
    means : ndarray of shape (n_rankings, n_other), float64
    """
    means = means_function(kernel, samples.positions.shape[-1])(samples, samples if other is None else other)
    if other is None:
        _symmetrize(means)
    return means[0]


def pair_means_and_gradient(kernel, samples):
    """As `pair_means`, with the derivatives in the kernel's `theta` on the last axis of a second array."""
    n_rankings = len(samples)
    means_of = means_function(kernel, samples.positions.shape[-1], gradient=True)
    results = np.empty((1 + kernel.n_dims, n_rankings, n_rankings))
    for rows in row_blocks(n_rankings, 16 * len(results) * n_rankings, max_rows=TASK_ROWS):
        values = means_of(samples[rows], samples[rows.start :])
        _symmetrize(values[:, :, : rows.stop - rows.start])
        results[:, rows, rows.start :] = values
        results[:, rows.start :, rows] = values.transpose(0, 2, 1)
    means, *gradient = results
    return means, np.stack(gradient, axis=-1) if gradient else np.empty((*means.shape, 0))


def _symmetrize(squares):
    # Sums of a pair in either order agree to rounding alone.
    below = np.tril_indices(squares.shape[1], -1)
    squares[:, below[0], below[1]] = squares[:, below[1], below[0]]


def means_function(kernel, n_items, gradient=False):
    """Function (samples, other samples) -> means, shape (n_results, n_rankings, n_other)."""
    tables = distance_tables(kernel, n_items, gradient)
    if tables is not None:
        return partial(_table_means, tables)
    if gradient:
        return partial(_evaluated_means, partial(_tile_and_gradient, kernel), 1 + kernel.n_dims)
    return partial(_evaluated_means, kernel._between, 1)


def evaluated_means(evaluate, samples, other=None):
    """As `pair_means`, of a function (positions, other positions) -> values in place of a kernel."""
    means = _evaluated_means(evaluate, 1, samples, samples if other is None else other)
    if other is None:
        _symmetrize(means)
    return means[0]


# ---------------------------------------------------------------- functions of the Kendall distance
def _table_means(tables, samples, other):
    n_draws, (n_other, n_other_draws) = samples.positions.shape[1], other.positions.shape[:2]
    words = full_words(samples.positions)
    weights, other_weights = samples.weights, other.weights
    if (weights is None) != (other_weights is None):
        weights, other_weights = _weights(samples), _weights(other)
    means = np.zeros((len(tables), len(samples), n_other))
    for packed in row_blocks(n_other, 8 * len(words) * n_other_draws):
        other_words = full_words(other.positions[packed])
        for columns in gen_batches(packed.stop - packed.start, max(TILE_PAIRS // n_other_draws, 1)):
            shifted = slice(packed.start + columns.start, packed.start + columns.stop)
            # Draws before rankings: sums over draws then run over contiguous values.
            tile = other_words[:, columns].transpose(0, 2, 1)
            if weights is None:
                _add_tile(tables, words, tile, means[:, :, shifted])
            else:
                tile_weights = np.ascontiguousarray(other_weights[shifted].T)
                _add_looked_up(tables, words, tile, None, means[:, :, shifted], weights, tile_weights)
    if weights is None:
        means /= n_draws * n_other_draws
    return means


def _weights(samples):
    shape = samples.positions.shape[:2]
    return np.full(shape, 1 / shape[1]) if samples.weights is None else samples.weights


def _add_tile(tables, words, other_words, sums):
    n_words, n_draws, n_other = other_words.shape
    n_distances = tables.shape[1]
    if n_distances > 256:
        return _add_looked_up(tables, words, other_words, None, sums)
    # Two bytes of distances read as one 16-bit number index a table of sums of two values: half the look-ups.
    two, odd = divmod(n_draws, 2)
    if two:
        padded = np.zeros((len(tables), 256))
        padded[:, :n_distances] = tables
        pair_tables = (padded[:, :, None] + padded[:, None]).reshape(len(tables), -1)
        partners = other_words[:, : 2 * two].reshape(n_words, two, 2, n_other).transpose(0, 1, 3, 2)
        _add_looked_up(pair_tables, words, partners.reshape(n_words, two, 2 * n_other), np.uint16, sums)
    if odd:
        _add_looked_up(tables, words, other_words[:, -1:], None, sums)


def _add_looked_up(tables, words, other_words, index_type, sums, weights=None, other_weights=None):
    """Add table values at the distances from all samples `words` to all `other_words`, summed over samples, to `sums`.

    Distances are bytes that `index_type` views as indices of the tables; None means indices themselves, of any size.
    """
    n_words, n_rankings, n_draws = words.shape
    n_partners, n_other = other_words.shape[1], sums.shape[2]
    other_words = np.ascontiguousarray(other_words).reshape(n_words, -1)
    n_rows = min(max(TILE_PAIRS // other_words.shape[1], 1), n_rankings)
    differences = np.empty((n_rows, other_words.shape[1]), np.uint64)
    counts = np.empty(differences.shape, np.uint8)
    distances = np.empty(differences.shape, np.min_scalar_type(WORD_BITS * n_words if index_type is None else 255))
    index = distances if index_type is None else distances.view(index_type)
    values = np.empty(index.shape)
    for rows in gen_batches(n_rankings, n_rows):
        used = slice(rows.stop - rows.start)
        for sample in range(n_draws):
            for word in range(n_words):
                np.bitwise_xor(words[word, rows, sample, None], other_words[word], out=differences[used])
                if word == 0:
                    np.bitwise_count(differences[used], out=distances[used])
                else:
                    distances[used] += np.bitwise_count(differences[used], out=counts[used])
            for table, total in zip(tables, sums, strict=True):
                found = np.take(table, index[used], out=values[used], mode="clip").reshape(-1, n_partners, n_other)
                if weights is None:
                    total[rows] += np.add.reduce(found, axis=1)
                else:
                    found *= other_weights
                    total[rows] += np.add.reduce(found, axis=1) * weights[rows, sample, None]


# ---------------------------------------------------------------- other kernels
def _evaluated_means(tile, n_results, samples, other):
    """Means from a function (positions, other positions) -> values of all sample pairs of a tile."""
    (n_rankings, n_draws, n_items), (n_other, n_other_draws, _) = samples.positions.shape, other.positions.shape
    means = np.empty((n_results, n_rankings, n_other))
    for rows in gen_batches(n_rankings, max(TILE_SAMPLES // n_draws, 1)):
        for columns in gen_batches(n_other, max(TILE_SAMPLES // n_other_draws, 1)):
            # Samples before rankings: sums over samples then run over contiguous values.
            left = samples.positions[rows].transpose(1, 0, 2)
            right = other.positions[columns].transpose(1, 0, 2)
            values = tile(left.reshape(-1, n_items), right.reshape(-1, n_items))
            values = values.reshape(n_results, *left.shape[:2], *right.shape[:2])
            weights, other_weights = _weights(samples)[rows], _weights(other)[columns]
            if other.weights is None:
                values = values.mean(axis=3)
            else:
                values = np.einsum("kmanb,bn->kmab", values, other_weights)
            if samples.weights is None:
                means[:, rows, columns] = values.mean(axis=1)
            else:
                means[:, rows, columns] = np.einsum("kmab,am->kab", values, weights)
    return means


def _tile_and_gradient(kernel, positions, other):
    # Kernels give gradients of square matrices alone: the corner of that of both sides together.
    n_left = len(positions)
    values, derivatives = kernel._pairwise_and_gradient(kernel._prepare(np.concatenate([positions, other])))
    corner = np.concatenate([values[..., None], derivatives], axis=-1)[:n_left, n_left:]
    return np.moveaxis(corner, -1, 0)


# ---------------------------------------------------------------- the samples of one ranking
def own_pair_values(kernel, positions, other):
    """Kernel values between two sets of full rankings for each ranking.

    Parameters
    ----------
    positions : ndarray of shape (n_rankings, n_left, n_items)
    other : ndarray of shape (n_rankings, n_right, n_items)

    Returns
    -------
    values : ndarray of shape (n_rankings, n_left, n_right)
    """
    n_items = positions.shape[-1]
    tables = distance_tables(kernel, n_items)
    if tables is None:
        return _evaluated_pair_values(kernel, positions, other)
    words, other_words = full_words(positions), full_words(other)
    values = np.empty((len(positions), positions.shape[1], other.shape[1]))
    for rows in row_blocks(len(values), 16 * values[0].size * len(words), max_rows=256):
        distances = n_differences(words[:, rows, :, None], other_words[:, rows, None])
        np.take(tables[0], distances, out=values[rows], mode="clip")
    return values


def _evaluated_pair_values(kernel, positions, other):
    if kernel._metric is not None:
        options = {"metric": kernel._metric, **kernel._metric_params}
        values = np.stack([ranking_distances(*rows, **options) for rows in zip(positions, other, strict=True)])
        return np.asarray(kernel._of_distance(values, positions.shape[-1]), float)
    # A call takes longer than what a few rankings more cost.
    (n_rankings, n_left, n_items), n_right = positions.shape, other.shape[1]
    values = np.empty((n_rankings, n_left, n_right))
    for rows in gen_batches(n_rankings, max(CALL_SAMPLES // max(n_left, n_right), 1)):
        both = kernel._between(positions[rows].reshape(-1, n_items), other[rows].reshape(-1, n_items))
        size = rows.stop - rows.start
        values[rows] = both.reshape(size, n_left, size, n_right)[np.arange(size), :, np.arange(size)]
    return values


def own_pair_means(kernel, samples):
    """Mean kernel value over all pairs of a ranking's own samples, the diagonal of `pair_means`."""
    n_rankings, n_draws, _ = samples.positions.shape
    means = np.empty(n_rankings)
    for rows in row_blocks(n_rankings, 16 * n_draws**2, max_rows=1024):
        part = samples[rows]
        values = own_pair_values(kernel, part.positions, part.positions)
        weights = _weights(part)
        means[rows] = np.einsum("rij,ri,rj->r", values, weights, weights)
    return means


def strangers_means(kernel, samples, other):
    """Mean kernel value over all pairs of two independent sets of samples of each ranking, shape (n_rankings,)."""
    values = np.empty(len(samples))
    for rows in gen_batches(len(values), TASK_ROWS):
        block, other_block = samples[rows], other[rows]
        pairs = own_pair_values(kernel, block.positions, other_block.positions)
        if block.weights is None:
            values[rows] = pairs.mean(axis=(1, 2))
        else:
            values[rows] = np.einsum("rij,ri,rj->r", pairs, block.weights, other_block.weights)
    return values
