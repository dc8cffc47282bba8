"""What the mixture estimators share: fitting the weighted table of distinct rankings, prediction, scores, samples."""

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skrank._callbacks import CallbackSupportMixin
from skrank._fitting import all_or_nothing, warn_caller
from skrank._random import as_random_state
from skrank._rankings import aggregate, check_rankings, check_weights
from skrank._typing import ArrayLike, Floats, Integers, _fit_context
from skrank.mixture._description import description_length
from skrank.mixture._diagnostics import n_samples_required, problems
from skrank.mixture._expectation_maximization import Mixture, expectation
from skrank.mixture._fit import fit_auto, fit_fixed, n_tasks_at_most
from skrank.mixture._goodness_of_fit import GoodnessOfFitResult, goodness_of_fit, sample_mixture
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._peel import SearchOptions, subsample
from skrank.mixture._selection import n_effective_components

MISSING_REMEDY = (
    "A mixture needs to know what a ranking says of every item. If unranked items are worse than the ranked ones, tie "
    'them last (unranked="last" where lists are read or encoded); otherwise drop these rows or items.'
)


class BaseMallowsMixture(CallbackSupportMixin, DensityMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of mixtures of Mallows models.

    A subclass has the parameters `n_components`, `max_components`, `criterion`, `min_weight`, `max_iter`, `tol`,
    `subsample`, `random_state` and `n_jobs`, and a method ``_fit_data(data, rng, options, progress)`` that names its
    starts to `_search`.
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_components": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions({"mdl", "split"})],
        "min_weight": [Interval(Real, 0, 0.5, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "subsample": [Interval(Integral, 100, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    @abstractmethod
    def _fit_data(self, data, rng, options, progress):
        """Fit the weighted table of distinct rankings: a `Fit` and the (part of the) data it was searched on."""

    @abstractmethod
    def _starts(self, data):
        """What `_fit_data` starts from, each as often as it does."""

    def _search(self, data, inits, rng, options, progress, n_init=1, with_polish=True):
        """Fit from the given starts; see `fit_fixed` and `fit_auto`."""
        settings = {
            "n_init": n_init,
            "with_polish": with_polish,
            "max_rows": self.subsample,
            "n_jobs": self.n_jobs,
            "progress": progress,
        }
        if self.n_components == "auto":
            return fit_auto(data, self.max_components, self.criterion, inits, rng, options, **settings)
        return fit_fixed(data, self.n_components, inits, rng, options, **settings)

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix: finite numbers, lower is preferred, equal values are ties. No NaN.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking was seen: weights equal repeated rows exactly. They count rankings, so do not scale
            them to a sum of 1.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X has missing items, a single item, or fewer distinct rankings than components.

        Warns
        -----
        InsufficientDataWarning
            If a center is not determined by the data, a weight is at its minimum, a dispersion is close to 1, two
            components are not told apart, or fewer components are supported than were asked for.
        ConvergenceWarning
            If EM stopped at `max_iter`.
        """
        data = self._table(X, sample_weight, reset=True)[0]
        if data.n_items < 2:
            raise ValueError(
                "X has one item (n_features = 1), and there is only one ranking of it. A mixture needs two items or "
                "more."
            )
        if self.n_components != "auto" and self.n_components > data.n_rows:
            raise ValueError(
                f"n_components={self.n_components} is more than the {data.n_rows} distinct rankings of X "
                f"(n_samples = {data.total_weight:g} in all). Use fewer components."
            )
        rng = self._generator()
        options = self._search_options()
        n_tasks = n_tasks_at_most(self.n_components, self.max_components, data.n_rows, self._starts(data))
        context = self._init_callback_context(max_subtasks=n_tasks)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def progress(task):
            step = context.subcontext(task_name=task)
            step.call_on_fit_task_begin(estimator=self, X=X, y=y)
            return step.call_on_fit_task_end(estimator=self, X=X, y=y)

        fit, search = self._fit_data(data, rng, options, progress)
        self._set_mixture(data, fit.mixture.sorted())
        self.path_ = fit.path
        for category, message in self._problems(data, search, options):
            warn_caller(message, category)
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})
        return self

    def _table(self, X, sample_weight=None, reset=False):
        """Engine of the distinct rankings of X, and the row of each sample in it."""
        ranks = check_rankings(X, estimator=self, reset=reset, allow_missing=False, remedy=MISSING_REMEDY)
        weights = None if sample_weight is None else check_weights(sample_weight, ranks)
        table = aggregate(ranks, weights)
        return PairSigns(table.ranks, table.weights), table.inverse

    def _generator(self):
        return np.random.default_rng(as_random_state(self.random_state).randint(2**31, size=4))

    def _search_options(self):
        return SearchOptions(min_weight=self.min_weight, max_iter=self.max_iter, tol=self.tol)

    def _set_mixture(self, data, mixture):
        self.weights_, self.centers_, self.dispersions_ = mixture.weights, mixture.centers, mixture.dispersions
        self.n_components_ = mixture.n_components
        self.lower_bound_ = float(mixture.lower_bound)
        self.description_length_ = float(description_length(data, mixture))
        self.converged_, self.n_iter_ = mixture.converged, mixture.n_iter
        self.n_samples_required_ = n_samples_required(mixture)

    def _problems(self, data, search, options):
        """What to warn of, as (category, message)."""
        mixture = self._mixture(converged=self.converged_)
        n_effective = mixture.n_components
        if self.n_components != "auto":
            n_effective = n_effective_components(search, mixture, options)
        return problems(mixture, data.total_weight, options.least_weight(search), self.max_iter, n_effective)

    def _mixture(self, **fields):
        return Mixture(self.centers_, self.dispersions_, self.weights_, **fields)

    # ------------------------------------------------------------ prediction
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Posterior probability of each component.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties allowed.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        data, inverse = self._table(X)
        probabilities = expectation(data, self._mixture())[0].T.astype(float)
        return (probabilities / probabilities.sum(axis=1, keepdims=True))[inverse]

    def predict(self, X: ArrayLike) -> Integers:
        """Most probable component of each ranking.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties allowed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self.predict_proba(X).argmax(axis=1)

    def fit_predict(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Integers:
        """Fit the mixture and return the most probable component of each ranking.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, as in `fit`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking was seen.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            As of `predict`.
        """
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    def score_samples(self, X: ArrayLike) -> Floats:
        """Log probability of each ranking under the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix. The probability of a ranking with ties is that of all full rankings consistent with it.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        data, inverse = self._table(X)
        return expectation(data, self._mixture(), with_log_density=True)[2][inverse]

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log probability of the rankings; see `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties allowed.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking was seen.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        return float(expectation(self._table(X, sample_weight)[0], self._mixture())[1])

    # ------------------------------------------------------------ criteria
    def _criterion(self, X, sample_weight, penalty_of):
        check_is_fitted(self)
        data = self._table(X, sample_weight)[0]
        n_parameters = 2 * self.n_components_ - 1 + self.n_components_ * (data.n_items - 1)
        log_likelihood = data.total_weight * expectation(data, self._mixture())[1]
        return float(n_parameters * penalty_of(data.total_weight) - 2 * log_likelihood)

    def bic(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Bayesian information criterion, lower is better.

        It counts k - 1 weights, k dispersions and n - 1 numbers for each of the k centers of n items. A center is no
        vector of numbers: for the number of components `description_length_` is much the better guide.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties allowed.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking was seen.

        Returns
        -------
        bic : float
        """
        return self._criterion(X, sample_weight, np.log)

    def aic(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Akaike information criterion, lower is better; it counts parameters as `bic` does.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties allowed.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking was seen.

        Returns
        -------
        aic : float
        """
        return self._criterion(X, sample_weight, lambda _: 2.0)

    def goodness_of_fit(
        self, X: ArrayLike, n_draws: int = 99, sample_weight: ArrayLike | None = None
    ) -> GoodnessOfFitResult:
        """Whether a mixture of this many components fits: what one more component could gain.

        The statistic is the largest gain in total log-likelihood, in nats, of a component of at least `min_weight` more
        (Liu and Moitra's Corollary 5 and Lemma 11 made practical). Its p-value comes from a parametric bootstrap:
        draws from the mixture, tied like the rankings of X. For X and for each draw the mixture is refitted from
        itself first. At a right fit the statistic is a few nats, with too few components tens to thousands. At most
        `subsample` distinct rankings are used.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties allowed.
        n_draws : int, default=99
            The p-value is a multiple of 1 / (n_draws + 1).
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking was seen.

        Returns
        -------
        result : GoodnessOfFitResult
            With `statistic` and `pvalue`.
        """
        check_is_fitted(self)
        if not isinstance(n_draws, Integral) or n_draws < 1:
            raise ValueError(f"n_draws must be a positive integer, got {n_draws!r}.")
        rng = self._generator()
        data = subsample(self._table(X, sample_weight)[0], self.subsample, rng)
        return goodness_of_fit(data, self._mixture(), n_draws, rng, self._search_options(), self.n_jobs)

    def sample(self, n_samples: int = 1) -> tuple[Integers, Integers]:
        """Draw full rankings from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rankings.

        Returns
        -------
        X : ndarray of shape (n_samples, n_items)
            Rank matrix of 0-based positions, grouped by component.
        component : ndarray of shape (n_samples,)
            The component that each ranking comes from.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}.")
        return sample_mixture(self._mixture(), n_samples, self._generator())
