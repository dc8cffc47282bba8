"""`load_table`: rankings from what survey tools and spreadsheets export."""

import os
import re
import shlex
import warnings
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions

from skrank._rankings import to_rank_matrix
from skrank._typing import Names, Unranked, validate_params
from skrank.datasets._tables._read import TableOptions, read_table

# What the commands call the parameters.
PARAMETERS = {
    "--items ": "items=",
    "--items": "items",
    "--ignore ": "ignore=",
    "--missing-code ": "missing_codes=",
    "--count ": "count=",
    "--weight ": "weight=",
    "--ranks": "kind='ranks'",
    "--scores": "kind='scores'",
    "--orderings": "kind='orderings'",
    "--approvals": "kind='approvals'",
    "--no-header": "header=False",
    "--header": "header=True",
}

# The value of an option that the commands' errors give a single one of: a word as a shell takes it.
VALUE = re.compile(r"(--(?:ignore|missing-code|count|weight) )('[^']*'|\S+?)(?=[;,.]?(?:\s|$))")


@validate_params(
    {
        "path": [str, os.PathLike],
        "kind": [StrOptions({"ranks", "scores", "orderings", "approvals"}), None],
        "items": ["array-like", str, None],
        "ignore": ["array-like", str, None],
        "unranked": [StrOptions({"last", "missing"}), None],
        "weight": [str, None],
        "count": [str, None],
        "missing_codes": ["array-like", str, Real, None],
        "header": ["boolean", None],
        "encoding": [str, None],
        "sheet": [str, None],
    },
    prefer_skip_nested_validation=True,
)
def load_table(
    path: str | os.PathLike[str],
    *,
    kind: Literal["ranks", "scores", "orderings", "approvals"] | None = None,
    items: Names = None,
    ignore: Names = None,
    unranked: Unranked = None,
    weight: str | None = None,
    count: str | None = None,
    missing_codes: Names | float = None,
    header: bool | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Any:
    """Load rankings from a CSV file or a workbook, such as exports of survey tools.

    It reads ranks with a column for each item ("1", "2nd", "Not ranked"), orderings with a column for each place
    ("Choice 1", "1. Wahl"), and orderings in one cell ("Ann;Ben;Cid;" or "Ann > Ben = Cid"); the headers of Google
    Forms, Qualtrics, LimeSurvey, SurveyMonkey and Microsoft Forms; comma, semicolon, tab and bar as delimiters; UTF-8,
    UTF-16 and Windows-1252; decimal commas. Columns that are not items (identifiers, dates, ages, weights, text) are
    recognized by their values. If the file is ambiguous, an error names the parameter that decides.

    Parameters
    ----------
    path : str or path-like
        The file: CSV, also gzipped; or .xlsx or .ods, which need the extra `io`.
    kind : {"ranks", "scores", "orderings", "approvals"}, default=None
        Contents of the cells: ranks (lower is preferred); scores (higher is preferred); orderings, that is, items, best
        first; or approvals, which are marks such as 1 and 0, x, yes and no in a column for each item, or a list of
        items in one cell. Approved items are tied before all others. None detects the kind, except for approvals, and
        raises an error if numbers are not positions.
    items : str or array-like of str, default=None
        Columns that are items or contain orderings: names, ranges ("Q5_1:Q5_8") or wildcards ("Q5_*"). None detects
        them.
    ignore : str or array-like of str, default=None
        Columns that are not items, in the same notation.
    unranked : {"last", "missing"}, default=None
        How to encode items that a row leaves out: tied after all others, or as NaN, so that nothing is known about
        them. None raises an error if an item is left out.
    weight : str, default=None
        Column of survey weights. Each row is one person, and some persons count more than others.
    count : str, default=None
        Column of counts, that is, how often a row occurred.
    missing_codes : str, float or array-like, default=None
        Values that mean "no response", such as -99. Empty cells, "NA", "-" and similar values are recognized.
    header : bool, default=None
        Whether the first line is a header. None assumes that it is, and raises an error if it might be an ordering.
    encoding : str, default=None
        Encoding of a CSV file. None means UTF-8 or, if that fails, Windows-1252.
    sheet : str, default=None
        Sheet of a workbook. None means the first sheet that is not empty.

    Returns
    -------
    dataset : :class:`~sklearn.utils.Bunch`
        data : ndarray of shape (n_rows, n_items), float64
            Rank matrix; 0 is the most preferred, NaN is missing.
        sample_weight : ndarray of shape (n_rows,), float64
            Values of the column `weight` or `count`; otherwise ones.
        item_names : ndarray of shape (n_items,), str objects
            The items.
        voters : ndarray of shape (n_rows,), str objects
            The identifiers of the rows; their numbers from 1 if there is no such column.
        frame : DataFrame, or dict of str to ndarray, of shape (n_rows, n_others)
            All columns that are not items, as text; a dict if pandas is not installed.
        DESCR : str
            One line that describes how every column was interpreted.

    Raises
    ------
    ValueError
        If the file is invalid or ambiguous; the message names the line, the cell and the remedy.

    Warns
    -----
    UserWarning
        If `items` are given and a column that is not used may hold weights: pass it as `weight`, `count` or `ignore`.

    Examples
    --------
    >>> import os, tempfile
    >>> from skrank.datasets import load_table
    >>> path = os.path.join(tempfile.mkdtemp(), "survey.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write(
    ...         "Timestamp,Rank them [Ann],Rank them [Ben],Rank them [Cid],Age\\n"
    ...         "2026-05-01 10:02,1st,2nd,3rd,44\\n"
    ...         "2026-05-01 10:07,3rd,1st,2nd,31\\n"
    ...     )
    >>> survey = load_table(path)
    >>> survey.data
    array([[0., 1., 2.],
           [2., 0., 1.]])
    >>> survey.DESCR
    'items (ranks): Ann, Ben, Cid; not used: Timestamp, Age'
    >>> list(survey.frame)
    ['Timestamp', 'Age']
    """
    options = TableOptions(
        kind=kind,
        items=_tuple(items),
        ignore=_tuple(ignore),
        unranked=unranked,
        weight=weight,
        count=count,
        missing_codes=_tuple(missing_codes),
        header=header,
        encoding=encoding,
        sheet=sheet,
    )
    with open(path, "rb") as file:
        content = file.read()
    try:
        found = read_table(content, os.fspath(path), options)
    except ValueError as error:
        raise ValueError(_with_parameters(str(error))) from None
    if found.doubt:
        warnings.warn(f"Every row counts as one, but {_with_parameters(found.doubt)}", UserWarning, stacklevel=2)
    table, n_rows = found.table, len(found.ranks)
    numbers = np.array([str(row + 1) for row in range(n_rows)], dtype=object)
    others = {
        table.names[column] or f"column {column + 1}": table.cells[:, column]
        for column in range(len(table.names))
        if column not in found.columns
    }
    return Bunch(
        data=to_rank_matrix(found.ranks),
        sample_weight=found.weights,
        item_names=np.array(found.item_names, dtype=object),
        voters=numbers if found.ids is None else table.cells[:, found.ids],
        frame=_frame(others, n_rows),
        DESCR=found.description,
    )


def _tuple(names):
    """Several names or codes, or a single one, as strings."""
    if names is None:
        return ()
    return (str(names),) if isinstance(names, (str, Real)) else tuple(map(str, names))


def _frame(columns, n_rows):
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns, index=range(n_rows))


def _with_parameters(message):
    """An error of the commands in the words of the function, with values that can be passed as they are printed."""
    message = VALUE.sub(lambda match: f"{match[1]}{shlex.split(match[2])[0]!r}", message)
    return re.sub("|".join(map(re.escape, PARAMETERS)), lambda match: PARAMETERS[match[0]], message)
