"""Packed pair words: the order of every pair of items as one bit, and the Kendall distances that follow.

A ranking is ``n_words(n_items)`` words of 64 bits. Bit p says whether the ranking puts item i of pair p before item j
(pairs as ``skrank._rankings.pair_indices``; the bits after the last pair are 0). The number of pairs that two rankings
order differently is the number of bits that differ: an exclusive or and a population count. On full rankings no matrix
product is faster, and no table of signs is needed.

Words are stored word-major, of shape ``(n_words, n_rows)``: every operation runs over contiguous rows.

Which function to use:

- `pair_words` packs densified rankings; its `ordered` masks the pairs that a ranking leaves open (ties, missing items).
- `full_words` packs full rankings of any leading shape, such as several samples of each ranking.
- `word_distances` compares two sets of words, in tiles that stay in the cache; `kendall_distances` packs and compares.
- `disagreements` counts against a single center: there, counting comparisons is faster than packing them.
"""

from typing import NamedTuple

import numpy as np
from sklearn import get_config

from skrank._rankings import MISSING, row_blocks
from skrank._threads import blocks, over_chunks

WORD_BITS = 64
BLOCK_BITS = 1 << 21  # comparisons that are made at once before they are packed
BLOCK_ROWS = 8192
FEW_ENTRIES, FEW_CENTERS = 256, 8
TILE = 1 << 16  # entries of a tile of distances: 512 KiB of words, which stay in a core's cache
TILE_ROWS = 128


class PairWords(NamedTuple):
    """The strict order of all pairs of some rankings.

    Attributes
    ----------
    before : ndarray of shape (n_words, n_rows), uint64
        Bit p is set where the ranking puts the first item of pair p strictly before the second.
    ordered : ndarray of shape (n_words, n_rows), uint64, or None
        Bit p is set where the ranking orders pair p strictly; None if all rankings order all pairs.
    """

    before: np.ndarray
    ordered: np.ndarray | None


def n_words(n_items):
    """Number of words of a ranking of n_items items, at least 1."""
    return max(-(-(n_items * (n_items - 1) // 2) // WORD_BITS), 1)


# ---------------------------------------------------------------- packing
def pair_words(ranks):
    """Pack the pairs of densified rankings.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Densified rankings (``skrank._rankings``), ties and missing items allowed. The transpose of an item-major array
        is the fastest input.

    Returns
    -------
    words : PairWords
    """
    before = _packed(ranks, _is_before)
    if are_full(ranks):
        return PairWords(before, None)
    ordered = _packed(ranks, _differ)
    before &= ordered
    return PairWords(before, ordered)


def full_words(positions):
    """Pack the pairs of full rankings.

    Parameters
    ----------
    positions : ndarray of shape (..., n_items)
        The place of each item, any real numbers without ties.

    Returns
    -------
    words : ndarray of shape (n_words, ...), uint64
    """
    shape, n_items = positions.shape[:-1], positions.shape[-1]
    if positions.size <= FEW_ENTRIES or positions.size <= FEW_CENTERS * n_items:
        return _packed_at_once(positions.reshape(-1, n_items)).reshape(-1, *shape)
    return _packed(positions.reshape(-1, n_items), _is_before).reshape(-1, *shape)


def _slices(n_rows, size):
    # scikit-learn's gen_batches validates its arguments, which takes longer than a small product.
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def are_full(ranks):
    """Whether every densified ranking has as many buckets as there are items."""
    n_rows, n_items = ranks.shape
    blocks = (np.ascontiguousarray(ranks[rows].T) for rows in _slices(n_rows, BLOCK_ROWS))
    return all((columns.max(axis=0) == n_items - 1).all() for columns in blocks)


def _is_before(first, others, out):
    np.less(first, others, out=out)


def _differ(first, others, out):
    np.not_equal(first, others, out=out)
    out &= (first != MISSING) & (others != MISSING)


def _packed(ranks, compare):
    """Words of ``compare(ranks of item i, ranks of items i + 1, ...)``, of shape (n_words, n_rows)."""
    n_rows, n_items = ranks.shape
    n_pairs = n_items * (n_items - 1) // 2
    words = np.empty((n_words(n_items), n_rows), np.uint64)
    # Enough rows that a comparison outweighs its call, within the working memory, and whole bytes of them.
    least = min(64, int(get_config()["working_memory"] * 2**19) // max(n_pairs, 1))
    size = min(max(BLOCK_BITS // max(n_pairs, 1), least, 8), BLOCK_ROWS) // 8 * 8

    def pack(chunk):
        for rows in blocks(chunk, size):
            columns = np.ascontiguousarray(ranks[rows].T)
            bits = np.empty((n_pairs, columns.shape[1]), bool)
            start = 0
            for item in range(n_items - 1):
                stop = start + n_items - 1 - item
                compare(columns[item], columns[item + 1 :], bits[start:stop])
                start = stop
            words[:, rows] = _words_of_bits(bits, len(words))

    over_chunks(pack, n_rows)
    return words


def _packed_at_once(positions):
    """Words of a few full rankings, without blocks: what counts there are the calls of numpy."""
    n_rows, n_items = positions.shape
    bits = np.zeros((n_rows, WORD_BITS * n_words(n_items)), bool)
    start = 0
    for item in range(n_items - 1):
        stop = start + n_items - 1 - item
        np.less(positions[:, item : item + 1], positions[:, item + 1 :], out=bits[:, start:stop])
        start = stop
    words = np.packbits(bits, axis=1, bitorder="little").view("<u8")
    return np.ascontiguousarray(words.T).astype(np.uint64, copy=False)


def _words_of_bits(bits, n_words):
    """Booleans of shape (n_bits, n_rows) as words of shape (n_words, n_rows)."""
    n_bits, n_rows = bits.shape
    n_bytes = -(-n_rows // 8)
    # numpy packs along rows; squares of 8 bits x 8 rows are then transposed inside one word each.
    packed = np.zeros((WORD_BITS * n_words, n_bytes), np.uint8)
    packed[:n_bits] = np.packbits(bits, axis=1, bitorder="little")
    squares = np.ascontiguousarray(packed.reshape(8 * n_words, 8, n_bytes).transpose(0, 2, 1)).view("<u8")[..., 0]
    transposed = _transposed_squares(squares).view(np.uint8).reshape(n_words, 8, 8 * n_bytes)[:, :, :n_rows]
    words = np.ascontiguousarray(transposed.transpose(0, 2, 1)).view("<u8")[..., 0]
    return words.astype(np.uint64, copy=False)


def _transposed_squares(squares):
    """Transpose 8 x 8 bits inside each word: exchange blocks of 1, 2 and 4 bits across the diagonal."""
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        exchanged = (squares ^ (squares >> np.uint64(shift))) & np.uint64(mask)
        squares = squares ^ exchanged ^ (exchanged << np.uint64(shift))
    return squares


# ---------------------------------------------------------------- distances
def word_distances(words, other_words, ordered=None, out=None):
    """Number of pairs in which two sets of rankings differ.

    Parameters
    ----------
    words : ndarray of shape (n_words, n_rows), uint64
        Of full rankings.
    other_words : ndarray of shape (n_words, n_others), uint64
        Of full rankings or, with `ordered`, of any.
    ordered : ndarray of shape (n_words, n_others), uint64, default=None
        The pairs that count for each of the others; None means all.
    out : ndarray of shape (n_rows, n_others), default=None
        What to fill, of any numeric type that holds the number of pairs; None means the smallest unsigned integers.

    Returns
    -------
    distances : ndarray of shape (n_rows, n_others)
    """
    n_rows, n_others = words.shape[1], other_words.shape[1]
    smallest = np.min_scalar_type(WORD_BITS * len(words))
    out = np.empty((n_rows, n_others), smallest) if out is None else out
    height = max(min(n_rows, TILE_ROWS), 1)
    width = max(min(n_others, TILE // height), 1)
    depth = min(max(TILE // (height * width), 1), len(words))
    differences = np.empty((depth, height, width), np.uint64)
    counts, sums = np.empty(differences.shape, np.uint8), np.empty((height, width), smallest)
    for rows in _slices(n_rows, height):
        for columns in _slices(n_others, width):
            tile = slice(rows.stop - rows.start), slice(columns.stop - columns.start)
            total = sums[tile]
            for part in _slices(len(words), depth):
                different, count = (array[: part.stop - part.start, *tile] for array in (differences, counts))
                np.bitwise_xor(words[part, rows, None], other_words[part, None, columns], out=different)
                if ordered is not None:
                    different &= ordered[part, None, columns]
                np.bitwise_count(different, out=count)
                if part.start == 0:
                    np.add.reduce(count, axis=0, out=total, dtype=smallest)
                else:
                    total += count[0] if depth == 1 else np.add.reduce(count, axis=0, dtype=smallest)
            out[rows, columns] = total
    return out


def kendall_distances(positions, other_positions=None):
    """Kendall distances between two sets of full rankings.

    Parameters
    ----------
    positions : ndarray of shape (n_rows, n_items)
    other_positions : ndarray of shape (n_others, n_items), default=None
        None means the same: only the distances above the diagonal are counted.

    Returns
    -------
    distances : ndarray of shape (n_rows, n_others), float64
    """
    if other_positions is not None:
        distances = np.empty((len(positions), len(other_positions)))
        # The smaller set is packed whole, the other one in blocks.
        if len(positions) > len(other_positions):
            _fill_blocks(distances.T, other_positions, positions)
        else:
            _fill_blocks(distances, positions, other_positions)
        return distances
    words = full_words(positions)
    distances = np.empty((len(positions), len(positions)))
    for rows in _slices(len(positions), TILE_ROWS):
        for start in range(rows.start, len(positions), TILE // TILE_ROWS):
            columns = slice(start, min(start + TILE // TILE_ROWS, len(positions)))
            tile = word_distances(words[:, rows], words[:, columns], out=distances[rows, columns])
            distances[columns, rows] = tile.T
    return distances


def _fill_blocks(distances, positions, other_positions):
    words = full_words(positions)
    for columns in row_blocks(len(other_positions), 8 * len(words)):
        word_distances(words, full_words(other_positions[columns]), out=distances[:, columns])


def disagreements(ranks, center):
    """How many pairs each ranking orders strictly and against one full center.

    Parameters
    ----------
    ranks : ndarray of shape (n_rows, n_items)
        Densified rankings without missing items.
    center : ndarray of shape (n_items,)
        Positions.

    Returns
    -------
    counts : ndarray of shape (n_rows,), int64
    """
    order = np.argsort(center, kind="stable")
    counts = np.empty(len(ranks), np.int64)
    for rows in row_blocks(len(ranks), 4 * len(order), max_rows=1 << 13):
        # Item-major, in the center's order: an item disagrees with every later one of a smaller rank.
        columns = np.ascontiguousarray(ranks[rows].T[order])
        total = np.zeros(columns.shape[1], np.int64)
        for place in range(len(order) - 1):
            against = (columns[place] > columns[place + 1 :]).view(np.uint8)
            total += np.add.reduce(against, axis=0, dtype=np.int32)
        counts[rows] = total
    return counts
