"""Lists of few of many items: sparse rank matrices, whose absent entries are tied last or missing.

`Lists` is to a sparse rank matrix what densified rankings (``skrank._rankings``) are to a dense one, and short dense
rankings can be made lists. Functional cores that know a shortcut for lists take them.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from skrank._rankings import MISSING, rank_dtype

# Lists pay if they have few pairs of items, against those of all items.
MIN_ITEMS, PAIRS_RATIO = 64, 20


@dataclass(frozen=True)
class Lists:
    """Rankings of few of many items.

    ranks : csr_array of shape (n_rankings, n_items), int32
        1 + the number of the bucket of each listed item, canonical; absent items are not listed.
    tied_last : bool
        Whether absent items are tied after all others; if not, they are missing.
    """

    ranks: csr_array
    tied_last: bool

    def __len__(self):
        return self.ranks.shape[0]

    def __getitem__(self, rows):
        return Lists(self.ranks[rows], self.tied_last)

    def __sizeof__(self):
        # A cluster sends what is large to each worker once.
        return self.ranks.data.nbytes + self.ranks.indices.nbytes + self.ranks.indptr.nbytes

    @property
    def n_items(self):
        """Number of items, listed or not."""
        return self.ranks.shape[1]

    @property
    def lengths(self):
        """Number of items of each list, shape (n_rankings,)."""
        return np.diff(self.ranks.indptr)

    @property
    def rows(self):
        """The list of each entry, shape (n_entries,)."""
        return np.repeat(np.arange(len(self)), self.lengths)


def have_ties(lists):
    """Whether any list ties two of its items."""
    n_buckets = np.zeros(len(lists), np.int64)
    np.maximum.at(n_buckets, lists.rows, lists.ranks.data)
    return bool((n_buckets < lists.lengths).any())


def net_after(buckets, row, indptr):
    """Items of the same list after each entry less those before it, by their buckets."""
    order = np.lexsort([buckets, row])
    key = row[order] * (np.int64(buckets.max(initial=0)) + 1) + buckets[order]
    first, last = np.searchsorted(key, key, side="left"), np.searchsorted(key, key, side="right")
    start, stop = indptr[row[order]], indptr[row[order] + 1]
    net = np.empty(len(row))
    net[order] = (stop - last) - (first - start)
    return net


def pairs_within(indptr):
    """All pairs of entries of one list each: entry of i, entry of j, and the list, in the order of the lists."""
    lengths = np.diff(indptr).astype(np.int64)
    parts = [(np.zeros(0, np.int64),) * 3]
    for length in np.unique(lengths[lengths > 1]):
        chosen = np.flatnonzero(lengths == length)
        i, j = np.triu_indices(length, 1)
        starts = indptr[chosen].astype(np.int64)[:, None]
        parts.append(((starts + i).ravel(), (starts + j).ravel(), np.repeat(chosen, len(i))))
    first, second, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return first[order], second[order], rows[order]


# ---------------------------------------------------------------- validation
def check_sparse_rankings(X, unranked, *, estimator=None, reset=True, input_name="X"):
    """Validate a sparse rank matrix.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_samples, n_items)
        Ranks of the listed items: any finite real numbers, zero among them if it is stored, lower is preferred.
    unranked : {"last", "missing"} or None
        What an absent entry means; None refuses.
    estimator, reset, input_name
        As in `check_rankings`.

    Returns
    -------
    Lists
    """
    if unranked not in ("last", "missing"):
        raise TypeError(
            f"{input_name} is a sparse matrix, whose absent entries have no rank. Choose "
            "unranked='last' (tied after all listed items) or unranked='missing' (nothing is known about them)."
        )
    options = {"accept_sparse": "csr", "dtype": "numeric", "ensure_all_finite": False}
    if estimator is None:
        X = check_array(X, input_name=input_name, **options)
    else:
        X = validate_data(estimator, X, reset=reset, **options)
    X = csr_array(X)
    if not X.has_canonical_format:
        n_stored = X.nnz
        X = X.copy()
        X.sum_duplicates()
        if X.nnz < n_stored:
            raise ValueError(f"{input_name} stores several ranks of one item in one row. Give each item one rank.")
    if X.data.dtype.kind == "f" and not np.isfinite(X.data).all():
        entry = int(np.argmin(np.isfinite(X.data)))
        row = int(np.searchsorted(X.indptr, entry, side="right")) - 1
        raise ValueError(
            f"{input_name}[{row}, {X.indices[entry]}] is {X.data[entry]}: stored ranks must be finite. Leave an item "
            "that is not ranked out of the matrix."
        )
    return Lists(csr_array((_dense_ranks(X), X.indices, X.indptr), shape=X.shape), unranked == "last")


def _dense_ranks(X):
    """1 + the number of the bucket of each stored entry in its row."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort([X.data, row])
    values, rows = X.data[order], row[order]
    new_row = np.ones(len(order), bool)
    new_row[1:] = rows[1:] != rows[:-1]
    new = new_row.copy()
    new[1:] |= values[1:] != values[:-1]
    number = np.cumsum(new)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = number - np.repeat(number[new_row], np.diff(np.append(np.flatnonzero(new_row), len(order)))) + 1
    return ranks


def is_sparse(X):
    """Whether X is a sparse matrix or array of scipy's."""
    return issparse(X)


# ---------------------------------------------------------------- lists and densified rankings
def as_lists(ranks):
    """Densified rankings as `Lists`, or None if they are not lists, or not short enough to pay."""
    n_rankings, n_items = ranks.shape
    if n_items < MIN_ITEMS:
        return None
    missing = ranks == MISSING
    if missing.any():
        listed, tied_last = ~missing, False
    else:
        # A ranking without ties is the list of all but its last item.
        listed, tied_last = ranks < ranks.max(axis=1, keepdims=True), True
    lengths = np.count_nonzero(listed, axis=1)
    if PAIRS_RATIO * (lengths.astype(float) ** 2).sum() > n_rankings * n_items**2:
        return None
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    rows, items = np.nonzero(listed)
    return Lists(csr_array((ranks[rows, items].astype(np.int32) + 1, items, indptr), shape=ranks.shape), tied_last)


OF_KERNELS = (
    "Use KendallKernel, or MallowsKernel with unranked='last' and no ties among listed items, or raise "
    "sklearn.set_config(working_memory=...)."
)


def to_ranks(rankings, remedy=OF_KERNELS):
    """Densified rankings of `Lists`; anything else is returned as it is.

    Raises
    ------
    ValueError
        If they take more than scikit-learn's ``working_memory``; it ends with the remedy.
    """
    if not isinstance(rankings, Lists):
        return rankings
    n_rankings, n_items = rankings.ranks.shape
    size = n_rankings * n_items * np.dtype(np.int32).itemsize / 2**20
    if size > get_config()["working_memory"]:
        raise ValueError(
            f"There is no form for sparse matrices of what is asked for, and as a dense one {n_rankings} rankings of "
            f"{n_items} items take {size:.0f} MiB, more than working_memory. {remedy}"
        )
    ranks = rankings.ranks.toarray()
    absent = ranks == 0
    ranks -= 1
    if rankings.tied_last:
        ranks = np.where(absent, ranks.max(axis=1, keepdims=True) + 1, ranks)
    return ranks.astype(rank_dtype(n_items))
