"""What all kernels on rankings share: validation, and scikit-learn's kernel interface."""

from inspect import signature
from numbers import Real
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrank._rankings import check_rankings, check_same_items, has_missing, n_ranked, rows_with_ties
from skrank._typing import Array, ArrayLike, Floats
from skrank.kernels._gram import kernel_matrix, kernel_matrix_and_gradient, prepare


class RankingKernel(Kernel):
    """Base class of kernels on rankings with scikit-learn's interface for Gaussian process kernels.

    A kernel takes a rank matrix (see `skrank`) and returns a Gram matrix. Like those of scikit-learn, kernels combine
    by ``+``, ``*`` and ``**``, have a log-transformed vector of hyperparameters `theta` with `bounds`, and return the
    gradient with respect to it, so that GaussianProcessClassifier and GaussianProcessRegressor can optimize them.

    On partial rankings, a kernel stands for its *marginalization*: the mean of its values over all full rankings
    consistent with each argument. If this has a closed form (`exact_on`), the kernel computes it; otherwise it raises
    an error, and :class:`MarginalizedKernel` estimates it by sampling.

    Notes
    -----
    A subclass defines pure functions of *densified* rankings, which it does not have to validate: integer arrays in
    which ``ranks[s, i]`` is the number, from 0, of the bucket of item i in ranking s, or -1 if the item is missing.

    - ``_pairwise(ranks, other_ranks=None)`` returns the Gram matrix, float64; None means the same rankings.
    - ``_diag(ranks)`` returns its diagonal.
    - ``_pairwise_and_gradient(ranks)`` returns the Gram matrix and its derivatives in `theta`, of shape (n, n, n_dims).
      Only a kernel with hyperparameters has to define it.
    - `exact_on` lists the partial rankings for which these are exact: any of "ties" and "missing". Full rankings are
      always included.
    - ``_check_parameters()`` raises an error if parameters are invalid, and ``_check_items(n_items)`` if they are
      invalid for this number of items.

    A kernel that is a function of one distance between full rankings also defines the following, which makes sampling
    fast: ``_metric`` and ``_metric_params`` are the arguments of :func:`skrank.metrics.pairwise_ranking_distances`,
    ``_of_distance(distances, n_items)`` turns an array of distances into kernel values, and
    ``_of_distance_gradient(distances, n_items)`` into derivatives in `theta`, on a new last axis of length `n_dims`.

    A kernel that does not compute with the rankings themselves can prepare them once: ``_prepare(ranks)`` returns an
    array, or another object with a length and slices of rows, which is then passed to ``_pairwise``, ``_diag`` and
    ``_pairwise_and_gradient``.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29, 2019, for the marginalization.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.kernels import RankingKernel
    >>> class FavoriteKernel(RankingKernel):
    ...     '''1 for two full rankings with the same favorite, otherwise 0.'''
    ...
    ...     def __init__(self, missing_values=np.nan):
    ...         self.missing_values = missing_values
    ...
    ...     def _pairwise(self, ranks, other_ranks=None):
    ...         other_ranks = ranks if other_ranks is None else other_ranks
    ...         return (ranks.argmin(axis=1)[:, None] == other_ranks.argmin(axis=1)).astype(float)
    ...
    ...     def _diag(self, ranks):
    ...         return np.ones(len(ranks))
    >>> FavoriteKernel()([[0, 1, 2], [0, 2, 1], [2, 1, 0]])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    missing_values: float
    # Rows of a matrix to compute at once; None means as many as pays.
    _block_rows: int | None = None
    # Whether the value of two equal rankings is that of the ranking with itself; not so for white noise.
    _is_function: bool = True

    @property
    def exact_on(self) -> frozenset[str]:
        """Partial rankings for which the kernel has a closed form: any of "ties" and "missing"."""
        return frozenset()

    @property
    def _metric(self) -> str | None:
        return None

    @property
    def _metric_params(self) -> dict[str, Any]:
        return {}

    # ------------------------------------------------------------ scikit-learn's interface
    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False) -> Any:
        """The kernel between rankings, and optionally its gradient.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_items)
            Rank matrix.
        Y : array-like of shape (n_samples_Y, n_items), default=None
            Rank matrix of the other rankings; None means X.
        eval_gradient : bool, default=False
            Whether to return the gradient with respect to `theta` too. Only where Y is None.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y), float64
            Kernel values.
        K_gradient : ndarray of shape (n_samples_X, n_samples_X, n_dims), float64
            Only if `eval_gradient`. Derivatives of K with respect to the logarithms of the hyperparameters that are not
            fixed.
        """
        if eval_gradient and Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        ranks = self._validate(X, "X")
        rankings = prepare(self, ranks)
        if eval_gradient:
            return kernel_matrix_and_gradient(self, rankings)
        if Y is None:
            return kernel_matrix(self, rankings)
        other_ranks = self._validate(Y, "Y")
        check_same_items(X, Y, ranks, other_ranks)
        return kernel_matrix(self, rankings, prepare(self, other_ranks))

    def diag(self, X: ArrayLike) -> Floats:
        """The kernel of each ranking with itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.

        Returns
        -------
        K_diag : ndarray of shape (n_samples,), float64
            Equal to ``np.diag(self(X))``, but only n_samples values are computed.
        """
        return self._diag(self._prepare(self._validate(X, "X")))

    def is_stationary(self) -> bool:
        """Whether the kernel is stationary: rankings have no translations.

        Returns
        -------
        stationary : bool
            False.
        """
        return False

    def __eq__(self, other):
        if type(self) is not type(other):
            return False
        mine, others = self.get_params(), other.get_params()
        # NaN, the default of missing_values, does not equal itself: hence the identity.
        return all(mine[name] is others[name] or np.array_equal(mine[name], others[name]) for name in mine)

    def __repr__(self) -> str:
        shown = {hyperparameter.name for hyperparameter in self.hyperparameters}
        parameters = []
        for name, parameter in signature(type(self)).parameters.items():
            value = getattr(self, name)
            if name in shown and isinstance(value, Real):
                parameters.append(f"{name}={value:.3g}")
            elif not name.endswith("_bounds") and repr(value) != repr(parameter.default):
                parameters.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(parameters)})"

    # ------------------------------------------------------------ validation
    def _validate(self, X, input_name):
        """The densified form of a rank matrix on which this kernel is exact."""
        self._check_parameters()
        ranks = check_rankings(X, input_name=input_name, missing_values=self.missing_values)
        self._check_items(ranks.shape[1])
        self._check_exact(ranks, input_name)
        return ranks

    def _check_parameters(self) -> None:
        """Raise on invalid parameters."""

    def _check_items(self, n_items: int) -> None:
        """Raise on a number of items for which the kernel is not defined."""

    def _check_exact(self, ranks, input_name):
        """Raise on rankings for which this kernel's marginalization has no closed form, naming the row."""
        rows, trouble = inexact_rows(ranks, self.exact_on)
        if rows.any():
            raise ValueError(
                f"Row {int(np.argmax(rows))} of {input_name} {trouble}, and {type(self).__name__} has no closed form "
                f"there. Wrap it, MarginalizedKernel({self!r}, ...), to average over sampled full rankings that are "
                "consistent with each row."
            )

    # ------------------------------------------------------------ densified rankings in, arrays out
    def _prepare(self, ranks: Array) -> Any:
        return ranks

    def _prepare_lists(self, lists: Any) -> Any:
        """The same of lists of few of many items (``skrank._sparse_rankings``); None if they must be densified."""
        return None

    def _pairwise(self, ranks: Any, other_ranks: Any = None) -> Floats:
        raise NotImplementedError

    def _pairwise_and_gradient(self, ranks: Any) -> tuple[Floats, Floats]:
        if self.n_dims:
            raise NotImplementedError
        return self._pairwise(ranks), np.empty((len(ranks), len(ranks), 0))

    def _diag(self, ranks: Any) -> Floats:
        raise NotImplementedError

    def _between(self, ranks: Array, other_ranks: Array | None = None) -> Floats:
        """Values between densified rankings, which are prepared here."""
        return self._pairwise(self._prepare(ranks), None if other_ranks is None else self._prepare(other_ranks))

    def _between_equals(self, ranks: Array) -> Floats:
        """Values of each ranking and an equal one of another row, unbiased: without what a row shares with itself."""
        return self._diag(self._prepare(ranks))

    def _of_distance(self, distances: Any, n_items: int) -> Floats:
        raise NotImplementedError

    def _of_distance_gradient(self, distances: Any, n_items: int) -> Floats:
        if self.n_dims:
            raise NotImplementedError
        return np.empty((*np.shape(distances), 0))


def inexact_rows(ranks, exact_on):
    """Which rankings have no closed form, shape (n_samples,), and why, a verb phrase."""
    if "missing" not in exact_on and has_missing(ranks):
        return n_ranked(ranks) < ranks.shape[1], "has missing items"
    if "ties" not in exact_on:
        return rows_with_ties(ranks), "ties items"
    return np.zeros(len(ranks), bool), ""


def check_positive(value: Any, name: str, kernel: RankingKernel) -> None:
    """Raise unless a kernel's parameter is a positive finite number."""
    if not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise ValueError(f"{name} of {type(kernel).__name__} must be a positive finite number, got {value!r}.")
