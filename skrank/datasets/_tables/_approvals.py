"""Tables of approvals: a column of marks for each item, or the items that a person approves of listed in a cell."""

import shlex

import numpy as np

from skrank.datasets._tables._numbers import MissingCodes
from skrank.datasets._tables._words import ABOUT, COUNT, ID, WEIGHT

SEPARATORS = (";", "|", ",", ">")
YES = frozenset("1 1.0 x yes y true t ja j oui si sí ok approve approved selected checked ticked on".split()) | {
    "\N{CHECK MARK}",
    "\N{HEAVY CHECK MARK}",
}
NO = frozenset("0 0.0 no n false f nein non off unselected unchecked".split()) | {
    "not selected",
    "not checked",
    "disapprove",
}


def approval_columns(table, columns, missing_codes, chosen):
    """Columns that hold approvals, and whether they are marks (otherwise one column of lists).

    `chosen` says that the caller named the columns: then all must hold approvals.
    """
    missing = MissingCodes(missing_codes)
    marks = [column for column in columns if _is_mark(table, column, missing)]
    if chosen and len(marks) == len(columns):
        return marks, True
    if chosen and len(columns) == 1:
        return columns, False
    if chosen:
        column = next(column for column in columns if column not in marks)
        raise _not_a_mark(table, column, missing)
    if len(marks) > 1:
        about = [column for column in marks if _is_about_people(table.names[column])]
        if about:
            name = table.names[about[0]]
            raise table.error(
                None,
                f"it is not clear whether {name!r} is an item: its name says otherwise. If not, pass --ignore "
                f"{shlex.quote(name)}; if so, pass --items and all columns of marks.",
            )
        return marks, True
    lists = [column for column in columns if column not in marks and separator_of(table, column)]
    if len(lists) != 1:
        raise table.error(
            None,
            f"{len(lists)} columns hold lists of items, and fewer than two hold marks such as 1 and 0. Pass --items "
            "and the columns of approvals.",
        )
    return lists, False


def approvals_of(table, columns, are_marks, missing_codes):
    """Rank matrix of approvals (0 approved, 1 not) and the items."""
    missing = MissingCodes(missing_codes)
    if are_marks:
        approved = np.stack([_approved(table, column, missing) for column in columns], axis=1)
        return 1.0 - approved, None
    separator = separator_of(table, columns[0])
    listed = [_listed(cell, separator, missing) for cell in table.cells[:, columns[0]]]
    items = sorted({item for row in listed for item in row})
    if not items:
        raise table.error(0, "no items.")
    index = {item: number for number, item in enumerate(items)}
    ranks = np.ones((len(listed), len(items)))
    for row, names in enumerate(listed):
        ranks[row, [index[name] for name in names]] = 0
    return ranks, items


def separator_of(table, column):
    """The separator that most cells of a column have, None if none has any."""
    counts = [sum(separator in cell for cell in table.cells[:, column]) for separator in SEPARATORS]
    return SEPARATORS[int(np.argmax(counts))] if max(counts) else None


def _listed(cell, separator, missing):
    if missing.contains(cell):
        return []
    return [part.strip() for part in (cell.split(separator) if separator else [cell]) if part.strip()]


def _approved(table, column, missing):
    cells, inverse = np.unique(table.cells[:, column].astype(str), return_inverse=True)
    return np.array([_mark(table, column, cell, missing) is True for cell in cells.tolist()])[inverse]


def _mark(table, column, cell, missing):
    """Whether a cell approves; None if it is no mark. A ticked box may hold the name of its own item."""
    if cell.lower() in YES or (cell and cell in (table.items[column], table.names[column])):
        return True
    return False if cell.lower() in NO or missing.contains(cell) else None


def _is_mark(table, column, missing):
    marks = {_mark(table, column, cell, missing) for cell in set(table.cells[:, column].tolist())}
    return None not in marks and True in marks


def _not_a_mark(table, column, missing):
    cells = table.cells[:, column].tolist()
    row = next((row for row, cell in enumerate(cells) if _mark(table, column, cell, missing) is None), 0)
    return table.error(
        row,
        f"{cells[row]!r} in column {table.names[column]!r} does not say whether the item is approved of: marks are 1 "
        "and 0, x, yes and no, or empty.",
    )


def _is_about_people(name):
    return any(pattern.fullmatch(name) for pattern in (ID, ABOUT, COUNT, WEIGHT))
