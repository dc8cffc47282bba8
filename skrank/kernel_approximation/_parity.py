"""Random parity features: the Mallows kernel as an expected product of parities of pair signs.

On full rankings q^d = prod over pairs ((1 + q)/2 + (1 - q)/2 sign_p(s) sign_p(t)), which is the mean of z_P(s) z_P(t),
z_P(s) = prod over p in P of sign_p(s), over random sets P that hold each pair with probability (1 - q)/2.

Pair signs are kept as bits, one row for each pair, eight rankings in a byte: z_P of all of them is the exclusive or of
the rows in P, and 64 rankings cost as much as one product of floats.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import binom

from skrank._rankings import has_missing, pair_indices, rows_with_ties
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


def rows_at_a_time(n_pairs, n_draws):
    """Number of rankings in a block of `odd_counts`."""
    rows = min(BLOCK_SAMPLES // n_draws, 8 * BLOCK_BYTES // max(n_pairs * n_draws, 1))
    return max(rows // 8 * 8, 64)


def odd_counts(ranks, sets, n_draws, seed, method):
    """How many samples of each ranking have an odd number of reversed pairs in each set.

    Parameters
    ----------
    ranks : ndarray of shape (n_rankings, n_items)
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
    if not has_missing(ranks) and not rows_with_ties(ranks).any():
        n_draws = 1
    positions = sample_consistent(ranks, n_draws, seed, method=method).positions
    bits = _pair_bits(positions, np.unique(sets.indices), sets.shape[1])
    odd = np.empty((sets.shape[0], len(ranks)), np.min_scalar_type(n_draws))
    for number, (start, stop) in enumerate(zip(sets.indptr[:-1], sets.indptr[1:], strict=True)):
        parity = np.bitwise_xor.reduce(bits[sets.indices[start:stop]], axis=0)
        np.add.reduce(np.unpackbits(parity, axis=1, count=len(ranks)), axis=0, dtype=odd.dtype, out=odd[number])
    return odd, n_draws


def _pair_bits(positions, used, n_pairs):
    """Whether each used pair is reversed, eight rankings in a byte, of shape (n_pairs, n_draws, n_bytes)."""
    n_rankings, n_draws, n_items = positions.shape
    i, j = pair_indices(n_items)
    by_item = np.ascontiguousarray(positions.transpose(2, 1, 0))
    bits = np.empty((n_pairs, n_draws, -(-n_rankings // 8)), np.uint8)
    for pair in used:
        bits[pair] = np.packbits(by_item[i[pair]] > by_item[j[pair]], axis=1)
    return bits
