"""Dask's arrays and data frames, whose rows lie in partitions; dask is optional."""

import sys

import numpy as np

SUMMANDS = 8


def is_dask(X):
    """Whether X is a Dask array or DataFrame; without importing dask."""
    return any(
        name in sys.modules and isinstance(X, getattr(sys.modules[name], kind, ()))
        for name, kind in (("dask.array", "Array"), ("dask.dataframe", "DataFrame"))
    )


def row_blocks_of(X):
    """A Dask array or DataFrame as a Dask array whose chunks are whole rows, their numbers known.

    Numbers that are not known yet are counted by the workers: that takes a pass over the data.
    """
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if any(np.isnan(size) for size in X.chunks[0]):
        X = X.compute_chunk_sizes()
    return X.rechunk({1: -1})


def taken_rows(X, rows, places):
    """Some rows, to which alone workers answer: a DataFrame if X is one, with its columns' names.

    Parameters
    ----------
    X : Dask array or DataFrame
    rows : Dask array
        The same by `row_blocks_of`.
    places : ndarray of int, or slice
    """
    values = rows[places].compute()
    columns = getattr(X, "columns", None)
    if columns is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=columns)


def sum_over_blocks(rows, function, *arguments):
    """The sum of ``function(block, first row, *arguments)`` over the blocks of rows; only results and sums travel.

    Parameters
    ----------
    rows : Dask array
        By `row_blocks_of`.
    function : callable
        Runs where the block lies.
    *arguments
        The same for all blocks; sent to each worker.

    Returns
    -------
    total
        Added up on the workers, at most `SUMMANDS` at a time.
    """
    from dask import delayed

    shared = [delayed(argument) for argument in arguments]
    blocks = rows.to_delayed().ravel()
    starts = np.cumsum([0, *rows.chunks[0]])
    parts = [delayed(function)(block, int(start), *shared) for block, start in zip(blocks, starts[:-1], strict=True)]
    while len(parts) > 1:
        parts = [delayed(_sum)(parts[i : i + SUMMANDS]) for i in range(0, len(parts), SUMMANDS)]
    return parts[0].compute()


def _sum(parts):
    first, *others = parts
    for part in others:
        first = first + part
    return first
