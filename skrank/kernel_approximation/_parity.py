"""Random parity features: the Mallows kernel as an expected product of parities of pair signs.

On full rankings q^d = prod over pairs ((1 + q)/2 + (1 - q)/2 sign_p(s) sign_p(t)), which is the mean of z_P(s) z_P(t),
z_P(s) = prod over p in P of sign_p(s), over random sets P that hold each pair with probability (1 - q)/2.

Pair signs are kept as bits, one row for each pair, eight rankings in a byte: z_P of all of them is the exclusive or of
the rows in P, and 64 rankings cost as much as one product of floats.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import binom

from skrank._rankings import has_missing, rows_with_ties
from skrank._sparse_rankings import Lists
from skrank.kernel_approximation._list_samples import list_keys
from skrank.kernels._sampling import sample_consistent

# Rankings x samples whose bits of a pair are handled at once: enough to outweigh the cost of a call.
BLOCK_SAMPLES = 1 << 15
# Bytes of packed bits of a block, for many items.
BLOCK_BYTES = 1 << 26


def draw_pair_sets(n_items, n_sets, nu, rng, *, empty=False):
    """Random sets of pairs.

    Parameters
    ----------
    n_items, n_sets : int
    nu : float
        Each pair is in a set with probability (1 - exp(-nu))/2.
    rng : numpy.random.Generator
    empty : bool, default=False
        Whether sets may be empty; if not, they are drawn given that they are not.

    Returns
    -------
    sets : csr_array of shape (n_sets, n_pairs), bool
    p_empty : float
        The probability of the sets that were left out: 0 if `empty`.
    """
    n_pairs = n_items * (n_items - 1) // 2
    p_pair = -np.expm1(-nu) / 2
    p_empty = 0.0 if empty else float(np.exp(n_pairs * np.log1p(-p_pair)))
    quantiles = p_empty + (1 - p_empty) * rng.random(n_sets)
    sizes = np.clip(binom.ppf(quantiles, n_pairs, p_pair), min(not empty, n_pairs), n_pairs).astype(int)
    members = [rng.choice(n_pairs, size, replace=False, shuffle=False) for size in sizes]
    start = np.concatenate([[0], np.cumsum(sizes)])
    indices = np.concatenate(members).astype(int)
    return csr_array((np.ones(len(indices), bool), indices, start), shape=(n_sets, n_pairs)), p_empty


def pair_items(pairs, n_items):
    """Items (i, j), i < j, of numbers of pairs in the order of ``numpy.triu_indices(n_items, 1)``."""
    pairs = np.asarray(pairs, np.int64)
    # Counted from the end, pairs fill a triangle: (j (j - 1) / 2, ...). The root is off by one at most.
    left = n_items * (n_items - 1) // 2 - 1 - pairs
    row = ((np.sqrt(8.0 * left + 1) - 1) / 2).astype(np.int64)
    row += (row + 1) * (row + 2) // 2 <= left
    row -= row * (row + 1) // 2 > left
    return n_items - 2 - row, n_items - 1 - (left - row * (row + 1) // 2)


def rows_at_a_time(ranks, sets, n_draws):
    """Number of rankings in a block of `odd_counts`."""
    n_used = max(len(np.unique(sets.indices)), 1)
    # A bit for each pair in the sets; of lists two keys of 8 bytes for each of its items, with their antithetics.
    bits = 4 * 64 * n_used if isinstance(ranks, Lists) else n_used
    rows = min(BLOCK_SAMPLES // n_draws, 8 * BLOCK_BYTES // (bits * n_draws))
    return max(rows // 8 * 8, 64)


def odd_counts(ranks, sets, n_draws, seed, method):
    """How many samples of each ranking have an odd number of reversed pairs in each set.

    Parameters
    ----------
    ranks : ndarray of shape (n_rankings, n_items), or Lists
        Densified rankings.
    sets : csr_array of shape (n_sets, n_pairs)
    n_draws, seed, method
        As in `sample_consistent`.

    Returns
    -------
    odd : ndarray of shape (n_sets, n_rankings), unsigned integers
    n_draws : int
        Out of how many: 1 if all rankings are full.
    """
    used, place = np.unique(sets.indices, return_inverse=True)
    if isinstance(ranks, Lists):
        first, second = pair_items(used, ranks.n_items)
        items, places = np.unique([first, second], return_inverse=True)
        by_item = list_keys(ranks, items, n_draws, seed, method).transpose(2, 1, 0)
        first, second = places.reshape(2, -1)
    else:
        if not has_missing(ranks) and not rows_with_ties(ranks).any():
            n_draws = 1
        first, second = pair_items(used, ranks.shape[1])
        by_item = sample_consistent(ranks, n_draws, seed, method=method).positions.transpose(2, 1, 0)
    bits = _pair_bits(np.ascontiguousarray(by_item), first, second)
    odd = np.empty((sets.shape[0], len(ranks)), np.min_scalar_type(n_draws))
    for number, (start, stop) in enumerate(zip(sets.indptr[:-1], sets.indptr[1:], strict=True)):
        parity = np.bitwise_xor.reduce(bits[place[start:stop]], axis=0)
        np.add.reduce(np.unpackbits(parity, axis=1, count=len(ranks)), axis=0, dtype=odd.dtype, out=odd[number])
    return odd, n_draws


def _pair_bits(by_item, first, second):
    """Whether each pair is reversed, eight rankings in a byte, of shape (n_pairs, n_draws, n_bytes)."""
    _, n_draws, n_rankings = by_item.shape
    bits = np.empty((len(first), n_draws, -(-n_rankings // 8)), np.uint8)
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        bits[pair] = np.packbits(by_item[i] > by_item[j], axis=1)
    return bits
