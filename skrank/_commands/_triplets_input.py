"""Files of triplet answers for the commands: a CSV with columns anchor, near, far and perhaps the answers."""

import os
import re
from typing import NamedTuple

import numpy as np

from skrank._commands._csv import read_cells
from skrank._commands._input import read_file
from skrank._triplets import check_triplets
from skrank.datasets import make_triplets
from skrank.datasets._text_files import parse_error
from skrank.preprocessing._labels import distinct_labels, encode

RESPONSES = {"true": 1, "false": 0}
MOST_ANSWERS = 10**8
WHOLE = re.compile("-?[0-9]{1,18}")


class Record(NamedTuple):
    """What was read: answers as rows (anchor, near, far) of item numbers, the items' labels, a title, true points."""

    triplets: np.ndarray
    items: list
    title: str
    points: np.ndarray | None = None


def generated_record():
    """Answers generated from points in the plane."""
    triplets, points = make_triplets(n_items=100, n_triplets=10_000, noise="logistic", random_state=0)
    title = "Generated answers: 100 points of a normal distribution in the plane, logistic noise"
    return Record(triplets, [str(item) for item in range(100)], title, points)


def read_record(path):
    """The answers in a file."""
    content, path = read_file(path)
    rows, lines = _rows(content, path)
    for row, line in zip(rows, lines, strict=True):
        for cell, column in zip(row, ("anchor", "near", "far"), strict=False):
            if not cell:
                raise parse_error(path, line, f"the {column} is empty.")
    responses = None
    if len(rows[0]) == 4:
        responses = np.array([_response(path, row[3], line) for row, line in zip(rows, lines, strict=True)])
        if (responses == 0).any() and not np.isin(responses, (0, 1)).all():
            line = lines[int(np.argmax(responses == 0))]
            raise parse_error(path, line, "a response of 0 among counts is undecided; drop such rows.")
        if np.abs(responses).sum(dtype=float) > MOST_ANSWERS:
            line = lines[int(np.abs(responses).argmax())]
            raise parse_error(path, line, f"the responses count more than {MOST_ANSWERS} answers.")
    labels = np.array([row[:3] for row in rows], dtype=object)
    if all(map(_is_whole, labels.ravel())):
        labels = labels.astype(np.int64)
    items = distinct_labels(labels)
    codes = encode(labels, items)
    repeated = (codes == np.roll(codes, 1, axis=1)).any(axis=1)
    if repeated.any():
        row = int(repeated.argmax())
        names = ", ".join(rows[row][:3])
        raise parse_error(path, lines[row], f"the three items of a triplet must differ, but are {names}.")
    triplets = check_triplets(codes, responses)
    return Record(triplets, [str(item) for item in items], os.path.basename(path))


def _rows(content, path):
    """Cells of each row below the header, and the line that each row ends in."""
    rows, lines = read_cells(content, path)
    if len(rows[0]) not in (3, 4):
        raise parse_error(
            path, 1, f"{len(rows[0])} columns, but 3 (anchor, near, far) or 4 (and responses) are expected."
        )
    n_columns = len(rows[0])
    if not all(map(_is_whole, rows[0])):
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise parse_error(path, 1, "no answers: a header and at least two rows are expected.")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != n_columns:
            raise parse_error(path, line, f"{len(row)} cells, but the first line has {n_columns}.")
    return rows, lines


def _response(path, cell, line):
    if cell.lower() in RESPONSES:
        return RESPONSES[cell.lower()]
    if not _is_whole(cell):
        raise parse_error(path, line, f"the response {cell!r} is neither a whole number nor true or false.")
    return int(cell)


def _is_whole(cell):
    return WHOLE.fullmatch(cell) is not None
