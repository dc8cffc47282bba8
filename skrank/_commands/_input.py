"""Files of rankings for the commands: PrefLib, SUSHI orders, or a table of ranks, of scores or of orderings."""

import os
import re
import sys
from typing import Any, NamedTuple

import numpy as np

from skrank._rankings import to_rank_matrix
from skrank.datasets import load_apa
from skrank.datasets._preflib import parse_preflib
from skrank.datasets._preflib_header import kind_of_path
from skrank.datasets._sushi import parse_sushi_order
from skrank.datasets._tables._header import Table
from skrank.datasets._tables._read import TableOptions, read_table
from skrank.datasets._text_files import parse_error, text_bytes

FILES = (
    "a PrefLib file (.soc, .soi, .toc, .toi, .cat), a SUSHI .order file, a CSV with a header or a workbook (.xlsx, "
    ".ods). Any of them may be gzipped; - is standard input."
)
STANDARD_INPUT = "standard input"
NO_VALUE = frozenset(["", "na", "n/a", "nan", "#n/a", "#null!", "null"])


class Rankings(NamedTuple):
    """What was read.

    Attributes
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Rank matrix.
    weights : ndarray of shape (n_rows,)
        Their sum is the number of rankings; of survey weights the effective number, (sum w)^2 / sum w^2.
    item_names : list of str
    labels : ndarray of shape (n_rows,) or None
        The column that was asked for; '' where a row has no value in it.
    title : str
    unranked : str or None
    are_counts : bool
        Whether weights say how often a row was seen (--count); otherwise they are survey weights (--weight): a row is
        one person, who counts more or less.
    description : str
        What each column of a table was taken for; empty for other files.
    table : Table or None
        The whole table that the rankings are from.
    columns : tuple of int
        Its columns that are items.
    """

    ranks: np.ndarray
    weights: np.ndarray
    item_names: list
    labels: np.ndarray | None
    title: str
    unranked: str | None
    are_counts: bool = True
    description: str = ""
    table: Table | None = None
    columns: tuple = ()


def add_file_argument(parser):
    """The argument that names one file of rankings, or none."""
    parser.add_argument("file", nargs="?", help=f"{FILES} Without it: the ballots of the 1980 APA election.")


def add_arguments(parser, *, label=False):
    """The arguments that say what the files hold."""
    group = parser.add_argument_group("what the file holds")
    group.add_argument(
        "--unranked",
        choices=["last", "missing"],
        help="meaning of items that a ranking leaves out: they are worse than all ranked items (last), or "
        "nothing is known about them (missing). The two are different data, so there is no default",
    )
    kind = group.add_mutually_exclusive_group()
    for name, text in KINDS.items():
        kind.add_argument(f"--{name}", dest="kind", action="store_const", const=name, help=text)
    names = "names, ranges (Q5_1:Q5_8) or wildcards ('Q5_*'); after the file"
    group.add_argument(
        "--items",
        metavar="COLUMN",
        nargs="+",
        action="extend",
        default=[],
        help=f"the columns that are items or contain them: {names}",
    )
    group.add_argument(
        "--ignore",
        metavar="COLUMN",
        nargs="+",
        action="extend",
        default=[],
        help=f"columns that are not items: {names}",
    )
    group.add_argument("--count", metavar="COLUMN", help="column of counts: how often a row occurred")
    group.add_argument(
        "--weight",
        metavar="COLUMN",
        help="column of survey weights: each row is one person, and some persons count more than others",
    )
    if label:
        group.add_argument("--label", metavar="COLUMN", help="column of the classes to predict")
    group.add_argument(
        "--missing-code",
        metavar="CODE",
        nargs="+",
        action="extend",
        default=[],
        type=str,
        help="values that mean no response, such as -99 (write --missing-code=-99); empty cells, NA and the "
        "like are known",
    )
    header = group.add_mutually_exclusive_group()
    header.add_argument(
        "--no-header",
        dest="header",
        action="store_const",
        const=False,
        help="the first line of a table of orderings is an ordering",
    )
    header.add_argument(
        "--header",
        dest="header",
        action="store_const",
        const=True,
        help="the first line is a header, even if it looks like data",
    )
    group.add_argument(
        "--encoding", metavar="NAME", help="encoding of a text file (default: UTF-8 or, if that fails, Windows-1252)"
    )
    group.add_argument("--sheet", metavar="NAME", help="sheet of a workbook (default: the first that is not empty)")


KINDS = {
    "ranks": "a table of ranks with a column for each item; lower is preferred",
    "orderings": "a table of orderings: each row lists items, best first, in several cells or in one",
    "scores": "a table of scores or ratings with a column for each item; higher is preferred",
    "approvals": "a table of approvals: a column of marks (1 and 0, x, yes) for each item, or one cell with a list",
}


def read_rankings(path, arguments, by=None):
    """The rankings of a file, or of the APA ballots if it is None, as the arguments say; `by` is a column to return."""
    if path is None:
        _refuse_table_options(arguments, None)
        unranked: Any = arguments.unranked or "missing"
        dataset = load_apa(unranked=unranked)
        title = "American Psychological Association, ballots of 1980"
        return Rankings(dataset.data, dataset.sample_weight, list(dataset.item_names), None, title, unranked)
    content, path = read_raw(path)
    sushi = path.removesuffix(".gz").endswith(".order")
    if not sushi and kind_of_path(path) is None and not content.lstrip().startswith(b"# "):
        return _read_table(content, path, arguments, by or getattr(arguments, "label", None))
    _refuse_table_options(arguments, path)
    parse = parse_sushi_order if sushi else parse_preflib
    dataset = parse(text_bytes(content, path), path, arguments.unranked)
    title = dataset.get("metadata", {}).get("title") or os.path.basename(path)
    return Rankings(dataset.data, dataset.sample_weight, list(dataset.item_names), None, title, arguments.unranked)


def read_raw(path):
    """A file's bytes, read once, and the name to give it in errors."""
    if path == "-":
        return sys.stdin.buffer.read(), STANDARD_INPUT
    with open(path, "rb") as file:
        return file.read(), path


def read_file(path):
    """The content of a text file, read once and decompressed, and the name to give it in errors."""
    content, path = read_raw(path)
    return text_bytes(content, path), path


def _refuse_table_options(arguments, path):
    given = {
        "--label": getattr(arguments, "label", None),
        "--by": getattr(arguments, "by", None),
        "--items": arguments.items,
        "--weight": arguments.weight,
        "--count": arguments.count,
        "--ignore": arguments.ignore,
        "--missing-code": arguments.missing_code,
        "--no-header": arguments.header is not None,
        "--encoding": arguments.encoding,
        "--sheet": arguments.sheet,
        f"--{arguments.kind}": arguments.kind,
    }
    options = [option for option, value in given.items() if value]
    if options:
        hint = ""
        if path is None and (arguments.ignore or arguments.items or arguments.missing_code):
            hint = f" The file goes before {options[0]}, which takes every name after it."
        raise ValueError(f"{options[0]} needs a CSV file or a workbook.{hint}")


def _read_table(content, path, arguments, label):
    _refuse_other_files(content, path)
    options = TableOptions(
        kind=arguments.kind,
        items=tuple(arguments.items),
        ignore=tuple(arguments.ignore),
        unranked=arguments.unranked,
        weight=arguments.weight,
        count=arguments.count,
        labels=() if label is None else (label,),
        missing_codes=tuple(arguments.missing_code),
        header=arguments.header,
        encoding=arguments.encoding,
        sheet=arguments.sheet,
    )
    found = read_table(content, path, options)
    weights, description = found.weights, found.description
    if found.doubt:
        description += f"; every row counts as one, but {found.doubt.rstrip('.')}"
    if arguments.weight is not None:
        weights = effective(weights)
        n_people = np.count_nonzero(weights)
        description += f"; {n_people} people, by their weights worth {weights.sum():.1f} equal ones"
    return Rankings(
        to_rank_matrix(found.ranks),
        weights,
        found.item_names,
        None if label is None else _labels(found.table, label, arguments.missing_code),
        os.path.basename(path),
        arguments.unranked,
        arguments.weight is None,
        description,
        found.table,
        tuple(found.columns),
    )


def effective(weights):
    """Survey weights whose sum is the number of equal rankings that they are worth, (sum w)^2 / sum w^2."""
    return weights * (weights.sum() / (weights**2).sum())


def _labels(table, name, missing_codes):
    """The cells of a column, '' where they hold no value; "none" or "don't know" may well be a group of people."""
    empty = NO_VALUE.union(code.lower() for code in missing_codes)
    return np.array(["" if cell.lower() in empty else cell for cell in table.cells[:, table.column(name)]], dtype=str)


def with_labels(rankings):
    """The rows that have a label."""
    kept = rankings.labels != ""
    weights = rankings.weights[kept]
    if not rankings.are_counts and weights.any():
        weights = effective(weights)
    return rankings._replace(ranks=rankings.ranks[kept], weights=weights, labels=rankings.labels[kept])


def left_out_notes(rankings, column, option):
    """A note that counts the rows without a label, if there are any."""
    n_empty = np.count_nonzero(rankings.labels == "")
    if not n_empty:
        return []
    rows, verb = ("1 row has", "is") if n_empty == 1 else (f"{n_empty} rows have", "are")
    return [f"{rows} no value in column {column!r} ({option}) and {verb} left out of the comparison."]


def _refuse_other_files(content, path):
    if content.startswith(b"Name:") and b"\nfile_name," in content:
        raise parse_error(
            path, 1, "this describes a PrefLib data set: its rankings are in the files listed in it (.soc, .soi, ...)."
        )
    first = {cell.strip(b' "\r').lower() for cell in re.split(rb"[,;\t|]", content[:2000].split(b"\n")[0])}
    if b"winner" in first:
        raise parse_error(path, 1, "these are comparisons of two items a row. The subcommand compare reads them.")
    if {b"anchor", b"near", b"far"} <= first:
        raise parse_error(path, 1, "these are triplets. The subcommand triplets reads them.")
