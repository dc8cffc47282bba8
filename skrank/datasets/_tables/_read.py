"""From a table to rankings: the ranks of its items, and what every other column is."""

import os
from typing import NamedTuple

import numpy as np

from skrank._rankings import (
    LARGEST_TOTAL_WEIGHT,
    LEAST_TOTAL_WEIGHT,
    MISSING,
    check_rankings,
    settle_unranked,
)
from skrank.datasets._tables._approvals import approvals_of
from skrank.datasets._tables._cells import read_grid
from skrank.datasets._tables._header import Table, short_rows, table_of
from skrank.datasets._tables._items import Options, find_items, list_separator, matching, quoted, split_list
from skrank.datasets._tables._numbers import MissingCodes, exact_values, numbers_of
from skrank.datasets._tables._words import COUNT, ID, WEIGHT, place_of
from skrank.preprocessing import ranks_from_scores
from skrank.preprocessing._labels import distinct_labels

SHOWN_NAMES = 8


class TableOptions(NamedTuple):
    """What the caller says of a file; see `skrank.datasets.load_table`."""

    kind: str | None = None
    items: tuple = ()
    ignore: tuple = ()
    unranked: str | None = None
    weight: str | None = None
    count: str | None = None  # type: ignore[assignment]
    labels: tuple = ()
    missing_codes: tuple = ()
    header: bool | None = None
    encoding: str | None = None
    sheet: str | None = None


class TableRankings(NamedTuple):
    """Densified rankings of a table, and its columns by what they are.

    Attributes
    ----------
    ranks : ndarray of shape (n_rows, n_items)
    item_names : list of str
    table : Table
    weights : ndarray of shape (n_rows,)
        Ones where no column holds them.
    columns : list of int
        That are items, or hold orderings.
    ids : int or None
        The column that tells voters apart.
    unused : list of int
        Columns that are nothing.
    description : str
        One line that describes how every column was interpreted.
    doubt : str
        What to say of a column that may hold weights and is not used, as the items were named and it was not.
    """

    ranks: np.ndarray
    item_names: list
    table: Table
    weights: np.ndarray
    columns: list
    ids: int | None
    unused: list
    description: str
    doubt: str = ""


def read_table(content, path, options):
    """The rankings of a file's content, bytes as they came."""
    grid = read_grid(content, path, encoding=options.encoding, sheet=options.sheet)
    if options.header is False and options.kind != "orderings":
        raise grid.error(0, "--no-header goes with --orderings: ranks or scores need the items' names.")
    table = table_of(grid, options.header is not False, options.kind != "orderings")
    special = tuple(name for name in (options.weight, options.count, *options.labels) if name is not None)
    chosen = Options(options.kind, options.items, options.ignore, special, options.missing_codes)
    reading = find_items(table, chosen)
    columns = reading.columns
    if reading.kind in ("ranks", "scores"):
        short_rows(grid, table)
        ranks, names = _ranks(table, reading)
    elif reading.kind.startswith("approval"):
        values, names = approvals_of(table, columns, reading.kind == "approvals", options.missing_codes)
        ranks, names = check_rankings(values), item_names(table, columns) if names is None else names
    else:
        buckets, named = _buckets(table, reading, options.missing_codes)
        _refuse_lost_ballot(table, columns, named, options.header)
        ranks, names = _ranks_of_buckets(buckets, named), named
    ranks = settle_unranked(
        ranks, options.unranked, lambda row, item: str(table.error(row, f"no rank for {names[item]!r}"))
    )
    rest = [column for column in range(len(table.names)) if column not in columns]
    ignored = {*matching(table, options.ignore), *map(table.column, special)}
    forgotten = _forgotten_weights(table, [c for c in rest if c not in ignored], reading.numbers, options)
    if forgotten and not options.items:
        raise table.error(None, forgotten)
    ids = _ids(table, [column for column in rest if column not in ignored], reading.numbers)
    known = {ids, *map(table.column, special)}
    rest = [column for column in rest if table.names[column] or table.cells[:, column].any()]
    unused = [column for column in rest if column not in known]
    description = _describe(table, reading, names, ids, unused, options)
    weights = _weights(table, options)
    return TableRankings(ranks, names, table, weights, columns, ids, unused, description, forgotten or "")


# ---------------------------------------------------------------- ranks
def _ranks(table, reading):
    columns = reading.columns
    names = item_names(table, columns)
    values = reading.numbers.values[:, columns]
    wrong = reading.numbers.is_text[:, columns]
    if wrong.any():
        row, place = np.argwhere(wrong)[0]
        cell = table.cells[row, columns[place]]
        raise table.error(int(row), f"{cell!r} in column {table.names[columns[place]]!r} is not a number.")
    values = exact_values(table, columns, values)
    return check_rankings(ranks_from_scores(values) if reading.kind == "scores" else values), names


def item_names(table, columns):
    """What the columns are called as items; their own names where those are not distinct."""
    for called in (table.items, table.names):
        names = [called[column] for column in columns]
        if len(set(names)) == len(names):
            break
    else:
        repeated = next(name for name in names if names.count(name) > 1)
        raise table.error(None, f"two columns are called {repeated!r}.")
    if "" in names:
        raise table.error(None, f"column {columns[names.index('')] + 1} has no name, but is an item.")
    return names


# ---------------------------------------------------------------- orderings
def _buckets(table, reading, missing_codes):
    """For each row its buckets of items, best first, and the items that any row lists, sorted."""
    missing = MissingCodes(missing_codes)
    columns = reading.columns
    if reading.kind == "lists":
        separator = list_separator(table, columns[0])
        cells = table.cells[:, columns[0]]
        buckets = [[] if missing.contains(cell) else split_list(cell, separator) for cell in cells]
    else:
        places = [place_of(table.items[column]) or place_of(table.names[column]) for column in columns]
        if None not in places:
            columns = [columns[i] for i in np.argsort(places, kind="stable")]
        buckets = []
        for number, row in enumerate(table.cells[:, columns]):
            listed = [not missing.contains(cell) for cell in row]
            if None in places and any(later and not before for before, later in zip(listed, listed[1:], strict=False)):
                raise table.error(number, "an empty cell before an item: an ordering has no gaps.")
            buckets.append([[cell] for cell, there in zip(row, listed, strict=True) if there])
    for number, row in enumerate(buckets):
        items = [item for bucket in row for item in bucket]
        if len(set(items)) < len(items):
            repeated = next(item for item in items if items.count(item) > 1)
            raise table.error(number, f"{repeated!r} is listed twice.")
    items = distinct_labels(np.array([item for row in buckets for bucket in row for item in bucket] or [""], object))
    if not len(items):
        raise table.error(0, "no items.")
    if all(item.isascii() and item.isdecimal() for item in items):
        digits = [item.lstrip("0") for item in items]
        items = items[sorted(range(len(items)), key=lambda item: (len(digits[item]), digits[item]))]
    return buckets, items.tolist()


def _ranks_of_buckets(buckets, items):
    index = {item: number for number, item in enumerate(items)}
    ranks = np.full((len(buckets), len(items)), MISSING)
    for row, listed in enumerate(buckets):
        for place, bucket in enumerate(listed):
            ranks[row, [index[item] for item in bucket]] = place
    return check_rankings(np.where(ranks == MISSING, np.nan, ranks))


def _refuse_lost_ballot(table, columns, items, header):
    """Raise where the first line may be an ordering itself."""
    names = [table.names[column] for column in columns if table.names[column]]
    if header is None and set(names) & set(items):
        raise table.error(
            None,
            "the first line lists items of the rows below: if it is no header, pass --no-header, otherwise --header.",
        )


# ---------------------------------------------------------------- weights
def _weights(table, options):
    name = options.weight or options.count
    if name is None:
        return np.ones(len(table.lines))
    column = table.column(name)
    numbers = numbers_of(table)
    values = numbers.values[:, column]
    bad = np.isnan(values)
    if bad.any():
        row = int(bad.argmax())
        raise table.error(row, f"{table.cells[row, column]!r} in column {name!r} is not a number.")
    if (values < 0).any():
        row = int((values < 0).argmax())
        raise table.error(row, f"the weight {values[row]:g} is negative.")
    if options.count is not None and (values % 1 != 0).any():
        row = int((values % 1 != 0).argmax())
        raise table.error(
            row, f"the count {values[row]:g} is not a whole number. If this is a survey weight, pass --weight {name}."
        )
    if not values.any():
        raise table.error(0, "all weights are 0.")
    with np.errstate(over="ignore"):
        total = values.sum()
    if not LEAST_TOTAL_WEIGHT <= total <= LARGEST_TOTAL_WEIGHT:
        raise table.error(
            int(values.argmax()),
            f"the weights add up to {total:.3g}, which must be a number from {LEAST_TOTAL_WEIGHT:g} to "
            f"{LARGEST_TOTAL_WEIGHT:g}; the largest is {values.max():g}.",
        )
    return values


def _forgotten_weights(table, columns, numbers, options):
    """What to say of a column that may hold weights; None if there is none, or weights are named."""
    if options.weight is not None or options.count is not None:
        return None
    for column in columns:
        name, values = table.names[column], numbers.values[:, column]
        looks = [pattern.fullmatch(name) is not None for pattern in (COUNT, WEIGHT)]
        if any(looks) and numbers.is_numeric[column] and (values >= 0).all() and (values != 1).any():
            whole = (values % 1 == 0).all() and not (looks[1] and not looks[0])
            way = "--count" if whole else "--weight"
            meaning = "how often each row was seen" if whole else "how much each row weighs"
            return (
                f"the column {name!r} may say {meaning}: pass {way} {quoted(table, [column])} if so, "
                f"otherwise --ignore {quoted(table, [column])}."
            )
    return None


# ---------------------------------------------------------------- the other columns
def _ids(table, columns, numbers):
    """The column that tells voters apart: of distinct values, called like one, or of whole numbers."""
    distinct = [column for column in columns if len(set(table.cells[:, column])) == len(table.lines)]
    named = [column for column in distinct if ID.fullmatch(table.names[column])]
    return named[0] if named else None


def _describe(table, reading, names, ids, unused, options):
    parts = [*table.notes]
    if reading.kind in ("ranks", "scores"):
        parts.append(f"items ({reading.kind}): {_listed(names)}")
    elif reading.kind == "approvals":
        parts.append(f"approvals (a mark a cell): {_listed(names)}")
    elif reading.kind == "approval lists":
        parts.append(f"approvals (a list in a cell): {table.names[reading.columns[0]]}")
    else:
        way = "one item a cell" if reading.kind == "orderings" else "a list in a cell"
        parts.append(f"orderings ({way}): {_listed([table.names[column] for column in reading.columns])}")
    for role, name in (
        ("weight", options.weight),
        ("count", options.count),
        *(("label", one) for one in options.labels),
    ):
        if name is not None:
            parts.append(f"{role}: {name}")
    if ids is not None:
        parts.append(f"ids: {table.names[ids]}")
    if unused:
        parts.append(f"not used: {_listed([table.names[column] or f'column {column + 1}' for column in unused])}")
    words = {cell for cell in np.unique(table.cells[:, reading.columns].astype(str)) if cell}
    gaps = sorted(cell for cell in words if MissingCodes(options.missing_codes).contains(cell))
    if gaps:
        parts.append(f"taken as missing: {_listed(gaps)}")
    return "; ".join(parts)


def _listed(names):
    shown = ", ".join(names[:SHOWN_NAMES])
    return shown + (f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else "")


def file_title(path):
    """What a file is called in headings."""
    return os.path.basename(path)
