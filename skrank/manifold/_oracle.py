"""The oracle protocol: who answers "is left or right nearer to the anchor?"."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from skrank._rankings import refuse_masked
from skrank._typing import Array, ArrayLike, Integers

BLOCK_SIZE = 1 << 15  # largest number of positions in a block: three float32 slices stay in a second-level cache


@runtime_checkable
class Oracle(Protocol):
    """Any callable that returns whether `left` is nearer to the anchor than `right`: a function will do.

    Responses must not depend on what was asked before, or embeddings are not reproducible. The optional methods are
    those of :class:`BindableOracle` and :class:`BlockOracle`. A class that contains a counter, a connection or a lock
    should define `__sklearn_clone__` to return itself, so that a search does not copy it. Oracles that other processes
    use must support pickling.

    See Also
    --------
    EuclideanOracle : Simulated responses.
    CachingOracle : Asks each query once.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.manifold import Oracle
    >>> def nearer_in_value(anchors, left, right):
    ...     return (np.abs(anchors - left) < np.abs(anchors - right)).all(axis=1)
    >>> isinstance(nearer_in_value, Oracle)
    True
    """

    def __call__(self, anchors: Array, left: Array, right: Array) -> NDArray[np.bool_]:
        """Respond to queries.

        Parameters
        ----------
        anchors, left, right : ndarray of shape (n_queries, n_features)
            Rows of X.

        Returns
        -------
        ndarray of shape (n_queries,), bool
            True where the left row is nearer to the anchor than the right row.
        """
        ...


@runtime_checkable
class BindableOracle(Oracle, Protocol):
    """An oracle that receives the items before it is asked about them.

    See Also
    --------
    BlockOracle : Also identifies the items by their index.

    Examples
    --------
    >>> from skrank.manifold import BindableOracle, EuclideanOracle
    >>> isinstance(EuclideanOracle(), BindableOracle)
    True
    """

    def bind(self, X: ArrayLike) -> Oracle:
        """Prepare for queries about the rows of X; called once in each `fit`.

        Parameters
        ----------
        X : ndarray of shape (n_items, n_features)
            The distinct items.

        Returns
        -------
        Oracle
            The oracle to use in this fit and in `transform`: the oracle itself, or another one that knows the items.
        """
        ...


@runtime_checkable
class BlockOracle(BindableOracle, Protocol):
    """A bound oracle that responds to the queries of a circulant design in blocks, by index instead of by row.

    This makes millions of items feasible, because a response then takes a few nanoseconds.

    See Also
    --------
    EuclideanOracle : Implements this protocol.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.manifold import BlockOracle, EuclideanOracle
    >>> oracle = EuclideanOracle().bind([[0.0], [1.0], [3.0], [2.0]])
    >>> isinstance(oracle, BlockOracle)
    True
    >>> block = oracle.start(0, np.array([1, 2, 3]))
    >>> block(0, 3, 1)    # is 1 nearer to 0 than 3, 3 than 2, 2 than 1?
    array([ True, False, False])
    """

    def start(self, anchor: int, order: Integers) -> Any:
        """Prepare for one anchor.

        Parameters
        ----------
        anchor : int
            Index of the anchor among the bound items.
        order : ndarray of int
            Indices of the items that are compared.

        Returns
        -------
        callable
            `block(start, stop, shift)`: a boolean array, for each position t in [start, stop) whether the item order[t]
            is nearer to the anchor than order[(t + shift) % len(order)]. The array may be overwritten by the next call.
            Blocks have at most 32768 positions.
        """
        ...


class SharedOracle:
    """What the oracles of this package have in common: `sklearn.base.clone` shares them instead of copying."""

    def __sklearn_clone__(self):
        return self

    def _sharing_state(self):
        """Another oracle with the very same attributes: what one counts or remembers, the other does too."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other


def check_responses(responses, n_queries):
    """The oracle's responses as a boolean array, or an error that says what is wrong with them."""
    refuse_masked(responses, "the oracle's response")
    responses = np.asarray(responses)
    if responses.shape != (n_queries,):
        raise ValueError(
            f"the oracle was asked {n_queries} queries and must return an array of shape ({n_queries},), "
            f"but it returned one of shape {responses.shape}"
        )
    if responses.dtype != bool:
        raise TypeError(
            f"the oracle must return booleans, True where left is nearer to the anchor than right, but it returned "
            f"dtype {responses.dtype} (first value {responses[:1].tolist()!r}); compare them with the value that means "
            "left, as in `responses == 'left'`, and do not ask queries whose response may be missing"
        )
    return responses
