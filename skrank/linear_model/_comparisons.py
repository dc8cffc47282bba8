"""Comparisons as users give them: pairs of labels, outcomes as numbers or words, and groups."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_consistent_length

from skrank._rankings import refuse_masked
from skrank.preprocessing._labels import GAP, UNKNOWN, distinct_labels, encode, label_array, label_table

TIE = "tie"
WORDS = {"loss": 0.0, TIE: 0.5, "draw": 0.5, "win": 1.0}


class Outcomes(NamedTuple):
    """What the first item of each comparison won.

    Attributes
    ----------
    share : ndarray of shape (n_comparisons,)
        1 for a win, 0 for a loss, 0.5 for a tie.
    tie : boolean ndarray of shape (n_comparisons,)
        Which comparisons were ties. A share of 0.5 is none where `are_shares`.
    are_words : bool
        Whether they were given as words.
    are_shares : bool
        Whether there are shares other than 0, 0.5 and 1: rows are totals of several comparisons.
    """

    share: np.ndarray
    tie: np.ndarray
    are_words: bool
    are_shares: bool


def check_pairs(estimator, X, reset):
    """The table of labels, with two columns."""
    _check_feature_names(estimator, X, reset=reset)
    table = label_table(X, "X")
    if len(table) == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is required.")
    if table.shape[1] != 2:
        raise ValueError(
            "X must have 2 columns, the items of each comparison; got "
            f"{table.shape[1]} feature(s) (shape={table.shape}) while a minimum of 2 is required."
        )
    _check_n_features(estimator, table, reset=reset)
    return table


def item_numbers(table, items, name="X"):
    """Numbers of the first and the second items."""
    numbers = encode(table, items)
    for code, problem in ((GAP, "names no item (NaN or empty); drop it"), (UNKNOWN, "names an item that is not known")):
        row, column = np.nonzero(numbers == code)
        if len(row):
            raise ValueError(f"row {row[0]} of {name} {problem}: {table[row[0]].tolist()}.")
    same = np.flatnonzero(numbers[:, 0] == numbers[:, 1])
    if len(same):
        raise ValueError(f"row {same[0]} of {name} compares {table[same[0], 0]!r} with itself; drop such rows.")
    return numbers.T


def check_outcomes(y, numbers, items):
    """Outcomes from numbers, winners' names or words.

    Parameters
    ----------
    y : array-like of shape (n_comparisons,) or None
        Numbers from 0 to 1; or strings: the winner's label or "tie" ("draw"), or "win", "loss", "tie". None: all wins.
    numbers : pair of ndarrays of shape (n_comparisons,)
        Items of each comparison.
    items : ndarray of shape (n_items,)
        The items' labels.
    """
    first, second = numbers
    if y is None:
        return Outcomes(np.ones(len(first)), np.zeros(len(first), bool), False, False)
    refuse_masked(y, "y")
    y = column_or_1d(y)
    check_consistent_length(first, y)
    if y.dtype.kind in "US" or (y.dtype.kind == "O" and _has_strings(y)):
        share = _shares_of_words(y.astype(object, copy=False), first, second, items)
        return Outcomes(share, share == 0.5, True, False)
    share = y.astype(np.float64)
    outside = np.flatnonzero(~((share >= 0) & (share <= 1)))
    if len(outside):
        raise ValueError(
            f"y must be between 0 (the first item lost) and 1 (it won), or strings: y[{outside[0]}] is "
            f"{share[outside[0]]}. Labels of winners that are numbers become numbers by y == X[:, 0]."
        )
    are_shares = bool((~np.isin(share, (0, 0.5, 1))).any())
    return Outcomes(share, np.zeros(len(share), bool) if are_shares else share == 0.5, False, are_shares)


def _has_strings(y):
    return isinstance(y[0], str) or str in set(map(type, y.tolist()))


def _shares_of_words(y, first, second, items):
    labels = items.tolist()
    words = [word for word in WORDS if word not in labels]
    codes = encode(y, label_array(labels + words))
    share = np.full(len(y), np.nan)
    share[codes == first], share[codes == second] = 1.0, 0.0
    for number, word in enumerate(words, len(labels)):
        share[codes == number] = WORDS[word]
    for word in set(WORDS) - set(words):
        row = int(np.argmax(codes == labels.index(word)))
        if codes[row] == labels.index(word):
            raise ValueError(
                f"y[{row}] is {word!r}, which is also the label of an item: rename the item, or give y as numbers."
            )
    wrong = np.flatnonzero(np.isnan(share))
    if len(wrong):
        row = wrong[0]
        pair = items[first[row]], items[second[row]]
        raise ValueError(
            f"y[{row}] is {y[row]!r}, which is neither an item of its row ({pair[0]!r}, {pair[1]!r}) nor 'tie' (nor "
            "'draw', nor 'win', 'loss' of the first item). Correct or drop such rows."
        )
    return share


def check_groups(groups, n_rows):
    """Number of each row's group, for one or two ways of grouping: a list of integer arrays; [] without groups.

    With two ways the third array numbers their combinations.
    """
    if groups is None:
        return []
    refuse_masked(groups, "groups")
    columns = [groups] if np.ndim(groups) == 1 else label_table(groups, "groups").T
    if len(columns) not in (1, 2):
        raise ValueError(f"groups must have one column or two (ways of grouping); got {len(columns)}.")
    ways = [_group_numbers(column, n_rows, f" in column {way}") for way, column in enumerate(columns)]
    if len(ways) == 2:
        both = ways[0].astype(np.int64) * (int(ways[1].max()) + 1) + ways[1]
        ways.append(np.unique(both, return_inverse=True)[1])
    return ways


def _group_numbers(column, n_rows, where):
    column = label_array(column) if not isinstance(column, np.ndarray) else column
    check_consistent_length(np.empty(n_rows), column)
    labels = distinct_labels(column)
    numbers = encode(column, labels) if len(labels) else np.full(len(column), GAP)
    gap = np.flatnonzero(numbers == GAP)
    if len(gap):
        raise ValueError(
            f"groups[{gap[0]}]{where} is {column.tolist()[gap[0]]!r}: every row needs a group. Drop such rows."
        )
    return numbers
