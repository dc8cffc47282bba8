"""Explicit random features of the Mallows kernel, for more rankings than a kernel matrix can hold."""

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from skrank._dask import is_dask, row_blocks_of, taken_rows
from skrank._fitting import all_or_nothing
from skrank._random import as_random_state
from skrank._rankings import check_rankings
from skrank._sparse_rankings import check_sparse_rankings, is_sparse
from skrank._typing import Array, ArrayLike, RandomState, Unranked, _fit_context
from skrank.kernel_approximation._parity import draw_pair_sets, odd_counts, rows_at_a_time
from skrank.kernels._median_heuristic import nu_from_median

# Rankings whose distances give the median: two million pairs, in the time of a few thousand transformed rows.
MEDIAN_SUBSAMPLE = 2000


class MallowsFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Random features whose inner products approximate the marginalized Mallows kernel.

    The time and memory of a linear model with these features are linear in the number of rankings, whereas those of a
    kernel matrix are quadratic. Each feature is a parity: the product of the signs of a random set of pairs of items,
    averaged over samples of the full rankings that are consistent with a partial ranking.

    Parameters
    ----------
    n_components : int, default=512
        Number of features. The root mean square error of a kernel value of two distinct rankings is below ``1 /
        sqrt(n_components)``; for equal partial rankings, there is an additional bias, see `n_draws`.
    nu : float or "median", default="median"
        Parameter of the kernel exp(-nu d), where d is the Kendall distance. "median" uses the inverse of the median
        (expected) distance over all pairs of training rankings, or of 2000 of them drawn at random.
    n_draws : int, default=10
        Number of samples of each partial ranking; full rankings only need one. Equal partial rankings have the same
        samples, so their kernel value K is biased for any number of features: by ``(1 - K) / n_draws`` with independent
        samples, and by ``(1 + E k(s, A s) - 2 K) / n_draws``, which is usually much less, with pairs (s, A s) of mirror
        images.
    method : {"antithetic", "monte_carlo"}, default="antithetic"
        Whether samples are pairs of mirror images or independent.
    dtype : dtype, default=numpy.float32
        Type of the features, numpy.float32 or numpy.float64.
    unranked : {"last", "missing"} or None, default=None
        What an absent entry of a sparse X means: tied after all listed items, or missing. A stored zero is a rank. The
        time depends on the lists and on the items in `components_`, but not on the number of items. The samples of a
        sparse row differ from those of the same row in a dense X. None rejects a sparse X; for a dense X, this
        parameter is ignored.
    random_state : int, RandomState instance or None, default=None
        Seed of the sets of pairs and the samples. The features of a ranking depend only on the seed and the ranking.
    n_jobs : int, default=None
        Number of joblib workers for blocks of rows: threads unless overridden by ``joblib.parallel_config``.

    Attributes
    ----------
    nu_ : float
        The value of nu that is used.
    components_ : csr_array of shape (n_components - 1, n_pairs), bool
        The sets of pairs, in the order of ``numpy.triu_indices(n_items, 1)``. The first feature, of the empty set, is
        constant.
    empty_share_ : float
        The part of the kernel that is constant: the square of the first feature.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the items, if X is a DataFrame.

    Warns
    -----
    UserWarning
        If the median distance is 0: ``nu_`` is 1.

    See Also
    --------
    skrank.kernels.PartialRankingKernel : The kernel matrix, exact if there is a closed form.
    sklearn.kernel_approximation.Nystroem : Features from a subset of the rankings, for any kernel of `skrank.kernels`.

    Notes
    -----
    With q = exp(-nu), q^d = prod over pairs ((1 + q)/2 + (1 - q)/2 sign(s) sign(t)): if a random set P contains each
    pair with probability (1 - q)/2 and z_P is the product of the signs in P, then E[z_P(s) z_P(t)] = q^d. The empty
    set, which has probability ((1 + q)/2)^n_pairs, is represented by one constant feature, and the other sets are drawn
    given that they are not empty. The approximation is unbiased for two distinct rankings. For equal partial rankings,
    it has the bias of shared samples (see :class:`~skrank.kernels.MarginalizedKernel`).

    **Choosing a method.** Up to about ten thousand distinct rankings, use PartialRankingKernel, which is exact. Beyond
    that,

    - MallowsFeatures does not depend on the data: its error is the same for all kernel values and inversely
      proportional to ``sqrt(n_components)``, so small values (large `nu`, many items) are lost in it. It needs no pass
      over the data, a feature takes a few bit operations, and it can be used with incremental learning
      (``partial_fit``).
    - ``sklearn.kernel_approximation.Nystroem(kernel=MallowsKernel(nu=0.05), n_components=512)`` projects on 512 of the
      training rankings. Its error decreases with the eigenvalues of the kernel, which is fast if few directions contain
      most of the variation (small `nu`, few items, clustered data), but each feature takes an exact kernel value and
      512 products. It accepts any kernel object of `skrank.kernels`. Nystroem rejects NaN, so encode missing items by
      another number, as in ``KendallKernel(missing_values=-1)``.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton and Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29 (2019), which leaves explicit features as future work.

    A. Rahimi and B. Recht, "Random features for large-scale kernel machines", NIPS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from skrank.kernel_approximation import MallowsFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 6)).argsort(axis=1).clip(max=3)  # top 3 of 6, the others tied last
    >>> y = X[:, 0] < X[:, 1]
    >>> features = MallowsFeatures(256, nu=0.2, random_state=0)
    >>> model = make_pipeline(features, SGDClassifier(random_state=0)).fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.9
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "nu": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"antithetic", "monte_carlo"})],
        "dtype": "no_validation",
        "unranked": [None, StrOptions({"last", "missing"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_components: int = 512,
        *,
        nu: float | Literal["median"] = "median",
        n_draws: int = 10,
        method: str = "antithetic",
        dtype: Any = np.float32,
        unranked: Unranked = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.nu = nu
        self.n_draws = n_draws
        self.method = method
        self.dtype = dtype
        self.unranked = unranked
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Draw the sets of pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix: lower is preferred, equal values are ties, NaN is missing. For a sparse one see `unranked`.
            With a Dask array or DataFrame, only the rows that determine the median leave the workers.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be numpy.float32 or numpy.float64, got {self.dtype!r}.")
        ranks = None if is_dask(X) else self._check(X, reset=True)
        self._seed = int(as_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(self._seed)
        if ranks is None:
            ranks = self._check(drawn_rows(X, MEDIAN_SUBSAMPLE if self.nu == "median" else 1, rng), reset=True)
        self.nu_ = float(self.nu) if self.nu != "median" else nu_from_median(subsample(ranks, rng))
        # A single feature has no room for the constant.
        n_sets, empty = (1, True) if self.n_components == 1 else (self.n_components - 1, False)
        self.components_, self.empty_share_ = draw_pair_sets(self.n_features_in_, n_sets, self.nu_, rng, empty=empty)
        self._n_features_out = self.n_components
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the features of rankings.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix.

        Returns
        -------
        Z : ndarray or Dask array of shape (n_samples, n_components), of `dtype`
            ``Z @ Z.T`` approximates the kernel. A Dask array is computed lazily on the workers that have the rows of X.
        """
        check_is_fitted(self)
        options = self.components_, self.empty_share_, self.n_draws, self._seed, self.method, np.dtype(self.dtype)
        if is_dask(X):
            rows = row_blocks_of(X)
            self._check(taken_rows(X, rows, slice(1)), reset=False)
            chunks = (rows.chunks[0], (self.n_components,))
            return rows.map_blocks(_block_features, options, self.n_components, dtype=options[-1], chunks=chunks)
        # A single feature has no room for the constant.
        return parity_features(self._check(X, reset=False), *options, n_jobs=self.n_jobs)[:, -self.n_components :]

    def _check(self, X, reset):
        if is_sparse(X):
            return check_sparse_rankings(X, self.unranked, estimator=self, reset=reset)
        return check_rankings(X, estimator=self, reset=reset)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.unranked is not None
        tags.transformer_tags.preserves_dtype = []
        return tags


# ---------------------------------------------------------------- functions of arrays
def drawn_rows(X, size, rng):
    """At most `size` rows of a Dask array or DataFrame, those that `subsample` draws of all in memory."""
    rows = row_blocks_of(X)
    n_rows = rows.shape[0]
    if n_rows <= size:
        return taken_rows(X, rows, slice(None))
    return taken_rows(X, rows, np.sort(rng.choice(n_rows, size, replace=False)) if size > 1 else slice(1))


def _block_features(block, options, n_components):
    return parity_features(check_rankings(block), *options)[:, -n_components:]


def subsample(ranks, rng, size=MEDIAN_SUBSAMPLE):
    """At most `size` of the rankings, drawn without replacement."""
    return ranks if len(ranks) <= size else ranks[rng.choice(len(ranks), size, replace=False)]


def parity_features(ranks, sets, p_empty, n_draws, seed, method, dtype, n_jobs=None):
    """Features of densified rankings or `Lists`: a constant and mean parities, by the roots of their shares.

    Returns
    -------
    features : ndarray of shape (n_rankings, 1 + n_sets), of the dtype
    """
    features = np.empty((len(ranks), 1 + sets.shape[0]), dtype)
    features[:, 0] = np.sqrt(p_empty)
    weight = np.sqrt((1 - p_empty) / sets.shape[0])
    blocks = list(gen_batches(len(ranks), rows_at_a_time(ranks, sets, n_draws)))
    tasks = (delayed(_weighted_parities)(ranks[rows], sets, weight, n_draws, seed, method, dtype) for rows in blocks)
    computed = Parallel(n_jobs, prefer="threads", return_as="generator")(tasks)
    for rows, values in zip(blocks, computed, strict=True):
        features[rows, 1:] = values
    return features


def _weighted_parities(ranks, sets, weight, n_draws, seed, method, dtype):
    odd, n_draws = odd_counts(ranks, sets, n_draws, seed, method)
    values = odd.T.astype(dtype, order="C")
    values *= dtype.type(-2 * weight / n_draws)
    values += dtype.type(weight)
    return values
