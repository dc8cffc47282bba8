"""Single comparisons -> rank matrices: each is a ranking of two items."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from skrank._typing import ArrayLike, Floats, Items, validate_params
from skrank.preprocessing._labels import check_items, distinct_labels, encode, label_array
from skrank.preprocessing._pairs import refuse_pairs


@validate_params(
    {
        "winners": "no_validation",
        "losers": "no_validation",
        "ties": ["array-like", None],
        "counts": ["array-like", None],
        "items": ["array-like", range, None],
    },
    prefer_skip_nested_validation=True,
)
def ranks_from_comparisons(
    winners: Any,
    losers: Any,
    *,
    ties: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    items: Items = None,
) -> Floats:
    """Rank matrix of comparisons, one ranking of two items each; all other items are missing.

    Pass such rows to a mixture with the judge of each row as `groups`. Comparisons may contradict each other.

    Parameters
    ----------
    winners : array-like of shape (n_comparisons,)
        Label of the preferred item, or of either item if they tie.
    losers : array-like of shape (n_comparisons,)
        Label of the other item.
    ties : array-like of shape (n_comparisons,), default=None
        True if the two are tied. None means that there are no ties.
    counts : array-like of shape (n_comparisons,), default=None
        How often each comparison was made: integers. Its row is repeated accordingly, so the judges of the rows are
        ``numpy.repeat(groups, counts)``. None means once.
    items : array-like of shape (n_items,), default=None
        Labels of the items in the order of the columns. None means those that occur, sorted.

    Returns
    -------
    ranks : ndarray of shape (n_comparisons,) or (sum of counts, n_items), float64
        0 for the winner and 1 for the loser, 0 for both in a tie, NaN for all other items.

    Raises
    ------
    ValueError
        If an item is unknown, missing or compared with itself, or if an array has a different length; the message names
        the row.

    See Also
    --------
    ranks_from_pairs : One ranking from all comparisons by a judge, which must not contradict each other.
    skrank.mixture.MallowsMixture : Groups of judges, with `groups` the judge of each row.
    skrank.linear_model.BradleyTerry : Scores from comparisons.

    Examples
    --------
    >>> from skrank.preprocessing import ranks_from_comparisons
    >>> ranks_from_comparisons(["tuna", "egg"], ["egg", "squid"], ties=[False, True])
    array([[ 1., nan,  0.],
           [ 0.,  0., nan]])
    """
    winners, losers = label_array(winners), label_array(losers)
    check_consistent_length(winners, losers)
    if not len(winners):
        raise ValueError("winners is empty: a rank matrix needs at least one comparison.")
    table = np.empty((len(winners), 2), object)
    table[:, 0], table[:, 1] = winners, losers
    items = distinct_labels(np.concatenate([winners, losers])) if items is None else check_items(items)
    codes = encode(table, items)
    refuse_pairs(codes, table, "comparisons")
    ranks = np.full((len(codes), len(items)), np.nan)
    rows = np.arange(len(codes))
    ranks[rows, codes[:, 0]] = 0
    ranks[rows, codes[:, 1]] = np.where(_checked_ties(ties, len(codes)), 0, 1)
    return ranks if counts is None else np.repeat(ranks, _checked_counts(counts, len(codes)), axis=0)


def _checked_ties(ties, n_comparisons):
    if ties is None:
        return np.zeros(n_comparisons, bool)
    ties = np.asarray(ties)
    if ties.shape != (n_comparisons,) or not np.isin(ties, [0, 1]).all():
        raise ValueError(
            f"ties must hold {n_comparisons} values True or False, got {ties.dtype} of shape {ties.shape}."
        )
    return ties.astype(bool)


def _checked_counts(counts, n_comparisons):
    counts = np.asarray(counts)
    if counts.shape != (n_comparisons,):
        raise ValueError(f"counts must have shape ({n_comparisons},), got {counts.shape}.")
    wrong = ~np.isfinite(counts) | (counts < 0) | (counts != np.rint(counts))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"counts[{row}] is {counts[row]}: each must be a whole number, 0 or more.")
    return counts.astype(np.intp)
