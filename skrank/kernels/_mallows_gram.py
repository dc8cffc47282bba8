"""Marginalized Mallows kernel of bucket orders, in bulk.

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
from sklearn.utils import gen_batches

from skrank._mallows import log_q_factorial, mean_distance
from skrank._rankings import bucket_sizes
from skrank.kernels._lists import sign_products as list_products
from skrank.metrics._pair_products import TILE_ROWS, blocked_products, exact_dtype, sign_features, sign_products

# Entries of a look-up table: 512 KiB, which stay in a core's second-level cache.
TABLE_SIZE = 1 << 16


# ---------------------------------------------------------------- the kernel
def mallows_gram(ranks, other_ranks, nu):
    """Marginalized Mallows kernel of densified rankings without missing items; other_ranks None means the same."""
    n_items = ranks.shape[1]
    choose_two, log_g = _choose_two(n_items), _log_g(n_items, nu)
    return sum_terms(ranks, other_ranks, -nu / 2, -nu / 2 * choose_two - log_g, nu / 2 * choose_two + log_g, np.exp)


def mallows_gram_and_gradient(ranks, nu):
    """Marginalized Mallows kernel and its derivative in log nu, each of shape (n_samples, n_samples)."""
    n_items = ranks.shape[1]
    gram = mallows_gram(ranks, None, nu)
    # d log [m]_q! / d nu is minus the mean distance of m items from a Mallows center.
    half_pairs, slope_of_log_g = nu / 2 * _choose_two(n_items), -nu * mean_distance(n_items, nu)
    cell_terms, bucket_terms = -half_pairs - slope_of_log_g, half_pairs + slope_of_log_g
    return gram, sum_terms(ranks, None, -nu / 2, cell_terms, bucket_terms, factor=gram)


def mallows_diagonal(ranks, nu):
    """Marginalized Mallows kernel of each ranking with itself: the product of g over its buckets."""
    return np.exp(_log_g(ranks.shape[1], nu)[bucket_sizes(ranks)].sum(axis=1))


def mallows_lists(lists, other, nu):
    """As `mallows_gram`, of `Lists` without ties whose other items are tied last: one cell has more than one item."""
    n_items = lists.n_items
    half_pairs, log_g = nu / 2 * _choose_two(n_items), _log_g(n_items, nu)
    products, n_shared = list_products(lists, other)
    lengths, other_lengths = (side.lengths for side in (lists, lists if other is None else other))
    products *= nu / 2
    products -= half_pairs[-1]
    n_last = n_items - lengths[:, None] - other_lengths + n_shared.astype(np.intp)
    products -= (half_pairs + log_g)[n_last]
    products += (half_pairs + log_g)[n_items - lengths][:, None]
    products += (half_pairs + log_g)[n_items - other_lengths]
    return np.exp(products, out=products)


def mallows_lists_diagonal(lists, nu):
    """As `mallows_diagonal`, of `Lists` without ties whose other items are tied last."""
    return np.exp(_log_g(lists.n_items, nu)[lists.n_items - lists.lengths])


def _log_g(n_items, nu):
    return log_q_factorial(n_items, nu) - gammaln(np.arange(n_items + 1) + 1.0)


def _choose_two(n_items):
    m = np.arange(n_items + 1)
    return m * (m - 1) / 2


# ---------------------------------------------------------------- sums over pairs and cells
def sum_terms(ranks, other_ranks, slope, cell_terms, bucket_terms, transform=None, factor=None):
    """``slope (C(n, 2) - <S, S'>) + sum_ab cell_terms[m_ab] + sum_a bucket_terms[|A_a|] + sum_b bucket_terms[|B_b|]``.

    The tables' first two entries, for no and one item, are 0. If given, `transform` (a ufunc) is applied to
    the sums, and they are multiplied by the matrix `factor`.
    """
    n_items, symmetric = ranks.shape[1], other_ranks is None
    n_pairs = n_items * (n_items - 1) // 2
    others = ranks if symmetric else other_ranks
    slots, slot_sizes, row_terms = _tied_buckets(ranks, bucket_terms)
    other_slots, other_slot_sizes, column_terms = _tied_buckets(others, bucket_terms)
    constant, additions = _split_terms(row_terms, column_terms)
    tabulated = 2 * n_pairs < TABLE_SIZE
    if tabulated:
        values = np.zeros((len(ranks), len(others)))
        signs = _Digits(n_pairs, {}, slope * np.arange(2 * n_pairs, -1, -1) + constant)
    else:
        values = sign_products(ranks, other_ranks, slope=-slope, intercept=slope * n_pairs + constant)
        signs = None
    groups = _group_digits(signs, cell_terms, slot_sizes, other_slot_sizes)
    if tabulated and len(groups) == 1 and not additions and transform is not None:
        with np.errstate(over="ignore"):  # at numbers that no two rankings have
            groups, transform = [groups[0]._replace(table=transform(groups[0].table))], None

    def complete(tile, rows, columns):
        for terms, is_rows in additions:
            tile += terms[rows, None] if is_rows else terms[columns]
        if transform is not None:
            with np.errstate(over="ignore"):  # below the diagonal, where groups with other tiles may be missing
                transform(tile, out=tile)
        if factor is not None:
            tile *= factor[rows, columns]

    for group in groups:
        is_first, is_last = tabulated and group is groups[0], group is groups[-1]
        sections = _sections(group, ranks, slots, others, other_slots)
        _fill_group(values, group.table, sections, symmetric, is_first, complete if is_last else None)
    if not groups:
        for rows in gen_batches(len(values), TILE_ROWS):
            complete(values[rows], rows, slice(None))
    return values


def _fill_group(values, table, sections, symmetric, is_first, complete):
    """Look up the numbers of a group of digits; set values to the entries or add them, and complete each tile."""

    def finish(products, tile, rows, columns):
        entries = table[products.astype(np.intp)]
        if is_first:
            tile[...] = entries
        else:
            tile += entries
        if complete is not None:
            complete(tile, rows, columns)

    n_features = sum(length for length, _, _ in sections)
    left, right = (_joined([(section[0], section[side]) for section in sections]) for side in (1, 2))
    # Partial sums of signs reach the table's length to either side of a number below it.
    dtype = exact_dtype(3 * len(table))
    mirror = complete is not None
    blocked_products(values, left, right, n_features, dtype, finish, symmetric=symmetric, mirror=mirror)


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

    n_pairs : if positive, ``n_pairs + <S, S'>`` is the least significant digit
    weights : dict {slot: ndarray of shape (n_other_slots + 1,)}, the weight of the cell of two slots; the last is 0
    table : contribution of every number
    """

    n_pairs: int
    weights: dict
    table: np.ndarray


def _group_digits(signs, cell_terms, slot_sizes, other_slot_sizes):
    """Add the cells' digits, to that of the signs if given, in as few groups as TABLE_SIZE allows."""
    groups = [] if signs is None else [signs]
    for slot, size in enumerate(slot_sizes):
        for other_slot, other_size in enumerate(other_slot_sizes):
            radix = min(size, other_size) + 1
            if not groups or len(groups[-1].table) * radix > TABLE_SIZE:
                groups.append(_Digits(0, {}, np.zeros(1)))
            group = groups[-1]
            weights = group.weights.setdefault(slot, np.zeros(len(other_slot_sizes) + 1))
            weights[other_slot] = len(group.table)
            groups[-1] = group._replace(table=np.add.outer(cell_terms[:radix], group.table).ravel())
    return groups


def _sections(group, ranks, slots, other_ranks, other_slots):
    """Features whose inner products are the numbers of a group of digits.

    Returns
    -------
    sections : list of (length, left, right)
        Feature functions for `blocked_products` of either side.
    """

    def fill_with(value):
        return lambda rows, features, out: out.fill(value)

    def in_slot(slot):
        return lambda rows, items, out: np.equal(slots[rows, items], slot, out=out, casting="unsafe")

    def weighted(weights):
        return lambda rows, items, out: np.copyto(out, weights[other_slots[rows, items]], casting="unsafe")

    sections = []
    if group.n_pairs:
        sections.append((1, fill_with(group.n_pairs), fill_with(1)))
        sections.append((group.n_pairs, sign_features(ranks), sign_features(other_ranks)))
    for slot, weights in group.weights.items():
        sections.append((ranks.shape[1], in_slot(slot), weighted(weights)))
    # One item has no pairs and no cells.
    return sections or [(1, fill_with(0), fill_with(0))]


def _joined(sections):
    """The features of several sections, (length, function), as one function for `blocked_products`."""

    def fill(rows, features, out):
        start = 0
        for length, section in sections:
            first, last = max(start, features.start), min(start + length, features.stop)
            if first < last:
                part = slice(first - start, last - start)
                section(rows, part, out[:, first - features.start : last - features.start])
            start += length

    return fill
