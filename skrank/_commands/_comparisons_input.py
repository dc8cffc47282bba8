"""Files of comparisons for the commands: a table with a comparison in each row, and which columns say what."""

import os
import re
from typing import NamedTuple

import numpy as np

from skrank._commands._input import read_raw
from skrank._rankings import LARGEST_TOTAL_WEIGHT, LEAST_TOTAL_WEIGHT
from skrank.datasets._tables._cells import read_grid
from skrank.datasets._tables._header import short_rows, table_of
from skrank.datasets._tables._words import COUNT, is_missing, is_number

# Names of the two columns of items, of which the first beat the second, or was compared with it.
WON = [("winner", "loser"), ("chosen", "rejected"), ("preferred", "rejected"), ("better", "worse"), ("win", "lose")]
PAIRS = [
    *((f"{noun}{dash}{one}", f"{noun}{dash}{two}") for one, two in ("ab", "12", "xy") for dash in ("_", " ", "")
      for noun in ("model", "item", "player", "team", "option", "answer", "response", "candidate", "text", "system")),
    *(("a", "b"), ("left", "right"), ("first", "second"), ("home", "away"), ("item1", "item2")),
]  # fmt: skip
OUTCOMES = ("winner", "result", "outcome", "preference", "choice", "vote", "judgment", "judgement", "verdict", "label")
JUDGES = re.compile(
    r"(judge|annotator|rater|voter|user|worker|participant|respondent|evaluator|reviewer|person|subject)s?"
    r"([ _]?(id|name|hash))?",
    re.IGNORECASE,
)
TIES = frozenset(
    "tie draw equal same both neither tied =".split()
    + ["tie (bothbad)", "bothbad", "both bad", "both good", "no preference", "unentschieden"]
)
SIDES = (
    {"a", "left", "first", "1", "home", "x", "win", "won"},
    {"b", "right", "second", "2", "away", "y", "loss", "lost", "lose"},
)

# Games of the American League East, 1987: wins of the row's team against the column's (A. Agresti, Categorical Data
# Analysis, 2nd ed., Wiley 2002, table 10.10).
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)


class Comparisons(NamedTuple):
    """What was read: labels of two items a row, the share that the first won, weights, groups, and a title.

    `judge` has each row's judge, or is None; `others` a further way of grouping, or is None; `columns` says what was
    taken for what.
    """

    pairs: np.ndarray
    share: np.ndarray
    weight: np.ndarray
    judge: np.ndarray | None
    others: np.ndarray | None
    title: str
    columns: str


def add_arguments(parser):
    """The arguments that say what the columns of the file are."""
    group = parser.add_argument_group("what the file holds")
    group.add_argument(
        "--items",
        nargs=2,
        metavar=("FIRST", "SECOND"),
        help="the columns of the two items of each comparison (default: found by names such as model_a, model_b, or "
        "winner, loser)",
    )
    group.add_argument(
        "--outcome",
        metavar="COLUMN",
        help="the column that says who won: an item, a side (a, b, left, right, 1, 2, or the name of the item's "
        "column), tie or draw, or the share that the first item won (default: found by names such as winner, result)",
    )
    group.add_argument("--judge", metavar="COLUMN", help="column of the judge (default: found by its name)")
    group.add_argument("--no-judge", action="store_true", help="do not use any column as the judge")
    group.add_argument(
        "--group", metavar="COLUMN", help="column of something else that comparisons have in common, such as the prompt"
    )
    group.add_argument("--weight", metavar="COLUMN", help="column of counts: how often a row occurred")


def generated_comparisons():
    """The games of the American League East in 1987."""
    winner, loser = np.nonzero(np.array(WINS))
    teams = np.array(TEAMS, dtype=object)
    weight = np.array(WINS, dtype=float)[winner, loser]
    title = "Baseball: games of the American League East, 1987"
    pairs = np.column_stack([teams[winner], teams[loser]])
    return Comparisons(pairs, np.ones(len(pairs)), weight, None, None, title, "")


def read_comparisons(path, arguments):
    """The comparisons in a file."""
    grid = read_grid(*read_raw(path))
    table = table_of(grid, True, False)
    short_rows(grid, table)
    first, second, outcome = _item_columns(table, arguments)
    pairs = table.cells[:, [first, second]]
    for row, column in np.argwhere(pairs == "")[:1]:
        raise table.error(int(row), f"the item in column {table.names[(first, second)[column]]!r} is empty.")
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        row = int(same.argmax())
        raise table.error(row, f"{pairs[row, 0]!r} is compared with itself.")
    share = np.ones(len(pairs)) if outcome is None else _shares(table, first, second, outcome)
    used = [column for column in (first, second, outcome) if column is not None]
    judge = None if arguments.no_judge else _judge_column(table, arguments.judge, used)
    others = None if arguments.group is None else table.column(arguments.group)
    weight = _weight_column(table, arguments.weight, used)
    columns = [f"items {table.names[first]!r}, {table.names[second]!r}"]
    for name, column in (("outcome", outcome), ("judge", judge), ("group", others), ("weight", weight)):
        if column is not None:
            columns.append(f"{name} {table.names[column]!r}")
    known = {*used, judge, others, weight}
    unused = [repr(name) for column, name in enumerate(table.names) if column not in known]
    if unused:
        columns.append(f"not used: {', '.join(unused)}")
    return Comparisons(
        pairs,
        share,
        np.ones(len(pairs)) if weight is None else _weights(table, weight),
        None if judge is None else _labels(table, judge, "judge"),
        None if others is None else _labels(table, others, "group"),
        os.path.basename(grid.path),
        "; ".join(columns),
    )


# ---------------------------------------------------------------- columns
def _item_columns(table, arguments):
    """Numbers of the columns of the first item, of the second, and of the outcome (None: the first item won)."""
    names = [name.lower() for name in table.names]
    outcome = None if arguments.outcome is None else table.column(arguments.outcome)
    if arguments.items is not None:
        first, second = (table.column(name) for name in arguments.items)
        if first == second:
            raise table.error(None, "--items names one column twice.")
    else:
        found = next((pair for pair in (*PAIRS, *WON) if names.count(pair[0]) == names.count(pair[1]) == 1), None)
        if found is None:
            there = ", ".join(map(repr, table.names[:20]))
            raise table.error(None, f"no columns of two items were found; there are {there}. Name them by --items.")
        first, second = (names.index(name) for name in found)
        if found in WON and outcome is None:
            return first, second, None
    if outcome is None and tuple(names[column] for column in (first, second)) in WON:
        return first, second, None
    if outcome is None:
        outcome = next((names.index(name) for name in OUTCOMES if names.count(name) == 1), None)
        if outcome is None:
            raise table.error(None, "no column says who won. Name it by --outcome.")
    if outcome in (first, second):
        raise table.error(None, f"{table.names[outcome]!r} is a column of items and cannot be the outcome.")
    return first, second, outcome


def _judge_column(table, name, used):
    if name is not None:
        return table.column(name)
    found = [
        column for column, one in enumerate(table.names) if column not in used and JUDGES.fullmatch(one) is not None
    ]
    return found[0] if len(found) == 1 and len(set(table.cells[:, found[0]])) > 1 else None


def _weight_column(table, name, used):
    if name is not None:
        return table.column(name)
    found = [column for column, one in enumerate(table.names) if column not in used and COUNT.fullmatch(one)]
    return found[0] if len(found) == 1 and all(map(is_number, table.cells[:, found[0]])) else None


# ---------------------------------------------------------------- cells
def _labels(table, column, what):
    labels = table.cells[:, column]
    empty = np.flatnonzero(labels == "")
    if len(empty):
        raise table.error(int(empty[0]), f"the {what} is empty.")
    return labels


def _weights(table, column):
    name, values = table.names[column], np.empty(len(table.cells))
    for row, cell in enumerate(table.cells[:, column]):
        if not is_number(cell) or float(cell) < 0:
            raise table.error(row, f"the weight {cell!r} in column {name!r} is not a number from 0.")
        values[row] = float(cell)
    if not LEAST_TOTAL_WEIGHT <= values.sum() <= LARGEST_TOTAL_WEIGHT:
        raise table.error(0, f"the weights in column {name!r} add up to {values.sum():.3g}.")
    return values


def _shares(table, first, second, outcome):
    """Share that the first item won."""
    cells = [cell.lower() for cell in table.cells[:, outcome]]
    distinct = set(cells)
    if all(map(is_number, distinct)) and not distinct & set(map(str.lower, table.cells[:, first])):
        values = np.array(cells, dtype=float)
        if 2 in values and np.isin(values, (0, 1, 2)).all():
            return np.choose(values.astype(int), [0.5, 1.0, 0.0])
        wrong = np.flatnonzero((values < 0) | (values > 1))
        if len(wrong):
            row = int(wrong[0])
            raise table.error(row, f"the outcome {cells[row]!r} is not the share that the first item won, from 0 to 1.")
        return values
    sides = [side | {table.names[column].lower()} for side, column in zip(SIDES, (first, second), strict=True)]
    shares = np.empty(len(cells))
    for row, cell in enumerate(cells):
        pair = table.cells[row, first].lower(), table.cells[row, second].lower()
        if cell == pair[0] or (cell in sides[0] and cell != pair[1]):
            shares[row] = 1
        elif cell == pair[1] or cell in sides[1]:
            shares[row] = 0
        elif cell in TIES:
            shares[row] = 0.5
        else:
            reason = "is empty" if is_missing(cell) else f"{table.cells[row, outcome]!r} is neither item, nor a tie"
            raise table.error(row, f"the outcome {reason} ({table.cells[row, first]!r}, {table.cells[row, second]!r}).")
    return shares
