"""The header of a table: one row or the several rows of survey tools; which question and item each column is about."""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from skrank.datasets._tables._words import is_missing, is_number

BRACKET = re.compile(r"(?P<stem>.*?)\s*\[(?P<item>[^\[\]]+)\]")
RESPONSE = {"response", "open-ended response", ""}


class Table(NamedTuple):
    """Cells under named columns.

    Attributes
    ----------
    names : list of str
        Of the columns, as options name them.
    items : list of str
        What each column is called as an item: what stands in the brackets of "Rank these [Ann]", say.
    stems : list of str
        The question that a column belongs to; "" if it belongs to none.
    cells : ndarray of shape (n_rows, n_columns), object
        Text.
    lines : list of int
        The line that each row ends in.
    path : str
        For errors.
    decimal_comma : bool
        Whether numbers may have a comma.
    notes : list of str
        How the file was read.
    header_line : int
        The line of the header.
    """

    names: list
    items: list
    stems: list
    cells: np.ndarray
    lines: list
    path: str
    decimal_comma: bool
    notes: list
    header_line: int

    def error(self, row, message):
        """The ValueError for a row; None is the header."""
        line = self.header_line if row is None else self.lines[row]
        return ValueError(f"{self.path}, line {line}: {message}")

    def column(self, name):
        """The number of a column: by its name, or by what it is called as an item."""
        for called in (self.names, self.items):
            if called.count(name) == 1:
                return called.index(name)
        there = ", ".join(map(repr, self.names[:40])) + (", ..." if len(self.names) > 40 else "")
        trouble = "several columns are" if name in self.names else "no column is"
        raise self.error(None, f"{trouble} called {name!r}; there are {there}.")


def table_of(grid, header=True, may_have_two_rows=True):
    """The table of a grid; without a header its columns are called 1, 2, ..., and its rows may be of any length."""
    rows, notes = grid.rows, list(grid.notes)
    if not header:
        names = [str(column) for column in range(1, max(map(len, rows)) + 1)]
        return _table(grid, names, names, [""] * len(names), 0, notes)
    names, texts, n_header = _names(grid, notes, may_have_two_rows)
    if len(rows) == n_header:
        raise grid.error(0, "no rows after the header.")
    width = max(len(names), max(map(len, rows[n_header:])))
    names = names + [""] * (width - len(names))
    texts = texts + [""] * (width - len(texts))
    items, stems = _items_and_stems(texts)
    return _table(grid, names, items, stems, n_header, notes)


def _table(grid, names, items, stems, n_header, notes):
    rows = grid.rows[n_header:]
    cells = np.full((len(rows), len(names)), "", dtype=object)
    for number, row in enumerate(rows):
        cells[number, : len(row)] = row
    lines = grid.lines[n_header:]
    return Table(names, items, stems, cells, lines, grid.path, grid.delimiter != ",", notes, grid.lines[0])


def short_rows(grid, table):
    """Raise on a row that is shorter or longer than the header, cells that are empty at its end aside."""
    n_header = len(grid.rows) - len(table.lines)
    width = len(grid.rows[0]) if n_header else max(map(len, grid.rows))
    for number, row in enumerate(grid.rows[n_header:]):
        if len(row) < width or any(row[width:]):
            raise table.error(number, f"{len(row)} cells, but the header has {width}.")


# ---------------------------------------------------------------- kinds of headers
def _names(grid, notes, may_have_two_rows):
    """Names of the columns, the texts that say what they are about, and how many rows the header has."""
    rows = grid.rows
    if len(rows) > 3 and sum('"ImportId"' in cell or "{ImportId" in cell for cell in rows[2]) * 2 > len(rows[0]):
        notes.append("header: Qualtrics")
        texts = [" ".join(text.split()) for text in rows[1]]
        return rows[0], texts + [""] * (len(rows[0]) - len(texts)), 3
    if may_have_two_rows and _is_surveymonkey(rows):
        notes.append("header: two rows, as of SurveyMonkey")
        question, names = "", []
        below = rows[1] + [""] * (len(rows[0]) - len(rows[1]))
        for above, label in zip(rows[0], below, strict=False):
            question = above or question
            names.append(question if label.lower() in RESPONSE else f"{question} [{label}]")
        return names, names, 2
    return rows[0], rows[0], 1


def _is_surveymonkey(rows):
    """A first row of questions, blank where one goes on, over a row that says what each of its columns is."""
    if len(rows) < 3 or len(rows[1]) < len(rows[0]) or not rows[0][0]:
        return False
    blank = [column for column, cell in enumerate(rows[0]) if not cell]
    labels = [rows[1][column] for column in blank]
    return (
        len(blank) > 0
        and all(label and not is_number(label) and not is_missing(label) for label in labels)
        and len(set(labels)) == len(labels)
        # What stands under the header is of another kind: places, where the second row has names.
        and not any(rows[2][column] in labels for column in blank if column < len(rows[2]))
    )


def _items_and_stems(texts):
    """What each column is called as an item, and the question it belongs to."""
    items, stems = list(texts), [""] * len(texts)
    for column, text in enumerate(texts):
        if match := BRACKET.fullmatch(text):
            stems[column], items[column] = match["stem"], match["item"].strip()
    # "Please rank - Ann", "Please rank - Ben": the text that several columns share before the last dash.
    ends = [text.rpartition(" - ") for text in texts]
    shared = Counter(stem for stem, dash, item in ends if dash and item)
    for column, (stem, _, item) in enumerate(ends):
        if not stems[column] and shared[stem] > 1:
            stems[column], items[column] = stem, item.strip()
    return items, stems
