"""CSV files: rows of cells with the lines they are from, and what the columns mean."""

import csv
import re
from typing import NamedTuple

import numpy as np

from skrank._rankings import LARGEST_TOTAL_WEIGHT, LEAST_TOTAL_WEIGHT
from skrank.datasets._text_files import decode_line, parse_error

DELIMITERS = ",;\t"
QUOTED = re.compile(r'"[^"]*"?')
GAPS = frozenset({"", "NA", "NaN", "nan"})
# Python's float() also takes "1_0", "infinity" and digits of any script.
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Headers of columns that hold items, not items' ranks: choice 1, Rank_2, 3rd, fourth.
PLACE = re.compile(
    r"(choice|rank|place|position|pref(erence)?)[ _.-]*[0-9]+|[0-9]+(st|nd|rd|th)([ _.-]*\w+)?|"
    r"(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)([ _.-]*\w+)?",
    re.IGNORECASE,
)


class Table(NamedTuple):
    """Rows of cells under named columns, the line that each row ends in, and the file's name for errors."""

    names: list
    rows: list
    lines: list
    path: str

    def error(self, row, message):
        """The ValueError for a row; None is the header."""
        return parse_error(self.path, 1 if row is None else self.lines[row], message)

    def column(self, name):
        """The number of a column."""
        if name not in self.names:
            there = ", ".join(map(repr, self.names))
            raise self.error(None, f"no column {name!r}; there are {there}.")
        return self.names.index(name)


def read_cells(content, path):
    """Rows of cells without the space around them, and the line that each row ends in; the delimiter is , ; or tab."""
    # Not without the space around a line: between tabs at its ends are empty cells.
    numbered = enumerate(content.rstrip(b"\r\n").split(b"\n"), 1)
    text = [decode_line(line, path, number, strip="\r") for number, line in numbered]
    delimiter = max(DELIMITERS, key=QUOTED.sub("", text[0]).count)
    reader = csv.reader([line + "\n" for line in text], delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if len(cells) > 1 or any(cells):  # else a blank line
                rows.append(cells)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise parse_error(path, reader.line_num, f"{error}.") from None
    if not rows:
        raise parse_error(path, 1, "the file is empty.")
    return rows, lines


def table_with_header(content, path):
    """A CSV whose first line names its columns; all rows are of its length."""
    rows, lines = read_cells(content, path)
    names, rows, lines = rows[0], rows[1:], lines[1:]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise parse_error(path, 1, f"two columns are called {repeated!r}.")
    if not rows:
        raise parse_error(path, 1, "no rows after the header.")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(names):
            raise parse_error(path, line, f"{len(row)} cells, but the header has {len(names)}.")
    return Table(names, rows, lines, path)


def table_of_orderings(content, path, header):
    """A CSV of orderings, whose rows may be of any length; without a header its columns are called 1, 2, ..."""
    rows, lines = read_cells(content, path)
    width = max(map(len, rows))
    if header:
        names, rows, lines = rows[0] + [""] * (width - len(rows[0])), rows[1:], lines[1:]
        if not rows:
            raise parse_error(path, 1, "no rows after the header.")
        items = {cell for row in rows for cell in row}
        if all(name in items for name in names if name):
            raise parse_error(
                path, 1, "the first line lists items of the rows below: if it is no header, pass --no-header."
            )
    else:
        names = [str(column) for column in range(1, width + 1)]
    return Table(names, [row + [""] * (width - len(row)) for row in rows], lines, path)


# ---------------------------------------------------------------- cells
def is_number(text):
    """Whether a cell is a decimal number."""
    return NUMBER.fullmatch(text) is not None


def numbers(table, columns, *, gaps, hint=""):
    """The cells of some columns as float64; with `gaps` empty cells and NA are NaN."""
    values = np.full((len(table.rows), len(columns)), np.nan)
    for number, row in enumerate(table.rows):
        for place, column in enumerate(columns):
            cell = row[column]
            if gaps and cell in GAPS:
                continue
            value = float(cell) if is_number(cell) else np.inf
            if np.isinf(value):
                raise table.error(number, f"{cell!r} in column {table.names[column]!r} is not a number.{hint}")
            values[number, place] = value
    return values


def labels(table, name):
    """The cells of a column that must not be empty."""
    column = table.column(name)
    cells = np.array([row[column] for row in table.rows])
    empty = cells == ""
    if empty.any():
        raise table.error(int(empty.argmax()), "the label is empty.")
    return cells


def weights(table, name):
    """The numbers of a column: not negative, not all 0."""
    values = numbers(table, [table.column(name)], gaps=False)[:, 0]
    if (values < 0).any():
        row = int((values < 0).argmax())
        raise table.error(row, f"the weight {values[row]:g} is negative.")
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


def refuse_orderings(table, items):
    """Raise where a CSV that is read as ranks looks like one of orderings; only a flag tells."""
    names = [table.names[column] for column in items]
    remedy = "pass --orderings if rows list items, best first"
    if len(items) > 1 and all(PLACE.fullmatch(name) for name in names):
        raise table.error(
            None,
            f"{names[0]!r}, {names[1]!r} look like places and not like items: {remedy}, or --ranks if these are the "
            "items.",
        )
    for number, row in enumerate(table.rows):
        cells = [row[column] for column in items if row[column] not in GAPS]
        if len(cells) > 1 and not any(map(is_number, cells)):
            raise table.error(number, f"{cells[0]!r}, {cells[1]!r} are not ranks: {remedy}.")
