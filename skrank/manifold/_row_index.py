"""Which rows of an array are the same item: 64-bit keys of rows, and an index to look rows up by."""

import hashlib

import numpy as np

from skrank._random import hash_rows


def row_keys(X):
    """One uint64 key for each row, a function of its values alone: the same in every batch, process and run.

    Numbers that are equal have the same key whatever their type, but for integers beyond 2**53, which are told apart
    from their neighbors and not recognized as floats. Rows of any other type have the key of their `repr`.
    """
    if X.dtype.kind in "biuf":
        # adding zero turns -0.0, which equals 0.0, into it
        words = (np.ascontiguousarray(X, dtype=np.float64) + 0.0).view(np.int64)
        if X.dtype.kind in "iu":
            beyond = beyond_float(X)
            words[beyond] = X[beyond].astype(np.int64)
        return hash_rows(words)
    digests = b"".join(hashlib.blake2b(repr(row).encode(), digest_size=8).digest() for row in X.tolist())
    return np.frombuffer(digests, np.uint64)


def beyond_float(integers):
    """Which integers are beyond 2**53, up to which float64 holds them all."""
    # As numpy's scalars: numpy 2.0 and 2.1 crash on Python's integers that the type of an array does not hold.
    if integers.dtype.kind == "u":
        return integers > np.uint64(2**53)
    return (integers > np.int64(2**53)) | (integers < np.int64(-(2**53)))


class RowIndex:
    """Finds rows among the distinct rows of an array.

    Two different rows of a million share a key with probability 3e-8.
    """

    def __init__(self, keys):
        self._keys = keys

    @classmethod
    def build(cls, X):
        """Index the distinct rows of X, in the order of their keys: whatever the order of X.

        Returns
        -------
        index : RowIndex
        first : ndarray of shape (n_distinct,)
            Index in X of each distinct row, the first where there are several.
        inverse : ndarray of shape (n_samples,)
            Number of each row of X among the distinct ones.
        """
        keys, first, inverse = np.unique(row_keys(X), return_index=True, return_inverse=True)
        return cls(keys), first, inverse

    def find(self, X):
        """Number of each row of X among the distinct ones, -1 where it is not one of them."""
        keys = row_keys(X)
        position = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[position] == keys, position, -1)
