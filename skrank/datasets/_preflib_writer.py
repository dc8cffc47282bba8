"""Writing rankings as files of the PrefLib formats."""

import os
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions

from skrank import _rankings
from skrank._rankings import MISSING, check_rankings, check_weights, n_ranked, row_blocks, rows_with_ties
from skrank._typing import ArrayLike, Names, validate_params
from skrank.datasets._preflib import distinct_rows
from skrank.datasets._preflib_header import KINDS, kind_of_path
from skrank.datasets._preflib_orders import MAX_DIGITS
from skrank.datasets._text_files import write_bytes

MOST_UNNAMED_CATEGORIES = 1000
FREE_KEYS = (
    "title",
    "description",
    "modification_type",
    "relates_to",
    "related_files",
    "publication_date",
    "modification_date",
)


@validate_params(
    {
        "path": [str, os.PathLike],
        "X": "no_validation",
        "sample_weight": ["array-like", None],
        "item_names": ["array-like", None],
        "kind": [StrOptions(set(KINDS)), None],
        "metadata": [dict, None],
    },
    prefer_skip_nested_validation=True,
)
def dump_preflib(
    path: str | os.PathLike[str],
    X: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    item_names: Names = None,
    kind: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write rankings as a PrefLib file with the current header.

    Parameters
    ----------
    path : str or path-like
        The file; gzipped if its name ends in ``.gz``.
    X : array-like of shape (n_samples, n_items)
        Rank matrix. Missing items are left out of an order, and ties are written in braces. Equal rankings are written
        as one line with the sum of their weights.
    sample_weight : array-like of shape (n_samples,), default=None
        Number of voters with each ranking: integers. Rankings with weight 0 are not written. None means one voter for
        each ranking.
    item_names : array-like of shape (n_items,), default=None
        Names of the alternatives. None means the column names of a DataFrame, otherwise x0, x1, ...
    kind : {"soc", "soi", "toc", "toi", "cat"}, default=None
        The format. None means the format given by the extension of `path` or, without a known extension, the most
        specific one that can represent X. With "cat", the ranks are the numbers of the categories, from 0.
    metadata : dict, default=None
        Entries of the header, as returned by `load_preflib`: "title", "description", "modification_type", "relates_to",
        "related_files", "publication_date", "modification_date", and for "cat" "category_names". Other entries are
        ignored, because the numbers in the header are determined by the data.

    Raises
    ------
    ValueError
        If X or the extension of `path` does not match `kind`, a weight is not an integer, a ranking does not rank
        anything, the number of a category without a name is above 999, or a name contains a line break or is surrounded
        by blanks.

    See Also
    --------
    load_preflib : The inverse.

    Examples
    --------
    >>> import os, tempfile
    >>> from skrank.datasets import dump_preflib
    >>> path = os.path.join(tempfile.mkdtemp(), "lunch.toc")
    >>> dump_preflib(path, [[1, 2, 3], [1, 0, 1]], sample_weight=[4, 2], item_names=["egg", "squid", "tuna"])
    >>> with open(path) as file:
    ...     print("".join(line for line in file if not line.startswith("#")), end="")
    4: 1,2,3
    2: 2,{1,3}
    """
    ranks = check_rankings(X)
    names = _rankings.item_names(X) if item_names is None else item_names
    names = [f"x{item}" for item in range(ranks.shape[1])] if names is None else [str(name) for name in names]
    if len(names) != ranks.shape[1]:
        raise ValueError(f"item_names has {len(names)} names, but X has {ranks.shape[1]} columns.")
    metadata = dict(metadata or {})
    kind = kind or kind_of_path(path)
    if kind_of_path(path) not in (None, kind):
        raise ValueError(f"kind={kind!r}, but the name {os.path.basename(path)!r} ends in '.{kind_of_path(path)}'.")
    categories: Any = []
    if kind == "cat":
        categories = metadata.get("category_names")
        ranks = _category_numbers(X, categories)
        if categories is None:
            categories = [f"category {index + 1}" for index in range(max(ranks.max(), 0) + 1)]
    else:
        kind = _kind_that_holds(ranks, kind)
    ranks, counts = _counted(ranks, sample_weight)
    lines = _header(path, kind, names, [str(name) for name in categories], metadata, counts)
    blocks = (block.tobytes().translate(None, b"\0") for block in _order_lines(ranks, counts, len(categories)))
    write_bytes(path, b"".join([("\n".join(lines) + "\n").encode(), *blocks]))


def _counted(ranks, sample_weight):
    weights = check_weights(sample_weight, ranks)
    whole = weights == np.rint(weights)
    if not whole.all():
        row = int((~whole).argmax())
        raise ValueError(f"sample_weight[{row}] is {weights[row]}: a PrefLib file counts voters in whole numbers.")
    if weights.sum() >= 10**MAX_DIGITS:
        raise ValueError(f"sample_weight adds up to {weights.sum():g}: a PrefLib file has at most {MAX_DIGITS} digits.")
    ranks, weights = ranks[weights > 0], weights[weights > 0]
    first, group = distinct_rows(ranks)
    return ranks[first], np.bincount(group, weights).astype(np.int64)


def _kind_that_holds(ranks, kind):
    incomplete, tied = n_ranked(ranks) < ranks.shape[1], rows_with_ties(ranks)
    empty = n_ranked(ranks) == 0
    if empty.any():
        raise ValueError(f"Row {int(empty.argmax())} of X ranks no item, which a PrefLib order cannot say; drop it.")
    if kind is None:
        return ("toi" if tied.any() else "soi") if incomplete.any() else ("toc" if tied.any() else "soc")
    for wrong, what in ((tied, "ties items"), (incomplete, "leaves items missing")):
        allowed = kind[0] == "t" if what == "ties items" else kind[2] == "i"
        if wrong.any() and not allowed:
            raise ValueError(f"Row {int(wrong.argmax())} of X {what}, but '{kind}' holds {KINDS[kind]}.")
    return kind


def _category_numbers(X, category_names):
    values = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
    missing = np.isnan(values)
    numbers = np.where(missing, 0, values)
    highest = MOST_UNNAMED_CATEGORIES - 1 if category_names is None else len(category_names) - 1
    wrong = (numbers != np.rint(numbers)) | (numbers < 0) | (numbers > highest)
    if wrong.any():
        row, item = np.argwhere(wrong)[0]
        raise ValueError(
            f"X[{row}, {item}] is {values[row, item]}, but the categories are numbers from 0 to {highest:g}"
            + (", unless metadata['category_names'] names more." if category_names is None else ".")
        )
    return np.where(missing, MISSING, numbers).astype(np.int64)


def _header(path, kind, names, categories, metadata, counts):
    unique = "NUMBER UNIQUE PREFERENCES" if kind == "cat" else "NUMBER UNIQUE ORDERS"
    entries = {"FILE NAME": os.path.basename(path).removesuffix(".gz"), "DATA TYPE": kind}
    entries |= {key.upper().replace("_", " "): metadata.get(key, "") for key in FREE_KEYS}
    entries |= {"NUMBER ALTERNATIVES": len(names), "NUMBER VOTERS": counts.sum(), unique: len(counts)}
    if kind == "cat":
        entries["NUMBER CATEGORIES"] = len(categories)
    entries |= {f"CATEGORY NAME {index}": name for index, name in enumerate(categories, 1)}
    entries |= {f"ALTERNATIVE NAME {index}": name for index, name in enumerate(names, 1)}
    for key, value in entries.items():
        text = str(value)
        if len(text.splitlines()) > 1 or "\0" in text:
            raise ValueError(f"{key} {value!r} does not fit on one line of a header.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError(f"{key} {value!r} holds half a surrogate pair, which UTF-8 cannot write.")
        if text != text.strip():
            raise ValueError(f"{key} {value!r} starts or ends with a blank, which a reader drops; strip it.")
    return [f"# {key}: {value}".rstrip() for key, value in entries.items()]


def _order_lines(ranks, counts, n_categories):
    """The lines ``count: order``, as bytes: buckets from the best, alternatives from 1; every category, even if empty.

    An order is a sequence of pieces, one for each item, with the brace before it and the brace and comma after it; an
    empty category is a piece too.
    """
    n_items = ranks.shape[1]
    pieces = _piece_texts(n_items)
    for rows in row_blocks(len(ranks), 200 * (n_items + n_categories), max_rows=1 << 14):
        order, item = np.nonzero(ranks[rows] != MISSING)
        bucket = ranks[rows][order, item].astype(np.intp)
        if n_categories:
            empty = np.ones((rows.stop - rows.start, n_categories), bool)
            empty[order, bucket] = False
            pairs = np.argwhere(empty)
            order, bucket = np.append(order, pairs[:, 0]), np.append(bucket, pairs[:, 1])
            item = np.append(item, np.full(len(pairs), n_items))
        ascending = np.argsort(order * (bucket.max() + 1) + bucket, kind="stable")
        order, bucket, item = order[ascending], bucket[ascending], item[ascending]
        new_order = np.append(True, order[1:] != order[:-1])
        opens = new_order | np.append(True, bucket[1:] != bucket[:-1])
        closes, ends = np.append(opens[1:], True), np.append(new_order[1:], True)
        texts = pieces[(opens & ~closes) + 2 * (closes & ~opens) + 4 * ends, item]
        heads = np.strings.add(counts[rows].astype("S"), b": ")
        yield np.insert(texts.astype(max(texts.dtype, heads.dtype)), np.flatnonzero(new_order), heads)


def _piece_texts(n_items):
    """Texts of each item, the last one an empty category: [opens a brace + 2 closes it + 4 ends the line, item]."""
    names = [*map(str, range(1, n_items + 1)), "{}"]
    return np.array(
        [
            ["{" * opens + name + "}" * closes + ("\n" if ends else ",") for name in names]
            for ends in (0, 1)
            for closes in (0, 1)
            for opens in (0, 1)
        ],
        dtype=np.bytes_,
    )
