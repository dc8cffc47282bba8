"""Files of triplet responses for the commands: a CSV with columns anchor, near, far and perhaps the responses."""

import os
import re
from typing import NamedTuple

import numpy as np

from skrank._commands._csv import read_cells
from skrank._commands._input import read_file
from skrank._triplets import weigh_triplets
from skrank.datasets import make_triplets
from skrank.datasets._text_files import parse_error
from skrank.preprocessing._labels import distinct_labels, encode

RESPONSES = {"true": 1, "false": 0, "left": 1, "right": 0, "near": 1, "far": 0}
ROLES = {
    "anchor": {"anchor", "reference", "standard", "head"},
    "near": {"near", "nearer", "nearest", "closer", "more_similar", "winner"},
    "far": {"far", "farther", "further", "less_similar", "loser"},
    "left": {"left", "option_1", "option1"},
    "right": {"right", "option_2", "option2"},
    "response": {"response", "responses", "answer", "answers", "choice", "chosen"},
    "rater": {"rater", "rater_id", "participant", "participant_id", "subject", "subject_id", "worker", "worker_id"},
    "count": {"count", "counts", "n", "times", "frequency", "freq"},
}
REST = ("response", "rater", "count")
MOST_ANSWERS = 10**8
WHOLE = re.compile("-?[0-9]{1,18}")


class Record(NamedTuple):
    """What was read: responses as rows (anchor, near, far) of item numbers, the items' labels, a title, true points.

    Then the rater of each response, and how many rows were left out.
    """

    triplets: np.ndarray
    items: list
    title: str
    points: np.ndarray | None = None
    raters: np.ndarray | None = None
    n_skipped: int = 0


class Columns(NamedTuple):
    """Where the roles stand in a row; `near` and `far` may be the left and the right item of a query."""

    anchor: int
    near: int
    far: int
    response: int | None
    rater: int | None
    times: int | None = None


def generated_record():
    """Responses generated from points in the plane."""
    triplets, points = make_triplets(n_items=100, n_triplets=10_000, noise="logistic", random_state=0)
    title = "Generated responses: 100 points of a normal distribution in the plane, logistic noise"
    return Record(triplets, [str(item) for item in range(100)], title, points)


def read_record(path, skip_invalid=False):
    """The responses in a file; with `skip_invalid` rows that cannot be read are left out and counted."""
    content, path = read_file(path)
    rows, lines = read_cells(content, path)
    columns, n_header = _columns(path, rows[0])
    table, lines = [row for row in rows[n_header:]], lines[n_header:]
    if not table:
        raise parse_error(path, 1, "no responses: a header and at least two rows are expected.")
    kept: list = []
    kept_lines: list = []
    refused: ValueError | None = None
    for row, line in zip(table, lines, strict=True):
        try:
            kept.append(_read_row(path, row, line, columns, len(rows[0])))
            kept_lines.append(line)
        except ValueError as error:
            if not skip_invalid:
                raise
            refused = refused or error
    if not kept and refused is not None:
        raise refused
    responses = _responses(path, [one[3] for one in kept], kept_lines)
    undecided = np.zeros(len(kept), bool) if responses is None else responses == 0
    if responses is not None and not np.isin(responses, (0, 1)).all() and undecided.any():
        if not skip_invalid:
            line = kept_lines[int(np.argmax(undecided))]
            raise parse_error(path, line, "a response of 0 among counts is undecided; drop such rows.")
        kept = [one for one, out in zip(kept, undecided, strict=True) if not out]
        responses = responses[~undecided]
    labels = np.array([one[:3] for one in kept], dtype=object)
    if all(map(_is_whole, labels.ravel())):
        labels = labels.astype(np.int64)
    items = distinct_labels(labels)
    raters = None if columns.rater is None else np.array([one[4] for one in kept])
    triplets, counts = weigh_triplets(encode(labels, items), responses)
    if columns.times is not None:
        times = np.array([one[5] for one in kept])
        counts = times if counts is None else counts * times
        if not 0 < counts.sum(dtype=float) <= MOST_ANSWERS:
            raise parse_error(path, 1, f"the counts add up to {counts.sum():.3g}; 1 to {MOST_ANSWERS} are read.")
    if counts is not None:
        triplets = np.repeat(triplets, counts, axis=0)
        raters = None if raters is None else np.repeat(raters, counts)
    title = os.path.basename(path)
    return Record(triplets, [str(item) for item in items], title, None, raters, len(table) - len(kept))


def _columns(path, header):
    """Where each role stands, by the names in the header or, without one, by position; and the rows of the header."""
    names = [cell.strip().lower().replace(" ", "_") for cell in header]
    roles = {}
    for role, known in ROLES.items():
        places = [place for place, name in enumerate(names) if name in known]
        if len(places) > 1:
            both = " and ".join(repr(header[place]) for place in places[:2])
            raise parse_error(path, 1, f"the columns {both} both name the {role}: rename one of them.")
        if places:
            roles[role] = places[0]
    if "anchor" in roles and {"near", "far"} <= roles.keys() and not {"left", "right"} & roles.keys():
        return Columns(roles["anchor"], roles["near"], roles["far"], *map(roles.get, REST)), 1
    if {"anchor", "left", "right", "response"} <= roles.keys() and not {"near", "far"} & roles.keys():
        return Columns(roles["anchor"], roles["left"], roles["right"], *map(roles.get, REST)), 1
    if roles.keys() - {"response"}:
        raise parse_error(
            path,
            1,
            f"the header names {', '.join(sorted(roles))} only: name the columns anchor, near, far, or anchor, left, "
            "right, response; others are left out.",
        )
    if not all(map(_is_whole, header)):
        raise parse_error(
            path,
            1,
            f"the header ({', '.join(map(repr, header[:6]))}) does not say which item is the anchor: name the columns "
            "anchor, near, far, or anchor, left, right, response.",
        )
    if len(header) not in (3, 4):
        raise parse_error(
            path,
            1,
            f"{len(header)} columns, but 3 (anchor, near, far) or 4 (and responses) are expected, or a header that "
            "names them.",
        )
    return Columns(0, 1, 2, 3 if len(header) == 4 else None, None), 0


def _read_row(path, row, line, columns, n_columns):
    """Three labels, the response, the rater and the count of a row."""
    if len(row) != n_columns:
        raise parse_error(path, line, f"{len(row)} cells, but the first line has {n_columns}.")
    cells: list = [None if place is None else row[place] for place in columns]
    for cell, role in zip(cells, Columns._fields, strict=True):
        if cell == "":
            raise parse_error(path, line, f"the {role} is empty.")
    labels = [int(cell) if _is_whole(cell) else cell for cell in cells[:3]]
    if len(set(labels)) < 3:
        raise parse_error(path, line, f"the three items of a triplet must differ, but are {', '.join(cells[:3])}.")
    response = None if cells[3] is None else _response(path, cells, line)
    return *cells[:3], response, cells[4], 1 if cells[5] is None else _count(path, cells[5], line)


def _count(path, cell, line):
    """How often a row was seen."""
    if not (_is_whole(cell) and 0 <= int(cell) <= MOST_ANSWERS):
        raise parse_error(path, line, f"the count {cell!r} is not a whole number from 0 to {MOST_ANSWERS}.")
    return int(cell)


def _response(path, cells, line):
    """The response as a number: positive for the second column, of the near or the left item."""
    cell = cells[3]
    if cell.lower() in RESPONSES:
        return RESPONSES[cell.lower()]
    if cell in cells[1:3] and not _is_whole(cell):
        return int(cell == cells[1])
    if not _is_whole(cell):
        raise parse_error(
            path, line, f"the response {cell!r} is neither a whole number nor true or false, nor left or right."
        )
    return int(cell)


def _responses(path, values, lines):
    if values[0] is None:
        return None
    responses = np.array(values)
    if np.abs(responses).sum(dtype=float) > MOST_ANSWERS:
        line = lines[int(np.abs(responses).argmax())]
        raise parse_error(path, line, f"the counts add up to more than {MOST_ANSWERS} responses.")
    return responses


def _is_whole(cell):
    return WHOLE.fullmatch(cell) is not None
