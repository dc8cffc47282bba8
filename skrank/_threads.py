"""Passes over rows in threads: numpy releases the interpreter's lock while it computes.

An estimator opens `row_threads` around its work; functions that pass over rows hand their chunks to `over_chunks`. The
chunks do not depend on the number of threads, and their results come in order, so neither do sums over them.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps

from joblib import Parallel, delayed, effective_n_jobs

# A chunk takes milliseconds, so that handing it to a thread costs little. Fewer rows are one chunk and need no thread.
CHUNK_ROWS = 1 << 16

_parallel: ContextVar[Parallel | None] = ContextVar("parallel", default=None)


@contextmanager
def row_threads(n_jobs):
    """Run passes over rows within this context in `n_jobs` threads.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: None means 1 unless in a ``joblib.parallel_config`` context.
    """
    if effective_n_jobs(n_jobs) == 1:
        yield
        return
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        token = _parallel.set(parallel)
        try:
            yield
        finally:
            _parallel.reset(token)


def in_row_threads(method):
    """Decorate a method of an estimator that has `n_jobs`: its passes over rows run in so many threads."""

    @wraps(method)
    def wrapper(self, *args, **kwargs):
        with row_threads(self.n_jobs):
            return method(self, *args, **kwargs)

    return wrapper


def over_chunks(function, n_rows):
    """``function(rows)`` of each chunk of rows, a slice, as a list in the order of the chunks."""
    starts = range(0, n_rows, CHUNK_ROWS)
    chunks = [slice(start, min(start + CHUNK_ROWS, n_rows)) for start in starts]
    parallel = _parallel.get()
    if parallel is None or len(chunks) < 2:
        return [function(rows) for rows in chunks]
    return parallel(delayed(function)(rows) for rows in chunks)


def blocks(chunk, size):
    """Slices of at most `size` rows that cover a chunk."""
    return (slice(start, min(start + size, chunk.stop)) for start in range(chunk.start, chunk.stop, size))
