"""Which columns of numbers hold the places that rankings give to items, judged by the rows alone.

A row of places is 1, 2, ..., m in some order (or from 0), perhaps with ties. An id, an age, a weight, or a sex coded as
1 and 2 breaks that pattern: with it the rows tie items or skip places that they do not without it.
"""

from typing import NamedTuple

import numpy as np

from skrank._rankings import bucket_places, densify, to_rank_matrix

JUDGED_ROWS = 1000
MOST_LEFT_OUT = 5
FEW_ROWS = 8
LEAST_COMPLETE = 4


class Judgement(NamedTuple):
    """Columns that are items; doubts, as {column: reason}; cells that are no places, as (row, column) pairs."""

    items: list[int]
    doubts: dict[int, str]
    odd_cells: list[tuple[int, int]]


def judge(values):
    """Which columns hold places, or None if these numbers are not places.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns), float64
        NaN where missing.

    Returns
    -------
    Judgement or None
    """
    shown = values[np.linspace(0, len(values) - 1, min(len(values), JUDGED_ROWS)).astype(np.intp)]
    columns = _within(values)
    if len(columns) < min(2, values.shape[1]) or not columns:
        return None
    odd = _odd(values[:, columns], len(columns))
    held = _complete(np.where(_odd(shown[:, columns], len(columns)), np.nan, shown[:, columns]))
    tries = [(base, *_without_strangers(held, base)) for base in (1, 0)]
    tries = [one for one in tries if strict_share(held[:, one[1]], one[0]) >= 0.5]
    base, kept, doubts = max(tries, key=lambda one: len(one[1]), default=(None, [], {}))
    if not tries:
        kept, doubts = list(range(len(columns))), {}
        if max(_tied_share(held, base) for base in (0, 1)) < 0.95:
            return None
        doubts = _doubts_among_ties(held)
        if 2 * len(doubts) > len(columns):  # few levels for many items: these may as well be ratings
            return None
    # A 0 among places that start at 1 is a way to say "not ranked".
    if base == 1:
        odd |= values[:, columns] == 0
    cells = [(int(row), columns[kept[place]]) for row, place in np.argwhere(odd[:, kept])[:1]]
    return Judgement([columns[place] for place in kept], {columns[c]: why for c, why in doubts.items()}, cells)


def _complete(values):
    """The rows without a missing cell, if there are enough: others skip places where somebody left out an item."""
    complete = ~np.isnan(values).any(axis=1)
    return values[complete] if complete.sum() >= max(LEAST_COMPLETE, 0.2 * len(values)) else values


def strict_share(values, base):
    """Share of the rows that are base, base + 1, ... in some order, missing cells aside; empty rows do not count."""
    faults, counted = _faults(values, base)
    return (faults[counted] == 0).mean() if counted.any() else 0.0


def _within(values):
    """Columns that could be places: most of their values are from 0 to the number of such columns."""
    columns = list(range(values.shape[1]))
    while True:
        limit = len(columns)
        present = np.maximum((~np.isnan(values)).sum(axis=0), 1)
        inside = (~np.isnan(values) & ~_odd(values, limit)).sum(axis=0) / present
        kept = [column for column in columns if inside[column] > 0.5 and not _is_numbering(values[:, column], limit)]
        if len(kept) == limit:
            return kept
        columns = kept


def _odd(values, limit):
    """Which values are no places from 0 to a limit; halves are, as means of tied places."""
    known = ~np.isnan(values)
    return known & ((values < 0) | (values > limit) | (np.nan_to_num(values) % 0.5 != 0))


def _is_numbering(values, limit):
    """Whether a column numbers the rows: all different, in more rows than there are places."""
    known = values[~np.isnan(values)]
    return len(known) > max(limit, 3) and len(np.unique(known)) == len(known)


def _faults(values, base):
    """Per row: places taken twice, left out or below the first; and which rows rank anything."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    ascending = np.sort(values, axis=1)
    distinct = known.any(axis=1) + (np.diff(ascending, axis=1) > 0).sum(axis=1)
    last = np.where(count > 0, np.nanmax(np.where(known, values, -np.inf), axis=1, initial=-np.inf), base - 1.0)
    below = (known & (values < base)).sum(axis=1)
    broken = (known & (np.nan_to_num(values) % 1 != 0)).sum(axis=1)
    return count + np.maximum(last - base + 1, 0) - 2 * distinct + 2 * below + broken, count > 0


def _without_strangers(values, base):
    """Columns without which the rows are strict places, by leaving out what most disturbs them; and doubts."""
    kept = list(range(values.shape[1]))
    left_out: list[int] = []
    doubts: dict[int, str] = {}
    total = _faults(values, base)[0].sum()
    while total > 0 and len(kept) > 2 and len(left_out) < MOST_LEFT_OUT:
        totals = [_faults(values[:, [c for c in kept if c != one]], base)[0].sum() for one in kept]
        best = int(np.argmin(totals))
        if totals[best] >= total:
            break
        if sum(one == totals[best] for one in totals) > 1:
            doubts = {kept[place]: "" for place, one in enumerate(totals) if one == totals[best]}
        total = totals[best]
        left_out.append(kept.pop(best))
        if strict_share(values[:, kept], base) >= 0.95 and all(_is_stranger(values, one) for one in left_out):
            few = "the other columns are places without it" if len(values) < FEW_ROWS else ""
            doubts = {one: few for one in left_out if few} | {one: "it equals another column" for one in doubts}
            return ([*kept, *left_out] if doubts else kept), doubts
    return list(range(values.shape[1])), {}


def _is_stranger(values, column):
    """Whether a column is often below the last place of its row, unlike an item that nobody ranks high."""
    own, last = values[:, column], np.nanmax(np.where(np.isnan(values), -np.inf, values), axis=1)
    known = ~np.isnan(own)
    return (own < last)[known].mean() >= 0.2 if known.any() else False


def _tied_share(values, base):
    """Share of the rows that are places with ties, all by one of the usual ways to number them."""
    ranks = densify(values)
    first, size = bucket_places(ranks)
    known = ~np.isnan(values)
    counted = known.any(axis=1)
    ways = (to_rank_matrix(ranks), first, first + size - 1, first + (size - 1) / 2)
    shares = [
        (np.where(known, values - base, 0) == np.where(known, way, 0)).all(axis=1)[counted].mean() for way in ways
    ]
    return max(shares) if counted.any() else 0.0


def _doubts_among_ties(values):
    """Columns whose rows are places with ties without them, too, and which take few values."""
    doubts = {}
    n_columns = values.shape[1]
    for column in range(n_columns):
        rest = np.delete(values, column, axis=1)
        n_values = len(np.unique(values[~np.isnan(values[:, column]), column]))
        shares = [_tied_share(rest, base) for base in (0, 1)] if n_columns > 2 else [0.0]
        if max(shares) >= 0.95 and n_values <= max(2, n_columns // 2 + 1) and _is_stranger(values, column):
            doubts[column] = "the other columns are places without it"
    return doubts
