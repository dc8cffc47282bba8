"""Which columns of a table are items, and what their cells mean; where that is open, an error with the option."""

import fnmatch
import re
import shlex
from collections import Counter
from typing import NamedTuple

import numpy as np

from skrank.datasets._tables._approvals import approval_columns
from skrank.datasets._tables._numbers import MissingCodes, numbers_of
from skrank.datasets._tables._places import judge, strict_share
from skrank.datasets._tables._words import ABOUT, COUNT, ID, WEIGHT, is_number, place_of

LIST_SEPARATORS = (">", ";", "|", ",")
CODE = re.compile(r"(.*\D)[0-9]+")


class Options(NamedTuple):
    """What the caller says of the table; each is None or empty where nothing is said."""

    kind: str | None = None
    items: tuple = ()
    ignore: tuple = ()
    special: tuple = ()
    missing_codes: tuple = ()


class Reading(NamedTuple):
    """Columns that are items or hold orderings, the kind of their cells, and the numbers of all columns."""

    # "ranks", "scores", "orderings" (an item a cell), "lists" (an ordering a cell), "approvals" (marks of an item),
    # "approval lists" (a list of items a cell)
    kind: str
    columns: list[int]
    numbers: object


def find_items(table, options):
    """The reading of a table, or a ValueError that names the options that settle it."""
    numbers = numbers_of(table, options.missing_codes)
    ignored = {*matching(table, options.ignore), *map(table.column, options.special)}
    if options.kind == "approvals":
        columns = matching(table, options.items) if options.items else range(len(table.names))
        columns = [column for column in columns if column not in ignored]
        found, are_marks = approval_columns(table, columns, options.missing_codes, bool(options.items))
        return Reading("approvals" if are_marks else "approval lists", found, numbers)
    if options.items:
        columns = [column for column in matching(table, options.items) if column not in ignored]
        return Reading(_kind_of_chosen(table, columns, numbers, options.kind), columns, numbers)
    free = [column for column in range(len(table.names)) if column not in ignored]
    if not free:
        raise table.error(None, "no column is left for items.")
    if options.kind in (None, "orderings"):
        found = _orderings(table, free, numbers, options)
        if found:
            return Reading(found[0], found[1], numbers)
    columns = _numeric_items(table, free, numbers, options.kind)
    if len(columns) == 1 < len(free):
        name = quoted(table, columns)
        raise table.error(None, f"only column {name} looks like an item. Pass --items and the columns that are.")
    return Reading(options.kind or "ranks", columns, numbers)


def matching(table, patterns):
    """Columns that names, ranges first:last and wildcards name, in the order of the table."""
    found = set()
    for pattern in map(str, patterns):
        if pattern in table.names or pattern in table.items:
            found.add(table.column(pattern))
            continue
        first, colon, last = pattern.partition(":")
        if colon and {first, last} <= {*table.names, *table.items}:
            found.update(range(table.column(first), table.column(last) + 1))
            continue
        some = {
            column
            for column, (name, item) in enumerate(zip(table.names, table.items, strict=True))
            if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(item, pattern)
        }
        found |= some or {table.column(pattern)}  # raises
    return sorted(found)


def quoted(table, columns):
    """Names of columns as options take them."""
    return " ".join(shlex.quote(table.names[column]) for column in columns)


# ---------------------------------------------------------------- chosen columns
def _kind_of_chosen(table, columns, numbers, kind):
    if not columns:
        raise table.error(None, "no column is left for items.")
    if kind == "orderings":
        return "lists" if len(columns) == 1 and list_separator(table, columns[0]) else "orderings"
    texts = ~numbers.is_numeric[columns] & numbers.is_text[:, columns].any(axis=0)
    if kind is not None or not texts.all():
        if kind is None and judge(numbers.values[:, columns]) is None:
            raise _not_places(table, columns, numbers)
        return kind or "ranks"
    if len(columns) == 1 and list_separator(table, columns[0]):
        return "lists"
    if all(_names_place(table, column) for column in columns):
        return "orderings"
    raise _looks_like_orderings(table, columns)


def _not_places(table, columns, numbers):
    shown = ", ".join(repr(table.items[column]) for column in columns[:4]) + (", ..." if len(columns) > 4 else "")
    values = numbers.values[:, columns]
    marks = (
        " or --approvals if they mark what a person approves of,"
        if np.isin(values[~np.isnan(values)], [0, 1]).all()
        else ""
    )
    orderings = _columns_of_labels(table, numbers)
    lists = (
        f" If {quoted(table, orderings[:1])} and the columns like it list items, best first, pass --orderings and "
        f"--items {_pattern(table, orderings)} instead."
        if orderings
        else ""
    )
    return table.error(
        0,
        f"the numbers of {shown} are not places 1 to {len(columns)}. Pass --ranks if the lowest is the best,{marks} or "
        f"--scores if the highest is.{lists}",
    )


def _columns_of_labels(table, numbers):
    """The columns of a question whose cells are labels that the question's other columns have too; or none."""
    texts = np.flatnonzero(~numbers.is_numeric & numbers.is_text.any(axis=0))
    for columns in _groups(table, texts.tolist(), table.stems).values():
        labels = [set(table.cells[:, column]) - {""} for column in columns]
        if len(set.union(*labels)) <= 2 * len(columns) and all(labels[0] & others for others in labels[1:]):
            return columns
    return []


def _pattern(table, columns):
    """What names columns of one stem after --items."""
    wildcard = f"{table.stems[columns[0]]}*"
    if [place for place, name in enumerate(table.names) if fnmatch.fnmatchcase(name, wildcard)] == list(columns):
        return shlex.quote(wildcard)
    return shlex.quote(f"{table.names[columns[0]]}:{table.names[columns[-1]]}")


def _looks_like_orderings(table, columns):
    row = int((table.cells[:, columns] != "").sum(axis=1).argmax())
    cells = [cell for cell in table.cells[row, columns] if cell][:2]
    return table.error(
        row,
        f"{', '.join(map(repr, cells))} are not ranks: pass --orderings if rows list items, best first. If a "
        f"column is not an item, pass it with --ignore, such as --ignore {quoted(table, columns[:1])}.",
    )


# ---------------------------------------------------------------- orderings
def _names_place(table, column):
    return place_of(table.items[column]) is not None or place_of(table.names[column]) is not None


def _orderings(table, free, numbers, options):
    """Kind and columns of orderings: columns named like places, or one column of lists; None if there are none."""
    asked = options.kind == "orderings"
    is_text = numbers.is_text.any(axis=0) & ~numbers.is_numeric
    places = [column for column in free if _names_place(table, column)]
    texts = [column for column in places if is_text[column]]
    if texts:
        questions = {table.stems[column] for column in texts}
        if len(questions) > 1:
            raise _several_questions(table, questions)
        chosen = [column for column in places if table.stems[column] in questions]
        listed = {
            cell for cell in table.cells[:, chosen].ravel() if not MissingCodes(options.missing_codes).contains(cell)
        }
        for column in free:
            if column not in chosen and listed & set(table.cells[:, column]):
                names = quoted(table, [column]), quoted(table, sorted([*chosen, column]))
                raise table.error(
                    None,
                    f"column {table.names[column]!r} lists items, too. Pass --ignore {names[0]} if it is not part of "
                    f"the orderings, or --items {names[1]} if it is.",
                )
        return "orderings", chosen
    if places and asked:
        return "orderings", places
    if not asked and len(places) > 1 and len(places) == len([c for c in free if numbers.is_numeric[c]]):
        if not numbers.in_words[places].any() and not any(table.stems[column] for column in places):
            first, second = (table.names[column] for column in places[:2])
            raise table.error(
                None,
                f"{first!r}, {second!r} look like places and not like items: pass --orderings if rows list items, best "
                "first, or --ranks if these are the items.",
            )
    lists = [column for column in free if is_text[column] and _is_list_of_items(table, column, options)]
    if len(lists) == 1:
        numeric = [column for column in free if numbers.is_numeric[column]]
        found = judge(numbers.values[:, numeric]) if numeric and not asked else None
        if found is not None and len(found.items) > 1:
            raise table.error(
                None,
                f"column {table.names[lists[0]]!r} may hold lists, and others ranks. Pass --ignore "
                f"{quoted(table, lists)}, or --items {quoted(table, lists)} to read the lists.",
            )
        return "lists", lists
    if len(lists) > 1:
        names = " or ".join(f"--items {quoted(table, [column])}" for column in lists)
        raise table.error(None, f"several columns hold lists of items: pass {names}.")
    if not asked:
        return None
    strangers = [c for c in free if len(free) > 2 and _is_stranger_to_orderings(table, c, free, options)]
    if strangers:
        name = quoted(table, strangers[:1])
        raise table.error(
            None, f"is {name} part of the orderings? Pass --ignore {name}, or --items for those that are."
        )
    return "orderings", free


def list_separator(table, column):
    """What separates the items within the cells of a column, or None."""
    cells = [cell for cell in table.cells[:, column] if cell]
    for separator in LIST_SEPARATORS:
        if sum(separator in cell.rstrip(separator) for cell in cells) * 2 >= len(cells) > 0:
            return separator
    # A last ";" after each item, as of Microsoft Forms.
    return ";" if cells and all(cell.endswith(";") for cell in cells) else None


def split_list(cell, separator):
    """The buckets of a list in one cell: items, tied ones joined by "=" between ">"."""
    parts = [part.strip() for part in cell.strip(separator + " ").split(separator)]
    if separator != ">":
        return [[part] for part in parts if part]
    return [[item.strip() for item in part.split("=") if item.strip()] for part in parts if part]


def _is_list_of_items(table, column, options):
    separator = list_separator(table, column)
    if separator is None:
        return False
    missing = MissingCodes(options.missing_codes)
    lists = [split_list(cell, separator) for cell in table.cells[:, column] if not missing.contains(cell)]
    items = [item for buckets in lists for bucket in buckets for item in bucket]
    counts = Counter(items)
    repeats = len(items) >= 2 * len(counts) or len(lists) < 4
    short = np.median([len(item) for item in items]) <= 40 if items else False
    dates = sum(any(character.isdigit() for character in item) for item in counts) > len(counts) / 2
    once = sum(len({i for b in one for i in b}) == sum(map(len, one)) for one in lists) >= 0.9 * len(lists)
    places = {(item, place) for one in lists for place, bucket in enumerate(one) for item in bucket}
    moves = len(places) > len(counts) or len(lists) < 4  # text that says the same again has the same order
    return bool(items) and repeats and short and once and moves and not (dates and separator == ",")


def _is_stranger_to_orderings(table, column, free, options):
    """Whether a column of a table of orderings lists hardly any item that another column lists."""
    missing = MissingCodes(options.missing_codes)
    own = {cell for cell in table.cells[:, column] if not missing.contains(cell)}
    others = {cell for other in free if other != column for cell in table.cells[:, other]}
    return len(table.cells) > 3 and len(own) > 0 and not own & others


# ---------------------------------------------------------------- columns of numbers
def _numeric_items(table, free, numbers, kind):
    """Columns that are items of a table of ranks or scores."""
    numeric = [column for column in free if numbers.is_numeric[column] and table.names[column]]
    if not numeric:
        texts = [column for column in free if numbers.is_text[:, column].any()]
        if len(texts) > 1 and kind is None:
            raise _looks_like_orderings(table, texts)
        column = texts[0] if texts else free[0]
        row = int(numbers.is_text[:, column].argmax())
        cell, name = table.cells[row, column], table.names[column]
        if kind is None and len(texts) == 1 and len(set(table.cells[:, column])) < len(table.lines):
            raise table.error(
                row, f"{cell!r} in column {name!r} is not a rank: pass --orderings if rows name a choice."
            )
        raise table.error(row, f"{cell!r} in column {name!r} is not a number; no column holds any.")
    if all(is_number(table.names[column]) for column in free if table.names[column]) and len(free) > 1:
        raise table.error(
            None,
            "the first line holds numbers, but must be a header of item names. If rows list items, best first, pass "
            "--orderings --no-header.",
        )
    if len(numeric) == 1:  # the others are items whose cells are damaged, perhaps
        _refuse_text(table, free, numbers)
    question = _question(table, numeric, numbers, kind)
    candidates = question or numeric
    _refuse_text(table, candidates, numbers)
    judgement = judge(numbers.values[:, candidates]) if kind != "scores" else None
    if judgement is None:
        if kind is None:
            raise _not_places(table, candidates, numbers)
        if not question:
            _refuse_doubts(table, candidates, _doubts_among_numbers(table, candidates, numbers.values))
        return candidates
    items = [candidates[place] for place in judgement.items]
    if question:  # the survey says that they belong together
        items = candidates
    doubts = {} if question else {candidates[place]: reason for place, reason in judgement.doubts.items()}
    strict = max(strict_share(numbers.values[:, items], base) for base in (0, 1)) >= 0.5
    if not question and not strict:  # places with ties do not tell a stranger by themselves
        doubts |= {column: "its name says so" for column in items if _is_about_people(table.names[column])}
    _refuse_doubts(table, items, doubts)
    if judgement.odd_cells and not (kind == "ranks" and question):
        row, place = judgement.odd_cells[0]
        raise _odd_cell(table, row, candidates[place], len(items))
    return items


def _question(table, numeric, numbers, kind):
    """The columns of the one question that asks for ranks (or scores); None if columns name no questions."""
    groups = _groups(table, numeric, table.stems)
    if kind is None or kind == "ranks":
        ranks = {stem: one for stem, one in groups.items() if judge(numbers.values[:, one]) is not None}
        groups = ranks or groups
    if len(groups) > 1:
        raise _several_questions(table, groups)
    if groups:
        return next(iter(groups.values()))
    coded = [match[1] if (match := CODE.fullmatch(name)) else "" for name in table.names]
    strict = {
        stem: columns
        for stem, columns in _groups(table, numeric, coded).items()
        if max(strict_share(numbers.values[:, columns], base) for base in (0, 1)) >= 0.5
    }
    return next(iter(strict.values())) if len(strict) == 1 and kind != "scores" else None


def _groups(table, columns, stems):
    found: dict[str, list[int]] = {}
    for column in columns:
        if stems[column]:
            found.setdefault(stems[column], []).append(column)
    return {stem: members for stem, members in found.items() if len(members) > 1}


def _several_questions(table, stems):
    ways = []
    for stem in sorted(stems):
        columns = [column for column, one in enumerate(table.stems) if one == stem]
        ways.append(f"--items {quoted(table, columns[:1])}:{quoted(table, columns[-1:])}")
    return table.error(None, f"several questions hold rankings: pass {' or '.join(ways)}.")


def _refuse_text(table, columns, numbers):
    wrong = numbers.is_text[:, columns]
    if wrong.any():
        row, place = np.argwhere(wrong)[0]
        column = columns[place]
        raise table.error(
            int(row),
            f"{table.cells[row, column]!r} in column {table.names[column]!r} is not a number. If it means no "
            f"response, pass --missing-code {shlex.quote(table.cells[row, column])}; if the column is not an item, "
            f"--ignore {quoted(table, [column])}.",
        )


def _odd_cell(table, row, column, n_items):
    cell = table.cells[row, column]
    return table.error(
        row,
        f"{cell!r} in column {table.names[column]!r} is not a place from 1 to {n_items}. If it means no response, "
        f"pass --missing-code {shlex.quote(cell)}; if the column is not an item, --ignore {quoted(table, [column])}; "
        f"if these are other numbers than places, --items {quoted(table, [column])} and the other items, and --ranks.",
    )


def _refuse_doubts(table, items, doubts):
    if doubts:
        column, reason = next(iter(doubts.items()))
        raise table.error(
            None,
            f"it is not clear whether {table.names[column]!r} is an item: {reason}. If not, pass --ignore "
            f"{quoted(table, [column])}; if so, --items {quoted(table, items)}.",
        )


def _is_about_people(name):
    return any(pattern.fullmatch(name) for pattern in (ID, ABOUT, COUNT, WEIGHT))


def _doubts_among_numbers(table, columns, values):
    """Columns that look unlike the others, where numbers may be anything."""
    doubts = {}
    known = [values[~np.isnan(values[:, column]), column] for column in columns]
    highest = np.array([one.max() for one in known])
    n_values = np.array([len(np.unique(one)) for one in known])
    has_fractions = np.array([(one % 1 != 0).any() for one in known])
    for place, column in enumerate(columns):
        others = np.delete(highest, place)
        if _is_about_people(table.names[column]):
            doubts[column] = "its name says otherwise"
        elif len(columns) < 3 or len(values) < 4:
            continue
        elif n_values[place] == len(known[place]) and (np.delete(n_values, place) < len(values)).all():
            doubts[column] = "its values are all different"
        elif len(values) >= 8 and n_values[place] <= 2 < 4 <= np.median(np.delete(n_values, place)):
            doubts[column] = f"it takes {n_values[place]} values only"
        elif has_fractions[place] and not np.delete(has_fractions, place).any():
            doubts[column] = "it alone has fractions"
        elif 0 < others.max() <= 2 * others.min() and not others.min() / 2 <= highest[place] <= 2 * others.max():
            doubts[column] = f"its values go up to {highest[place]:g}, those of the others to {others.max():g}"
    return doubts
