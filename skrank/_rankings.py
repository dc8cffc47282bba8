"""The rank matrix: validation, the densified form, aggregation, and the pair signs everything else is computed from.

This is the only module that touches NaN and ties by hand. Everywhere else a set of rankings is its *densified* form: a
2-d array of small signed integers in which ``ranks[s, i]`` is the 0-based number of the bucket that ranking ``s`` puts
item ``i`` in (0 is the most preferred bucket, numbers have no gaps) and ``MISSING`` = -1 where it says nothing of it.
Beware of overflow: at most 128 items give int8, so cast before sums and products.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, gen_batches
from sklearn.utils._chunking import get_chunk_n_rows
from sklearn.utils.validation import _check_sample_weight, validate_data

from skrank._threads import over_chunks

MISSING = -1
LEAST_TOTAL_WEIGHT, LARGEST_TOTAL_WEIGHT = 1e-15, 1e15
LARGEST_EXACT = 2**53


# ---------------------------------------------------------------- validation
def check_rankings(
    X,
    *,
    estimator=None,
    reset=True,
    input_name="X",
    missing_values=np.nan,
    allow_missing=True,
    allow_ties=True,
    remedy=None,
):
    """Validate a rank matrix and return its densified form.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Any finite real numbers, lower is preferred, equal values are ties, NaN (or None, or ``pandas.NA`` in a column
        of a type that has it, or what a masked array masks) is missing.
    estimator : estimator, default=None
        If given, its ``n_features_in_`` and ``feature_names_in_`` are set (`reset=True`) or checked.
    reset : bool, default=True
        See `estimator`.
    input_name : str, default="X"
        The argument's name in error messages.
    missing_values : float, default=NaN
        A number that stands for missing as well, for callers that refuse NaN.
    allow_missing, allow_ties : bool, default=True
        Whether missing and tied items are accepted.
    remedy : str, default=None
        What to do where they are not: the end of that error's message.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_items)
        Signed integers, C-contiguous.

    Raises
    ------
    ValueError
        If X is not 2-d, is empty, holds infinities, or labels instead of numbers; names the row.
    """
    options = {"dtype": "numeric", "ensure_all_finite": False}
    original = X
    if issparse(X):
        raise TypeError(
            f"{input_name} is a sparse matrix, whose zeros would be ranks. Pass {input_name}.toarray() if they are."
        )
    if np.ma.is_masked(X):
        X = X.astype(np.float64).filled(np.nan)
    elif _holds_times(X):
        X = _like(X, _exact_order(X, input_name))
    try:
        if estimator is None:
            values = check_array(X, input_name=input_name, **options)
        else:
            values = validate_data(estimator, X, reset=reset, **options)
        if values.dtype.kind == "O":  # what scikit-learn leaves unconverted: lists with None, categories of pandas
            values = values.astype(np.float64)
    except TypeError as error:
        if "NAType" in str(error):
            raise ValueError(
                f"{input_name} holds pandas.NA among Python objects: give a DataFrame a type that has it, with "
                "DataFrame.astype('Float64'), or write NaN instead."
            ) from error
        raise
    except ValueError as error:
        if "could not convert string" in str(error) or "bytes/strings" in str(error):
            reason = f" ({error})" if "could not convert string" in str(error) else ""  # names the label
            raise ValueError(
                f"{input_name} contains labels, but a rank matrix is expected{reason}. If its rows list items, best "
                "first, convert them with skrank.preprocessing.ranks_from_orderings or OrderingEncoder."
            ) from error
        if "inhomogeneous" in str(error) or "setting an array element" in str(error):
            raise ValueError(
                f"The rows of {input_name} differ in length: a rank matrix has one number for each item, NaN where "
                "nothing is known about it. If rows list items, best first, convert them with "
                "skrank.preprocessing.ranks_from_orderings."
            ) from error
        raise
    if estimator is not None:
        _check_columns(estimator, original, reset, input_name)
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    elif values.dtype.kind == "f":
        _refuse_infinite(values, input_name)
        if getattr(getattr(original, "dtype", None), "kind", "O") != "f" and (np.abs(values) >= LARGEST_EXACT).any():
            values = _exact_order(original, input_name)  # integers that floats cannot tell apart
    if not np.isnan(missing_values):
        values = np.where(values == missing_values, np.nan, values)
    ranks = densify(values)
    if not allow_missing and has_missing(ranks):
        row, item = np.argwhere(ranks == MISSING)[0]
        raise ValueError(
            f"{input_name}[{row}, {item}] is NaN (missing), but rankings without missing items are required here."
            + (f" {remedy}" if remedy else "")
        )
    if not allow_ties:
        tied = rows_with_ties(ranks)
        if tied.any():
            row = int(np.argmax(tied))
            raise ValueError(
                f"Row {row} of {input_name} ties items ({values[row].tolist()}), but rankings without ties are needed "
                "here." + (f" {remedy}" if remedy else "")
            )
    return ranks


def _check_columns(estimator, X, reset, input_name):
    """Store or compare the columns of a DataFrame whose names are no strings, which scikit-learn does not look at."""
    names = item_names(X)
    labels = None if names is None or all(isinstance(name, str) for name in names) else names.tolist()
    if reset:
        vars(estimator).pop("_columns_in_", None)
        if labels is not None:
            estimator._columns_in_ = labels
        return
    fitted = getattr(estimator, "_columns_in_", None)
    if fitted is not None and names is not None and names.tolist() != fitted:
        raise ValueError(
            f"The columns of {input_name} must be the items of the fit in the same order, {fitted}, but are "
            f"{names.tolist()}."
        )


# ---------------------------------------------------------------- numbers that floats do not hold
def _holds_times(X):
    """Whether X is an array or a DataFrame of dates or durations."""
    dtypes = getattr(X, "dtypes", None)
    kinds = [getattr(X, "dtype", None)] if dtypes is None else list(dtypes)
    return any(getattr(kind, "kind", "") in ("m", "M") or getattr(kind, "is_temporal", bool)() for kind in kinds)


def _exact_order(X, input_name):
    """The place of each entry among all distinct ones, NaN where missing: ranks are the order of numbers alone."""
    if np.ma.isMaskedArray(X):
        cells = X.data.astype(object)
        cells[np.ma.getmaskarray(X)] = None
    elif hasattr(X, "rows"):  # polars
        cells = np.array(X.rows(), dtype=object)
    elif hasattr(X, "to_numpy"):
        cells = X.to_numpy(dtype=object)
    else:
        X = np.asarray(X)
        cells = X if X.dtype.kind in "mM" else X.astype(object)
    missing = np.array([_is_missing(value) for value in cells.ravel().tolist()])
    if cells.dtype.kind in "mM":
        missing = np.isnat(cells).ravel()
    codes = np.full(cells.size, np.nan)
    try:
        codes[~missing] = np.unique(cells.ravel()[~missing], return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(f"{input_name} contains values that cannot be compared with each other ({error}).") from error
    return codes.reshape(cells.shape)


def _is_missing(value):
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _like(X, values):
    """The values with the columns of a DataFrame, or as they are."""
    if not hasattr(X, "columns"):
        return values
    return X.__class__(dict(zip(X.columns, values.T, strict=True)))


def _refuse_infinite(values, input_name):
    for rows in row_blocks(len(values), values.shape[1], max_rows=1 << 16):
        infinite = np.isinf(values[rows])
        if infinite.any():
            row, item = np.argwhere(infinite)[0]
            row += rows.start
            raise ValueError(
                f"{input_name}[{row}, {item}] is {values[row, item]}: ranks must be finite. Use NaN for a missing item."
            )


def refuse_masked(values, input_name):
    """Raise on an array with masked entries, whose mask scikit-learn would drop without a word."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{input_name} is a masked array, with {np.ma.count_masked(values)} entries masked: leave these rows out "
            "or fill them with numpy.ma.filled."
        )


def check_weights(sample_weight, X):
    """Validate sample weights: finite, not negative, a sum between 1e-15 and 1e15; float64, ones where None.

    Beyond such sums products of weights overflow, and a weight of 1 is lost to rounding.
    """
    refuse_masked(sample_weight, "sample_weight")
    weights = np.asarray(sample_weight)
    if weights.ndim == 1 and weights.dtype.kind in "fi":
        wrong = ~np.isfinite(weights) | (weights < 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"sample_weight[{row}] is {weights[row]}: weights must be finite and nonnegative. Use the "
                "weight 0 to ignore a ranking."
            )
        if len(weights) and not weights.any():
            raise ValueError("sample_weight is zero for all rows: at least one weight must be non-zero.")
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not LEAST_TOTAL_WEIGHT <= total <= LARGEST_TOTAL_WEIGHT:
        raise ValueError(
            f"sample_weight adds up to {total:.3g}, which must be a number from {LEAST_TOTAL_WEIGHT:g} to "
            f"{LARGEST_TOTAL_WEIGHT:g}. A weight says how often a row was seen: scale them all by one factor."
        )
    return weights


def item_names(X):
    """Column names of a DataFrame, otherwise None."""
    columns = getattr(X, "columns", None)
    return None if columns is None else np.asarray(columns, dtype=object)


def named_like(X, values, columns=None):
    """Values with the rows, columns and type of X if it is a DataFrame of pandas or polars, otherwise as they are.

    `columns` are names for the columns; None means those of X.
    """
    library = type(X).__module__.partition(".")[0]
    if library not in ("pandas", "polars") or not hasattr(X, "columns"):
        return values
    columns = X.columns if columns is None else list(columns)
    if library == "pandas":
        return type(X)(values, index=X.index, columns=columns)
    return type(X)(values, schema=list(columns), orient="row")


def check_same_items(X, Y, ranks, other_ranks):
    """Raise unless two rank matrices, given as they came and densified, have the same items as columns."""
    if ranks.shape[1] != other_ranks.shape[1]:
        raise ValueError(
            f"X ranks {ranks.shape[1]} items but Y ranks {other_ranks.shape[1]}: the columns must be the same."
        )
    names, other_names = item_names(X), item_names(Y)
    if names is not None and other_names is not None and not np.array_equal(names, other_names):
        raise ValueError(
            f"The columns of X and Y must be the same items in the same order, got {names.tolist()} and "
            f"{other_names.tolist()}."
        )


# ---------------------------------------------------------------- blocks
def row_blocks(n_rows, row_bytes, max_rows=None):
    """Slices that cover n_rows: at most max_rows long, and within ``working_memory`` at row_bytes a row."""
    if n_rows == 0:
        return iter(())
    max_rows = n_rows if max_rows is None else min(n_rows, max_rows)
    return gen_batches(n_rows, get_chunk_n_rows(max(int(row_bytes), 1), max_n_rows=max(max_rows, 1)))


# ---------------------------------------------------------------- the densified form
def rank_dtype(n_items):
    """The smallest signed integer type that holds the bucket numbers of n_items items and MISSING."""
    return np.min_scalar_type(-max(n_items, 1))


def densify(values):
    """Densified form of real numbers with NaN, shape (n_samples, n_items)."""
    n_samples, n_items = values.shape
    ranks = np.empty((n_samples, n_items), rank_dtype(n_items))

    def fill(chunk):
        part = ranks[chunk]
        for rows in row_blocks(len(part), 40 * n_items, max_rows=1 << 11):
            part[rows] = _densify_block(values[chunk][rows])

    over_chunks(fill, n_samples)
    return ranks


def _densify_block(values):
    missing = np.isnan(values) if values.dtype.kind == "f" else None
    if missing is not None and not missing.any():
        missing = None
    present = values if missing is None else values[~missing]
    if present.size == 0:
        return np.full(values.shape, MISSING)
    low = present.min()
    # Python's numbers: the span of large integers must not be rounded as floats.
    is_whole = present.dtype.kind in "iu" or bool((present == np.rint(present)).all())
    if is_whole and present.max().item() - low.item() < 64:
        return _densify_small(values, low, missing)
    order = np.argsort(values, axis=1, kind="stable")  # NaN goes last
    ascending = np.take_along_axis(values, order, axis=1)
    bucket = np.zeros(values.shape, np.int64)
    np.cumsum(ascending[:, 1:] != ascending[:, :-1], axis=1, out=bucket[:, 1:])
    ranks = np.empty_like(bucket)
    np.put_along_axis(ranks, order, bucket, axis=1)
    if missing is not None:
        ranks[missing] = MISSING
    return ranks


def _densify_small(values, low, missing):
    # Integers in a range of 64: a row is the set of its values as one word, and the rank of an item the number of set
    # bits below its own. No sort.
    shifted = values - low
    if missing is not None:
        shifted = np.where(missing, 0, shifted)
    bit = np.left_shift(np.uint64(1), shifted.astype(np.uint64))
    seen = np.bitwise_or.reduce(bit if missing is None else np.where(missing, np.uint64(0), bit), axis=1)
    ranks = np.bitwise_count(seen[:, None] & (bit - np.uint64(1))).astype(np.int8)
    if missing is not None:
        ranks[missing] = MISSING
    return ranks


def has_missing(ranks):
    """Whether any item of any ranking is missing."""
    return bool((ranks == MISSING).any())


def n_ranked(ranks):
    """Number of items that each ranking ranks, shape (n_samples,)."""
    return np.count_nonzero(ranks != MISSING, axis=1)


def n_buckets(ranks):
    """Number of buckets of each ranking, shape (n_samples,)."""
    buckets = np.empty(len(ranks), np.intp)

    def count(chunk):
        part = ranks[chunk]
        for rows in row_blocks(len(part), ranks.shape[1], max_rows=1 << 13):
            np.max(np.ascontiguousarray(part[rows].T), axis=0, out=buckets[chunk][rows], initial=MISSING)

    over_chunks(count, len(ranks))
    buckets += 1
    return buckets


def rows_with_ties(ranks):
    """Which rankings tie at least two items, shape (n_samples,)."""
    return n_buckets(ranks) < n_ranked(ranks)


def bucket_sizes(ranks):
    """Number of items in each bucket, ``sizes[s, b]``, of shape (n_samples, n_items), intp; 0 past the last bucket."""
    n_samples, n_items = ranks.shape
    cell = ranks.astype(np.intp) + 1 + np.arange(n_samples)[:, None] * (n_items + 1)
    return np.bincount(cell.ravel(), minlength=n_samples * (n_items + 1)).reshape(n_samples, n_items + 1)[:, 1:]


def bucket_places(ranks):
    """The places that each item's bucket takes among the ranked items.

    Returns
    -------
    first : ndarray of shape (n_samples, n_items), intp
        0-based first place of the item's bucket: how many ranked items come strictly before it; MISSING if missing.
    size : ndarray of shape (n_samples, n_items), intp
        Number of items in its bucket; 0 if missing.
    """
    sizes = bucket_sizes(ranks)
    starts = np.cumsum(sizes, axis=1) - sizes
    index = np.maximum(ranks, 0).astype(np.intp)
    missing = ranks == MISSING
    first = np.where(missing, MISSING, np.take_along_axis(starts, index, axis=1))
    size = np.where(missing, 0, np.take_along_axis(sizes, index, axis=1))
    return first, size


def mean_places(ranks):
    """0-based mean place of each item's bucket among the ranked items, float64; NaN if missing."""
    first, size = bucket_places(ranks)
    return np.where(ranks == MISSING, np.nan, first + (size - 1) / 2)


# ---------------------------------------------------------------- from lists to rank matrices
def to_rank_matrix(ranks):
    """The rank matrix that users see, the inverse of `densify`: float64 bucket numbers, 0 the best, NaN if missing."""
    matrix = ranks.astype(np.float64)
    matrix[ranks == MISSING] = np.nan
    return matrix


def settle_unranked(ranks, unranked, explain, last=None):
    """Decide what is meant by items that lists leave out.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Densified rankings, MISSING where an item is left out.
    unranked : None, "last" or "missing"
        None refuses; "last" ties them in one bucket after all others; "missing" keeps them.
    explain : callable
        ``explain(row, item)`` is the first half of the error message: which ranking leaves out which item.
    last : int, default=None
        The bucket for "last"; None means the one after each ranking's own last bucket.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_items)
    """
    if unranked == "missing":
        return ranks
    gaps = ranks == MISSING
    if not gaps.any():
        return ranks
    if unranked == "last":
        after = ranks.max(axis=1, keepdims=True) + 1 if last is None else last
        return np.where(gaps, after, ranks).astype(ranks.dtype)
    row = int(gaps.any(axis=1).argmax())
    raise ValueError(
        f"{explain(row, int(gaps[row].argmax()))}. Choose unranked='last' (tied after all ranked "
        "items) or unranked='missing' (nothing is known about it)."
    )


# ---------------------------------------------------------------- aggregation
class WeightedRankings(NamedTuple):
    """Distinct rankings in lexicographic order, their summed weights, and where each input row went (-1: dropped)."""

    ranks: np.ndarray
    weights: np.ndarray
    inverse: np.ndarray


def aggregate(ranks, sample_weight=None):
    """Sum the weights of equal rankings.

    Everything that is fitted is a function of this table, so repeated rows equal weights and the order of rows does not
    matter. Rankings of weight zero are dropped.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Densified rankings.
    sample_weight : ndarray of shape (n_samples,), default=None
        None means ones.

    Returns
    -------
    WeightedRankings
    """
    keys = _lexicographic_keys(ranks)
    order = _lexicographic_order(keys)
    if sample_weight is not None:
        order = order[sample_weight[order] != 0]
    new = np.zeros(len(order), bool)
    new[:1] = True

    def compare(chunk):
        # With the row before the chunk.
        rows = order[max(chunk.start - 1, 0) : chunk.stop]
        for word in keys:
            ordered = word[rows]
            new[chunk.stop - len(rows) + 1 : chunk.stop] |= ordered[1:] != ordered[:-1]

    over_chunks(compare, len(order))
    group = np.cumsum(new)
    group -= 1
    inverse = np.full(len(ranks), -1)
    inverse[order] = group
    if sample_weight is None:
        weights = np.diff(np.append(np.flatnonzero(new), len(order))).astype(np.float64)
    else:
        weights = np.bincount(group, sample_weight[order])
    first = order[new]
    distinct = np.empty((len(first), ranks.shape[1]), ranks.dtype)

    def copy(chunk):
        np.take(ranks, first[chunk], axis=0, out=distinct[chunk], mode="clip")

    over_chunks(copy, len(first))
    return WeightedRankings(distinct, weights, inverse)


def _lexicographic_keys(ranks):
    """The rows as columns of uint64 words, (n_words, n_samples), whose lexicographic order is that of the rows."""
    n_samples, n_items = ranks.shape
    bits = max(int(n_items).bit_length(), 1)
    per_word = 64 // bits
    keys = np.zeros((-(-n_items // per_word), n_samples), np.uint64)

    def fill(chunk):
        for rows in row_blocks(chunk.stop - chunk.start, 8 * n_items, max_rows=1 << 11):
            items = (ranks[chunk][rows].T.astype(np.int64) + 1).astype(np.uint64)
            for item, places in enumerate(items):
                word = keys[item // per_word, chunk][rows]
                word <<= np.uint64(bits)
                word |= places

    over_chunks(fill, n_samples)
    return keys


def _lexicographic_order(keys):
    """The columns of words in lexicographic order; like `np.lexsort`, but equal columns are in any order.

    Nearly all rankings of many items differ in the first word already, and sorting by one word is many times faster.
    """
    order = np.argsort(keys[0])
    if len(keys) == 1:
        return order
    first = keys[0][order]
    is_tied = np.zeros(len(order) + 1, bool)
    np.equal(first[1:], first[:-1], out=is_tied[1:-1])
    tied = np.flatnonzero(is_tied[1:] | is_tied[:-1])
    if 2 * len(tied) > len(order):
        return np.lexsort(keys[::-1])
    order[tied] = order[tied][np.lexsort(keys[::-1, order[tied]])]
    return order


# ---------------------------------------------------------------- pairs of items
@lru_cache(maxsize=16)
def pair_indices(n_items):
    """Items (i, j), i < j, of every pair, in the order used everywhere: ``np.triu_indices(n_items, 1)``, read-only."""
    pairs = np.triu_indices(n_items, 1)
    for items in pairs:
        items.flags.writeable = False
    return pairs


def pair_signs(ranks, pairs=None, dtype=np.float32):
    """Which item of each pair a ranking prefers.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Densified rankings.
    pairs : tuple of two ndarrays of shape (n_pairs,), default=None
        Items i and j; None means ``pair_indices(n_items)``.
    dtype : dtype, default=float32
        Of the result.

    Returns
    -------
    signs : ndarray of shape (n_samples, n_pairs)
        +1 where i is preferred to j, -1 where j is preferred to i, 0 where they are tied or one of them is missing.
    """
    i, j = pair_indices(ranks.shape[1]) if pairs is None else pairs
    # Differences of bucket numbers stay within the signed type: |difference| < n_items <= its maximum.
    first, second = np.take(ranks, i, axis=1), np.take(ranks, j, axis=1)
    signs = np.sign(second - first).astype(dtype)
    if has_missing(ranks):
        signs[(first == MISSING) | (second == MISSING)] = 0
    return signs


def expected_pair_signs(ranks, pairs=None):
    """Expected pair signs of a uniformly random full ranking that is consistent with each ranking.

    As `pair_signs`, but where one item is ranked at place r of the m ranked ones (1-based, the mean over its bucket)
    and the other is missing, the sign is (m + 1 - 2 r) / (m + 1) toward the ranked one; two missing items give 0.

    Returns
    -------
    signs : ndarray of shape (n_samples, n_pairs), float64
    """
    signs = pair_signs(ranks, pairs, np.float64)
    if has_missing(ranks):
        i, j = pair_indices(ranks.shape[1]) if pairs is None else pairs
        missing = ranks == MISSING
        m = n_ranked(ranks)[:, None]
        pull = np.where(missing, 0, (m - 1 - 2 * mean_places(ranks)) / (m + 1))
        one = np.take(missing, i, axis=1) ^ np.take(missing, j, axis=1)
        difference = np.take(pull, i, axis=1) - np.take(pull, j, axis=1)
        np.copyto(signs, difference, where=one)
    return signs


def ordering(ranks):
    """Items of each ranking, best first, ties by item number, missing items last; shape (n_samples, n_items)."""
    key = np.where(ranks == MISSING, ranks.shape[1], ranks)
    return np.argsort(key, axis=1, kind="stable")
