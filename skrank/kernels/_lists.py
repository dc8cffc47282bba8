"""Lists of few of many items: kernels at the cost of the lists, not of all pairs of items.

A list ranks the items of a set A, k of n, maybe with ties; all others are tied last or missing. With s the signs of
pairs, 1 the indicator of A, and sums over the items C that two lists share, everything that a kernel needs of two lists
is an inner product of sparse vectors:

- others tied last. An item of A comes before every other one, so with v_i the number of items of A after i less that of
  those before it,

      <S, S'> = sum over pairs in C of s s' + <v, 1'> + <1, v'> + n |C| - k k';

- others missing. With p_i = v_i / (k + 1) the expected sign of i against a missing item, which sums to 0 over A, and
  g_ij = p_i - p_j,

      <E, E'> = sum over pairs in C of ((s - g) (s' - g') - g g') + <v, p'> + <p, v'>
                + (n - k - k' + |C|) <p, p'> - <p, 1'> <1, p'>.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from skrank._sparse_rankings import Lists, net_after, pairs_within


def are_lists(content, other):
    """Whether two sets of rankings, as prepared, are lists of one kind; other None means the first again."""
    if not isinstance(content, Lists):
        return False
    return other is None or (isinstance(other, Lists) and content.tied_last == other.tied_last)


# ---------------------------------------------------------------- features
class _Features(NamedTuple):
    """Sparse features of lists: of items, and of pairs of listed items, ``item i * n_items + item j``."""

    listed: csr_array
    net: csr_array  # v: listed items after each one less those before it
    pull: csr_array  # p = v / (k + 1)
    pairs: np.ndarray
    pair_indptr: np.ndarray
    pair_values: list  # the factors of the sum over common pairs: s, or s - g and g


def _features(lists):
    ranks, n_rankings = lists.ranks, len(lists)
    lengths = lists.lengths
    row = lists.rows
    net = net_after(ranks.data, row, ranks.indptr)
    pull = net / (lengths[row] + 1)
    first, second, pair_rows = pairs_within(ranks.indptr)
    signs = np.sign(ranks.data[second] - ranks.data[first]).astype(float)
    difference = pull[first] - pull[second]
    items = ranks.indices.astype(np.int64)
    listed, net, pull = (
        csr_array((values, ranks.indices, ranks.indptr), shape=ranks.shape) for values in (np.ones(len(net)), net, pull)
    )
    return _Features(
        listed,
        net,
        pull,
        items[first] * lists.n_items + items[second],
        np.searchsorted(pair_rows, np.arange(n_rankings + 1)),
        [signs] if lists.tied_last else [signs - difference, difference],
    )


# ---------------------------------------------------------------- inner products
def sign_products(lists, other=None):
    """Inner products of the expected pair signs of lists, and how many items each two share.

    Parameters
    ----------
    lists, other : Lists
        Of one kind; other None means the same.

    Returns
    -------
    products : ndarray of shape (n_rankings, n_other), float64
    n_shared : ndarray of shape (n_rankings, n_other), float64
    """
    left = _features(lists)
    right = left if other is None else _features(other)
    lengths, other_lengths = (np.diff(side.listed.indptr).astype(float) for side in (left, right))
    n_items = lists.n_items
    n_shared = _product(left.listed, right.listed)
    products = _common_pairs(left, right, 1.0 if lists.tied_last else -1.0)
    if lists.tied_last:
        products += _product(left.net, right.listed)
        products += _product(left.listed, right.net)
        products += n_items * n_shared
        products -= np.multiply.outer(lengths, other_lengths)
    else:
        products += _product(left.net, right.pull)
        products += _product(left.pull, right.net)
        products += (n_items - np.add.outer(lengths, other_lengths) + n_shared) * _product(left.pull, right.pull)
        products -= _product(left.pull, right.listed) * _product(left.listed, right.pull)
    return products, n_shared


def _product(left, right):
    """``left @ right.T`` of sparse matrices, as an array."""
    return (left @ right.T).toarray()


def _common_pairs(left, right, last_sign):
    """Sums over the pairs of items that two lists share, of all factors; the last one has the given sign."""
    shape = left.listed.shape[0], right.listed.shape[0]
    # Pairs that both sides have are numbered anew, so that a matrix has as many columns as there are of these.
    common = np.intersect1d(left.pairs, right.pairs)
    if len(common) == 0:
        return np.zeros(shape)
    matrices = []
    for side in (left, right):
        place = np.minimum(np.searchsorted(common, side.pairs), len(common) - 1)
        kept = common[place] == side.pairs
        indptr = np.concatenate([[0], np.cumsum(kept)])[side.pair_indptr]
        matrices.append(
            [csr_array((v[kept], place[kept], indptr), shape=(len(indptr) - 1, len(common))) for v in side.pair_values]
        )
    first, *rest = (_product(a, b) for a, b in zip(*matrices, strict=True))
    for product in rest:
        first += last_sign * product
    return first


# ---------------------------------------------------------------- each list with itself
def sign_norms(lists):
    """Inner product of the expected pair signs of each list with themselves, shape (n_rankings,)."""
    features = _features(lists)
    rows = np.repeat(np.arange(len(lists)), np.diff(features.pair_indptr))
    lengths = lists.lengths
    if lists.tied_last:
        within = np.bincount(rows, features.pair_values[0] ** 2, len(lists))
        return within + lengths * (lists.n_items - lengths)
    first, second = features.pair_values
    within = np.bincount(rows, (first + second) ** 2, len(lists))
    return within + (lists.n_items - lengths) * np.asarray((features.pull**2).sum(axis=1)).ravel()
