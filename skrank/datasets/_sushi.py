"""The order format of the SUSHI preference data: one line of item numbers for each user."""

import os
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions

from skrank._typing import Names, Unranked, validate_params
from skrank.datasets._preflib_header import WHOLE
from skrank.datasets._text_files import decode_line, parse_error, read_bytes, refuse_sparse
from skrank.preprocessing import ranks_from_orderings


@validate_params(
    {
        "path": [str, os.PathLike],
        "unranked": [StrOptions({"last", "missing"}), None],
        "item_names": ["array-like", None],
    },
    prefer_skip_nested_validation=True,
)
def load_sushi_order(path: str | os.PathLike[str], *, unranked: Unranked = None, item_names: Names = None) -> Any:
    """Load a file in the order format of the SUSHI preference data.

    The first line is ``n_items 1``. Each other line is ``0 length item item ...`` with item numbers from 0, best first.

    Parameters
    ----------
    path : str or path-like
        The file, such as ``sushi3a.5000.10.order``; also gzipped.
    unranked : {"last", "missing"}, default=None
        How to encode items that a line leaves out, as in `load_preflib`. None raises an error if an item is left out.
    item_names : array-like of shape (n_items,), default=None
        Names of the items, which the file does not contain. None means their numbers.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        data : ndarray of shape (n_users, n_items), float64
            Rank matrix with one row for each line, so that rows match the file of users.
        sample_weight : ndarray of shape (n_users,), int64
            Ones.
        item_names : ndarray of shape (n_items,), str objects
            Names of the items.

    Raises
    ------
    ValueError
        If the file is invalid; the message names the line.

    References
    ----------
    T. Kamishima, "Nantonac collaborative filtering: Recommendation based on order responses", KDD (2003).

    Examples
    --------
    >>> import os, tempfile
    >>> from skrank.datasets import load_sushi_order
    >>> path = os.path.join(tempfile.mkdtemp(), "lunch.order")
    >>> with open(path, "w") as file:
    ...     _ = file.write("4 1\\n0 3 2 0 1\\n0 2 3 1\\n")
    >>> load_sushi_order(path, unranked="missing").data
    array([[ 1.,  2.,  0., nan],
           [nan,  1., nan,  0.]])
    """
    return parse_sushi_order(read_bytes(path), path, unranked, item_names)


def parse_sushi_order(content, path, unranked=None, item_names=None):
    """What the content of a file in the order format says; see `load_sushi_order`. `path` is named in errors."""
    lines = content.rstrip().split(b"\n")
    rows = [_numbers(line, path, number) for number, line in enumerate(lines, 1)]
    if len(rows[0]) != 2 or rows[0][0] < 1 or rows[0][1] != 1:
        raise parse_error(path, 1, "expected 'n_items 1'.")
    n_items = rows[0][0]
    if len(rows) == 1:
        raise parse_error(path, 1, "no orders after the header.")
    refuse_sparse(path, 1, len(rows) - 1, n_items, len(content))
    for number, row in enumerate(rows[1:], 2):
        _check_row(row, n_items, path, number, unranked)
    names = range(n_items) if item_names is None else item_names
    if len(names) != n_items:
        raise ValueError(f"item_names has {len(names)} names, but {os.fspath(path)} has {n_items} items.")
    return Bunch(
        data=ranks_from_orderings([row[2:] for row in rows[1:]], items=range(n_items), unranked=unranked),
        sample_weight=np.ones(len(rows) - 1, np.int64),
        item_names=np.array([str(name) for name in names], dtype=object),
    )


def _numbers(line, path, number):
    text = decode_line(line, path, number)
    words = text.split()
    if not all(map(WHOLE.fullmatch, words)):
        raise parse_error(path, number, f"expected whole numbers, found {text[:60]!r}.")
    return list(map(int, words))


def _check_row(row, n_items, path, number, unranked):
    if len(row) < 2 or row[0] != 0 or row[1] != len(row) - 2:
        raise parse_error(path, number, "expected '0 length item item ...', with as many items as the length says.")
    items = row[2:]
    outside = [item for item in items if not 0 <= item < n_items]
    if outside:
        raise parse_error(path, number, f"item {outside[0]}, but the items are 0 to {n_items - 1}.")
    if len(set(items)) < len(items):
        repeated = next(item for item in items if items.count(item) > 1)
        raise parse_error(path, number, f"item {repeated} is listed more than once.")
    if unranked is None and len(items) < n_items:
        raise parse_error(
            path,
            number,
            f"only {len(items)} of the {n_items} items. Choose unranked='last' (the others come after "
            "them, tied) or unranked='missing' (nothing is known about the others).",
        )
