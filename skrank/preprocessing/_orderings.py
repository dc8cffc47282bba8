"""Orderings (items, best first) <-> rank matrices."""

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from skrank._rankings import (
    MISSING,
    check_rankings,
    item_names,
    n_ranked,
    ordering,
    rank_dtype,
    rows_with_ties,
    settle_unranked,
    to_rank_matrix,
)
from skrank._typing import Array, ArrayLike, Floats, Items, Unranked, validate_params
from skrank.preprocessing._labels import GAP, UNKNOWN, check_items, distinct_labels, encode, label_table

UNRANKED = {"unranked": [StrOptions({"last", "missing"}), None]}


@validate_params(
    {"orderings": "no_validation", "items": ["array-like", range, None], **UNRANKED}, prefer_skip_nested_validation=True
)
def ranks_from_orderings(orderings: Any, *, items: Items = None, unranked: Unranked = None) -> Floats:
    """Rank matrix of orderings: lists of items, best first.

    An ordering lists the item in each position; a ranking lists the position of each item. All of skrank expects
    rankings.

    Parameters
    ----------
    orderings : array-like or DataFrame of shape (n_samples, n_choices), or list of lists of items
        Row s lists the items of ranking s, the most preferred first. Labels may be of any type. The ordering ends at
        None, NaN, NA or an empty string. Rows of a list may have different lengths. A set in a list contains tied
        items.
    items : array-like of shape (n_items,), default=None
        Labels of the items, in the order of the columns of the result. None means that the labels are the column
        numbers 0, ..., n_items - 1, each of which must occur, because otherwise the number of items is unknown. To
        learn the labels from the data, use `OrderingEncoder`.
    unranked : {"last", "missing"}, default=None
        How to encode items that an ordering leaves out. "last" ties them after all its items; "missing" encodes them as
        NaN, so that nothing is known about them. None raises an error if an item is left out, because the two meanings
        are different data and skrank does not guess.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_items), float64
        0 is the most preferred: the first item of an ordering has rank 0.

    Raises
    ------
    ValueError
        If a row holds an unknown item, an item twice or an empty cell before an item, or (`unranked=None`) leaves an
        item out; names the row and the value.

    See Also
    --------
    OrderingEncoder : The same as a transformer, which learns the labels.
    orderings_from_ranks : The inverse.

    Examples
    --------
    >>> from skrank.preprocessing import ranks_from_orderings
    >>> ranks_from_orderings([["tuna", "egg", "squid"], ["squid", "tuna", "egg"]], items=["egg", "squid", "tuna"])
    array([[1., 2., 0.],
           [2., 0., 1.]])
    >>> ranks_from_orderings([[2, 0], [1]], items=range(4), unranked="last")
    array([[1., 2., 0., 2.],
           [1., 0., 1., 1.]])
    >>> ranks_from_orderings([[2, 0], [1]], items=range(4), unranked="missing")
    array([[ 1., nan,  0., nan],
           [nan,  0., nan, nan]])
    >>> ranks_from_orderings([["tuna", {"egg", "squid"}]], items=["egg", "squid", "tuna"])
    array([[1., 1., 0.]])
    """
    orderings, buckets = _flattened(orderings)
    table = label_table(orderings, "orderings")
    if len(table) == 0:
        raise ValueError("orderings is empty: at least one ranking is needed.")
    items = _column_numbers(table) if items is None else check_items(items)
    if buckets is None:
        return rank_orderings(table, items, unranked, "orderings")
    places = rank_orderings(table, items, "missing", "orderings")
    ranks = np.full(places.shape, MISSING)
    row, item = np.nonzero(~np.isnan(places))
    ranks[row, item] = buckets[row, places[row, item].astype(np.intp)]
    explain = lambda row, item: f"Row {row} of orderings leaves out {_plain(items[item])!r}"  # noqa: E731
    return to_rank_matrix(settle_unranked(ranks, unranked, explain))


@validate_params(
    {"X": "no_validation", "items": ["array-like", range, None], **UNRANKED}, prefer_skip_nested_validation=True
)
def orderings_from_ranks(X: ArrayLike, *, items: Items = None, unranked: Unranked = None) -> Array:
    """Orderings (items, best first) of a rank matrix.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix. Orderings cannot represent ties, so only unranked items may be tied.
    items : array-like of shape (n_items,), default=None
        Label of each column. None means the column names of a DataFrame, otherwise the column numbers.
    unranked : {"last", "missing"}, default=None
        Items that the orderings leave out, as in `ranks_from_orderings`. "last": items tied at the end of a row (two or
        more). "missing": items that are NaN. With None, there must be neither.

    Returns
    -------
    orderings : ndarray of shape (n_samples, n_choices)
        n_choices is the length of the longest ordering. If some are shorter, the dtype is object and they end in None.

    Raises
    ------
    ValueError
        If X has ties or NaN that `unranked` does not explain; the message names the row.

    Examples
    --------
    >>> from skrank.preprocessing import orderings_from_ranks
    >>> orderings_from_ranks([[1, 2, 0], [2, 0, 1]], items=["egg", "squid", "tuna"])
    array([['tuna', 'egg', 'squid'],
           ['squid', 'tuna', 'egg']], dtype=object)
    >>> orderings_from_ranks([[1, 2, 0, 2], [1, 0, 1, 1]], unranked="last")
    array([[2, 0],
           [1, None]], dtype=object)
    """
    names = item_names(X) if items is None else items
    ranks = check_rankings(X)
    names = np.arange(ranks.shape[1]) if names is None else check_items(names)
    if len(names) != ranks.shape[1]:
        raise ValueError(f"items has {len(names)} labels, but X has {ranks.shape[1]} columns.")
    return order_ranks(ranks, names, unranked, "X")


def _flattened(orderings):
    """Lists of buckets (sets of tied items) as lists of items, and the bucket of each; None where there are no sets."""
    rows = list(orderings) if isinstance(orderings, list | tuple) or len(getattr(orderings, "shape", ())) == 1 else []
    sets = (set, frozenset)
    if any(isinstance(row, sets) for row in rows):
        row = next(number for number, row in enumerate(rows) if isinstance(row, sets))
        raise ValueError(
            f"Row {row} of orderings is a set, which has no order. Each row must be a list: of items, best first, "
            "or of sets of tied items. A single ranking is a list of one list."
        )
    lists = [row for row in rows if hasattr(row, "__len__") and not isinstance(row, str | bytes)]
    if len(lists) < len(rows) or not any(isinstance(entry, sets) for row in lists for entry in row):
        return orderings, None
    # Within a set the order is arbitrary, and forgotten again.
    split = [[list(entry) if isinstance(entry, sets) else [entry] for entry in row] for row in lists]
    flat = [[item for bucket in row for item in bucket] for row in split]
    buckets = np.zeros((len(flat), max(map(len, flat), default=0)), np.intp)
    for number, row in enumerate(split):
        buckets[number, : len(flat[number])] = np.repeat(np.arange(len(row)), list(map(len, row)))
    return flat, buckets


def _column_numbers(table):
    labels = distinct_labels(table)
    if labels.dtype.kind not in "iu":
        raise ValueError(
            "orderings holds labels that are not column numbers"
            + (f" ({labels[0]!r})" if len(labels) else "")
            + ". Name the columns with items=[...], or learn them with OrderingEncoder."
        )
    if np.array_equal(labels, np.arange(len(labels))):
        return labels
    row, choice = np.argwhere(table == labels[-1])[0]
    found = f"Row {row} of orderings holds {table[row, choice]}"
    if np.array_equal(labels, np.arange(1, len(labels) + 1)):
        raise ValueError(
            f"{found}, and 0 never occurs: these ids count from 1, but column numbers count from 0. "
            f"Pass items=range(1, {len(labels) + 1})."
        )
    raise ValueError(
        f"{found}, but the {len(labels)} ids that occur are not 0, ..., {len(labels) - 1}. Pass items=[...], the "
        "labels of all columns."
    )


# ---------------------------------------------------------------- core
def rank_orderings(table, items, unranked, name, *, ignore_unknown=False):
    """Rank matrix of a table of labels; unknown ones are an error, or left out."""
    codes = encode(table, items)
    if not ignore_unknown:
        _refuse_unknown(codes, table, items, name)
    _refuse_inner_gaps(codes, table, name)
    if ignore_unknown:
        codes[codes == UNKNOWN] = GAP
        codes = np.take_along_axis(codes, np.argsort(codes == GAP, axis=1, kind="stable"), axis=1)
    ranks = ranks_of_codes(codes, len(items))
    short = n_ranked(ranks) != np.count_nonzero(codes != GAP, axis=1)
    if short.any():
        row = int(short.argmax())
        label = _first_repeated(codes[row], table[row])
        raise ValueError(f"Row {row} of {name} lists {label!r} twice: {_shown(table[row])}.")
    ranks = settle_unranked(
        ranks,
        unranked,
        lambda row, item: f"Row {row} of {name} leaves out {_plain(items[item])!r}: {_shown(table[row])}",
    )
    return to_rank_matrix(ranks)


def ranks_of_codes(codes, n_items):
    """Densified rankings of orderings of item numbers (GAP: none); of an item that is listed twice the later place."""
    ranks = np.full((len(codes), n_items), MISSING, rank_dtype(max(n_items, codes.shape[1])))
    for choice, column in enumerate(codes.T):
        rows = np.flatnonzero(column != GAP)
        ranks[rows, column[rows]] = choice
    return ranks


def order_ranks(ranks, items, unranked, name):
    """Orderings of densified rankings, unranked items left out."""
    length = n_ranked(ranks)
    if unranked != "missing" and (length < ranks.shape[1]).any():
        row = int((length < ranks.shape[1]).argmax())
        raise ValueError(
            f"Row {row} of {name} has missing items (NaN). unranked='missing' leaves them out of the orderings."
        )
    if unranked == "last":
        last = ranks == ranks.max(axis=1, keepdims=True)
        tied_last = last.sum(axis=1) > 1
        ranks = np.where(last & tied_last[:, None], MISSING, ranks)
        length = n_ranked(ranks)
    tied = rows_with_ties(ranks)
    if tied.any():
        row = int(tied.argmax())
        remedy = "" if unranked == "last" else " unranked='last' leaves out items that are tied at the end."
        raise ValueError(f"Row {row} of {name} ties items, which an ordering cannot represent.{remedy}")
    width = int(length.max(initial=0))
    orderings = items[ordering(ranks)[:, :width]]
    gaps = np.arange(width) >= length[:, None]
    if gaps.any():
        orderings = orderings.astype(object)
        orderings[gaps] = None
    return orderings


def fit_width(orderings, n_choices, name):
    """Orderings of exactly n_choices columns: padded with None; longer ones are refused."""
    width = orderings.shape[1]
    if width > n_choices:
        longer = np.array([label is not None for label in orderings[:, n_choices].tolist()])
        raise ValueError(
            f"Row {int(longer.argmax())} of {name} ranks more items than a ballot has choices ({n_choices})."
        )
    if width < n_choices:
        padding = np.full((len(orderings), n_choices - width), None, dtype=object)
        orderings = np.hstack([orderings.astype(object), padding])
    return orderings


def _refuse_unknown(codes, table, items, name):
    unknown = codes == UNKNOWN
    if not unknown.any():
        return
    row = int(unknown.any(axis=1).argmax())
    choice = int(unknown[row].argmax())
    label = _plain(table[row, choice])
    hint = ""
    if items.dtype.kind in "iu" and isinstance(label, (int, float)):
        if np.array_equal(items, np.arange(len(items))) and label == len(items):
            hint = f" If these ids count from 1, pass items=range(1, {len(items) + 1})."
        elif np.array_equal(items, np.arange(1, len(items) + 1)) and label == 0:
            hint = f" If these ids count from 0, pass items=range({len(items)})."
    shown = ", ".join(repr(_plain(item)) for item in items[:10]) + (", ..." if len(items) > 10 else "")
    raise ValueError(
        f"Row {row} of {name} holds the unknown item {label!r} at choice {choice} (counted from 0). "
        f"The {len(items)} items are {shown}.{hint}"
    )


def _refuse_inner_gaps(codes, table, name):
    inner = (codes[:, :-1] == GAP) & (codes[:, 1:] != GAP)
    if inner.any():
        row = int(inner.any(axis=1).argmax())
        choice = int(inner[row].argmax())
        after = _plain(table[row, choice + 1])
        raise ValueError(
            f"Row {row} of {name} is empty at choice {choice} (counted from 0), before {after!r}: "
            f"{_shown(table[row])}. A ballot must be filled from the first choice on; empty cells may only end it."
        )


def _first_repeated(codes, labels):
    seen = set()
    for code, label in zip(codes.tolist(), labels, strict=True):
        if code != GAP and code in seen:
            return _plain(label)
        seen.add(code)
    return None


def _plain(label):
    """The label without numpy's type, for messages."""
    return label.item() if isinstance(label, np.generic) else label


def _shown(labels):
    return "[" + ", ".join(repr(_plain(label)) for label in labels[:10]) + (", ...]" if len(labels) > 10 else "]")
