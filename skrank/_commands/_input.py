"""Files of rankings for the commands: PrefLib, SUSHI orders, or a CSV of ranks with a header of item names."""

import csv
import os
from typing import NamedTuple

import numpy as np

from skrank._rankings import check_rankings, settle_unranked, to_rank_matrix
from skrank.datasets import load_apa, load_preflib, load_sushi_order
from skrank.datasets._preflib_header import kind_of_path
from skrank.datasets._text_files import decode_line, parse_error, read_bytes
from skrank.preprocessing import ranks_from_scores

GAPS = frozenset({"", "NA", "NaN", "nan"})


class Rankings(NamedTuple):
    """What was read: a rank matrix, the rankings' weights, the items' names, labels if asked for, and a title."""

    ranks: np.ndarray
    weights: np.ndarray
    item_names: list
    labels: np.ndarray | None
    title: str
    unranked: str | None


def add_arguments(parser):
    """The arguments that say which rankings a command works on."""
    parser.add_argument(
        "file",
        nargs="?",
        help="a PrefLib file (.soc, .soi, .toc, .toi, .cat), a SUSHI .order file, or a CSV of ranks (lower is "
        "preferred) with a header of item names, empty cells where nothing is ranked; any of them gzipped. "
        "Without it: the 1980 APA ballots.",
    )
    parser.add_argument(
        "--unranked",
        choices=["last", "missing"],
        help="what is meant by items that a ranking leaves out: tied after all others, or nothing is known of them",
    )
    parser.add_argument("--label", metavar="COLUMN", help="the column of a CSV that holds classes to predict")
    parser.add_argument("--weight", metavar="COLUMN", help="the column of a CSV that holds how often a row was seen")
    parser.add_argument("--ignore", metavar="COLUMN", nargs="+", default=[], help="columns of a CSV that are no items")
    parser.add_argument("--scores", action="store_true", help="the CSV holds scores: the highest is preferred")


def read_rankings(arguments):
    """The rankings that the arguments ask for."""
    path, unranked = arguments.file, arguments.unranked
    columns = [name for name in ("label", "weight", "ignore") if getattr(arguments, name)]
    if path is None or not _is_csv(path):
        if columns or arguments.scores:
            swallowed = path is None and arguments.ignore
            hint = " The file goes before --ignore, which takes every name after it." if swallowed else ""
            raise ValueError(f"--{(columns or ['scores'])[0]} needs a CSV file.{hint}")
        if path is None:
            dataset, title = (
                load_apa(unranked=unranked or "missing"),
                "American Psychological Association, ballots of 1980",
            )
            unranked = unranked or "missing"
        else:
            load = load_sushi_order if path.removesuffix(".gz").endswith(".order") else load_preflib
            dataset = load(path, unranked=unranked)
            title = dataset.get("metadata", {}).get("title") or os.path.basename(path)
        return Rankings(dataset.data, dataset.sample_weight, list(dataset.item_names), None, title, unranked)
    return _read_csv(arguments)


def _is_csv(path):
    if kind_of_path(path) is not None or path.removesuffix(".gz").endswith(".order"):
        return False
    return not read_bytes(path).lstrip().startswith(b"# ")


# ---------------------------------------------------------------- CSV
def _read_csv(arguments):
    path = arguments.file
    names, rows, lines = _cells(path)
    special = {name: getattr(arguments, name) for name in ("label", "weight") if getattr(arguments, name)}
    for column in [*special.values(), *arguments.ignore]:
        if column not in names:
            raise parse_error(path, 1, f"no column {column!r}; there are {', '.join(map(repr, names))}.")
    items = [index for index, name in enumerate(names) if name not in {*special.values(), *arguments.ignore}]
    if not items:
        raise parse_error(path, 1, "no column is left for items.")
    for index in items:
        if not names[index]:
            raise parse_error(path, 1, f"column {index + 1} has no name. If it is no item, pass --ignore ''.")
    values = _numbers(path, rows, lines, items, names, gaps=True)
    labels = _labels(path, rows, lines, names.index(arguments.label)) if arguments.label else None
    weights = np.ones(len(rows))
    if arguments.weight:
        weights = _numbers(path, rows, lines, [names.index(arguments.weight)], names, gaps=False)[:, 0]
        negative = weights < 0
        if negative.any():
            raise parse_error(path, lines[int(negative.argmax())], f"the weight {weights.min():g} is negative.")
        if not weights.any():
            raise parse_error(path, lines[0], "all weights are 0.")
    ranks = check_rankings(ranks_from_scores(values) if arguments.scores else values)
    item_names = [names[index] for index in items]
    ranks = settle_unranked(
        ranks, arguments.unranked, lambda row, item: f"{path}, line {lines[row]}: no rank for {item_names[item]!r}"
    )
    return Rankings(to_rank_matrix(ranks), weights, item_names, labels, os.path.basename(path), arguments.unranked)


def _cells(path):
    """Column names, rows of cells, and the line that each row ends in."""
    content = read_bytes(path)
    text = [decode_line(line, path, number) for number, line in enumerate(content.rstrip().split(b"\n"), 1)]
    delimiter = max(",;\t", key=text[0].count)
    reader = csv.reader([line + "\n" for line in text], delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(reader)]
        rows, lines = [], []
        for row in reader:
            if row:
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise parse_error(path, reader.line_num, f"{error}.") from None
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise parse_error(path, 1, f"two columns are called {repeated!r}.")
    if all(_is_number(name) for name in names):
        raise parse_error(path, 1, "the first line holds numbers, but must be a header of item names.")
    if not rows:
        raise parse_error(path, 1, "no rows after the header.")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(names):
            raise parse_error(path, line, f"{len(row)} cells, but the header has {len(names)}.")
    return names, rows, lines


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers(path, rows, lines, columns, names, *, gaps):
    cells = [["nan" if gaps and row[column] in GAPS else row[column] for column in columns] for row in rows]
    try:
        values = np.array(cells, dtype=np.float64)
    except ValueError:
        values = np.array([[cell if _is_number(cell) else "inf" for cell in row] for row in cells], dtype=np.float64)
    wrong = np.isinf(values) if gaps else ~np.isfinite(values)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        name, cell = names[columns[column]], rows[row][columns[column]]
        hint = " A column that is no item is named by --label, --weight or --ignore." if gaps else ""
        raise parse_error(path, lines[row], f"{cell!r} in column {name!r} is not a number.{hint}")
    return values


def _labels(path, rows, lines, column):
    labels = np.array([row[column] for row in rows])
    empty = labels == ""
    if empty.any():
        raise parse_error(path, lines[int(empty.argmax())], "the label is empty.")
    return labels
