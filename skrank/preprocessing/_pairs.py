"""Pairwise comparisons (who beat whom) -> rank matrices."""

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length

from skrank._rankings import (
    MISSING,
    check_weights,
    densify,
    refuse_masked,
    row_blocks,
    settle_unranked,
    to_rank_matrix,
)
from skrank._typing import ArrayLike, Floats, Items, Unranked, validate_params
from skrank.preprocessing._labels import GAP, UNKNOWN, check_items, distinct_labels, encode, label_array, label_table
from skrank.preprocessing._orderings import UNRANKED

ROUNDING = 1e-10
METHOD = {"method": [StrOptions({"exact", "copeland"})]}


@validate_params(
    {
        "pairs": "no_validation",
        "groups": ["array-like", None],
        "items": ["array-like", range, None],
        "sample_weight": ["array-like", None],
        **METHOD,
        **UNRANKED,
    },
    prefer_skip_nested_validation=True,
)
def ranks_from_pairs(
    pairs: Any,
    *,
    groups: ArrayLike | None = None,
    items: Items = None,
    sample_weight: ArrayLike | None = None,
    method: Literal["exact", "copeland"] = "exact",
    unranked: Unranked = None,
) -> Floats:
    """Rank matrix of pairwise comparisons, given as (winner, loser).

    Parameters
    ----------
    pairs : array-like or DataFrame of shape (n_pairs, 2)
        Each row is a comparison: the label of the preferred item, then that of the other item. Repeated comparisons
        count.
    groups : array-like of shape (n_pairs,), default=None
        The person who made the comparison: labels of any type. The pairs of each group are converted to one ranking.
        Rows of the result are in the order of ``numpy.unique(groups)``; labels that cannot be compared are sorted
        within types. None means that all pairs form one ranking.
    items : array-like of shape (n_items,), default=None
        Labels of the items in the order of the columns. None means those that occur, sorted; for labels of one kind
        that is ``numpy.unique(pairs)``.
    sample_weight : array-like of shape (n_pairs,), default=None
        How often each comparison was made; None means once.
    method : {"exact", "copeland"}, default="exact"
        "exact" accepts only comparisons that make a ranking (of each pair the majority counts, and what follows by
        transitivity); cycles, and comparisons that leave a choice between several rankings, are errors. "copeland"
        ranks items by the number of opponents they beat by majority minus the number that beat them, which always
        gives a ranking, but not one that agrees with every comparison.
    unranked : {"last", "missing"}, default=None
        What is meant by items that occur in none of a group's pairs: "last" ties them after all others; "missing" makes
        them NaN; None raises.

    Returns
    -------
    ranks : ndarray of shape (n_groups, n_items), float64
        0 is the most preferred.

    Raises
    ------
    ValueError
        If an item is unknown or compared with itself, or if the comparisons of a group do not form a ranking
        (`method="exact"`). The message names the row or the group.

    See Also
    --------
    ranks_from_wins : The same from matrices of wins.
    skrank.linear_model.BradleyTerry : Scores from comparisons that contradict each other.

    Examples
    --------
    >>> from skrank.preprocessing import ranks_from_pairs
    >>> ranks_from_pairs([["tuna", "egg"], ["egg", "squid"]], items=["egg", "squid", "tuna"])
    array([[1., 2., 0.]])
    >>> ranks_from_pairs([[0, 1], [1, 2], [2, 1]], groups=["ann", "ann", "bob"], unranked="missing")
    array([[ 0.,  1.,  2.],
           [nan,  1.,  0.]])
    """
    table = label_table(pairs, "pairs")
    if table.shape[1] != 2 or len(table) == 0:
        raise ValueError(
            f"pairs must have shape (n_pairs, 2), winner then loser; got {table.shape}. For a matrix of wins use "
            "ranks_from_wins."
        )
    items = distinct_labels(table) if items is None else check_items(items)
    codes = encode(table, items)
    refuse_pairs(codes, table)
    weight = check_weights(sample_weight, table)
    names, group = np.array(["all"]), np.zeros(len(table), np.intp)
    if groups is not None:
        names, group = _check_groups(groups, table)
    n_items = len(items)
    order = np.argsort(group, kind="stable")
    codes, weight, starts = codes[order], weight[order], np.searchsorted(group[order], np.arange(len(names) + 1))
    ranks = np.empty((len(names), n_items), np.intp)
    for rows in row_blocks(len(names), 40 * n_items**2):
        pair = slice(starts[rows.start], starts[rows.stop])
        first, second = codes[pair].T
        cell = ((group[order][pair] - rows.start) * n_items + first) * n_items + second
        shape = (rows.stop - rows.start, n_items, n_items)
        wins = np.bincount(cell, weight[pair], minlength=np.prod(shape)).reshape(shape)
        ranks[rows] = _rank_wins(wins, method, lambda row, rows=rows: f"The pairs of group {names[rows.start + row]!s}")
    return _finish(ranks, unranked, items, lambda row: f"No pair of group {names[row]!s}")


@validate_params({"wins": ["array-like"], **METHOD, **UNRANKED}, prefer_skip_nested_validation=True)
def ranks_from_wins(
    wins: ArrayLike, *, method: Literal["exact", "copeland"] = "exact", unranked: Unranked = None
) -> Floats:
    """Rank matrix of matrices of pairwise wins.

    Parameters
    ----------
    wins : array-like of shape (n_items, n_items) or (n_samples, n_items, n_items)
        ``wins[i, j]`` is how often item i was preferred to item j: finite, nonnegative, zero on the diagonal.
    method : {"exact", "copeland"}, default="exact"
        As in `ranks_from_pairs`.
    unranked : {"last", "missing"}, default=None
        How to encode items that were not compared with any other, as in `ranks_from_pairs`.

    Returns
    -------
    ranks : ndarray of shape (n_samples, n_items), float64
        0 is the most preferred; one row if `wins` is one matrix.

    Raises
    ------
    ValueError
        If `wins` is not such a matrix, or if it does not form a ranking (`method="exact"`).

    Examples
    --------
    >>> from skrank.preprocessing import ranks_from_wins
    >>> ranks_from_wins([[0, 3, 2], [1, 0, 4], [0, 0, 0]])
    array([[0., 1., 2.]])
    """
    refuse_masked(wins, "wins")
    wins = check_array(wins, dtype=np.float64, allow_nd=True, ensure_non_negative=True, input_name="wins")
    wins = wins[None] if wins.ndim == 2 else wins
    if wins.ndim != 3 or wins.shape[1] != wins.shape[2]:
        raise ValueError(f"wins must have shape (n_items, n_items) or (n_samples, n_items, n_items); got {wins.shape}.")
    diagonal = np.diagonal(wins, axis1=1, axis2=2)
    if diagonal.any():
        row, item = np.argwhere(diagonal)[0]
        raise ValueError(f"wins of sample {row} says that item {item} was preferred to itself: the diagonal must be 0.")
    ranks = np.empty(wins.shape[:2], np.intp)
    for rows in row_blocks(len(wins), 40 * wins.shape[1] ** 2):
        ranks[rows] = _rank_wins(wins[rows], method, lambda row, rows=rows: f"The wins of sample {rows.start + row}")
    return _finish(ranks, unranked, np.arange(wins.shape[1]), lambda row: f"No win or loss of sample {row}")


# ---------------------------------------------------------------- core
def _rank_wins(wins, method, name):
    """Densified rankings of wins of shape (n_samples, n_items, n_items); items without a comparison are MISSING."""
    compared = (wins.sum(axis=1) + wins.sum(axis=2)) > 0
    lost = wins.transpose(0, 2, 1)
    # Sums of weights in another order differ by rounding, which must not decide.
    tolerance = 0.0 if (wins == np.rint(wins)).all() else ROUNDING * (wins + lost)
    ahead = wins - lost > tolerance
    if method == "exact":
        ahead = _transitive_closure(ahead)
    score = (ahead.sum(axis=1) - ahead.sum(axis=2)).astype(np.float64)  # beaten by minus beats: lower is preferred
    score[~compared] = np.nan
    ranks = densify(score).astype(np.intp)
    if method == "exact":
        _refuse_inexact(ahead, ranks, name)
    return ranks


def _transitive_closure(ahead):
    for _ in range(int(ahead.shape[1]).bit_length()):
        step = ahead.astype(np.float32)
        ahead = ahead | (step @ step > 0)
    return ahead


def _refuse_inexact(ahead, ranks, name):
    cycle = np.diagonal(ahead, axis1=1, axis2=2)
    remedy = "method='copeland' ranks by majority wins all the same; skrank.linear_model.BradleyTerry fits scores."
    if cycle.any():
        row = int(cycle.any(axis=1).argmax())
        items = np.flatnonzero(cycle[row]).tolist()
        raise ValueError(f"{name(row)} make a cycle (among columns {items}), so they are no ranking. {remedy}")
    both = (ranks[:, :, None] != MISSING) & (ranks[:, None, :] != MISSING)
    invented = both & (ranks[:, :, None] < ranks[:, None, :]) & ~ahead
    if invented.any():
        row, first, second = np.argwhere(invented)[0]
        raise ValueError(
            f"{name(row)} are not enough for a ranking: nothing says whether column {first} or column {second} comes "
            f"first, though other comparisons tell them apart. {remedy}"
        )


def _finish(ranks, unranked, items, start):
    explain = lambda row, item: f"{start(row)} has item {items[item]!s}"  # noqa: E731
    return to_rank_matrix(settle_unranked(ranks, unranked, explain))


def _check_groups(groups, table):
    """The distinct groups, and the number of each comparison's."""
    refuse_masked(groups, "groups")
    labels = np.asarray(groups) if hasattr(groups, "__array__") else label_array(groups)
    if labels.size != len(labels):
        raise ValueError(f"groups must have shape (n_pairs,), got {labels.shape}.")
    labels = labels.reshape(len(labels))
    check_consistent_length(table, labels)
    names = distinct_labels(labels)
    group = encode(labels, names)
    if (group == GAP).any():
        row = int((group == GAP).argmax())
        raise ValueError(f"groups[{row}] is {labels[row]}: every comparison needs the label of a group.")
    return names, group


def refuse_pairs(codes, table, name="pairs"):
    """Raise where a pair holds an unknown item, a gap, or one item twice."""
    for code, what in ((UNKNOWN, "an unknown item"), (GAP, "a gap where an item is expected")):
        if (codes == code).any():
            row, side = np.argwhere(codes == code)[0]
            raise ValueError(f"Row {row} of {name} holds {what}: {table[row, side]!r}.")
    itself = codes[:, 0] == codes[:, 1]
    if itself.any():
        row = int(itself.argmax())
        raise ValueError(f"Row {row} of {name} compares {table[row, 0]!r} with itself.")
