"""CSV files that commands write: the input with what was found of each row, and tables."""

import csv
import os

import numpy as np


def write_rows(path, columns):
    """A CSV of named columns of equal length; numbers unrounded, NaN and None as empty cells."""
    with open(path, "w", newline="", encoding="utf-8-sig") as file:  # the mark tells Excel that this is UTF-8
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))


def write_groups(path, rankings, found):
    """Every row of the input in its order with all its columns, and what was found of it: columns of equal length."""
    if rankings.table is not None:
        table = rankings.table
        columns = {name: table.cells[:, column] for column, name in enumerate(distinct_names(table.names))}
    else:
        names = distinct_names(["count", *rankings.item_names])
        columns = dict(zip(names, [rankings.weights, *rankings.ranks.T], strict=True))
    for name, values in found.items():
        columns[name if name not in columns else f"{name} (found)"] = values
    write_rows(path, columns)


def distinct_names(names):
    """Names of columns, numbered where empty or repeated, so that none is lost."""
    seen, result = set(), []
    for column, name in enumerate(names, 1):
        distinct = name or f"column {column}"
        while distinct in seen:
            distinct += f" ({column})"
        seen.add(distinct)
        result.append(distinct)
    return result


def write_report(directory, figures):
    """The report's tables as CSV files in a directory, and their names."""
    os.makedirs(directory, exist_ok=True)
    tables = {"majorities": _majorities(figures["majorities"])}
    if figures["consensus"] is not None:
        tables = {"consensus": _consensus(figures["consensus"]), **tables}
    if figures["choices"] is not None:
        tables |= _choices(figures["choices"])
    if figures["mixture"] is not None:
        tables["groups"] = _groups(figures["mixture"]["components"], "weight")
    if figures["clusters"] is not None:
        tables["clusters"] = _groups(figures["clusters"]["clusters"], "share")
    written = []
    for name, columns in tables.items():
        if columns:
            write_rows(os.path.join(directory, f"{name}.csv"), columns)
            written.append(f"{name}.csv")
    return written


def _consensus(found):
    items = found["items"]
    columns = {"place": list(range(1, len(items) + 1))}
    columns |= {key: [one[key] for one in items] for key in items[0] if np.isscalar(items[0][key])}
    columns |= {f"rank_set_{end}": [one["rank_set"][k] for one in items] for k, end in enumerate(("first", "last"))}
    shares = np.array([one["place_shares"] for one in items])
    return columns | {f"share_in_place_{place}": share for place, share in enumerate(shares.T, 1)}


def _choices(found):
    items = found["items"]
    names = [one["item"] for one in items]
    columns: dict[str, list] = {"place": list(range(1, len(items) + 1)), "item": names}
    columns |= {key: [one[key] for one in items] for key in ("n_ballots", "share")}
    for key, ends in (("interval", ("low", "high")), ("rank_set", ("first", "last"))):
        columns |= {f"{key}_{end}": [one[key][k] for one in items] for k, end in enumerate(ends)}
    if found["together"] is None:
        return {"shares": columns}
    together = dict(zip(distinct_names(["approve", *names])[1:], np.asarray(found["together"]).T, strict=True))
    return {"shares": columns, "approved_together": {"approve": names, **together}}


def _majorities(found):
    if found is None:
        return {}
    fractions = np.asarray(found["fractions"])
    names = dict(zip(distinct_names(["prefers", *found["items"]])[1:], fractions.T, strict=True))
    return {"prefers": found["items"], **names}


def _groups(found, share):
    columns = {"group": range(1, len(found) + 1), "share": [one[share] for one in found]}
    for key in ("n_rankings", "dispersion", "silhouette", "stability"):
        if key in found[0]:
            columns[key] = [one[key] for one in found]
    return columns | {"consensus": [" > ".join(map(str, one["consensus"])) for one in found]}


def _cell(value):
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value
