"""Marginalised Mallows kernel of bucket orders, in bulk.

With q = exp(-nu), g(m) = [m]_q! / m!, buckets A_a of one ranking and B_b of the other, and cells of the m_ab items that
two of them share,

    K = q^disc * prod_a g(|A_a|) * prod_b g(|B_b|) / prod_ab g(m_ab),

where disc counts the pairs that both order strictly, and oppositely: a bucket that is split into cells arranges them by
a q-multinomial coefficient, whatever the order inside each cell. With C(n, 2) pairs in all, t and t' of them tied in
either ranking and C(m_ab, 2) in a cell of both, ``2 disc = C(n, 2) - t - t' + sum_ab C(m_ab, 2) - <S, S'>`` for the
pair signs S, S'. So log K is linear in <S, S'>, plus a function of each cell's size, plus one term for each ranking.

<S, S'> and the m_ab are inner products of small integers. Several of them are computed as one, the digits of a number
in a mixed radix, and one look-up of that number gives their joint contribution.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from skrank._mallows import log_q_factorial, mean_distance
from skrank._rankings import bucket_sizes, pair_indices, pair_signs
from skrank.metrics._pair_products import blocked_products, exact_dtype

# Entries of a look-up table: 512 KiB, which stay in a core's second-level cache.
TABLE_SIZE = 1 << 16


# ---------------------------------------------------------------- the kernel
def mallows_gram(ranks, other_ranks, nu):
    """Marginalised Mallows kernel of densified rankings without missing items; other_ranks None means the same."""
    n_items = ranks.shape[1]
    choose_two, log_g = _choose_two(n_items), _log_g(n_items, nu)
    return _sum_terms(ranks, other_ranks, -nu / 2, -nu / 2 * choose_two - log_g, nu / 2 * choose_two + log_g, np.exp)


def mallows_gram_and_gradient(ranks, nu):
    """Marginalised Mallows kernel and its derivative in log nu, each of shape (n_samples, n_samples)."""
    n_items = ranks.shape[1]
    gram = mallows_gram(ranks, None, nu)
    # d log [m]_q! / d nu is minus the mean distance of m items from a Mallows center.
    choose_two, slope_of_log_g = _choose_two(n_items), -mean_distance(n_items, nu)
    gradient = _sum_terms(
        ranks, None, -1 / 2, -1 / 2 * choose_two - slope_of_log_g, 1 / 2 * choose_two + slope_of_log_g
    )
    gradient *= nu
    gradient *= gram
    return gram, gradient


def mallows_diagonal(ranks, nu):
    """Marginalised Mallows kernel of each ranking with itself: the product of g over its buckets."""
    return np.exp(_log_g(ranks.shape[1], nu)[bucket_sizes(ranks)].sum(axis=1))


def _log_g(n_items, nu):
    return log_q_factorial(n_items, nu) - gammaln(np.arange(n_items + 1) + 1.0)


def _choose_two(n_items):
    m = np.arange(n_items + 1)
    return m * (m - 1) / 2


# ---------------------------------------------------------------- sums over pairs and cells
def _sum_terms(ranks, other_ranks, slope, cell_terms, bucket_terms, transform=None):
    """``slope (C(n, 2) - <S, S'>) + sum_ab cell_terms[m_ab] + sum_a bucket_terms[|A_a|] + sum_b bucket_terms[|B_b|]``.

    The tables' first two entries, for no and one item, are 0. If given, `transform` is applied to the sums: a ufunc.
    """
    symmetric = other_ranks is None
    other_ranks = ranks if symmetric else other_ranks
    n_items = ranks.shape[1]
    slots, slot_sizes, row_terms = _tied_buckets(ranks, bucket_terms)
    other_slots, other_slot_sizes, column_terms = _tied_buckets(other_ranks, bucket_terms)
    constant, additions = _split_terms(row_terms, column_terms)
    groups = _group_digits(n_items, slope, cell_terms, slot_sizes, other_slot_sizes)
    values = np.empty((len(ranks), len(other_ranks)))
    for number, group in enumerate(groups):
        is_first, is_last = number == 0, number == len(groups) - 1
        table, after = group.table, transform
        if is_first and table is not None:
            table = table + constant
            if is_last and not additions and transform is not None:
                # Digits that no pair of rankings has may overflow.
                with np.errstate(over="ignore"):
                    table, after = transform(table), None

        def finish(products, tile, rows, columns, table=table, is_first=is_first, is_last=is_last, after=after):
            if table is None:
                np.multiply(products, slope, out=tile, dtype=np.float64)
                tile += constant
            elif is_first:
                tile[...] = table[products.astype(np.intp)]
            else:
                tile += table[products.astype(np.intp)]
            if is_last:
                for terms, is_rows in additions:
                    tile += terms[rows, None] if is_rows else terms[columns]
                if after is not None:
                    after(tile, out=tile)

        sections = _sections(group, ranks, slots, other_ranks, other_slots)
        n_features = sum(section[0] for section in sections)
        dtype = exact_dtype(group.bound)
        left, right = _side(sections, 1), _side(sections, 2)
        blocked_products(values, left, right, n_features, dtype, finish, symmetric=symmetric, mirror=is_last)
    return values


def _split_terms(row_terms, column_terms):
    """What all terms of rankings share, and the terms that differ: (terms, whether of rows)."""
    constant, additions = 0.0, []
    for terms, is_rows in ((row_terms, True), (column_terms, False)):
        if np.ptp(terms) == 0:
            constant += terms[0]
        else:
            additions.append((terms, is_rows))
    return constant, additions


def _tied_buckets(ranks, bucket_terms):
    """The buckets of two or more items.

    Returns
    -------
    slots : ndarray of shape (n_samples, n_items)
        Number of each item's bucket among those of its ranking, by decreasing size; -1 for an item that is not tied.
    slot_sizes : ndarray of shape (n_slots,)
        The largest size that each number has in any ranking.
    terms : ndarray of shape (n_samples,)
        Sum of bucket_terms[size] over the buckets.
    """
    sizes = bucket_sizes(ranks)
    by_size = np.argsort(-sizes, axis=1, kind="stable")
    number = np.empty_like(by_size)
    np.put_along_axis(number, by_size, np.arange(ranks.shape[1])[None], axis=1)
    slots = np.take_along_axis(np.where(sizes > 1, number, -1), ranks.astype(np.intp), axis=1).astype(ranks.dtype)
    slot_sizes = np.take_along_axis(sizes, by_size, axis=1).max(axis=0)
    return slots, slot_sizes[slot_sizes > 1], bucket_terms[sizes].sum(axis=1)


# ---------------------------------------------------------------- digits
class _Digits(NamedTuple):
    """Digits that are computed as one number.

    has_signs : whether ``C(n, 2) - <S, S'>`` is the least significant one
    weights : dict {slot: ndarray of shape (n_other_slots + 1,)}, the weight of the cell of two slots; the last is 0
    table : contribution of every number; None stands for the signs' slope
    bound : what the numbers and all partial sums towards them stay below
    """

    has_signs: bool
    weights: dict
    table: np.ndarray | None
    bound: int


def _group_digits(n_items, slope, cell_terms, slot_sizes, other_slot_sizes):
    """The digits, signs first, in as few groups as tables of TABLE_SIZE entries allow."""
    n_pairs = n_items * (n_items - 1) // 2
    n_signs = 2 * n_pairs + 1
    fits = n_signs <= TABLE_SIZE
    groups = [_Digits(True, {}, slope * np.arange(n_signs) if fits else None, 2 * n_signs)]
    for slot, size in enumerate(slot_sizes):
        for other_slot, other_size in enumerate(other_slot_sizes):
            radix = min(size, other_size) + 1
            group = groups[-1]
            if group.table is None or len(group.table) * radix > TABLE_SIZE:
                group = _Digits(False, {}, np.zeros(1), 0)
                groups.append(group)
            weight = len(group.table)
            group.weights.setdefault(slot, np.zeros(len(other_slot_sizes) + 1))[other_slot] = weight
            table = np.add.outer(cell_terms[:radix], group.table).ravel()
            groups[-1] = group._replace(table=table, bound=group.bound + weight * int(radix))
    return groups


def _sections(group, ranks, slots, other_ranks, other_slots):
    """Features whose inner products are the numbers of a group of digits.

    Returns
    -------
    sections : list of (length, left, right)
        ``left(rows, part)`` and ``right(rows, part)`` give features on slices of the rankings and of the section.
    """
    n_items = ranks.shape[1]
    sections = []
    if group.has_signs:
        i, j = pair_indices(n_items)

        def signs(ranks, part):
            return pair_signs(ranks, (i[part], j[part]))

        sections += [
            (
                1,
                lambda rows, part: np.full((len(ranks[rows]), 1), len(i)),
                lambda rows, part: np.ones((len(other_ranks[rows]), 1)),
            ),
            (len(i), lambda rows, part: -signs(ranks[rows], part), lambda rows, part: signs(other_ranks[rows], part)),
        ]
    for slot, weights in group.weights.items():
        sections.append(
            (
                n_items,
                lambda rows, part, slot=slot: slots[rows, part] == slot,
                lambda rows, part, weights=weights: weights[other_slots[rows, part]],
            )
        )
    return sections


def _side(sections, side):
    """The features of all sections of one side, 1 (left) or 2 (right), as one function of slices."""

    def features(rows, columns):
        parts, start = [], 0
        for section in sections:
            stop = start + section[0]
            if start < columns.stop and columns.start < stop:
                part = slice(max(columns.start - start, 0), min(columns.stop, stop) - start)
                parts.append(section[side](rows, part))
            start = stop
        return np.hstack(parts)

    return features
