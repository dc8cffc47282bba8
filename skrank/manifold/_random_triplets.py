"""Uniform random triplet queries."""

import numpy as np

from skrank.manifold._queries import ask_triplets

_MANY = 50  # responses that are all the same by chance once in 10^15 times
_FEW_REPEATS = 1e-3  # share of all queries, up to which hardly any is drawn twice


def random_triplets(n_items, n_triplets, random_state):
    """Uniform triplets of three different items: arrays i, j, k."""
    i = random_state.randint(n_items, size=n_triplets)
    j = (i + random_state.randint(1, n_items, size=n_triplets)) % n_items
    k = random_state.randint(n_items - 2, size=n_triplets)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return i, j, k


def distinct_triplets(n_items, n_triplets, random_state):
    """Uniform queries, none of them twice in either order: arrays i, j, k."""
    there_are = n_items * (n_items - 1) * (n_items - 2) // 2
    if n_triplets <= _FEW_REPEATS * there_are:
        return random_triplets(n_items, n_triplets, random_state)
    codes = random_state.permutation(there_are)[:n_triplets] if there_are < 4 * n_triplets else None
    if codes is None:
        codes = np.sort(random_state.randint(there_are, size=2 * n_triplets))  # np.unique hashes, which is slower
        codes = codes[np.append(True, codes[1:] != codes[:-1])]
        codes = random_state.permutation(codes)[:n_triplets]
    # of each anchor, the pairs j < k of the n - 1 others: k (k - 1) / 2 + j
    i, pair = np.divmod(codes, (n_items - 1) * (n_items - 2) // 2)
    k = ((1 + np.sqrt(1 + 8 * pair.astype(float))) / 2).astype(np.int64)
    k -= k * (k - 1) // 2 > pair
    k += (k + 1) * k // 2 <= pair
    j = pair - k * (k - 1) // 2
    j, k = j + (j >= i), k + (k >= i)
    turned = random_state.random_sample(len(i)) < 0.5
    return i, np.where(turned, k, j), np.where(turned, j, k)


def ask_random_triplets(oracle, items, n_triplets, random_state):
    """Responses to distinct uniform queries, as rows (anchor, near, far)."""
    i, j, k = distinct_triplets(len(items), n_triplets, random_state)
    nearer = ask_triplets(oracle, items, i, j, k)
    if len(nearer) >= _MANY and (nearer.all() or not nearer.any()):
        raise ValueError(
            f"the responses do not distinguish any items: all {len(nearer)} are {bool(nearer[0])}. Check that the "
            "oracle does not always say left, or always right."
        )
    return np.column_stack([i, np.where(nearer, j, k), np.where(nearer, k, j)])
