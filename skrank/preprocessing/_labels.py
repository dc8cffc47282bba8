"""Item labels of any type: tables of them, their order, and the column of the rank matrix that each one names."""

from itertools import chain, repeat

import numpy as np
from scipy.sparse import issparse

GAP = -1
UNKNOWN = -2


def label_table(rows, name):
    """A 2-d array of labels from a list of lists (short rows end in gaps), an array or a DataFrame; types are kept."""
    if issparse(rows):
        raise TypeError(f"{name} is a sparse matrix, but a dense table of item labels is expected.")
    if np.ma.is_masked(rows):
        masked, rows = np.ma.getmaskarray(rows), rows.data.astype(object)
        rows[masked] = None
    if _is_series_of_lists(rows):
        rows = list(rows)
    if hasattr(rows, "shape") or hasattr(rows, "__array__"):
        table = np.asarray(rows)
    else:
        table = _table_of_lists(list(rows), name)
    if table.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {table.ndim}D array instead: {name} must have one row for each ranking, its items "
            "best first. Reshape your data: a single ranking is a list of one list."
        )
    return table


def _is_series_of_lists(rows):
    """Whether rows are a 1-d array or a Series whose entries are lists."""
    one_dimension = len(getattr(rows, "shape", ())) == 1 and len(rows) > 0
    return one_dimension and all(hasattr(row, "__len__") and not isinstance(row, str | bytes) for row in rows)


def _table_of_lists(rows, name):
    for row, labels in enumerate(rows):
        if isinstance(labels, (str, bytes)) or not hasattr(labels, "__len__"):
            raise ValueError(
                f"Expected 2D array, but row {row} of {name} is {labels!r}: each row must be a list of items, best "
                "first. A single ranking is a list of one list."
            )
    lengths = np.fromiter(map(len, rows), np.intp, len(rows))
    labels = np.fromiter(chain.from_iterable(rows), object, int(lengths.sum()))
    table = np.full((len(rows), int(lengths.max(initial=0))), None, dtype=object)
    table[np.arange(table.shape[1]) < lengths[:, None]] = labels
    return table


def is_gap(label):
    """Whether a label is one of the ways to say that there is none: None, NaN, NaT, NA or an empty string."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(label, (str, bytes)):
        return len(label) == 0
    if isinstance(label, (float, np.floating)):
        return bool(label != label)
    return isinstance(label, (np.datetime64, np.timedelta64)) and bool(np.isnat(label))


def label_array(labels):
    """A 1-d array of labels: numbers where all are numbers, objects otherwise (nothing is cut or turned into text)."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iuf":
        array = labels
    else:
        labels = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        array = np.fromiter(labels, object, len(labels))
        kinds = {np.asarray(label).dtype.kind if np.isscalar(label) else "O" for label in labels}
        if labels and kinds <= set("iuf"):
            array = np.asarray(labels)
    if array.dtype.kind == "f" and len(array) and (array == np.rint(array)).all() and np.abs(array).max() < 2**53:
        array = array.astype(np.int64)  # ids that a gap in their table had turned into floats
    return array


def distinct_labels(table):
    """The distinct labels of a table, gaps left out: sorted; labels that cannot be compared are sorted within types."""
    if table.dtype.kind in "iuf":
        labels = np.unique(table)
        return label_array(labels[~np.isnan(labels)])
    labels = [label for label in set(_hashable(table)) if not is_gap(label)]
    try:
        labels = sorted(labels)
    except TypeError:
        labels = sorted(labels, key=lambda label: (type(label).__name__, repr(label)))
    return label_array(labels)


def check_items(items):
    """Validate the labels that name the columns: 1-d, distinct, no gaps."""
    no_sequence = isinstance(items, (str, bytes, set, frozenset))
    if no_sequence or not hasattr(items, "__len__") or getattr(items, "ndim", 1) != 1:
        raise ValueError(f"items must be a list of the items' labels, in the order of the columns; got {items!r}.")
    items = label_array(items)
    if len(items) == 0:
        raise ValueError("items must hold at least one label; got none.")
    position: dict[object, int] = {}
    for index, label in enumerate(_hashable(items)):
        if label is None or label != label:
            raise ValueError(f"items[{index}] is {label!r}: every item needs a label.")
        if label in position:
            raise ValueError(f"items[{index}] is {label!r}, which is already items[{position[label]}].")
        position[label] = index
    return items


def encode(table, items):
    """The index in `items` of every label of a table, GAP where there is none, UNKNOWN where it is not an item."""
    if table.dtype.kind in "iuf" and items.dtype.kind in "iuf":
        return _encode_numbers(table, items)
    index = {label: number for number, label in enumerate(_hashable(items))}
    for gap in (None, "", np.nan):
        index.setdefault(gap, GAP)
    labels = _hashable(table)
    codes = np.fromiter(map(index.get, labels, repeat(UNKNOWN)), np.intp, len(labels))
    unknown = np.flatnonzero(codes == UNKNOWN)
    codes[unknown] = [GAP if is_gap(labels[place]) else UNKNOWN for place in unknown]
    return codes.reshape(table.shape)


def _encode_numbers(table, items):
    order = np.argsort(items, kind="stable")
    ascending = items[order]
    place = np.minimum(np.searchsorted(ascending, table), len(items) - 1)
    codes = np.where(ascending[place] == table, order[place], UNKNOWN)
    if table.dtype.kind == "f":
        codes[np.isnan(table)] = GAP
    return codes


def _hashable(table):
    labels = table.ravel().tolist()
    try:
        set(labels)
    except TypeError as error:
        raise TypeError(f"Item labels must be hashable ({error}).") from None
    return labels
