"""Triplets of items by their labels."""

import numpy as np

from skrank._triplets import refuse_rows
from skrank.preprocessing._labels import check_items, distinct_labels, encode


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
