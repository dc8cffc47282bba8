"""Oracles that ask another oracle: one counts the queries, one remembers the responses."""

from threading import RLock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from skrank._typing import Array, ArrayLike
from skrank.manifold._oracle import SharedOracle, check_responses
from skrank.manifold._row_index import row_keys


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
    """Count the queries that another oracle is asked.

    Threads share the count. Another process or a worker of a cluster has its own copy (the `n_queries_` of the
    estimator includes these).

    Parameters
    ----------
    oracle : callable
        The oracle that responds.

    Attributes
    ----------
    n_queries : int
        Number of queries so far.

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
        """Number of queries so far."""
        return self._counter.value

    def __call__(self, anchors: Array, left: Array, right: Array) -> NDArray[np.bool_]:
        self._counter.add(len(left))
        return self.oracle(anchors, left, right)

    def bind(self, X: ArrayLike) -> Self:
        """Bind the oracle that responds; the count is shared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that queries will be about.

        Returns
        -------
        oracle : CountingOracle
            An oracle that asks the bound oracle.
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


class CachingOracle(WrappingOracle):
    """Ask another oracle each query once and remember the response.

    Use it if responses are slow or expensive: people, laboratories, web services. "Is left nearer than right" and "is
    right nearer than left" are the same query. The cache exists as long as the oracle and is shared by the clones of an
    estimator, so a second fit with the same seed asks no queries.

    Parameters
    ----------
    oracle : callable
        The oracle that responds.

    Attributes
    ----------
    n_queries : int
        Number of queries so far.
    n_asked : int
        Number of queries passed on to the oracle that responds.

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

    def __init__(self, oracle: Any) -> None:
        self.oracle = oracle
        self._answers: dict[
            Any, bool
        ] = {}  # (anchor, smaller key, larger key) -> whether the item of the smaller key is nearer
        self._counter = _Counter()
        self._lock = RLock()

    @property
    def n_queries(self) -> int:
        """Number of queries so far."""
        return self._counter.value

    @property
    def n_asked(self) -> int:
        """Number of queries passed on to the oracle that responds."""
        return len(self._answers)

    def __call__(self, anchors: Array, left: Array, right: Array) -> NDArray[np.bool_]:
        anchors, left, right = np.asarray(anchors), np.asarray(left), np.asarray(right)
        left_keys, right_keys = row_keys(left), row_keys(right)
        turned = left_keys > right_keys
        questions = list(
            zip(
                row_keys(anchors).tolist(),
                np.minimum(left_keys, right_keys).tolist(),
                np.maximum(left_keys, right_keys).tolist(),
                strict=True,
            )
        )
        with self._lock:
            self._counter.add(len(questions))
            new = {question: row for row, question in enumerate(questions) if question not in self._answers}
            if new:
                rows = list(new.values())
                nearer = check_responses(self.oracle(anchors[rows], left[rows], right[rows]), len(rows))
                self._answers.update(zip(new, (nearer ^ turned[rows]).tolist(), strict=True))
            return np.array([self._answers[question] for question in questions], dtype=bool) ^ turned

    def bind(self, X: ArrayLike) -> Self:
        """Bind the oracle that responds; the cache is shared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows that queries will be about.

        Returns
        -------
        oracle : CachingOracle
            An oracle that asks the bound oracle.
        """
        return self._around(X)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._lock = RLock()
