"""Kernels and distances between partial rankings, as a transformer in front of scikit-learn's kernel methods."""

from functools import partial
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skrank._callbacks import CallbackSupportMixin, fit_task
from skrank._fitting import all_or_nothing
from skrank._random import as_random_state
from skrank._rankings import check_rankings
from skrank._sparse_rankings import Lists, check_sparse_rankings, is_sparse, to_ranks
from skrank._typing import ArrayLike, Floats, RandomState, Unranked, _fit_context
from skrank.kernels._composition import as_ranking_kernel
from skrank.kernels._gram import kernel_matrix, prepare
from skrank.kernels._marginalized import MarginalizedKernel
from skrank.kernels._median_heuristic import nu_from_median
from skrank.kernels._methods import PILOT_PAIRS, better_pairing, check_exact, distinct_pairs, has_closed_form
from skrank.kernels._names import KERNEL_NAMES, named_kernel
from skrank.kernels._sampling import METHODS
from skrank.kernels._variance import entry_variances


class PartialRankingKernel(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Kernel matrix, or distance matrix, between partial rankings and the training rankings.

    Use it in a pipeline before any scikit-learn estimator that accepts a precomputed kernel or distance matrix.
    `transform` returns an array of shape (n_samples, n_samples_fit), so cross-validation splits the rankings and not
    the matrix.

    Parameters
    ----------
    kernel : str or kernel object, default="mallows"
        A kernel on full rankings, averaged over the full rankings consistent with each partial one: "kendall",
        "mallows", "polynomial", "hamming", "spearman", "semimetric_kemeny", "semimetric_spearman_footrule",
        "semimetric_spearman", "semimetric_hamming", "semimetric_lp", "diffusion", or an object from `skrank.kernels`,
        including sums, products and powers. "mallows" is universal on full rankings: it distinguishes any two
        distributions of them. It distinguishes distributions of partial rankings if they stand for different
        distributions of full rankings. "kendall" is linear, has no parameters and is the fastest. "semimetric_kemeny"
        does not average, but distinguishes which pairs a ranking leaves open: use it for ratings, where ties are
        responses.
    nu : float or "median", default="median"
        Inverse scale of the kernels "mallows" and "semimetric_*" if `kernel` is a name. "median" uses the inverse of
        the median distance over all pairs of training rankings. A kernel object has its own parameter, so search over
        ``kernel__nu`` instead. Other kernels ignore `nu`.
    method : {"auto", "exact", "antithetic", "monte_carlo", "herding", "joint_herding"}, default="auto"
        How the average is computed. "auto" uses the exact closed form if there is one for the training rankings
        (Mallows, polynomial: no missing items; Kendall, Hamming, Spearman, Kemeny: always; other kernels: full
        rankings). Otherwise, it selects "antithetic" or "monte_carlo", whichever has the lower variance, estimated from
        draws for some pairs of the training rankings. See :class:`MarginalizedKernel` for the methods that sample.
    n_draws : int, default=20
        Number of samples of each ranking if the method samples. With more samples, the error decreases and the time
        increases.
    prior : distribution, default=None
        Distribution of full rankings conditioned on each partial ranking, such as ``skrank.stats.mallows``; None means
        uniform. With a prior there is no closed form, so "auto" samples.
    output : {"kernel", "distance"}, default="kernel"
        "distance" returns the squared distance of the embeddings, K(R, R) + K(R', R') - 2 K(R, R') (Equation 2 of the
        paper): zero for equal rankings, symmetric, never negative. Estimators with ``metric="precomputed"``
        (AgglomerativeClustering, DBSCAN, KNeighborsClassifier, MDS) require distances; those with
        ``kernel="precomputed"`` or ``affinity="precomputed"`` (SVC, KernelRidge, KernelPCA, SpectralClustering) require
        kernels. Passing the wrong one does not raise an error and groups the rankings that are farthest apart.
        SpectralClustering requires nonnegative values, but "kendall" and "spearman" can be negative: use another
        kernel, or add a constant.
    normalize : bool, default=False
        Whether to divide K(R, R') by sqrt(K(R, R) K(R', R')), so that short ballots count as much as long ones. The
        values of a ranking that is uninformative for a linear kernel (K(R, R) = 0) remain zero.
    unranked : {"last", "missing"} or None, default=None
        What an absent entry of a sparse X means: tied after all listed items, or missing. A stored zero is a rank. The
        time depends on the lists, but not on the number of items, with "kendall", and with "mallows" if `unranked` is
        "last" and lists have no ties; other kernels convert X to a dense array. None rejects a sparse X; for a dense X,
        this parameter is ignored.
    random_state : int, RandomState instance or None, default=0
        Seed of the samples. The samples of a ranking depend only on the seed and the ranking. The default is fixed, so
        that the clones in a search or a cross-validation use the same samples; `standard_error_` reports the sampling
        error. None draws a new seed in each fit.
    n_jobs : int, default=None
        Number of joblib workers for blocks of rows: threads unless overridden by ``joblib.parallel_config``.

    Attributes
    ----------
    kernel_ : kernel object
        The kernel on full rankings, with `nu_`.
    method_ : str
        The method that is used, as selected by "auto".
    nu_ : float or None
        Inverse scale that is used; None for a kernel without one.
    standard_error_ : float
        Root mean square standard error of a sampled kernel value of two distinct training rankings, before `normalize`
        and `output`. It is inversely proportional to the square root of `n_draws`. 0 with closed forms; NaN if it
        cannot be estimated, that is, with fewer than two draws or two antithetic pairs, and with herding.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the items, if X is a DataFrame.

    Raises
    ------
    ValueError
        If X is not a valid rank matrix; if `method` is "exact", given or selected, and there is no closed form for a
        ranking.

    Warns
    -----
    UserWarning
        If the median distance is 0: ``nu_`` is 1.

    See Also
    --------
    MarginalizedKernel : The sampled kernels for Gaussian processes, with gradients.
    skrank.kernel_approximation.MallowsFeatures : Explicit features if the matrix would be too large.

    Notes
    -----
    X is a rank matrix: entry (s, i) is the rank of item i, and lower is preferred. If rows list items, best first, they
    are orderings: convert them with ``skrank.preprocessing.ranks_from_orderings`` or ``OrderingEncoder`` first.

    ``scipy.cluster.hierarchy.linkage`` interprets a square matrix as observations without an error: pass
    ``scipy.spatial.distance.squareform(distances, checks=False)``, or use AgglomerativeClustering.

    Sampled estimates ("antithetic", "monte_carlo") are unbiased for two distinct rankings and biased for equal ones
    (see :class:`MarginalizedKernel`); their matrices are positive semi-definite. Repeated rankings are computed once.

    References
    ----------
    M. Lomeli, M. Rowland, A. Gretton and Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
    rankings", Statistics and Computing 29 (2019).

    Y. Jiao and J.-P. Vert, "The Kendall and Mallows kernels for permutations", ICML 2015.

    Examples
    --------
    The ballots rank some of five candidates. The others are worse (tied last) or unknown (NaN):

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
        "unranked": [None, StrOptions({"last", "missing"})],
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
        unranked: Unranked = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.nu = nu
        self.method = method
        self.n_draws = n_draws
        self.prior = prior
        self.output = output
        self.normalize = normalize
        self.unranked = unranked
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Store the training rankings and determine the kernel and the method.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Rank matrix: lower is preferred, equal values are ties, NaN is missing. For a sparse one see `unranked`.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        with fit_task(self, X, y, n_stages=int(self._needs_median())) as task:
            self._fit(X, task)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit_transform(self, X: ArrayLike, y: Any = None) -> Floats:
        """Fit and return the matrix of the training rankings.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Rank matrix.
        y : None
            Ignored.

        Returns
        -------
        matrix : ndarray of shape (n_samples, n_samples), float64
            Symmetric.
        """
        with fit_task(self, X, y, n_stages=1 + self._needs_median(), name="fit_transform") as task:
            self._fit(X, task)
            return self._matrix(self._training, None, _tracking(task, "kernel matrix"))

    def transform(self, X: ArrayLike) -> Floats:
        """Return the matrix between rankings and the training rankings.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_items)
            Rank matrix.

        Returns
        -------
        matrix : ndarray of shape (n_samples, n_samples_fit), float64
        """
        check_is_fitted(self)
        ranks = self._check(X, self._marginalized, reset=False)
        if self.method_ == "exact" and not isinstance(ranks, Lists):
            check_exact(self._marginalized, ranks, "X")
        return self._matrix(prepare(self._marginalized, ranks), self._training)

    def _fit(self, X, task):
        kernel = named_kernel(self.kernel) if isinstance(self.kernel, str) else self.kernel
        full = as_ranking_kernel(kernel)
        full._check_parameters()
        closed_on_lists = self.method in ("auto", "exact") and self.prior is None
        ranks = self._check(X, full if closed_on_lists else None, reset=True)
        self._seed = int(as_random_state(self.random_state).randint(2**31 - 1))
        full._check_items(self.n_features_in_)
        exact = self._is_exact(full, ranks)
        if self._needs_median():
            kernel.set_params(nu=self._median_nu(kernel, ranks, exact, _tracking(task, "median distance")))
        elif isinstance(self.kernel, str) and "nu" in kernel.get_params():
            kernel.set_params(nu=float(self.nu))
        self.kernel_ = kernel
        self.method_ = "exact" if exact else self.method
        if self.method_ == "auto":
            self.method_ = better_pairing(full, ranks, self.n_draws, self._seed, self.prior)
        self.nu_ = getattr(kernel, "nu", None)
        self._marginalized = full if exact else self._sampled(kernel, self.method_)
        self._training = prepare(self._marginalized, ranks)
        self._n_features_out = len(ranks)

    def _check(self, X, kernel, reset):
        """Densified rankings, or lists if X is sparse and the kernel has a form for them."""
        if not is_sparse(X):
            return check_rankings(X, estimator=self, reset=reset)
        lists = check_sparse_rankings(X, self.unranked, estimator=self, reset=reset)
        has_form = kernel is not None and kernel._prepare_lists(lists) is not None
        return lists if has_form else to_ranks(lists)

    def _is_exact(self, kernel, ranks):
        """Whether closed forms are used."""
        if isinstance(ranks, Lists):
            return True
        if self.method == "exact":
            if self.prior is not None:
                raise ValueError("method='exact' has no closed form under a prior. Use method='antithetic' or 'auto'.")
            check_exact(kernel, ranks, "X")
            return True
        return self.method == "auto" and self.prior is None and has_closed_form(kernel, ranks)

    def _sampled(self, kernel, method):
        sampled = MarginalizedKernel(
            kernel, method=method, n_draws=self.n_draws, prior=self.prior, random_state=self._seed
        )
        sampled._check_items(self.n_features_in_)
        return sampled

    def _needs_median(self):
        return self.nu == "median" and isinstance(self.kernel, str) and "nu" in named_kernel(self.kernel).get_params()

    def _median_nu(self, kernel, ranks, exact, track):
        # Kendall's expected distance has a closed form on all rankings.
        if exact or kernel._metric == "kendall":
            draw = None
        else:
            method = "monte_carlo" if self.method == "monte_carlo" else "antithetic"
            draw = self._sampled(kernel, method)._prepare
        return nu_from_median(ranks, kernel._metric, kernel._metric_params, draw=draw, n_jobs=self.n_jobs, track=track)

    def _matrix(self, rankings, other, track=None):
        distance = self.output == "distance"
        return kernel_matrix(
            self._marginalized,
            rankings,
            other,
            normalize=self.normalize,
            distance=distance,
            n_jobs=self.n_jobs,
            track=track,
        )

    @property
    def standard_error_(self) -> float:
        """Root mean square standard error of a kernel value of two distinct training rankings.

        Before `normalize` and `output`; estimated from the samples of at most 320 pairs. 0 with closed forms; NaN with
        less than two draws, or two antithetic pairs, and with herding.
        """
        check_is_fitted(self)
        if self.method_ == "exact":
            return 0.0
        if self.method_.endswith("herding"):
            return np.nan
        samples = self._training.content
        first, second = distinct_pairs(len(samples), PILOT_PAIRS, np.random.default_rng(self._seed))
        distinct = (samples.positions[first] != samples.positions[second]).any(axis=(1, 2))
        pairs = samples[first[distinct]], samples[second[distinct]]
        variances = entry_variances(as_ranking_kernel(self.kernel_), *pairs, self.method_ == "antithetic")
        return float(np.sqrt(max(variances.mean(), 0.0))) if len(variances) else np.nan

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.unranked is not None
        tags.transformer_tags.preserves_dtype = []
        return tags


def _tracking(task, name):
    """What reports the blocks of a stage; None if nobody listens."""
    return partial(task.track, name) if task.is_watched else None
