"""What the mixture estimators share: parameters, the fit to the table of distinct rankings, prediction, scores."""

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real
from typing import Any, Literal, Self, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skrank._callbacks import CallbackSupportMixin, fit_task
from skrank._dask import is_dask, row_blocks_of, sum_over_blocks, taken_rows
from skrank._fitting import all_or_nothing, warn_caller
from skrank._random import as_random_state
from skrank._rankings import check_rankings, check_weights, densify
from skrank._sparse_rankings import check_sparse_rankings, is_sparse, to_ranks
from skrank._threads import in_row_threads
from skrank._typing import ArrayLike, Floats, Integers, RandomState, Unranked, _fit_context
from skrank.exceptions import InsufficientDataWarning
from skrank.mixture._bootstrap import MixtureBootstrap, bootstrap
from skrank.mixture._goodness_of_fit import GoodnessOfFitResult, goodness_of_fit
from skrank.mixture._lists import Catalog, ListTable, lists_order_something
from skrank.mixture._missing import decide, leaves_items_out, posterior, posterior_probabilities
from skrank.mixture._model import Mixture, description_length, n_samples_required, sample_mixture
from skrank.mixture._pair_counts import PairCounts
from skrank.mixture._pairing import LEVEL, pairing_pvalue
from skrank.mixture._partitions import DRAWN, Partitions, block_log_densities, block_posterior, block_score
from skrank.mixture._prediction import (
    marginal_pair_probabilities,
    nearest_consistent_rankings,
    subset_pair_probabilities,
)
from skrank.mixture._search import Search, SearchOptions, n_effective_components, n_steps_at_most, path_entry, subsample
from skrank.mixture._stability import StabilityResult, half_sample_stability
from skrank.mixture._voters import check_groups, make_table, orders_something
from skrank.mixture._warnings import problems, undecided

DENSE_ITEMS = 500  # up to so many a sparse matrix is made dense
OF_LISTS = (
    "Lists of many items are taken by fit, predict, predict_proba, score_samples, score, aic and bic, unless "
    "missing='marginal'; for anything else leave out columns of items that few lists have."
)

SHARED_PARAMETERS = """\
n_components : int or "auto", default=1
    Number of components. "auto" selects it by `criterion`.
max_components : int, default=10
    Largest number that "auto" tries.
criterion : {"stability", "mdl", "split"}, default="stability"
    How "auto" selects the number of components. "stability": the largest number such that each component is found again
    in random halves of the voters (`stability_` of at least .6) and makes the description shorter. "mdl": grows the
    mixture as long as the description (`description_length_`) gets shorter. It is two to four times as fast, and
    appropriate if the rankings follow a mixture of Mallows models. On real rankings, which no mixture fits exactly, it
    also selects components that another sample would not yield. "split": grows the mixture as long as a split-sample
    likelihood ratio rejects the smaller one. The probability of too many components is then at most 5 % for any number
    of rankings, but more rankings are needed to find all components.
min_weight : float, default=0.02
    Smallest weight of a component; smaller ones are treated as unusual rankings. A component always needs at least 10
    rankings.
max_iter : int, default=150
    Maximum number of EM iterations.
tol : float, default=1e-7
    EM stops when the mean penalized log-likelihood increases by less than this.
subsample : int, default=3000
    Maximum number of distinct rankings, drawn by weight, on which components are searched. The last polish uses all
    rankings.
missing : {"auto", "subset", "marginal"}, default="auto"
    What a missing item (NaN) means. "subset": voters only saw the items that they ranked; their order follows a Mallows
    model of just these. "marginal": voters have a full ranking that follows a Mallows model, and the positions of some
    items are missing at random; the probability of the observed order is a sum over consistent full rankings, exact or
    estimated by draws. "auto" fits both models and keeps the likelier one (`missing_`). Without missing items, the two
    are the same.
random_state : int, RandomState instance or None, default=None
    Determines the starts, the subsample, the halves, the redraws and the exchange of components. Pass an int for
    reproducible results.
n_jobs : int or None, default=None
    Number of parallel jobs for the starts, the halves of the voters, and the draws of `bootstrap` and
    `goodness_of_fit`, and of threads for passes over more than 65 536 rankings. The result does not depend on it.
unranked : {"last", "missing"} or None, default=None
    Meaning of an absent entry of a sparse X: "last" ties the item after all listed items, "missing" means that nothing
    is known about it. A stored zero is a rank. None rejects a sparse X; for a dense X, this parameter is ignored. With
    at most 500 items, the fit is that of the dense matrix. With more items, components are searched on the 100 most
    frequently listed items of at most `4 * subsample` lists. They are then polished by EM with all items of all lists,
    in a time that depends on the numbers of entries and of pairs within lists. The centers are local optima, since a
    Kemeny consensus of so many items cannot be computed. Items that nobody lists come last, ordered by column. Missing
    items follow the subset model, and `path_` contains only the final mixture."""

SHARED_ATTRIBUTES = """\
weights_ : ndarray of shape (n_components,)
    Mixing weights, in decreasing order.
centers_ : ndarray of shape (n_components, n_items)
    Rank vectors: the 0-based position of each item.
dispersions_ : ndarray of shape (n_components,)
    Dispersions phi in (0, 1]: small values are concentrated rankings, 1 is the uniform distribution.
n_components_ : int
    Number of components.
lower_bound_ : float
    Mean penalized log-likelihood, which EM never decreases. The penalty is half a pseudo-ranking for each component at
    distance 1 from its center.
description_length_ : float
    Length in nats of a description of the mixture and of the rankings given the mixture.
converged_ : bool
    Whether the last EM converged.
n_iter_ : int
    Number of iterations of the last EM.
path_ : list of MixtureFit
    Intermediate mixtures with fewer components and the final one, each with `n_components`, `weights`, `centers`,
    `dispersions`, `log_likelihood` (a mean), `description_length` and `stability` (None if it was not computed). With
    "auto", all are fits to all rankings. With a given number, those before the last, if any, are not polished and are
    fits to at most `subsample` rankings.
missing_ : {"subset", "marginal"}
    The selected model of missing items. If no items are missing in `fit`, it is "marginal" unless `missing` is
    "subset", so that missing items in rows to predict are treated as unknown. If the marginal model is infeasible for
    X, it is "subset".
missing_log_likelihoods_ : dict
    Total log-likelihood of the data by model, in nats; NaN for the marginal model if it was not fitted or is
    infeasible.
stability_ : ndarray of shape (n_components,)
    Mean soft Jaccard index in [0, 1] of each component with the most similar component found in random halves of the
    voters. From .75 on a component is stable; below .6 it is unreliable. Only exists with ``n_components="auto"`` and
    the criterion "stability"; otherwise use the method `stability`. The entries of `path_` contain it too.
half_indices_ : ndarray of shape (n_halves, n_components)
    The indices whose mean is `stability_`. Only exists if `stability_` does, and not for the marginal model of missing
    items.
n_samples_required_ : float
    Number of voters with which all centers are determined with an error probability of 5 %, if the mixture is right and
    its components are far apart (close components need more; see the rank sets of `bootstrap`). It is the largest of
    ``log((n_items - 1) / .05) / log((1 + phi) / (2 sqrt(phi))) / weight``, divided by the mean number of times that a
    voter orders a pair of items (1 for full rankings).
n_features_in_ : int
    Number of items.
feature_names_in_ : ndarray of shape (n_items,)
    Names of the items. Only exists if X is a DataFrame whose column names are strings."""

Estimator = TypeVar("Estimator", bound=type)


def with_shared_docs(cls: Estimator) -> Estimator:
    """Class decorator: put the shared parameters and attributes where the docstring says ``{parameters}``, ..."""
    if cls.__doc__:
        for marker, text in (("{parameters}", SHARED_PARAMETERS), ("{attributes}", SHARED_ATTRIBUTES)):
            lines = next(line for line in cls.__doc__.splitlines() if line.strip() == marker)
            indent = lines[: -len(marker)]
            cls.__doc__ = cls.__doc__.replace(lines, "\n".join(indent + line for line in text.splitlines()))
    return cls


class BaseMallowsMixture(CallbackSupportMixin, DensityMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of mixtures of Mallows models: a subclass adds parameters of its own and says where to start."""

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_components": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions({"mdl", "split", "stability"})],
        "min_weight": [Interval(Real, 0, 0.5, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "subsample": [Interval(Integral, 100, None, closed="left")],
        "missing": [StrOptions({"auto", "subset", "marginal"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "unranked": [None, StrOptions({"last", "missing"})],
    }

    def __init__(
        self,
        *,
        n_components: int | Literal["auto"],
        max_components: int,
        criterion: Literal["stability", "mdl", "split"],
        min_weight: float,
        max_iter: int,
        tol: float,
        subsample: int,
        missing: Literal["auto", "subset", "marginal"],
        random_state: RandomState,
        n_jobs: int | None,
        unranked: Unranked,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.criterion = criterion
        self.min_weight = min_weight
        self.max_iter = max_iter
        self.tol = tol
        self.subsample = subsample
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.unranked = unranked

    @abstractmethod
    def _starts(self, n_items):
        """The starts of the search, a list of `Start`, each as often as it is run."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = self.unranked is not None
        return tags

    def _search_options(self):
        return SearchOptions(min_weight=self.min_weight, max_iter=self.max_iter, tol=self.tol, max_rows=self.subsample)

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    @in_row_threads
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the mixture.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix: finite numbers, lower is preferred, equal values are ties, NaN is missing. For a sparse one see
            `unranked`. The rows of a Dask array or DataFrame stay in their partitions: components are searched on a
            draw of four times `subsample` rows, then polished by sums over the partitions, which alone travel. Missing
            items are then those of the subset model, and only the last entry of `path_` is of all rows.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred. Weights are exactly equivalent to repeated rows; they are counts, so do not
            scale them to a sum of 1. With `groups`, they count voters, and all rows of a voter must have the same
            weight. Not supported with Dask.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as labels of a single type. All rows of a voter come from the same component, and N
            is the number of voters. None means that every row is a different voter. Not supported with Dask.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If X has only one item, does not order any two items, or has fewer distinct voters than components; if
            `sample_weight` differs within a voter; if `sample_weight` or `groups` are passed with Dask.

        Warns
        -----
        InsufficientDataWarning
            If a center is not determined by the data, a weight is at its minimum, a dispersion is close to 1, two
            components are not distinguished, the data support fewer components than requested, or some voters do not
            order any two items, so that they do not count. With `groups`, also if the components are not groups of
            voters, that is, if one half of a voter's rankings does not predict the other half.
        ConvergenceWarning
            If EM stopped at `max_iter`.
        ComponentLimitWarning
            If "auto" selected `max_components`, so that there may be more.
        """
        whole: Any = None
        if is_dask(X):
            _refuse_with_dask(sample_weight=sample_weight, groups=groups)
            whole = Partitions(X, DRAWN * self.subsample, self._generator())
            X = whole.drawn
            data = self._table(X, reset=True)[0]
        elif is_sparse(X) and not _is_small(X):
            whole = self._catalog(X, sample_weight, groups)
            ranks = densify(whole.drawn)
            data = make_table(ranks, self._counted_weights(ranks, whole.drawn_weights, None, warn=False))[0]
        else:
            data = self._table(X, sample_weight, groups, reset=True)[0]
        is_whole = whole is None or whole.is_drawn_whole
        self._check_fittable(data)
        starts = self._starts(data.n_items)
        options = self._search_options()
        n_steps = n_steps_at_most(starts, self.n_components, min(self.max_components, data.n_rows))
        with fit_task(self, X, y, n_steps) as task:
            search = Search(data, starts, options, self._generator(), self.n_jobs, task)
            if self.n_components == "auto":
                fit = search.auto(self.criterion, self.max_components)
            else:
                fit = search.fixed(self.n_components)
            fit = self._decide_on_missing(search, fit, options, only_subset=not is_whole)
            n_effective = self._n_effective(data, search.rows, fit.mixture.sorted(), options)
            if not is_whole:
                data, fit = self._polished_on_all(whole, fit, options)
            self._set_mixture(data, fit.mixture.sorted(), search.data)
            self.path_ = fit.path
            self._set_stability(fit)
            found = self._problems(data, options.least_weight(search.rows), n_effective)
            if groups is not None and self.n_components_ > 1:
                found += self._check_pairing(X, sample_weight, groups, starts, options)
            if fit.is_undecided:
                found.append(undecided(self.max_components, self.criterion))
            for category, message in found:
                warn_caller(message, category)
        return self

    def _check_fittable(self, data):
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
        if isinstance(data, PairCounts) and not data.totals.any():
            raise ValueError(
                "X does not order any two items: every row leaves out or ties all but one. A mixture needs rankings "
                "of at least two."
            )

    def _polished_on_all(self, whole, fit, options):
        """What is known of all rankings, of which a draw was searched, and the fit polished on them."""
        mixture, data, leaves_out = whole.polished(fit.mixture, options.max_iter, options.tol)
        if leaves_out:
            _refuse_marginal(self.missing)
            self.missing_ = "subset"
        self.missing_log_likelihoods_ = {"subset": data.total_weight * mixture.log_likelihood, "marginal": np.nan}
        polished = path_entry(data, mixture, fit.stability)
        path = [polished if entry.n_components == mixture.n_components else entry for entry in fit.path]
        path = [entry for entry in path if entry.centers.shape[1] == data.n_items]
        return data, fit._replace(mixture=mixture, path=path)

    def _table(self, X, sample_weight=None, groups=None, reset=False, counted=True):
        """Engine of the distinct voters of X, and the row of each sample's voter in it.

        With `counted`, voters who order no two items are left out, unless X has no others.
        """
        ranks = self._check(X, reset)
        weights = None if sample_weight is None else check_weights(sample_weight, ranks)
        if counted:
            weights = self._counted_weights(ranks, weights, groups, warn=reset)
        return make_table(ranks, weights, groups)

    def _catalog(self, X, sample_weight, groups):
        """Lists of too many items to be made dense."""
        if groups is not None:
            raise ValueError(
                f"groups is not supported with a sparse X of {X.shape[1]} items. Leave out columns of items that few "
                "lists have, so that at most 500 are left, or fit without groups."
            )
        lists = check_sparse_rankings(X, self.unranked, estimator=self)
        weights = np.ones(len(lists)) if sample_weight is None else check_weights(sample_weight, lists.ranks)
        informative = lists_order_something(lists)
        counted = np.where(informative, weights, 0.0)
        if not counted.any():
            raise ValueError("X orders no two items in any list of a positive weight. A mixture needs lists that do.")
        if not informative.all():
            _warn_of_silent(informative, weights)
        return Catalog(lists, counted, DRAWN * self.subsample, self._generator())

    def _check(self, X, reset=False):
        """Densified rankings."""
        if is_sparse(X):
            return to_ranks(check_sparse_rankings(X, self.unranked, estimator=self, reset=reset), OF_LISTS)
        if is_dask(X):
            raise TypeError(
                "X is a Dask array or DataFrame, which fit, predict, predict_proba, score_samples, score, aic and bic "
                "take. Bring rows here for anything else: X[:10_000].compute() or X.sample(frac=0.01).compute()."
            )
        return check_rankings(X, estimator=self, reset=reset)

    @staticmethod
    def _counted_weights(ranks, weights, groups, warn):
        """The weights, 0 for voters who order no two items, unless all are such."""
        informative = orders_something(ranks, groups)
        if informative.all() or not informative.any():
            return weights
        counted = np.where(informative, 1.0 if weights is None else weights, 0.0)
        if not counted.any():
            raise ValueError("No voter of a positive sample_weight orders two items.")
        if warn:
            voters = np.arange(len(ranks)) if groups is None else check_groups(groups, len(ranks))
            first = np.unique(voters, return_index=True)[1]
            _warn_of_silent(informative[first], None if weights is None else weights[first])
        return counted

    def _predicted_table(self, X, sample_weight, groups, counted):
        """As `_table`, for predictions: lists of many items stay lists."""
        if not is_sparse(X) or groups is not None or _is_small(X):
            return self._table(X, sample_weight, groups, counted=counted)
        lists = check_sparse_rankings(X, self.unranked, estimator=self, reset=False)
        if self.missing_ == "marginal" and not lists.tied_last:
            return self._table(X, sample_weight, groups, counted=counted)
        weights = np.ones(len(lists)) if sample_weight is None else check_weights(sample_weight, lists.ranks)
        if counted:
            weights = np.where(lists_order_something(lists), weights, 0)
        return ListTable(lists, weights), np.arange(len(lists))

    def _decide_on_missing(self, search, fit, options, only_subset=False):
        """Set the model of missing items; its fit."""
        # Voters who leave nothing out have full rankings, of which later rows may tell a part.
        self.missing_ = "subset" if self.missing == "subset" else "marginal"
        self.missing_log_likelihoods_ = {"subset": search.data.total_weight * fit.mixture.log_likelihood}
        if self.missing == "subset" or not leaves_items_out(search.data):
            self.missing_log_likelihoods_["marginal"] = np.nan
            return fit
        if only_subset:
            _refuse_marginal(self.missing)
            self.missing_ = "subset"
            return fit
        by_description = self.n_components == "auto" and self.criterion != "split"
        if self.criterion == "stability":  # the marginal model has no component more than halves find again
            fit = fit._replace(path=fit.path[: fit.mixture.n_components])
        decided = decide(search, fit, self.missing, options, by_description=by_description)
        self.missing_, self.missing_log_likelihoods_ = decided.missing, decided.log_likelihoods
        if self.missing == "marginal" and decided.missing == "subset":
            message = (
                "The marginal model of missing items is out of reach: too many are missing for sums, and draws hardly "
                'ever meet the rankings. The subset model is used instead (missing_); say missing="subset" if you want '
                "it."
            )
            warn_caller(message, InsufficientDataWarning)
        return decided.fit

    def _check_pairing(self, X, sample_weight, groups, starts, options):
        """A warning if the rankings of a voter belong no more together than rankings dealt at random."""
        ranks = self._check(X)
        weights = None if sample_weight is None else check_weights(sample_weight, ranks)
        weights = self._counted_weights(ranks, weights, groups, warn=False)
        kept = slice(None) if weights is None else weights > 0
        voters = np.unique(check_groups(groups, len(ranks))[kept], return_inverse=True)[1].ravel()
        rng = self._generator()

        def fit(table):
            return Search(table, starts, options, rng, self.n_jobs).fixed(min(self.n_components_, table.n_rows)).mixture

        pvalue = pairing_pvalue(ranks[kept], None if weights is None else weights[kept], voters, fit, rng)
        if pvalue is None or pvalue <= LEVEL:
            return []
        message = (
            "The components are not groups of voters: one half of a voter's rankings does not predict the other half "
            f"(p = {pvalue:.2f} against rankings dealt to voters at random). Use one component; for comparisons, whose "
            "errors depend on how near two items are, use personal or Bradley-Terry scores."
        )
        return [(InsufficientDataWarning, message)]

    def _set_stability(self, fit):
        for name in ("stability_", "half_indices_"):
            if hasattr(self, name):  # of a fit before
                delattr(self, name)
        order = fit.mixture.order()
        if fit.stability is not None:
            self.stability_ = fit.stability[order]
        if fit.indices is not None:
            self.half_indices_ = fit.indices[:, order]

    def _generator(self):
        return np.random.default_rng(as_random_state(self.random_state).randint(2**31, size=4))

    def _set_mixture(self, data, mixture, searched):
        """Set the attributes of the mixture of some data, which was searched on a table of them or of a draw."""
        self.weights_, self.centers_, self.dispersions_ = mixture.weights, mixture.centers, mixture.dispersions
        self.n_components_ = mixture.n_components
        self.lower_bound_ = float(mixture.lower_bound)
        self.description_length_ = float(description_length(data, mixture))
        self.converged_, self.n_iter_ = mixture.converged, mixture.n_iter
        self.n_samples_required_ = n_samples_required(mixture, data.coverage)

    def _problems(self, data, least_weight, n_effective):
        """What to warn of, as (category, message)."""
        mixture = self._mixture(converged=self.converged_)
        return problems(mixture, data, least_weight, self.max_iter, n_effective)

    def _n_effective(self, data, rows, mixture, options):
        """Number of components that the rankings support; that of the mixture where it was not asked for."""
        is_marginal = self.missing_ == "marginal" and leaves_items_out(data)
        if self.n_components == "auto" or is_marginal:
            return mixture.n_components
        return n_effective_components(rows, mixture, options)

    def _mixture(self, **fields):
        return Mixture(self.centers_, self.dispersions_, self.weights_, **fields)

    # ------------------------------------------------------------ prediction
    @in_row_threads
    def predict_proba(self, X: ArrayLike, groups: ArrayLike | None = None) -> Floats:
        """Posterior probability of each component.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        probabilities : ndarray or Dask array of shape (n_samples, n_components)
            Equal for all rows of a voter; `weights_` if a voter does not order any two items. They treat the fitted
            parameters as known; the probabilities of `bootstrap`, which are averages over refits, do not. A Dask array
            is computed lazily on the workers that have the rows of X.
        """
        check_is_fitted(self)
        if is_dask(X):
            rows = self._rows(X, groups)
            chunks = (rows.chunks[0], (self.n_components_,))
            return rows.map_blocks(
                block_posterior, self._mixture(), self.missing_, meta=np.empty((0, 0)), chunks=chunks
            )
        data, inverse = self._predicted_table(X, None, groups, counted=False)
        return posterior_probabilities(data, self._mixture(), self.missing_)[inverse]

    def predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Integers:
        """Most probable component of each ranking.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        labels : ndarray or Dask array of shape (n_samples,)
        """
        return self.predict_proba(X, groups).argmax(axis=1)

    def fit_predict(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Integers:
        """Fit the mixture and return the most probable component of each ranking.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix, as in `fit`.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        labels : ndarray or Dask array of shape (n_samples,)
            As returned by `predict`.
        """
        return self.fit(X, y, sample_weight=sample_weight, groups=groups).predict(X, groups)

    @in_row_threads
    def score_samples(self, X: ArrayLike, groups: ArrayLike | None = None) -> Floats:
        """Log probability of each ranking under the mixture.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix. The probability of a ranking with ties is that of all full rankings consistent with it.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        log_probabilities : ndarray or Dask array of shape (n_samples,)
            With `groups`, the joint log probability of all rankings of the row's voter.
        """
        check_is_fitted(self)
        if is_dask(X):
            rows = self._rows(X, groups)
            options = {"meta": np.empty(0), "drop_axis": 1, "chunks": (rows.chunks[0],)}
            return rows.map_blocks(block_log_densities, self._mixture(), self.missing_, **options)
        data, inverse = self._predicted_table(X, None, groups, counted=False)
        return posterior(data, self._mixture(), self.missing_)[2][inverse]

    def score(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Mean log probability of the voters who order at least two items; see `score_samples`.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        score : float
        """
        check_is_fitted(self)
        return float(self._scored(X, sample_weight, groups)[0])

    @in_row_threads
    def _scored(self, X, sample_weight, groups):
        """Mean log probability of the voters who order anything, and their number."""
        if is_dask(X):
            _refuse_with_dask(sample_weight=sample_weight)
            total, n_voters = sum_over_blocks(self._rows(X, groups), block_score, self._mixture(), self.missing_)
            return total / n_voters, n_voters
        data = self._predicted_table(X, sample_weight, groups, counted=True)[0]
        return posterior(data, self._mixture(), self.missing_)[1], data.total_weight

    def _rows(self, X, groups):
        """The rows of a Dask array or DataFrame, whose columns are checked."""
        _refuse_with_dask(groups=groups)
        rows = row_blocks_of(X)
        self._check(taken_rows(X, rows, slice(1)))
        return rows

    def predict_ranking(self, X: ArrayLike, groups: ArrayLike | None = None) -> Integers:
        """The most probable full ranking of each voter, given the row.

        This is the ranking closest to the center of the voter's most probable component among those that are consistent
        with the row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed; a row may be all NaN.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`. The component depends on all rows of the voter, the ranking on each row.

        Returns
        -------
        ranks : ndarray of shape (n_samples, n_items)
            0-based positions.
        """
        labels = self.predict(X, groups)
        ranks = self._check(X)
        return nearest_consistent_rankings(ranks, self.centers_[labels])

    def predict_pairwise_proba(self, X: ArrayLike, groups: ArrayLike | None = None) -> Floats:
        """Probability that a voter prefers one item to another, given the row.

        For pairs that the row orders, it is 1 or 0. For other pairs, it is an average over the components, weighted by
        the voter's posterior probabilities. In the marginal model (`missing_`), it is the probability that the voter's
        full ranking, given that it is consistent with the row, orders the pair in this way, estimated by 128 weighted
        draws. In the subset model, it is the exact probability for a ranking of the row's items and these two that is
        consistent with the row (for an empty row, the probability of a comparison).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed; a row may be all NaN.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_items, n_items)
            Entry [s, i, j] is the probability that the voter of row s prefers item i to item j; 0.5 on the diagonal.
        """
        responsibilities = self.predict_proba(X, groups)
        ranks = self._check(X)
        by_model = marginal_pair_probabilities if self.missing_ == "marginal" else subset_pair_probabilities
        return by_model(ranks, responsibilities, self.centers_, self.dispersions_)

    # ------------------------------------------------------------ criteria
    def _criterion(self, X, sample_weight, groups, penalty_of):
        check_is_fitted(self)
        mean, n_voters = self._scored(X, sample_weight, groups)
        n_parameters = 2 * self.n_components_ - 1 + self.n_components_ * (self.n_features_in_ - 1)
        return float(n_parameters * penalty_of(n_voters) - 2 * n_voters * mean)

    def bic(self, X: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
        """Bayesian information criterion, lower is better.

        It counts k - 1 weights, k dispersions and n - 1 numbers for each of the k centers of n items. Since a center is
        not a vector of real numbers, `description_length_` is a much better criterion for the number of components.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        bic : float
        """
        return self._criterion(X, sample_weight, groups, np.log)

    def aic(self, X: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None) -> float:
        """Akaike information criterion, lower is better; it counts parameters as `bic` does.

        Parameters
        ----------
        X : {array-like, sparse matrix, Dask array or DataFrame} of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        aic : float
        """
        return self._criterion(X, sample_weight, groups, lambda _: 2.0)

    def goodness_of_fit(
        self,
        X: ArrayLike,
        n_draws: int = 99,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> GoodnessOfFitResult:
        """Test whether a mixture with this number of components fits: how much one more component could gain.

        The statistic is the largest gain in total log-likelihood, in nats, of one more component with a weight of at
        least `min_weight` (a practical version of Corollary 5 and Lemma 11 of Liu and Moitra). Its p-value is from a
        parametric bootstrap with draws from the mixture that have the ties and the missing items of X. Before the gain
        is computed, the mixture is refitted to X and to each draw, starting from itself. For a mixture that fits, the
        statistic is a few nats; with too few components, it is tens to thousands. At most `subsample` distinct voters
        are used. If `missing_` is "marginal", the gain is computed under the subset model, both for the rankings and
        for draws from the marginal model, so that only the p-value is meaningful.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, ties and missing items allowed.
        n_draws : int, default=99
            The p-value is a multiple of 1 / (n_draws + 1).
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        result : GoodnessOfFitResult
            Contains `statistic` and `pvalue`.
        """
        check_is_fitted(self)
        _check_count(n_draws, "n_draws")
        rng = self._generator()
        data = subsample(self._table(X, sample_weight, groups)[0], self.subsample, rng)
        is_marginal = self.missing_ == "marginal" and leaves_items_out(data)
        return goodness_of_fit(data, self._mixture(), n_draws, rng, self._search_options(), self.n_jobs, is_marginal)

    # ------------------------------------------------------------ what would be found again
    def stability(
        self,
        X: ArrayLike,
        n_halves: int = 20,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> StabilityResult:
        """Find out which components random halves of the voters find again.

        A mixture with the same number of components is fitted to each half, without using this mixture. The result is
        meaningful even if the model is wrong: a component that is found again is one that another sample of voters
        would also yield.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, as in `fit`.
        n_halves : int, default=20
            Number of halves, drawn in pairs without common voters. The standard error of the stability is about .2
            divided by the square root of this number.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        result : StabilityResult
            Contains `stability` and `n_found` for each component and `agreement` for each half. Printing it shows a
            table.

        Raises
        ------
        ValueError
            If there are fewer than 4 voters, so that a half has fewer than two.
        """
        check_is_fitted(self)
        _check_count(n_halves, "n_halves")
        data = self._table(X, sample_weight, groups)[0]
        if data.total_weight < 4:
            raise ValueError(
                f"X has {data.total_weight:g} voters, too few for halves: stability needs 4 or more. Weights count "
                "voters."
            )
        starts, rng = self._starts(data.n_items), self._generator()
        return half_sample_stability(data, self._mixture(), n_halves, starts, self._search_options(), rng, self.n_jobs)

    def bootstrap(
        self,
        X: ArrayLike,
        n_draws: int = 100,
        *,
        search: bool = False,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> MixtureBootstrap:
        """Estimate the uncertainty of the components from refits to voters drawn from X with replacement.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix, as in `fit`.
        n_draws : int, default=100
            Number of redraws.
        search : bool, default=False
            Whether each refit searches for components like `fit`. By default, refits start from the mixture. This is
            many times faster and shows how far the components move, but not whether another sample would yield
            different ones; use `stability` for that.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred; the sum is the number of voters that are drawn.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`. Voters are drawn, not rows.

        Returns
        -------
        result : MixtureBootstrap
            Contains intervals of weights and dispersions, positions of the items and rank sets, and how often neighbors
            keep their order and components are found again. Printing it shows a table.
        """
        check_is_fitted(self)
        _check_count(n_draws, "n_draws")
        data = self._table(X, sample_weight, groups)[0]
        return bootstrap(
            data,
            self._mixture(),
            n_draws,
            self._generator(),
            self._search_options(),
            item_names=getattr(self, "feature_names_in_", [f"x{item}" for item in range(data.n_items)]),
            missing=self.missing_,
            starts=self._starts(data.n_items) if search else None,
            n_jobs=self.n_jobs,
        )

    def sample(self, n_samples: int = 1) -> tuple[Integers, Integers]:
        """Draw full rankings from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rankings.

        Returns
        -------
        X : ndarray of shape (n_samples, n_items)
            Rank matrix of 0-based positions, grouped by component. A DataFrame of pandas with the items' names if the
            mixture was fitted to a DataFrame and pandas is installed.
        component : ndarray of shape (n_samples,)
            The component that each ranking comes from.
        """
        check_is_fitted(self)
        _check_count(n_samples, "n_samples")
        ranks, component = sample_mixture(self._mixture(), n_samples, self._generator())
        return _with_names(ranks, getattr(self, "feature_names_in_", None)), component


def _with_names(ranks, names):
    """A DataFrame of rankings where items have names and pandas is installed."""
    if names is None:
        return ranks
    try:
        import pandas
    except ImportError:
        return ranks
    return pandas.DataFrame(ranks, columns=names)


def _is_small(X):
    """Whether a sparse matrix is fitted as a dense one."""
    return X.shape[1] <= DENSE_ITEMS and 4 * np.prod(X.shape, dtype=float) <= get_config()["working_memory"] * 2**20


def _warn_of_silent(informative, weights):
    weights = np.ones(len(informative)) if weights is None else weights
    n_silent = weights[~informative].sum()
    if not n_silent:
        return
    message = (
        f"{n_silent:.10g} of {weights.sum():.10g} voters order no two items. They do not affect the "
        "fit, and the weights of the components are predicted for them."
    )
    warn_caller(message, InsufficientDataWarning)


def _refuse_with_dask(**arguments):
    for name, value in arguments.items():
        if value is not None:
            raise ValueError(
                f"{name} is not supported with a Dask array or DataFrame, whose rows stay in their partitions. Repeat "
                f"rows instead of weights, or bring the rows here with X.compute() and pass {name} with them."
            )


def _refuse_marginal(missing):
    if missing == "marginal":
        raise ValueError(
            "missing='marginal' needs all rankings in one place and of few items, but rows of X leave items out and "
            "lie in partitions, or list few of many items. Use missing='subset' or 'auto', or fit a draw of rows."
        )


def _check_count(value, name):
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")
