"""Inner products of two sets of rankings in blocks: the bulk of every Kendall-based distance and kernel.

Two rankings' pair signs have the inner product n_concordant - n_discordant, so the Kendall distances of two sets of
rankings are one matrix product. Signs are small integers: their float32 product is exact below 2^24, and twice as fast
as in float64. Whatever follows the product is done tile by tile, while the tile is in the cache.
"""

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from skrank._rankings import expected_pair_signs, has_missing, pair_indices, pair_signs, row_blocks

# Tiles of products: enough rows for an efficient matrix product, small enough to stay in the cache afterwards; no more
# rows than columns.
TILE_ROWS, TILE_COLUMNS = 128, 1024


def exact_dtype(bound):
    """The fastest float type that is exact for sums of integers whose absolute values sum to at most `bound`."""
    return np.float32 if bound < 2**24 else np.float64


def blocked_products(values, left, right, n_features, dtype, finish, *, symmetric=False, mirror=True):
    """Fill a matrix from the inner products of feature rows that are made block by block, within ``working_memory``.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        What to fill.
    left, right : callable
        ``left(rows, features)`` gives the features of values' rows on two slices, an array of their lengths; `right`
        those of its columns. Features of the same function are made once for both.
    n_features : int
    dtype : dtype
        Of the features and their products.
    finish : callable
        ``finish(products, tile, rows, columns)`` turns each tile of products, which it may overwrite, into the tile of
        values at two slices.
    symmetric : bool, default=False
        Whether the values are symmetric: tiles below the diagonal are not computed, but
    mirror : bool, default=True
        copied from those above it.

    Notes
    -----
    If all features of `right` fit into memory they are made once. If not, features are split and products summed over
    the blocks, for as many rows of `left` at once as fit.
    """
    n_rows, n_columns = values.shape
    itemsize = np.dtype(dtype).itemsize
    budget = int(get_config()["working_memory"] * 2**20)
    width = min(max(budget // (2 * itemsize * n_columns), 1), n_features)
    every = slice(0, n_features)
    kept = _assemble(right, slice(0, n_columns), every, dtype) if width == n_features else None
    for rows in row_blocks(n_rows, 4 * itemsize * (width + (n_columns if kept is None else 0))):
        first = rows.start if symmetric else 0
        if kept is None:
            sums = _summed_products(left, right, rows, slice(first, n_columns), gen_batches(n_features, width), dtype)
        else:
            block = kept[rows] if right is left else _assemble(left, rows, every, dtype)
        for part in gen_batches(rows.stop - rows.start, TILE_ROWS):
            tile_rows = slice(rows.start + part.start, rows.start + part.stop)
            for columns in _slices(tile_rows.start if symmetric else 0, n_columns, TILE_COLUMNS):
                if kept is None:
                    products = sums[part, columns.start - first : columns.stop - first]
                else:
                    products = block[part] @ kept[columns].T
                tile = values[tile_rows, columns]
                finish(products, tile, tile_rows, columns)
                if symmetric and mirror:
                    _mirror(values, tile_rows, columns)


def _mirror(values, rows, columns):
    """Copy what a tile holds above the diagonal to below it."""
    if columns.start == rows.start:
        square = values[rows, rows]
        np.copyto(square, square.T, where=np.tri(len(square), k=-1, dtype=bool))
        columns = slice(rows.stop, columns.stop)
    values[columns, rows] = values[rows, columns].T


def _summed_products(left, right, rows, columns, feature_blocks, dtype):
    """Inner products of some rows and columns, summed over blocks of features."""
    sums = np.zeros((rows.stop - rows.start, columns.stop - columns.start), dtype)
    for features in feature_blocks:
        others = _assemble(right, columns, features, dtype)
        if right is left:  # the rows are among the columns
            block = others[rows.start - columns.start : rows.stop - columns.start]
        else:
            block = _assemble(left, rows, features, dtype)
        for part in gen_batches(len(sums), TILE_ROWS):
            sums[part] += block[part] @ others.T
    return sums


def _assemble(features_of, rows, features, dtype):
    # Made in short blocks of rows, so that what a feature function needs meanwhile stays small.
    n_features = features.stop - features.start
    result = np.empty((rows.stop - rows.start, n_features), dtype)
    for part in _slices(rows.start, rows.stop, max(2**16 // n_features, 1)):
        result[part.start - rows.start : part.stop - rows.start] = features_of(part, features)
    return result


def _slices(start, stop, length):
    return (slice(first, min(first + length, stop)) for first in range(start, stop, length))


def sign_products(ranks, other_ranks=None, *, slope=1.0, intercept=0.0):
    """``intercept + slope * <e, e'>`` for the expected pair signs e, e' of two sets of densified rankings.

    Expected over uniformly random consistent full rankings: ties are 0, pairs of a ranked and a missing item fractions.

    Returns
    -------
    values : ndarray of shape (n_samples, n_other_samples), float64
    """
    symmetric = other_ranks is None
    other_ranks = ranks if symmetric else other_ranks
    values = np.empty((len(ranks), len(other_ranks)))
    pairs = pair_indices(ranks.shape[1])
    n_pairs = len(pairs[0])
    if n_pairs == 0:
        values[:] = intercept
        return values
    gaps = has_missing(ranks) or has_missing(other_ranks)
    dtype = np.float64 if gaps else exact_dtype(n_pairs)

    def signs_of(ranks):
        def signs(rows, columns):
            chosen = pairs[0][columns], pairs[1][columns]
            return expected_pair_signs(ranks[rows], chosen) if gaps else pair_signs(ranks[rows], chosen, dtype)

        return signs

    def finish(products, tile, rows, columns):
        np.multiply(products, slope, out=tile, dtype=np.float64)
        if intercept:
            tile += intercept

    left = signs_of(ranks)
    right = left if symmetric else signs_of(other_ranks)
    blocked_products(values, left, right, n_pairs, dtype, finish, symmetric=symmetric)
    return values
