"""Oracles that ask another oracle: one counts the queries, one remembers the responses."""

import os
from numbers import Integral
from threading import RLock
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.metaestimators import available_if

from skrank._fitting import warn_caller
from skrank._typing import Array, ArrayLike
from skrank.manifold._json_lines import JsonLines
from skrank.manifold._oracle import SharedOracle, check_responses
from skrank.manifold._row_index import row_keys

FORMAT = "skrank oracle responses 1"


class _Counter:
    """A number that several threads may add to."""

    def __init__(self):
        self.value, self._lock = 0, RLock()

    def add(self, number):
        with self._lock:
            self.value += int(number)

    def __getstate__(self):
        return self.value

    def __setstate__(self, value):
        self.value, self._lock = value, RLock()


class WrappingOracle(SharedOracle):
    """An oracle that asks another, its attribute `oracle`."""

    oracle: Any  # an Oracle, with whatever optional methods it has

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.oracle!r})"

    def _around(self, X):
        """The same oracle around the bound one; the state is shared."""
        bound = self._sharing_state()
        bound.oracle = self.oracle.bind(X) if hasattr(self.oracle, "bind") else self.oracle
        return bound


class CountingOracle(WrappingOracle):
    """Counts the questions that another oracle is asked.

    Threads share the count; a process or a cluster's worker has a copy of its own (the estimator's `n_queries` counts
    there too).

    Parameters
    ----------
    oracle : callable
        The oracle that answers.

    Attributes
    ----------
    n_queries : int
        Number of questions so far.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.manifold import CountingOracle, EuclideanOracle
    >>> oracle = CountingOracle(EuclideanOracle())
    >>> oracle(np.zeros((3, 1)), np.ones((3, 1)), np.full((3, 1), 2.0))
    array([ True,  True,  True])
    >>> oracle.n_queries
    3
    """

    def __init__(self, oracle: Any) -> None:
        self.oracle = oracle
        self._counter = _Counter()

    @property
    def n_queries(self) -> int:
        """Number of questions so far."""
        return self._counter.value

    def __call__(self, anchors: Array, left: Array, right: Array) -> NDArray[np.bool_]:
        self._counter.add(len(left))
        return self.oracle(anchors, left, right)

    def bind(self, X: ArrayLike) -> Self:
        """Bind the oracle that answers; the count is shared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that questions will be about.

        Returns
        -------
        oracle : CountingOracle
            One that asks the bound oracle.
        """
        return self._around(X)

    @available_if(lambda self: hasattr(self.oracle, "start"))
    def start(self, anchor, order):
        """Answers in slices, where the oracle that answers has them.

        Parameters
        ----------
        anchor : int
            Index of the anchor's row among the bound rows.
        order : ndarray of int
            Indices of the items compared, in the order of the design.

        Returns
        -------
        ask : callable
            As of :meth:`EuclideanOracle.start`.
        """
        inner = self.oracle.start(anchor, order)

        def ask(start, stop, shift):
            self._counter.add(stop - start)
            return inner(start, stop, shift)

        return ask


class _Cache:
    """Responses by query, (anchor, smaller key, larger key) -> whether the item of the smaller key is nearer."""

    def __init__(self, responses=(), log=None):
        self.responses, self.log, self.lock = dict(responses), log, RLock()

    def add(self, queries, nearer):
        """Remember responses, on the disk first."""
        if self.log is not None:
            self.log.append({"responses": [[*query, one] for query, one in zip(queries, nearer, strict=True)]})
        self.responses.update(zip(queries, nearer, strict=True))

    def __getstate__(self):
        return self.responses, self.log

    def __setstate__(self, state):
        self.__init__(*state)


class CachingOracle(WrappingOracle):
    """Asks another oracle each query once and remembers the response.

    For responses that are slow or expensive: people, laboratories, web services. "Is left nearer than right" and "is
    right nearer than left" are one query. The cache lives as long as the oracle and is shared by the clones of an
    estimator, so a second fit with the same seed asks nothing. With :meth:`save` it is kept in a file.

    Parameters
    ----------
    oracle : callable
        The oracle that responds.
    batch_size : "auto" or int, default="auto"
        How many queries the oracle is asked at a time. What it has returned is remembered, so that a call that fails
        loses the responses of one batch at most. "auto" is 1, by which nothing is lost, or as many as there are for the
        oracles of this package, which do not fail half-way. Take more for a service that responds to many at once.

    Attributes
    ----------
    n_queries : int
        Number of queries so far.
    n_asked : int
        Number of queries passed on to the oracle that responds, with those of a file that was loaded.

    See Also
    --------
    TripletStudy : For people who answer days later, or say "don't know".

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.manifold import CachingOracle, EuclideanOracle
    >>> oracle = CachingOracle(EuclideanOracle())
    >>> oracle(np.zeros((3, 1)), np.ones((3, 1)), np.array([[2.0], [2.0], [3.0]]))
    array([ True,  True,  True])
    >>> oracle.n_queries, oracle.n_asked
    (3, 2)
    """

    def __init__(self, oracle: Any, *, batch_size: int | Literal["auto"] = "auto") -> None:
        self.oracle, self.batch_size = oracle, batch_size
        validate_parameter_constraints(
            {"oracle": [callable], "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")]},
            {"oracle": oracle, "batch_size": batch_size},
            "CachingOracle",
        )
        self._cache = _Cache()
        self._counter = _Counter()

    @property
    def n_queries(self) -> int:
        """Number of queries so far."""
        return self._counter.value

    @property
    def n_asked(self) -> int:
        """Number of queries passed on to the oracle that responds."""
        return len(self._cache.responses)

    def __call__(self, anchors: Array, left: Array, right: Array) -> NDArray[np.bool_]:
        anchors, left, right = np.asarray(anchors), np.asarray(left), np.asarray(right)
        left_keys, right_keys = row_keys(left), row_keys(right)
        turned = left_keys > right_keys
        queries = list(
            zip(
                row_keys(anchors).tolist(),
                np.minimum(left_keys, right_keys).tolist(),
                np.maximum(left_keys, right_keys).tolist(),
                strict=True,
            )
        )
        with self._cache.lock:
            self._counter.add(len(queries))
            known = self._cache.responses
            new = {query: row for row, query in enumerate(queries) if query not in known}
            rows, size = list(new.values()), self._size_of_batches(len(new))
            for start in range(0, len(rows), size):
                batch = rows[start : start + size]
                responses = self.oracle(anchors[batch], left[batch], right[batch])
                nearer = check_responses(responses, len(batch)) ^ turned[batch]
                self._cache.add([queries[row] for row in batch], nearer.tolist())
            return np.array([known[query] for query in queries], dtype=bool) ^ turned

    def _size_of_batches(self, n_queries):
        if self.batch_size != "auto":
            return self.batch_size
        oracle = self.oracle
        while isinstance(oracle, WrappingOracle):
            oracle = oracle.oracle
        return max(1, n_queries) if isinstance(oracle, SharedOracle) else 1

    def bind(self, X: ArrayLike) -> Self:
        """Bind the oracle that responds; the cache is shared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that queries will be about.

        Returns
        -------
        oracle : CachingOracle
            One that asks the bound oracle.
        """
        return self._around(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all responses to a new file, and keep the cache there.

        From then on each batch of responses is on the disk before it is used. The file has one JSON object on each
        line, as that of a :class:`TripletStudy`; rows are stored by their keys, so that rows that are equal in another
        session are the same items.

        Parameters
        ----------
        path : str or path-like
            The file, such as "responses.jsonl".

        Raises
        ------
        FileExistsError
            If there is such a file: nothing is overwritten.
        """
        with self._cache.lock:
            lines = [{"responses": [[*query, nearer] for query, nearer in self._cache.responses.items()]}]
            self._cache.log = JsonLines.create(path, {"format": FORMAT}, lines)

    @classmethod
    def load(cls, path: str | os.PathLike[str], oracle: Any, *, batch_size: int | Literal["auto"] = "auto") -> Self:
        """A caching oracle with the responses in a file, which it continues there.

        Parameters
        ----------
        path : str or path-like
            A file that :meth:`save` made.
        oracle : callable
            As in the constructor.
        batch_size : "auto" or int, default="auto"
            As in the constructor.

        Returns
        -------
        CachingOracle

        Raises
        ------
        ValueError
            If the file is of another kind; the message names the line.

        Warns
        -----
        UserWarning
            If the last line was cut off, as by a process that was killed while writing it: its queries will be asked
            again.
        """
        log, lines = JsonLines.open(path, FORMAT)
        caching = cls(oracle, batch_size=batch_size)
        responses = {}
        for number, line in enumerate(lines.records, 2):
            try:
                responses.update({(int(i), int(j), int(k)): bool(nearer) for i, j, k, nearer in line["responses"]})
            except (KeyError, TypeError, ValueError):
                raise ValueError(f"{os.fspath(path)}, line {number}: not a line of a cache of responses.") from None
        caching._cache = _Cache(responses, log)
        if lines.torn:
            warn_caller(
                f"{os.fspath(path)}: the last line was cut off after {len(lines.torn)} bytes and is left out. Its "
                "queries will be asked again.",
                UserWarning,
            )
        return caching
