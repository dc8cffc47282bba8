"""Triplets of items by their labels, from the responses that experiments record."""

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from skrank._triplets import refuse_rows
from skrank._typing import Array, ArrayLike, Integers
from skrank.preprocessing._labels import check_items, distinct_labels, encode, is_gap, label_table


def encode_triplets(triplets, items=None):
    """Indices of a table of labels, and the labels; numbers are indices, and have no labels, unless `items` are given.

    Parameters
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        Numbers, or labels of any kind.
    items : array-like of shape (n_items,), default=None
        The labels that may occur, in the order of the indices.

    Returns
    -------
    triplets : ndarray of shape (n_triplets, 3)
    items : ndarray of shape (n_items,) or None
    """
    if items is None:
        if triplets.dtype.kind in "biuf":
            return triplets, None
        try:
            return np.array(triplets, dtype=float), None  # numbers in a table of objects
        except (TypeError, ValueError):
            items = distinct_labels(triplets)
    else:
        items = check_items(items)
    codes = encode(triplets, items)
    unknown = (codes < 0).any(axis=1)
    refuse_rows(unknown, triplets, f"triplets must hold labels of the {len(items)} items")
    return codes, items


def triplets_from_odd_one_out(
    shown: ArrayLike, odd: ArrayLike, *, return_index: bool = False
) -> Array | tuple[Array, Integers]:
    """Triplets from "which of three is the odd one out?".

    The two others are nearer to each other than either is to the odd item, which gives two triplets per response.

    Parameters
    ----------
    shown : array-like of shape (n_responses, 3)
        The three items of each query, as labels of any type.
    odd : array-like of shape (n_responses,)
        The chosen item.
    return_index : bool, default=False
        Whether to also return the response from which each triplet is derived.

    Returns
    -------
    triplets : ndarray of shape (2 * n_responses, 3)
        Rows (anchor, near, far).
    index : ndarray of shape (2 * n_responses,)
        Row of `shown`, with `return_index=True`. Thus, `rater[index]` is the rater of each triplet.

    Raises
    ------
    ValueError
        If an item is shown twice in a query, or if the chosen item was not shown.

    See Also
    --------
    skrank.manifold.StochasticTripletEmbedding : Embed triplets of labels or indices.

    Examples
    --------
    >>> from skrank.preprocessing import triplets_from_odd_one_out
    >>> triplets_from_odd_one_out([["tea", "coffee", "beer"]], ["beer"])
    array([['tea', 'coffee', 'beer'],
           ['coffee', 'tea', 'beer']], dtype='<U6')
    """
    shown, odd = _check_shown(shown, 3), _check_chosen(odd, 1, "odd")
    others, odd = _split(shown, odd, "odd")
    a, b = others.T
    return _interleave([(a, b, odd[:, 0]), (b, a, odd[:, 0])], return_index)


def triplets_from_most_central(
    shown: ArrayLike, central: ArrayLike, *, return_index: bool = False
) -> Array | tuple[Array, Integers]:
    """Triplets from "which of three is the most central?".

    Each of the two others is nearer to the central item than to the other, which gives two triplets per response.

    Parameters
    ----------
    shown : array-like of shape (n_responses, 3)
        The three items of each query, as labels of any type.
    central : array-like of shape (n_responses,)
        The chosen item.
    return_index : bool, default=False
        Whether to also return the response from which each triplet is derived.

    Returns
    -------
    triplets : ndarray of shape (2 * n_responses, 3)
        Rows (anchor, near, far).
    index : ndarray of shape (2 * n_responses,)
        Row of `shown`, with `return_index=True`.

    Raises
    ------
    ValueError
        If an item is shown twice in a query, or if the chosen item was not shown.

    References
    ----------
    .. [1] M. Kleindessner and U. von Luxburg, "Lens depth function and k-relative neighborhood graph: versatile tools
       for ordinal data analysis", JMLR 18, 2017.

    Examples
    --------
    >>> from skrank.preprocessing import triplets_from_most_central
    >>> triplets_from_most_central([[0, 1, 2]], [1])
    array([[0, 1, 2],
           [2, 1, 0]])
    """
    shown, central = _check_shown(shown, 3), _check_chosen(central, 1, "central")
    others, central = _split(shown, central, "central")
    a, b = others.T
    return _interleave([(a, central[:, 0], b), (b, central[:, 0], a)], return_index)


def triplets_from_choices(
    anchors: ArrayLike, shown: ArrayLike, chosen: ArrayLike, *, return_index: bool = False
) -> Array | tuple[Array, Integers]:
    """Triplets from "which k of these are most like the anchor?".

    Each chosen item is nearer to the anchor than each item that was shown and not chosen.

    Parameters
    ----------
    anchors : array-like of shape (n_responses,)
        The item with which the others are compared.
    shown : array-like of shape (n_responses, n_shown)
        The items of each query, without the anchor.
    chosen : array-like of shape (n_responses, k) or (n_responses,)
        The chosen items.
    return_index : bool, default=False
        Whether to also return the response from which each triplet is derived.

    Returns
    -------
    triplets : ndarray of shape (n_responses * k * (n_shown - k), 3)
        Rows (anchor, near, far).
    index : ndarray of shape (n_responses * k * (n_shown - k),)
        Row of `shown`, with `return_index=True`. Triplets of one response are not independent.

    Raises
    ------
    ValueError
        If an item is shown or chosen twice in a query, or if a chosen item was not shown.

    Examples
    --------
    >>> from skrank.preprocessing import triplets_from_choices
    >>> triplets_from_choices([0], [[1, 2, 3]], [2])
    array([[0, 2, 1],
           [0, 2, 3]])
    """
    shown = _check_shown(shown)
    chosen = _check_chosen(chosen, None, "chosen")
    anchors = _check_anchors(anchors, shown)
    others, chosen = _split(shown, chosen, "chosen")
    parts = [(anchors, near, far) for near in chosen.T for far in others.T]
    return _interleave(parts, return_index)


def triplets_from_ranking(
    anchors: ArrayLike, rankings: ArrayLike, *, return_index: bool = False
) -> Array | tuple[Array, Integers]:
    """Triplets from items ranked by their similarity to an anchor.

    Parameters
    ----------
    anchors : array-like of shape (n_responses,)
        The item with which the others are compared.
    rankings : array-like of shape (n_responses, n_ranked)
        The other items, the most similar first.
    return_index : bool, default=False
        Whether to also return the response from which each triplet is derived.

    Returns
    -------
    triplets : ndarray of shape (n_responses * n_ranked * (n_ranked - 1) / 2, 3)
        Rows (anchor, near, far), of all pairs.
    index : ndarray of shape (n_responses * n_ranked * (n_ranked - 1) / 2,)
        Row of `rankings`, with `return_index=True`. Triplets of one response are not independent.

    Raises
    ------
    ValueError
        If an item occurs twice in a ranking, or if the anchor occurs in it.

    Examples
    --------
    >>> from skrank.preprocessing import triplets_from_ranking
    >>> triplets_from_ranking([0], [[3, 1, 2]])
    array([[0, 3, 1],
           [0, 3, 2],
           [0, 1, 2]])
    """
    rankings = _check_shown(rankings)
    anchors = _check_anchors(anchors, rankings)
    n_ranked = rankings.shape[1]
    parts = [(anchors, rankings[:, a], rankings[:, b]) for a in range(n_ranked) for b in range(a + 1, n_ranked)]
    return _interleave(parts, return_index)


def triplets_from_quadruplets(quadruplets: ArrayLike) -> Array:
    """Triplets from "i and j are more similar than k and l", if the two pairs have a common item.

    Parameters
    ----------
    quadruplets : array-like of shape (n_responses, 4)
        Rows (i, j, k, l): the distance of i and j is smaller than that of k and l.

    Returns
    -------
    triplets : ndarray of shape (n_responses, 3)
        Rows (anchor, near, far); the anchor is the common item of both pairs.

    Raises
    ------
    ValueError
        If the pairs of a row do not have a common item or are equal, because they then do not correspond to a triplet.

    Examples
    --------
    >>> from skrank.preprocessing import triplets_from_quadruplets
    >>> triplets_from_quadruplets([[0, 1, 0, 2], [3, 4, 5, 4]])
    array([[0, 1, 2],
           [4, 3, 5]])
    """
    table = label_table(quadruplets, "quadruplets")
    if table.shape[1] != 4:
        raise ValueError(f"quadruplets must have 4 columns (i, j, k, l), got an array of shape {table.shape}.")
    i, j, k, l = table.T
    ways = [(i == k, (i, j, l)), (i == l, (i, j, k)), (j == k, (j, i, l)), (j == l, (j, i, k))]
    n_shared = sum(shared.astype(int) for shared, _ in ways)
    refuse_rows(n_shared == 0, table, "the two pairs of a quadruplet must share an item; drop such rows")
    refuse_rows(
        (n_shared > 1) | (i == j) | (k == l), table, "a quadruplet must hold two different pairs of different items"
    )
    triplets = np.empty((len(table), 3), table.dtype)
    for shared, items in ways:
        for column, one in enumerate(items):
            triplets[shared, column] = one[shared]
    return _of_one_type(triplets)


def quadruplets_from_triplets(triplets: ArrayLike) -> Array:
    """Triplets as quadruplets: "i is more like j than k" means "i and j are more similar than i and k".

    Parameters
    ----------
    triplets : array-like of shape (n_responses, 3)
        Rows (anchor, near, far).

    Returns
    -------
    quadruplets : ndarray of shape (n_responses, 4)

    Examples
    --------
    >>> from skrank.preprocessing import quadruplets_from_triplets
    >>> quadruplets_from_triplets([[0, 1, 2]])
    array([[0, 1, 0, 2]])
    """
    table = label_table(triplets, "triplets")
    if table.shape[1] != 3:
        raise ValueError(f"triplets must have 3 columns (anchor, near, far), got an array of shape {table.shape}.")
    return _of_one_type(table[:, [0, 1, 0, 2]])


def _check_shown(shown, n_shown=None):
    table = label_table(shown, "shown")
    if n_shown is not None and table.shape[1] != n_shown:
        raise ValueError(f"shown must have {n_shown} columns, one for each item of a query, got shape {table.shape}.")
    gaps = np.array([is_gap(label) for label in table.ravel().tolist()], bool).reshape(table.shape).any(axis=1)
    refuse_rows(gaps, table, "every item of a query needs a label")
    repeated = np.zeros(len(table), bool)
    for a in range(table.shape[1]):
        for b in range(a):
            repeated |= table[:, a] == table[:, b]
    refuse_rows(repeated, table, "the items of a query must differ; drop such rows")
    return table


def _check_chosen(chosen, n_chosen, name):
    table = np.asarray(chosen)
    table = table[:, None] if table.ndim == 1 else label_table(chosen, name)
    if n_chosen is not None and table.shape[1] != n_chosen:
        raise ValueError(f"{name} must hold one item for each query, got shape {table.shape}.")
    return table


def _check_anchors(anchors, table):
    anchors = column_or_1d(anchors)
    check_consistent_length(anchors, table)
    refuse_rows((table == anchors[:, None]).any(axis=1), table, "the anchor must not be among the other items")
    return anchors


def _split(shown, chosen, name):
    """The items that were not chosen, and those that were."""
    check_consistent_length(shown, chosen)
    taken = shown[:, :, None] == chosen[:, None, :]
    refuse_rows(~(taken.sum(axis=1) == 1).all(axis=1), chosen, f"{name} must be among the items shown, each once")
    refuse_rows(taken.sum(axis=(1, 2)) != taken.any(axis=2).sum(axis=1), chosen, f"{name} must hold each item once")
    rest = ~taken.any(axis=2)
    return shown[rest].reshape(len(shown), -1), chosen


def _interleave(parts, return_index):
    """Triplets of one response after another, from columns (anchor, near, far) for each of its triplets."""
    if not parts:
        raise ValueError("each query needs two items besides the anchor, and one of them that was not chosen.")
    table = np.stack([np.column_stack(columns) for columns in parts], axis=1)
    triplets = _of_one_type(table.reshape(-1, 3))
    return (triplets, np.repeat(np.arange(len(table)), len(parts))) if return_index else triplets


def _of_one_type(table):
    """An array of Python objects as numbers or strings, if all are of one type."""
    if table.dtype != object or len({type(label) for label in table.ravel().tolist()}) != 1:
        return table
    return np.array(table.tolist())
