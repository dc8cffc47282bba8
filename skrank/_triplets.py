"""Recorded triplet answers: the only place that validates them and reads their formats."""

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skrank._rankings import refuse_masked

MOST_ANSWERS = 10**8
# With more items than this, and than so many a triplet, hardly any item occurs.
LEAST_SPARSE, LARGEST_GAPS = 10**4, 100
MOST_ITEMS = 3 * 10**9  # the square is a 64-bit integer


def check_triplets(triplets, responses=None, *, n_items=None):
    """Triplet answers in any of cblearn's list formats, as rows (i, j, k): j is nearer to i than k is.

    The formats differ in `responses`:

    - list-order: None. Each row (i, j, k) says itself that j is nearer to the anchor i than k is.
    - list-boolean: booleans, or numbers that are all 0 or 1; 1 where j is nearer, 0 where k is.
    - list-count: other integers; c > 0 says that j was answered to be nearer c times, c < 0 that k was, -c times.

    Parameters
    ----------
    triplets : array-like of shape (n_triplets, 3)
        Indices (i, j, k) of three different items.
    responses : array-like of shape (n_triplets,), default=None
        The answers; see above.
    n_items : int, default=None
        Number of items, which the indices must stay below.

    Returns
    -------
    ndarray of shape (n_answers, 3), int64
        One row an answer: counts are repeated.

    Raises
    ------
    ValueError
        On triplets of another shape, indices that are negative, not whole or too large, an item that occurs twice in a
        triplet, and responses that are undecided, not whole or in sum above 1e8. The message names the row and the
        value.

    Examples
    --------
    >>> from skrank._triplets import check_triplets
    >>> check_triplets([[0, 1, 2], [1, 0, 2]], [True, False])
    array([[0, 1, 2],
           [1, 2, 0]])
    >>> check_triplets([[0, 1, 2], [1, 0, 2]], [1, -2])
    array([[0, 1, 2],
           [1, 2, 0],
           [1, 2, 0]])
    """
    refuse_masked(triplets, "triplets")
    triplets = _check_indices(triplets, n_items)
    if responses is None:
        return triplets
    turned, counts = _turn(triplets, responses)
    return turned if counts is None else np.repeat(turned, counts, axis=0)


def weigh_triplets(triplets, responses=None, *, n_items=None):
    """As `check_triplets`, but with the counts beside the rows, which are not repeated.

    Returns
    -------
    triplets : ndarray of shape (n_triplets, 3), int64
    counts : ndarray of shape (n_triplets,), int64, or None
        None where each row is one response.
    """
    refuse_masked(triplets, "triplets")
    triplets = _check_indices(triplets, n_items)
    return (triplets, None) if responses is None else _turn(triplets, responses)


def query_codes(triplets):
    """Number of each response's query: the same anchor and the same two items, in either order."""
    pairs = np.sort(triplets[:, 1:], axis=1)
    return np.unique(np.column_stack([triplets[:, 0], pairs]), axis=0, return_inverse=True)[1].ravel()


def unpack_tensor(triplets, responses):
    """Triplets, responses and number of items (or None) of a sparse tensor of counts; everything else as it is.

    The entry at (i, j, k) of the tensor (of three equal dimensions, with the attributes `coords` and `data` of the
    package sparse) is how often j was nearer to i than k, negative where k was.
    """
    if getattr(triplets, "ndim", 0) != 3 or not hasattr(triplets, "coords"):
        return triplets, responses, None
    if responses is not None:
        raise ValueError("a tensor of counts holds the responses itself: leave y out.")
    if len(set(triplets.shape)) != 1:
        raise ValueError(f"a tensor of counts must have three equal dimensions, got the shape {triplets.shape}.")
    return np.asarray(triplets.coords).T, np.asarray(triplets.data), triplets.shape[0]


def _turn(triplets, responses):
    """Rows with the near item second, and counts, or None where each is one."""
    refuse_masked(responses, "responses")
    responses = column_or_1d(responses)
    check_consistent_length(triplets, responses)
    if responses.dtype != bool and not np.issubdtype(responses.dtype, np.number):
        raise ValueError(f"responses must be booleans or whole numbers, got the dtype {responses.dtype}.")
    if np.isin(responses, (0, 1)).all():
        return _turned(triplets, responses.astype(bool)), None
    refuse_rows(responses != np.round(responses), responses, "responses must be whole numbers or booleans")
    refuse_rows(responses == 0, responses, "a response of 0 among counts is undecided; drop such rows")
    counts = np.abs(responses.astype(np.float64))
    if not counts.sum() <= MOST_ANSWERS:
        row = int(counts.argmax())
        raise ValueError(
            f"responses stand for {counts.sum():.3g} answers, each a row; {MOST_ANSWERS:.0e} are the most. "
            f"The largest is responses[{row}], {responses[row]}."
        )
    turned = _turned(triplets, responses > 0)
    return turned, None if (counts == 1).all() else counts.astype(np.int64)


def count_items(triplets):
    """Number of items of triplets whose indices count from 0: one more than the largest.

    Raises
    ------
    ValueError
        If hardly any of so many items occurs, so that the indices are identifiers rather.
    """
    n_items = int(triplets.max()) + 1
    if n_items > LEAST_SPARSE and n_items > min(LARGEST_GAPS * len(triplets), MOST_ITEMS):
        raise ValueError(
            f"triplets holds the index {n_items - 1}, but only {len(np.unique(triplets))} different ones: number the "
            "items from 0, as numpy.unique(triplets, return_inverse=True) does, or give n_items."
        )
    return n_items


def _check_indices(triplets, n_items):
    triplets = check_array(triplets, dtype="numeric", ensure_min_samples=0, input_name="triplets")
    if triplets.shape[1] != 3:
        raise ValueError(
            f"triplets must have 3 columns (anchor i, items j and k), got an array of shape {triplets.shape}."
        )
    if len(triplets) == 0:
        raise ValueError("triplets is empty: 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required.")
    if not np.issubdtype(triplets.dtype, np.integer):
        refuse_rows((triplets != np.round(triplets)).any(axis=1), triplets, "triplets must hold whole numbers")
        refuse_rows((np.abs(triplets) > 2.0**53).any(axis=1), triplets, "triplets must hold indices below 2**53")
    elif triplets.dtype == np.uint64:
        refuse_rows((triplets > 2**53).any(axis=1), triplets, "triplets must hold indices below 2**53")
    triplets = triplets.astype(np.int64, copy=False)
    refuse_rows((triplets < 0).any(axis=1), triplets, "triplets must hold indices from 0")
    if n_items is not None:
        too_large = (triplets >= n_items).any(axis=1)
        refuse_rows(too_large, triplets, f"triplets must hold indices below the number of items, {n_items}")
    i, j, k = triplets.T
    repeated = (i == j) | (i == k) | (j == k)
    refuse_rows(repeated, triplets, "the three items of a triplet must differ; drop such rows")
    return triplets


def _turned(triplets, left_is_nearer):
    return np.where(left_is_nearer[:, None], triplets, triplets[:, [0, 2, 1]])


def refuse_rows(refused, values, requirement):
    if refused.any():
        row = int(np.argmax(refused))
        n_others = int(refused.sum()) - 1
        others = f" ({n_others} more rows like it)" if n_others else ""
        raise ValueError(f"{requirement}: row {row} is {values[row].tolist()}{others}.")
