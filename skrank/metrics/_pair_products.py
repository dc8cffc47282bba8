"""Inner products of two sets of rankings in blocks: the bulk of every Kendall-based distance and kernel.

Two rankings' pair signs have the inner product n_concordant - n_discordant, so the Kendall distances of two sets of
rankings are one matrix product. Signs are small integers: their float32 product is exact below 2^24, and twice as fast
as in float64. Whatever follows the product is done tile by tile, while the tile is in the cache.
"""

import numpy as np
from sklearn import get_config
from sklearn.utils import gen_batches

from skrank._rankings import (
    bucket_sizes,
    expected_pair_signs,
    has_missing,
    n_ranked,
    pair_indices,
    pair_signs,
    row_blocks,
)

# Tiles of products: enough rows for an efficient matrix product, small enough to stay in the cache afterwards; no more
# rows than columns.
TILE_ROWS, TILE_COLUMNS = 128, 512


def exact_dtype(bound):
    """The fastest float type that is exact for sums of integers whose absolute values sum to at most `bound`."""
    return np.float32 if bound < 2**24 else np.float64


# ---------------------------------------------------------------- blocks
def blocked_products(values, left, right, n_features, dtype, finish, *, symmetric=False, mirror=True):
    """Fill a matrix from the inner products of feature rows that are made block by block, within ``working_memory``.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        What to fill.
    left, right : callable
        ``left(rows, features, out)`` fills `out` with the features of values' rows on two slices; `right` with those of
        its columns. Features of the same function are made once for both.
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
    If all features of `right` fit into half the memory they are made once. If not, features are split and products
    summed over the blocks, for as many rows of `left` at once as fit.
    """
    n_rows, n_columns = values.shape
    itemsize = np.dtype(dtype).itemsize
    budget = int(get_config()["working_memory"] * 2**20) // itemsize
    shared = right is left
    every = slice(0, n_features)
    if 2 * n_features * n_columns <= budget:
        kept = _features(right, slice(0, n_columns), every, dtype)
        for rows in row_blocks(n_rows, 2 * itemsize * n_features):
            block = kept[rows] if shared else _features(left, rows, every, dtype)
            for part in gen_batches(len(block), TILE_ROWS):
                tile_rows = slice(rows.start + part.start, rows.start + part.stop)
                for columns in _tile_columns(tile_rows, n_columns, symmetric):
                    tile = values[tile_rows, columns]
                    finish(block[part] @ kept[columns].T, tile, tile_rows, columns)
                    if symmetric and mirror:
                        _mirror(values, tile_rows, columns)
        return
    width = min(max(budget // (4 * n_columns), 1), n_features)
    for rows in row_blocks(n_rows, 2 * itemsize * (2 * n_columns + (0 if shared else width))):
        first = rows.start if symmetric else 0
        sums = _summed_products(left, right, rows, slice(first, n_columns), gen_batches(n_features, width), dtype)
        for part in gen_batches(len(sums), TILE_ROWS):
            tile_rows = slice(rows.start + part.start, rows.start + part.stop)
            for columns in _tile_columns(tile_rows, n_columns, symmetric):
                tile = values[tile_rows, columns]
                finish(sums[part, columns.start - first : columns.stop - first], tile, tile_rows, columns)
                if symmetric and mirror:
                    _mirror(values, tile_rows, columns)


def _summed_products(left, right, rows, columns, feature_blocks, dtype):
    """Inner products of some rows and columns, summed over blocks of features."""
    sums = np.zeros((rows.stop - rows.start, columns.stop - columns.start), dtype)
    for features in feature_blocks:
        others = _features(right, columns, features, dtype)
        if right is left:  # the rows are among the columns
            block = others[rows.start - columns.start : rows.stop - columns.start]
        else:
            block = _features(left, rows, features, dtype)
        sums += block @ others.T
    return sums


def _features(fill, rows, features, dtype):
    out = np.empty((rows.stop - rows.start, features.stop - features.start), dtype)
    fill(rows, features, out)
    return out


def _tile_columns(rows, n_columns, symmetric):
    starts = range(rows.start if symmetric else 0, n_columns, TILE_COLUMNS)
    return (slice(start, min(start + TILE_COLUMNS, n_columns)) for start in starts)


def _mirror(values, rows, columns):
    """Copy what a tile holds above the diagonal to below it."""
    if columns.start == rows.start:
        square = values[rows, rows]
        np.copyto(square, square.T, where=np.tri(len(square), k=-1, dtype=bool))
        columns = slice(rows.stop, columns.stop)
    values[columns, rows] = values[rows, columns].T


# ---------------------------------------------------------------- pair signs
def sign_products(ranks, other_ranks=None, *, slope=1.0, intercept=0.0):
    """``intercept + slope * <e, e'>`` for the expected pair signs e, e' of two sets of densified rankings.

    Expected over uniformly random consistent full rankings: ties are 0, pairs of a ranked and a missing item fractions.

    Returns
    -------
    values : ndarray of shape (n_samples, n_other_samples), float64
    """
    symmetric = other_ranks is None
    other_ranks = ranks if symmetric else other_ranks
    n_items = ranks.shape[1]
    n_pairs = n_items * (n_items - 1) // 2
    values = np.empty((len(ranks), len(other_ranks)))
    if n_pairs == 0:
        values[:] = intercept
        return values
    if has_missing(ranks) or has_missing(other_ranks):
        dtype, features_of = np.float64, expected_sign_features
    else:
        dtype, features_of = exact_dtype(n_pairs), sign_features

    def finish(products, tile, rows, columns):
        np.multiply(products, slope, out=tile, dtype=np.float64)
        if intercept:
            tile += intercept

    left = features_of(ranks)
    right = left if symmetric else features_of(other_ranks)
    blocked_products(values, left, right, n_pairs, dtype, finish, symmetric=symmetric)
    return values


def sign_features(ranks):
    """Feature function of pair signs for `blocked_products`; nothing may be missing."""
    n_items = ranks.shape[1]

    def fill(rows, pairs, out):
        block = ranks[rows]
        # The pairs (i, i + 1), ..., (i, n - 1) follow each other: no gathering, only differences of contiguous columns.
        start = 0
        for i in range(n_items - 1):
            stop = start + n_items - 1 - i
            if start < pairs.stop and pairs.start < stop:
                first, last = max(start, pairs.start), min(stop, pairs.stop)
                others = block[:, i + 1 + first - start : i + 1 + last - start]
                np.sign(
                    others - block[:, i, None], out=out[:, first - pairs.start : last - pairs.start], casting="unsafe"
                )
            start = stop

    return fill


def expected_sign_features(ranks):
    """Feature function of expected pair signs for `blocked_products`."""
    i, j = pair_indices(ranks.shape[1])

    def fill(rows, pairs, out):
        block, chosen = ranks[rows], (i[pairs], j[pairs])
        for part in small_blocks(out):
            out[part] = expected_pair_signs(block[part], chosen)

    return fill


def kemeny_distances(ranks, other_ranks=None):
    """Pairs that two sets of densified rankings order oppositely, and half of those that one of the two leaves open.

    Returns
    -------
    distances : ndarray of shape (n_samples, n_other_samples), float64
    """
    symmetric = other_ranks is None
    others = ranks if symmetric else other_ranks
    n_features = ranks.shape[1] * (ranks.shape[1] - 1)
    half, other_half = _n_ordered_pairs(ranks) / 2, _n_ordered_pairs(others) / 2
    distances = np.empty((len(ranks), len(others)))
    if n_features == 0:
        distances[:] = 0
        return distances

    def finish(products, tile, rows, columns):
        np.subtract(np.add.outer(half[rows], other_half[columns]), products, out=tile)

    left = order_features(ranks)
    right = left if symmetric else order_features(others)
    blocked_products(distances, left, right, n_features, exact_dtype(n_features), finish, symmetric=symmetric)
    return distances


def _n_ordered_pairs(ranks):
    """How many pairs of items each ranking puts one before the other."""
    return (n_ranked(ranks) ** 2 - (bucket_sizes(ranks) ** 2).sum(axis=1)) // 2


def order_features(ranks):
    """Feature function whose inner products count the pairs that two rankings order alike.

    The features are whether i is before j, for all ordered pairs: first those with i < j, then the same pairs reversed.
    """
    i, j = pair_indices(ranks.shape[1])
    first, second = np.concatenate([i, j]), np.concatenate([j, i])

    def fill(rows, features, out):
        block, chosen = ranks[rows], (first[features], second[features])
        for part in small_blocks(out):
            np.greater(pair_signs(block[part], chosen, dtype=np.int8), 0, out=out[part], casting="unsafe")

    return fill


def small_blocks(features):
    """Slices of rows of a feature matrix so short that whatever is needed to make them stays small."""
    return gen_batches(len(features), max(2**16 // features.shape[1], 1))
