"""Files of rankings for the commands: PrefLib, SUSHI orders, or a CSV of ranks, of scores or of orderings."""

import os
import sys
from typing import NamedTuple

import numpy as np

from skrank._commands import _csv
from skrank._rankings import check_rankings, n_ranked, settle_unranked, to_rank_matrix
from skrank.datasets import load_apa
from skrank.datasets._preflib import parse_preflib
from skrank.datasets._preflib_header import kind_of_path
from skrank.datasets._sushi import parse_sushi_order
from skrank.datasets._text_files import parse_error, read_bytes, text_bytes
from skrank.preprocessing import ranks_from_scores
from skrank.preprocessing._labels import GAP, distinct_labels, encode
from skrank.preprocessing._orderings import ranks_of_codes

FILES = (
    "a PrefLib file (.soc, .soi, .toc, .toi, .cat), a SUSHI .order file, or a CSV with a header. Any of them may be "
    "gzipped; - is standard input."
)
STANDARD_INPUT = "standard input"


class Rankings(NamedTuple):
    """What was read: a rank matrix, the rankings' weights, the items' names, labels if asked for, and a title."""

    ranks: np.ndarray
    weights: np.ndarray
    item_names: list
    labels: np.ndarray | None
    title: str
    unranked: str | None


def add_file_argument(parser):
    """The argument that names one file of rankings, or none."""
    parser.add_argument("file", nargs="?", help=f"{FILES} Without it: the ballots of the 1980 APA election.")


def add_arguments(parser, *, label=False):
    """The arguments that say what the files hold."""
    group = parser.add_argument_group("what the file holds")
    group.add_argument(
        "--unranked",
        choices=["last", "missing"],
        help="what is meant by items that a ranking leaves out: they are worse than all that it ranks (last), or "
        "nothing is known of them (missing). The two are different data, so nothing is assumed",
    )
    kind = group.add_mutually_exclusive_group()
    kind.add_argument(
        "--ranks",
        dest="kind",
        action="store_const",
        const="ranks",
        help="a CSV of ranks, one column for each item, lower is preferred, empty cells where nothing is ranked (this "
        "is what a CSV is taken for unless its header looks otherwise)",
    )
    kind.add_argument(
        "--orderings",
        dest="kind",
        action="store_const",
        const="orderings",
        help="a CSV whose rows list items, best first; its header is skipped",
    )
    kind.add_argument(
        "--scores",
        dest="kind",
        action="store_const",
        const="scores",
        help="a CSV of scores or ratings, one column for each item, higher is preferred",
    )
    group.add_argument("--no-header", action="store_true", help="the CSV of orderings starts with an ordering")
    if label:
        group.add_argument("--label", metavar="COLUMN", help="the column of a CSV that holds classes to predict")
    group.add_argument("--weight", metavar="COLUMN", help="the column of a CSV that says how often a row was seen")
    group.add_argument(
        "--ignore", metavar="COLUMN", nargs="+", default=[], help="columns of a CSV that are no items (after the file)"
    )


def read_rankings(path, arguments, default_unranked="missing"):
    """The rankings of a file, or of the APA ballots if it is None, as the arguments say."""
    if path is None:
        _refuse_csv_options(arguments, None)
        unranked = arguments.unranked or default_unranked
        dataset = load_apa(unranked=unranked)
        title = "American Psychological Association, ballots of 1980"
        return Rankings(dataset.data, dataset.sample_weight, list(dataset.item_names), None, title, unranked)
    content, path = read_file(path)
    _refuse_info(content, path)
    sushi = path.removesuffix(".gz").endswith(".order")
    if not sushi and kind_of_path(path) is None and not content.lstrip().startswith(b"# "):
        return _read_csv(content, path, arguments)
    _refuse_csv_options(arguments, path)
    parse = parse_sushi_order if sushi else parse_preflib
    dataset = parse(content, path, arguments.unranked)
    title = dataset.get("metadata", {}).get("title") or os.path.basename(path)
    return Rankings(dataset.data, dataset.sample_weight, list(dataset.item_names), None, title, arguments.unranked)


def read_file(path):
    """A file's content, read once and decompressed, and the name to give it in errors."""
    if path == "-":
        return text_bytes(sys.stdin.buffer.read(), STANDARD_INPUT), STANDARD_INPUT
    return read_bytes(path), path


def _refuse_csv_options(arguments, path):
    given = {
        "--label": getattr(arguments, "label", None),
        "--weight": arguments.weight,
        "--ignore": arguments.ignore,
        "--no-header": arguments.no_header,
        f"--{arguments.kind}": arguments.kind,
    }
    options = [option for option, value in given.items() if value]
    if options:
        hint = ""
        if path is None and arguments.ignore:
            hint = " The file goes before --ignore, which takes every name after it."
        raise ValueError(f"{options[0]} needs a CSV file.{hint}")


def _refuse_info(content, path):
    if content.startswith(b"Name:") and b"\nfile_name," in content:
        raise parse_error(
            path, 1, "this describes a PrefLib data set: its rankings are in the files listed in it (.soc, .soi, ...)."
        )


# ---------------------------------------------------------------- CSV
def _read_csv(content, path, arguments):
    orderings = arguments.kind == "orderings"
    if arguments.no_header and not orderings:
        raise ValueError("--no-header goes with --orderings: a CSV of ranks or scores needs the items' names.")
    if orderings:
        table = _csv.table_of_orderings(content, path, not arguments.no_header)
    else:
        table = _csv.table_with_header(content, path)
    label = getattr(arguments, "label", None)
    special = {table.column(name) for name in (label, arguments.weight, *arguments.ignore) if name is not None}
    items = [column for column in range(len(table.names)) if column not in special]
    if not items:
        raise table.error(None, "no column is left for items.")
    ranks, names = (_orderings if orderings else _ranks)(table, items, arguments)
    ranks = settle_unranked(
        ranks,
        arguments.unranked,
        lambda row, item: f"{path}, line {table.lines[row]}: no rank for {names[item]!r}",
    )
    return Rankings(
        to_rank_matrix(ranks),
        _csv.weights(table, arguments.weight) if arguments.weight else np.ones(len(ranks)),
        names,
        _csv.labels(table, label) if label else None,
        os.path.basename(path),
        arguments.unranked,
    )


def _ranks(table, items, arguments):
    """Densified rankings of a CSV with a column for each item, and the items' names."""
    names = [table.names[column] for column in items]
    for column, name in zip(items, names, strict=True):
        if not name:
            raise table.error(None, f"column {column + 1} has no name. If it is no item, pass --ignore ''.")
    if all(map(_csv.is_number, names)):
        raise table.error(
            None,
            "the first line holds numbers, but must be a header of item names. If rows list items, best first, pass "
            "--orderings --no-header.",
        )
    if arguments.kind is None:
        _csv.refuse_orderings(table, items)
    hint = " A column that is no item is named by --label, --weight or --ignore."
    values = _csv.numbers(table, items, gaps=True, hint=hint)
    return check_rankings(ranks_from_scores(values) if arguments.kind == "scores" else values), names


def _orderings(table, columns, arguments):
    """Densified rankings of a CSV of orderings, and the items' names: all that any row lists, sorted."""
    cells = np.array([[row[column] for column in columns] for row in table.rows], dtype=object)
    items = distinct_labels(cells)
    if not len(items):
        raise table.error(0, "no items.")
    if all(item.isascii() and item.isdecimal() for item in items):
        digits = [item.lstrip("0") for item in items]
        items = items[sorted(range(len(items)), key=lambda item: (len(digits[item]), digits[item]))]
    codes = encode(cells, items)
    gap = codes == GAP
    inner = (gap[:, :-1] & ~gap[:, 1:]).any(axis=1)
    if inner.any():
        raise table.error(int(inner.argmax()), "an empty cell before an item: an ordering has no gaps.")
    ranks = ranks_of_codes(codes, len(items))
    twice = n_ranked(ranks) != (~gap).sum(axis=1)
    if twice.any():
        row = int(twice.argmax())
        listed = codes[row][~gap[row]]
        repeated = items[np.flatnonzero(np.bincount(listed) > 1)[0]]
        raise table.error(row, f"{repeated!r} is listed twice.")
    return ranks, items.tolist()
