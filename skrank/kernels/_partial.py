"""Kernels and distances between partial rankings, as a transformer in front of scikit-learn's kernel methods."""

import contextlib
from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel, Product, Sum
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from skrank._callbacks import CallbackSupportMixin, track
from skrank._fitting import all_or_nothing
from skrank._random import as_random_state
from skrank._rankings import MISSING, aggregate, check_rankings, has_missing, row_blocks, rows_with_ties
from skrank._typing import ArrayLike, Floats, RandomState, _fit_context
from skrank.kernels._base import RankingKernel
from skrank.kernels._diffusion import DiffusionKernel
from skrank.kernels._kendall import KendallKernel
from skrank.kernels._mallows import MallowsKernel
from skrank.kernels._marginalized import MarginalizedKernel, check_kernel
from skrank.kernels._median_heuristic import expected_kendall_distances, nu_from_median
from skrank.kernels._positions import HammingKernel, SpearmanKernel
from skrank.kernels._sample_pairs import diagonal_evaluator, evaluator, own_pair_means, pair_means
from skrank.kernels._sampling import METHODS
from skrank.kernels._semimetric import SemimetricKernel
from skrank.metrics._distances import ranking_distances

SEMIMETRICS = ("kemeny", "spearman_footrule", "spearman", "hamming", "lp")
KERNEL_NAMES = (
    "kendall",
    "mallows",
    "hamming",
    "spearman",
    *(f"semimetric_{metric}" for metric in SEMIMETRICS),
    "diffusion",
)
EVERYTHING = frozenset({"ties", "missing"})
BLOCK_ROWS = 128
# Blocks of a closed form that tells callbacks of its progress.
TRACKED_BLOCKS = 16
# Squared distances below this share of the norms are rounding: those of equal rankings.
ROUNDING = 1e-12


class PartialRankingKernel(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel matrix, or distance matrix, between partial rankings and the training rankings.

    Put it in a pipeline in front of any estimator of scikit-learn that takes a precomputed kernel or distance matrix.
    `transform` returns an array of shape (n_samples, n_samples_fit), so cross-validation slices the rankings, not the
    matrix.

    Parameters
    ----------
    kernel : str or kernel object, default="mallows"
        A kernel on full rankings, averaged over the full rankings consistent with each partial one: "kendall",
        "mallows", "hamming", "spearman", "semimetric_kemeny", "semimetric_spearman_footrule", "semimetric_spearman",
        "semimetric_hamming", "semimetric_lp", "diffusion", or an object from `skrank.kernels`,
        sums, products and powers included. Mallows is universal (it can tell any two distributions of rankings apart);
        Kendall is linear, parameter-free and the fastest; "semimetric_kemeny" does not average, but sees which pairs a
        ranking leaves open: for ratings, where ties are answers.
    nu : float or "median", default="median"
        Inverse scale of the kernels that have one, when `kernel` is a name: "mallows" and "semimetric_*". The heuristic
        is the inverse of the median distance over all pairs of training rankings. A kernel object keeps its own, so a
        grid runs over ``kernel__nu`` there. Other kernels ignore it.
    method : {"auto", "exact", "antithetic", "monte_carlo", "herding"}, default="auto"
        How the average is taken. "auto" is the exact closed form where there is one for the training rankings
        (Mallows: no missing items; Kendall, Hamming, Spearman, Kemeny: always; the others: full rankings), else
        "antithetic" for functions of the Kendall distance and "monte_carlo" for other kernels. See
        :class:`MarginalizedKernel` for the sampled ones.
    n_draws : int, default=20
        Samples of each ranking in the sampled methods. The error of an entry falls, and its time grows, with it.
    prior : distribution, default=None
        Distribution of full rankings conditioned on each partial ranking, such as ``skrank.stats.mallows``; None means
        uniform. No closed form: "auto" samples.
    output : {"kernel", "distance"}, default="kernel"
        "distance" gives the squared distance of the embeddings, K(R, R) + K(R', R') - 2 K(R, R') (Equation 2 of the
        paper): zero for equal rankings, symmetric, never negative. Estimators with ``metric="precomputed"``
        (AgglomerativeClustering, DBSCAN, KNeighborsClassifier, MDS) mean distances, those with
        ``kernel="precomputed"`` or ``affinity="precomputed"`` (SVC, KernelRidge, KernelPCA, SpectralClustering)
        kernels: the wrong one of the two runs without an error, and groups what is farthest. SpectralClustering wants
        no negative values, which "kendall" and "spearman" have: use another kernel, or add a constant.
    normalize : bool, default=False
        Divide K(R, R') by sqrt(K(R, R) K(R', R')), so that short ballots count as much as long ones. A ranking that
        says nothing to a linear kernel (K(R, R) = 0) keeps zeros.
    random_state : int, RandomState instance or None, default=None
        Seed of the sampled methods. The samples of a ranking depend on it and the ranking alone.
    n_jobs : int, default=None
        Number of joblib workers that take blocks of rows; threads unless a ``joblib.parallel_config`` says else.

    Attributes
    ----------
    kernel_ : kernel object
        The kernel on full rankings, with `nu_`.
    method_ : str
        The method in use: what "auto" chose.
    nu_ : float or None
        Inverse scale in use; None for a kernel that has none.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the items, if X is a DataFrame.

    Raises
    ------
    ValueError
        If X is no rank matrix; if `method` is "exact", given or chosen at fit, and a ranking has no closed form.

    Warns
    -----
    UserWarning
        If the median distance is 0: ``nu_`` is 1.

    See Also
    --------
    MarginalizedKernel : The sampled kernels for Gaussian processes, with gradients.
    skrank.kernel_approximation.MallowsFeatures : Explicit features, where the matrix would be too large.

    Notes
    -----
    X is a rank matrix: entry (s, i) is the rank of item i, lower is preferred. Rows that list items, best first, are
    orderings: convert them first, with ``skrank.preprocessing.ranks_from_orderings`` or ``OrderingEncoder``.

    ``scipy.cluster.hierarchy.linkage`` takes a square matrix for observations, without an error: give it
    ``scipy.spatial.distance.squareform(distances, checks=False)``, or use AgglomerativeClustering.

    Sampled estimates are unbiased for two distinct rankings and biased upwards for equal ones (see
    :class:`MarginalizedKernel`); matrices of both are positive semi-definite. Repeated rankings are computed once.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton and Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29 (2019).

    Y. Jiao and J.-P. Vert, "The Kendall and Mallows kernels for permutations", ICML 2015.

    Examples
    --------
    Ballots that rank some of five candidates, the others worse (tied last) or not mentioned (NaN):

    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from skrank.kernels import PartialRankingKernel
    >>> nan = np.nan
    >>> X = [[1, 2, 3, 3, 3], [1, 2, 3, 4, 5], [2, 1, nan, 3, 4], [3, 3, 1, 2, 3], [nan, nan, 1, 2, 3], [5, 4, 1, 2, 3]]
    >>> y = ["a", "a", "a", "b", "b", "b"]
    >>> model = make_pipeline(PartialRankingKernel(random_state=0), SVC(kernel="precomputed")).fit(X, y)
    >>> model[0].method_
    'antithetic'
    >>> model.predict([[1, 2, nan, nan, 3]])
    array(['a'], dtype='<U1')

    Clusters of rankings, from distances:

    >>> from sklearn.cluster import AgglomerativeClustering
    >>> clustering = AgglomerativeClustering(n_clusters=2, metric="precomputed", linkage="average")
    >>> make_pipeline(PartialRankingKernel(output="distance", random_state=0), clustering).fit_predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions(set(KERNEL_NAMES)), Kernel],
        "nu": [StrOptions({"median"}), Interval(Real, 0, None, closed="neither")],
        "method": [StrOptions({"auto", "exact", *METHODS})],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "prior": [None, HasMethods("logpmf")],
        "output": [StrOptions({"kernel", "distance"})],
        "normalize": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        kernel: Any = "mallows",
        *,
        nu: float | Literal["median"] = "median",
        method: str = "auto",
        n_draws: int = 20,
        prior: Any = None,
        output: Literal["kernel", "distance"] = "kernel",
        normalize: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.method = method
        self.n_draws = n_draws
        self.prior = prior
        self.output = output
        self.normalize = normalize
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Keep the training rankings and settle kernel and method.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix: lower is preferred, equal values are ties, NaN is missing.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        context = self._begin("fit", X, y)
        self._fit(X, context)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit_transform(self, X: ArrayLike, y: Any = None) -> Floats:
        """Fit, and the matrix between the training rankings.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.
        y : None
            Ignored.

        Returns
        -------
        matrix : ndarray of shape (n_samples, n_samples), float64
            Symmetric.
        """
        context = self._begin("fit_transform", X, y, n_stages=1)
        self._fit(X, context)
        matrix = self._matrix(self._training, self._tracking(context, "kernel matrix"))
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return matrix

    def transform(self, X: ArrayLike) -> Floats:
        """The matrix between rankings and the training rankings.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.

        Returns
        -------
        matrix : ndarray of shape (n_samples, n_samples_fit), float64
        """
        check_is_fitted(self)
        ranks = check_rankings(X, estimator=self, reset=False)
        if self.method_ == "exact":
            check_exact(ranks, exact_on(self.kernel_), "X")
        return self._matrix(self._represent(ranks))

    def _begin(self, name, X, y, n_stages=0):
        """The context of a fit that tells callbacks of so many stages, and of the median distance if it takes that."""
        context = self._init_callback_context(name, max_subtasks=n_stages + self._needs_median())
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        return context

    def _tracking(self, context, name):
        """What tells callbacks of the blocks of a stage; None if there are none."""
        return partial(track, self, context, name) if getattr(self, "_skl_callbacks", None) else None

    def _needs_median(self):
        return self.nu == "median" and isinstance(self.kernel, str) and "nu" in named_kernel(self.kernel).get_params()

    def _fit(self, X, context):
        ranks = check_rankings(X, estimator=self)
        self._seed = int(as_random_state(self.random_state).randint(2**31 - 1))
        kernel = named_kernel(self.kernel) if isinstance(self.kernel, str) else self.kernel
        check_kernel(kernel)
        self.method_ = choose_method(kernel, ranks, self.method, self.prior)
        self.kernel_ = self._scale(kernel, ranks, self._tracking(context, "median distance"))
        self.nu_ = getattr(self.kernel_, "nu", None)
        self._training = self._represent(ranks)
        self._n_features_out = len(ranks)

    def _scale(self, kernel, ranks, tracking):
        if self._needs_median():
            return kernel.set_params(nu=nu_from_median(ranks, self._distances_of(kernel, tracking)))
        if isinstance(self.kernel, str) and "nu" in kernel.get_params():
            return kernel.set_params(nu=float(self.nu))
        return kernel

    def _distances_of(self, kernel, tracking):
        """Function of rankings that gives their distances, over which the median is taken."""
        distance = _Distance(kernel._metric, kernel._metric_params)
        if kernel._metric == "kendall":
            at_once = expected_kendall_distances
        elif self.method_ == "exact":
            at_once = distance._pairwise
        else:
            return lambda ranks: pair_means(
                distance, self._samples_for(distance, ranks), n_jobs=self.n_jobs, track=tracking
            )
        if tracking is None:
            return at_once
        return lambda ranks: list(tracking(map(at_once, [ranks]), 1))[0]

    def _samples_for(self, kernel, ranks):
        sampled = MarginalizedKernel(
            kernel, method=self.method_, n_draws=self.n_draws, prior=self.prior, random_state=self._seed
        )
        return sampled._samples(ranks)

    def _represent(self, ranks):
        """What the matrix is computed from: distinct rankings or their samples."""
        table = aggregate(ranks)
        repeats = is_function_of_rankings(self.kernel_) and 2 * len(table.ranks) <= len(ranks)
        distinct, inverse = (table.ranks, table.inverse) if repeats else (ranks, None)
        if self.method_ == "exact":
            return Represented(distinct, inverse)
        return Represented(self._samples_for(self.kernel_, distinct), inverse)

    def _matrix(self, represented, tracking=None):
        training = self._training
        exact = self.method_ == "exact"
        gram = exact_gram if exact else pair_means
        other = None if represented is training else training.content
        matrix = gram(self.kernel_, represented.content, other, n_jobs=self.n_jobs, track=tracking)
        if self.normalize or self.output == "distance":
            diagonal = (
                diagonal_evaluator(self.kernel_) if exact else lambda samples: own_pair_means(self.kernel_, samples)
            )
            norms = diagonal(represented.content)
            other_norms = norms if represented is training else diagonal(training.content)
            if self.normalize:
                norms, other_norms = normalize_kernel(matrix, norms, other_norms)
            if self.output == "distance":
                kernel_to_distance(matrix, norms, other_norms)
        return expand(matrix, represented.inverse, training.inverse)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class Represented(NamedTuple):
    """Distinct rankings or their samples, and which of them each row is (None: row by row)."""

    content: object
    inverse: np.ndarray | None


class _Distance(RankingKernel):
    """A distance in a kernel's place, to be averaged over samples."""

    missing_values = np.nan

    def __init__(self, metric, metric_params):
        self.metric = metric
        self.metric_params = metric_params

    @property
    def _metric(self):
        return self.metric

    def _of_distance(self, distances, n_items):
        return distances

    def _pairwise(self, ranks, other_ranks=None):
        return ranking_distances(ranks, other_ranks, self.metric, **self.metric_params)

    def _diag(self, ranks):
        return np.zeros(len(ranks))


# ---------------------------------------------------------------- kernel and method
def named_kernel(name):
    """The kernel object of a name in ``KERNEL_NAMES``."""
    if name.startswith("semimetric_"):
        return SemimetricKernel(metric=name.removeprefix("semimetric_"))
    classes = {
        "kendall": KendallKernel,
        "mallows": MallowsKernel,
        "hamming": HammingKernel,
        "spearman": SpearmanKernel,
        "diffusion": DiffusionKernel,
    }
    return classes[name]()


def exact_on(kernel):
    """On what a kernel, or a combination of kernels, equals its own marginalisation: of "ties" and "missing"."""
    if isinstance(kernel, RankingKernel):
        return kernel.exact_on
    if isinstance(kernel, ConstantKernel):
        return EVERYTHING
    if isinstance(kernel, Sum):
        return exact_on(kernel.k1) & exact_on(kernel.k2)
    # The mean of a product is not the product of the means, unless one of them is constant.
    if isinstance(kernel, Product) and isinstance(kernel.k1, ConstantKernel):
        return exact_on(kernel.k2)
    if isinstance(kernel, Product) and isinstance(kernel.k2, ConstantKernel):
        return exact_on(kernel.k1)
    return frozenset()


def is_function_of_rankings(kernel):
    """Whether equal rankings of different rows have the value of one row with itself; not so with WhiteKernel."""
    if isinstance(kernel, (RankingKernel, ConstantKernel)):
        return True
    parts = [part for part in kernel.get_params(deep=False).values() if isinstance(part, Kernel)]
    return bool(parts) and all(map(is_function_of_rankings, parts))


def not_exact(ranks, exact):
    """Which rankings have no closed form, shape (n_samples,), and why, a verb phrase."""
    if "missing" not in exact and has_missing(ranks):
        return (ranks == MISSING).any(axis=1), "has missing items"
    if "ties" not in exact:
        return rows_with_ties(ranks), "ties items"
    return np.zeros(len(ranks), bool), ""


def check_exact(ranks, exact, input_name):
    """Raise on a ranking without a closed form."""
    rows, trouble = not_exact(ranks, exact)
    if rows.any():
        raise ValueError(
            f"Row {int(np.argmax(rows))} of {input_name} {trouble}, for which the kernel has no closed form, but "
            "method='exact' was asked for, or chosen because all training rankings have one. Exact and sampled values "
            "must not be mixed in one matrix: fit with method='antithetic' (or 'monte_carlo')."
        )


def choose_method(kernel, ranks, method, prior):
    """The method that `method` means for these training rankings."""
    if method == "exact":
        if prior is not None:
            raise ValueError("method='exact' has no closed form under a prior. Use method='antithetic' or 'auto'.")
        check_exact(ranks, exact_on(kernel), "X")
    if method != "auto":
        return method
    if prior is None and not not_exact(ranks, exact_on(kernel))[0].any():
        return "exact"
    return "antithetic" if getattr(kernel, "_metric", None) == "kendall" else "monte_carlo"


# ---------------------------------------------------------------- matrices
def exact_gram(kernel, ranks, other=None, *, n_jobs=None, track=None):
    """Gram matrix of densified rankings by closed forms, blocks of rows by joblib workers.

    ``track(blocks, n_blocks)``, if given, iterates over the blocks as they are computed, and may tell of it.
    """
    evaluate = evaluator(kernel)
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1 and track is None:
        return evaluate(ranks, other)
    symmetric = other is None
    matrix = np.empty((len(ranks), len(ranks if symmetric else other)))
    # Several blocks for each worker even out the rows of a triangle.
    even = max(-(-len(ranks) // max(4 * n_workers, 0 if track is None else TRACKED_BLOCKS)), 1)
    blocks = list(row_blocks(len(ranks), 8 * matrix.shape[1] * 2 * n_workers, max_rows=even))
    # Whole arrays and slices: a cluster is sent each array once.
    tasks = (delayed(_exact_rows)(evaluate, ranks, rows, other) for rows in blocks)
    with threadpool_limits(1, "blas") if n_workers > 1 else contextlib.nullcontext():
        computed = Parallel(n_jobs, prefer="threads", return_as="generator")(tasks)
        for rows, values in zip(blocks, computed if track is None else track(computed, len(blocks)), strict=True):
            if symmetric:
                matrix[rows, rows.start :] = values
                matrix[rows.start :, rows] = values.T
            else:
                matrix[rows] = values
    return matrix


def _exact_rows(evaluate, ranks, rows, other):
    if other is not None:
        return evaluate(ranks[rows], other)
    own, later = evaluate(ranks[rows]), ranks[rows.stop :]
    return np.hstack([own, evaluate(ranks[rows], later)]) if len(later) else own


def normalize_kernel(matrix, norms, other_norms):
    """Divide by the square roots of the diagonals, in place; returns the diagonals of the result."""
    scale, other_scale = (np.where(values > 0, np.sqrt(values), 1.0) for values in (norms, other_norms))
    for rows in gen_batches(len(matrix), BLOCK_ROWS):
        matrix[rows] /= np.multiply.outer(scale[rows], other_scale)
    return (norms > 0).astype(float), (other_norms > 0).astype(float)


def kernel_to_distance(matrix, norms, other_norms):
    """Turn kernel values into squared distances of the embeddings, in place."""
    for rows in gen_batches(len(matrix), BLOCK_ROWS):
        block = matrix[rows]
        total = np.add.outer(norms[rows], other_norms)
        np.subtract(total, 2 * block, out=block)
        block[block <= ROUNDING * total] = 0


def expand(matrix, inverse, other_inverse):
    """Rows and columns of distinct rankings back to those of the data."""
    if inverse is not None:
        matrix = matrix[inverse]
    return matrix if other_inverse is None else np.take(matrix, other_inverse, axis=1)
