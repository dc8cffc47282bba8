"""Reading files of the PrefLib collection: strict and weak orders, complete or not, and categories."""

import os
from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions

from skrank._rankings import MISSING, n_ranked, rank_dtype, settle_unranked, to_rank_matrix
from skrank._typing import Unranked, validate_params
from skrank.datasets._preflib_header import KINDS, read_header
from skrank.datasets._preflib_orders import parse_orders
from skrank.datasets._text_files import parse_error, read_bytes, refuse_sparse


@validate_params(
    {"path": [str, os.PathLike], "unranked": [StrOptions({"last", "missing"}), None]},
    prefer_skip_nested_validation=True,
)
def load_preflib(path: str | os.PathLike[str], *, unranked: Unranked = None) -> Any:
    """Load a PrefLib file of rankings.

    Parameters
    ----------
    path : str or path-like
        A file of strict orders (``.soc`` complete, ``.soi`` incomplete), of orders with ties (``.toc``, ``.toi``) or of
        categories (``.cat``), with the current header (lines ``# KEY: value``) or the header used before 2022; also
        gzipped.
    unranked : {"last", "missing"}, default=None
        How to encode alternatives that an order leaves out. "last" ties them after all ranked alternatives; "missing"
        encodes them as NaN, so that nothing is known about them. None raises an error if one is left out, because the
        two meanings are different data and skrank does not guess.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        data : ndarray of shape (n_rankings, n_items), float64
            Rank matrix of the distinct rankings, in the order of the file: 0 for the first bucket, NaN for missing
            items. In a file of categories, the rank is the number of the category, in the order of the header from 0,
            so that ``data == 0`` selects the approved alternatives of approval ballots.
        sample_weight : ndarray of shape (n_rankings,), int64
            Number of voters with each ranking: 0 if the file says so, and the sum if an order is on two lines. Pass it
            to estimators; otherwise, every distinct ranking counts once.
        item_names : ndarray of shape (n_items,), str objects
            Names of the alternatives.
        metadata : dict
            The other entries of the header, with keys in lower case with underscores ("title", "data_type",
            "number_voters"), and for categories "category_names", a list.

    Raises
    ------
    ValueError
        If the file is invalid: entries of the header are missing, unknown or contradictory; counts do not add up to
        those in the header; an alternative is unknown or listed twice; braces do not match; an order does not have the
        type given in the header; the file is empty, binary or truncated. The message names the line.

    See Also
    --------
    dump_preflib : The inverse.

    Notes
    -----
    A ``.toc`` file with the same number as a ``.soi`` or ``.toi`` file contains the same votes, completed as with
    ``unranked="last"``.

    References
    ----------
    N. Mattei and T. Walsh, "PrefLib: A library for preferences", Algorithmic Decision Theory (2013).

    Examples
    --------
    >>> import os, tempfile
    >>> from skrank.datasets import dump_preflib, load_preflib
    >>> path = os.path.join(tempfile.mkdtemp(), "lunch.soi")
    >>> dump_preflib(path, [[1, 2, 3], [float("nan"), 1, 2]], sample_weight=[4, 2], item_names=["egg", "squid", "tuna"])
    >>> lunch = load_preflib(path, unranked="last")
    >>> lunch.data
    array([[0., 1., 2.],
           [2., 0., 1.]])
    >>> lunch.sample_weight
    array([4, 2])
    """
    return parse_preflib(read_bytes(path), path, unranked)


def parse_preflib(content, path, unranked=None):
    """What a PrefLib file's content says; see `load_preflib`. `path` is named in errors."""
    header = read_header(content, path)
    orders = parse_orders(
        content[header.n_bytes :],
        path,
        header.n_lines + 1,
        separator=header.separator,
        # Categories may be empty; so are, in old files, buckets of orders.
        allow_empty=header.kind == "cat" or header.separator == ",",
    )
    if header.separator == ",":
        orders = _without_empty_buckets(orders)
    refuse_sparse(path, header.totals["orders"][1], len(orders.line), len(header.item_names), len(content))
    ranks = _bucket_numbers(orders, header, path)
    _check_kind(ranks, orders, header, path)
    _check_totals(orders, header, path)
    settled = settle_unranked(
        ranks,
        unranked,
        lambda order, item: (
            f"{os.fspath(path)}, line {orders.line[order]}: the order leaves out alternative "
            f"{item + header.first_item} ({header.item_names[item]})"
        ),
        last=len(header.category_names) or None,
    )
    # An order on two lines was counted twice, as published files do; a completed order may equal another.
    first, group = distinct_rows(settled)
    counts = orders.count
    if len(first) < len(settled):
        settled, counts = settled[first], _sums(group, counts)
    return Bunch(
        data=to_rank_matrix(settled),
        sample_weight=counts,
        item_names=np.array(header.item_names, dtype=object),
        metadata=header.metadata,
    )


def _without_empty_buckets(orders):
    """The orders with their buckets numbered as if there were no empty ones."""
    cell = np.unique(np.stack([orders.order, orders.bucket]), axis=1)
    first = np.searchsorted(cell[0], np.arange(len(orders.line)))
    number = np.arange(cell.shape[1]) - first[cell[0]]
    width = int(orders.bucket.max(initial=0)) + 1
    place = np.searchsorted(cell[0] * width + cell[1], orders.order * width + orders.bucket)
    return orders._replace(bucket=number[place], n_buckets=np.bincount(cell[0], minlength=len(orders.line)))


def _sums(group, counts):
    """Counts of each group, as whole numbers."""
    total = np.zeros(group.max() + 1, np.int64)
    np.add.at(total, group, counts)
    return total


def distinct_rows(integers):
    """Distinct rows of a 2-d integer array: the first row of each, in order of appearance, and each row's group."""
    rows = np.ascontiguousarray(integers)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    number = np.empty_like(appearance)
    number[appearance] = np.arange(len(first))
    return first[appearance], number[group]


def _bucket_numbers(orders, header, path):
    """Bucket of each alternative in each order, from 0; MISSING if it is left out."""
    n_items = len(header.item_names)
    column = orders.item - header.first_item
    unknown = (column < 0) | (column >= n_items)
    if unknown.any():
        entry = int(unknown.argmax())
        line = orders.line[orders.order[entry]]
        expected = f"{header.first_item} to {header.first_item + n_items - 1}"
        raise parse_error(path, line, f"alternative {orders.item[entry]}, but the alternatives are {expected}.")
    shape = (len(orders.line), n_items)
    dtype = rank_dtype(max(n_items, len(header.category_names) + 1, int(orders.n_buckets.max())))
    ranks = np.full(shape, MISSING, dtype)
    ranks[orders.order, column] = orders.bucket
    listed = np.bincount(orders.order, minlength=len(ranks))
    twice = listed != n_ranked(ranks)
    if twice.any():
        order = int(twice.argmax())
        items = orders.item[orders.order == order]
        repeated = int(np.flatnonzero(np.bincount(items) > 1)[0])
        raise parse_error(path, orders.line[order], f"alternative {repeated} is listed more than once.")
    return ranks


def _check_kind(ranks, orders, header, path):
    """Whether each order is of the kind that the header says."""
    kind, n_categories = header.kind, len(header.category_names)
    listed = n_ranked(ranks)
    for wrong, message in (
        (kind == "cat" and orders.n_buckets != n_categories, f"the header announces {n_categories} categories"),
        (kind in ("soc", "soi") and orders.n_buckets != listed, "a tie"),
        (kind in ("soc", "toc") and listed != ranks.shape[1], f"not all of the {ranks.shape[1]} alternatives"),
    ):
        if np.any(wrong):
            order = int(np.argmax(wrong))
            found = f", but the line has {orders.n_buckets[order]}" if kind == "cat" else ", in a file of"
            ending = "" if kind == "cat" else f" {KINDS[kind]} ({kind})"
            raise parse_error(path, orders.line[order], f"{message}{found}{ending}.")


def _check_totals(orders, header, path):
    number, line, words = header.totals["orders"]
    lines = f"lines {orders.line[0]} to {orders.line[-1]}"
    if number != len(orders.line):
        raise parse_error(path, line, f"{words} is {number}, but there are {len(orders.line)} orders ({lines}).")
    number, line, words = header.totals["voters"]
    if number != orders.count.sum():
        raise parse_error(path, line, f"{words} is {number}, but the counts of {lines} add up to {orders.count.sum()}.")
