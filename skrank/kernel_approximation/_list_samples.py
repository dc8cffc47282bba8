"""Samples of full rankings consistent with lists of few of many items, as far as some of the items are concerned.

Which of two items comes first in a consistent full ranking needs a key of either, not the places of all items. Every
item gets a uniform number in [0, 1), a function of the list, the seed, the draw and the item. Where others are tied
last, the key is the number of the bucket plus that; the antithetic key has 1 - u in place of u, which reverses every
bucket. Where others are missing, the listed items share their numbers in the order of their buckets, as in
``skrank._mallows.settle``, and the antithetic keys are those of 1 - u.
"""

import numpy as np

from skrank._random import GOLDEN_GAMMA, mix, uniform


def list_keys(lists, items, n_draws, seed, method):
    """Keys that put some items in the order of sampled full rankings.

    Parameters
    ----------
    lists : Lists
    items : ndarray of shape (n_chosen,), increasing
    n_draws, seed, method
        As in ``skrank.kernels._sampling.sample_consistent``.

    Returns
    -------
    keys : ndarray of shape (n_rankings, n_draws, n_chosen), float64
        The smaller the more preferred.
    """
    n_primary = -(-n_draws // 2) if method == "antithetic" else n_draws
    streams = mix(_hash_lists(lists, seed)[:, None] + np.arange(1, n_primary + 1, dtype=np.uint64) * GOLDEN_GAMMA)
    numbers = _numbers(streams, items)
    listed = _Listed(lists, streams)
    if method != "antithetic":
        return _keys(lists, items, numbers, listed.numbers, listed)
    pairs = [
        _keys(lists, items, u, v, listed) for u, v in ((numbers, listed.numbers), (1 - numbers, 1 - listed.numbers))
    ]
    keys = np.stack(pairs, axis=2)
    return keys.reshape(len(lists), 2 * n_primary, len(items))[:, :n_draws]


def _hash_lists(lists, seed):
    """One uint64 key for each list, a function of its items, their buckets and the seed."""
    entries = mix(mix(lists.ranks.indices.astype(np.uint64) + GOLDEN_GAMMA) ^ lists.ranks.data.astype(np.uint64))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
    totals = sums[lists.ranks.indptr[1:]] - sums[lists.ranks.indptr[:-1]]
    return mix(totals ^ mix(np.array([seed], np.int64).astype(np.uint64)))


def _numbers(streams, items):
    """A uniform number for each stream and item, shape streams.shape + items.shape."""
    return uniform(mix(streams[..., None] ^ mix(items.astype(np.uint64) + GOLDEN_GAMMA)))


class _Listed:
    """The listed items, one row for each list, padded to the longest.

    buckets : ndarray of shape (n_rankings, longest), int64; the largest for padding
    numbers : ndarray of shape (n_rankings, n_primary, longest), their uniform numbers
    """

    def __init__(self, lists, streams):
        lengths = lists.lengths
        longest = int(lengths.max(initial=0))
        self.row = lists.rows
        self.place = np.arange(len(self.row)) - np.repeat(lists.ranks.indptr[:-1], lengths)
        items = np.zeros((len(lists), longest), np.int64)
        items[self.row, self.place] = lists.ranks.indices
        self.buckets = np.full((len(lists), longest), np.iinfo(np.int32).max, np.int64)
        self.buckets[self.row, self.place] = lists.ranks.data
        self.numbers = uniform(mix(streams[..., None] ^ mix(items.astype(np.uint64) + GOLDEN_GAMMA)[:, None]))


def _keys(lists, items, numbers, listed_numbers, listed):
    chosen = np.minimum(np.searchsorted(items, lists.ranks.indices), len(items) - 1)
    entries = np.flatnonzero(items[chosen] == lists.ranks.indices) if len(items) else np.zeros(0, int)
    row, place, column = listed.row[entries], listed.place[entries], chosen[entries]
    if lists.tied_last:
        n_buckets = np.zeros(len(lists))
        np.maximum.at(n_buckets, listed.row, lists.ranks.data)
        keys = numbers + (n_buckets + 1)[:, None, None]
        keys[row, :, column] += (lists.ranks.data[entries] - n_buckets[row] - 1)[:, None]
        return keys
    padding = listed.buckets == np.iinfo(np.int32).max
    shared = np.where(padding[:, None], np.inf, listed_numbers)
    order = np.argsort(listed.buckets[:, None] + listed_numbers, axis=-1)
    settled = np.empty_like(shared)
    np.put_along_axis(settled, order, np.sort(shared, axis=-1), axis=-1)
    keys = numbers.copy()
    keys[row, :, column] = settled[row, :, place]
    return keys
