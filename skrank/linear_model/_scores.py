"""What models with scores and a covariance of them have in common: errors, intervals, contrasts and ranks."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm, t
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skrank._fitting import warn_caller
from skrank._random import as_generator, as_random_state
from skrank._typing import Array, Floats, Integers, RandomState, validate_params
from skrank.exceptions import InsufficientDataWarning
from skrank.linear_model._covariance import (
    FactoredMeat,
    centered_inverse,
    covariance_column,
    degrees_of_freedom,
    gram,
    jackknife_factor,
    penalty,
    sampled_variances,
    sandwich,
)
from skrank.linear_model._leaderboard import ELO, Contrast, Leaderboard, Unit, in_unit
from skrank.linear_model._newton import center, find_mode
from skrank.linear_model._rank_ranges import rank_ranges
from skrank.preprocessing._labels import encode, label_array

EXACT_UP_TO = 1500  # items: a dense inverse takes a fraction of a second
N_DRAWS = 50
FEW_CLUSTERS = 4  # degrees of freedom below this give t quantiles above 2.8
LEVEL = [Interval(Real, 0, 1, closed="neither")]


class ScoresMixin:
    """Standard errors, intervals, contrasts and rank ranges of an estimator's `scores_`.

    Subclasses set these attributes in `fit`. `_clusterings` has a (sign, cells, n_clusters) for each way of clustering.
    """

    alpha: float
    anchor: Any
    max_iter: int
    tol: float
    n_iter_: int
    items_: Array
    scores_: Floats
    information_: csr_array
    connected_components_: Integers
    errors_: str
    degrees_of_freedom_: float
    _likelihood: Any
    _parameters: Floats
    _clusterings: list[Any]
    _n_comparisons: Floats
    _covariance: Floats | None
    _kept_meat: Any

    def covariance(self) -> Floats:
        """Covariance matrix of the scores.

        Each score is relative to the mean of the items that comparisons connect it with, or to `anchor`. What it takes
        into account is in `errors_`. Its time grows as the cube of the number of items.

        Returns
        -------
        ndarray of shape (n_items, n_items)
            In squared log-odds.
        """
        check_is_fitted(self)
        if self._covariance is None:
            n_items = len(self.scores_)
            inverse = centered_inverse(self.information_, self.alpha, self.connected_components_)
            full = inverse if self.errors_ == "model" else sandwich(inverse, self._meat(inverse))
            self._covariance = self._anchored(full[:n_items, :n_items])
        return self._covariance.copy()

    def standard_errors(self, random_state: RandomState = 0) -> Floats:
        r"""Standard errors of the scores, each relative to the mean of the items it is connected with, or to `anchor`.

        What they take into account is in `errors_`. Up to 1500 items they are the square roots of the diagonal of
        :meth:`covariance`. Beyond, the diagonal is estimated from 50 draws by conjugate gradients. The part that is
        drawn is about one in the number of an item's opponents, so that with 20 opponents the standard errors are
        within 1 percent (root mean square) of the exact ones, and within 3 percent where they are robust or clustered.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=0
            Seeds the draws; used beyond 1500 items.

        Returns
        -------
        ndarray of shape (n_items,)
            In log-odds.
        """
        check_is_fitted(self)
        if len(self.scores_) <= EXACT_UP_TO:
            return np.sqrt(np.maximum(self.covariance().diagonal(), 0))
        return np.sqrt(self._sampled_variances(as_random_state(random_state)))

    @validate_params({"level": LEVEL}, prefer_skip_nested_validation=True)
    def intervals(self, level: float = 0.95) -> Floats:
        """Confidence intervals of the scores.

        Parameters
        ----------
        level : float, default=0.95
            Probability that an interval contains the score.

        Returns
        -------
        ndarray of shape (n_items, 2)
            Lower and upper bounds in log-odds: the scores plus and minus quantiles of the normal distribution times
            their standard errors, or of Student's t distribution with `degrees_of_freedom_` where errors are clustered.
        """
        half = self._quantile(level) * self.standard_errors()
        return np.column_stack([self.scores_ - half, self.scores_ + half])

    @validate_params({"level": LEVEL}, prefer_skip_nested_validation=True)
    def contrast(self, first: Any, second: Any, level: float = 0.95) -> Contrast:
        """The difference of two items' scores, with its error.

        Parameters
        ----------
        first, second : object
            Labels of two items.
        level : float, default=0.95
            Probability that the interval contains the difference.

        Returns
        -------
        Contrast
            A named tuple of `difference` (log-odds; positive if `first` is better), `standard_error`, the interval's
            bounds `lower` and `upper`, and the two-sided `pvalue` of no difference. All are NaN where comparisons do
            not connect the two.

        Raises
        ------
        ValueError
            If a label is not an item.
        """
        check_is_fitted(self)
        i, j = (self._number(label) for label in (first, second))
        if self.connected_components_[i] != self.connected_components_[j]:
            return Contrast(*[np.nan] * 5)
        difference = float(self.scores_[i] - self.scores_[j])
        error = float(np.sqrt(max(self._variance_of_difference(i, j), 0.0)))
        half = self._quantile(level) * error
        statistic = abs(difference) / error if error > 0 else np.inf if difference else 0.0
        pvalue = float(2 * self._distribution().sf(statistic))
        return Contrast(difference, error, difference - half, difference + half, pvalue)

    @validate_params({"level": LEVEL, "simultaneous": ["boolean"]}, prefer_skip_nested_validation=True)
    def rank_ranges(
        self, level: float = 0.95, *, simultaneous: bool = False, random_state: RandomState = 0
    ) -> Integers:
        """Ranks that the data leave open for each item.

        Parameters
        ----------
        level : float, default=0.95
            Probability that a range contains the item's rank.
        simultaneous : bool, default=False
            False: each range, by itself, contains the item's rank with this probability, which answers "where is this
            item?". True: all ranges together do, which answers "who is first?", and they are wider.
        random_state : int, RandomState instance or None, default=0
            Seeds the 2000 draws from the distribution of the errors that critical values are quantiles of.

        Returns
        -------
        ndarray of shape (n_items, 2)
            First and last rank, 1 is the best.

        References
        ----------
        M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility across
        neighbourhoods and academic achievement across countries", Review of Economic Studies 91, 2024.
        """
        covariance = self.covariance()
        return rank_ranges(
            self.scores_,
            covariance,
            self.connected_components_,
            level,
            self.degrees_of_freedom_,
            simultaneous,
            as_generator(random_state),
        )

    @validate_params({"level": LEVEL, "simultaneous": ["boolean"]}, prefer_skip_nested_validation=True)
    def leaderboard(
        self,
        level: float = 0.95,
        *,
        unit: Unit = "log-odds",
        simultaneous: bool = False,
        random_state: RandomState = 0,
    ) -> Leaderboard:
        """The items, best first, with intervals and rank ranges.

        Parameters
        ----------
        level : float, default=0.95
            Probability that an interval, or a range of ranks, contains the truth.
        unit : {"log-odds", "elo"}, default="log-odds"
            "elo" is 1000 + 400 / log(10) times the log-odds: 400 points are odds of 10 to 1, and the mean item, or
            `anchor`, has 1000.
        simultaneous : bool, default=False
            Of rank ranges, as in :meth:`rank_ranges`.
        random_state : int, RandomState instance or None, default=0
            As in :meth:`rank_ranges`.

        Returns
        -------
        Leaderboard
            Printing it shows a table.
        """
        if unit not in ("log-odds", "elo"):
            raise ValueError(f"unit must be 'log-odds' or 'elo', got {unit!r}.")
        ranges = self.rank_ranges(level, simultaneous=simultaneous, random_state=random_state)
        intervals = self.intervals(level)
        order = np.argsort(-self.scores_, kind="stable")
        factor = ELO if unit == "elo" else 1.0
        return Leaderboard(
            items=self.items_[order],
            scores=in_unit(self.scores_[order], unit),
            standard_errors=factor * self.standard_errors()[order],
            lower=in_unit(intervals[order, 0], unit),
            upper=in_unit(intervals[order, 1], unit),
            rank_ranges=ranges[order],
            n_comparisons=self._n_comparisons[order],
            level=level,
            simultaneous=simultaneous,
            unit=unit,
            errors=self.errors_,
        )

    # ---------------------------------------------------------------- fitting
    def _set_clusters(self, cells):
        """Set what clustered covariances are computed from: cells for each way of clustering, [] for none.

        Two ways come with their combinations, which count negatively.
        """
        counts = [len(np.unique(one.cluster)) for one in cells]
        for way, count in enumerate(counts[:2]):
            if count < 2:
                column = f"column {way} of groups" if len(counts) > 1 else "groups"
                raise ValueError(f"{column} has one value only, so that nothing tells how groups differ. Leave it out.")
        self._covariance = self._kept_meat = None
        self._clusterings = list(zip((1, 1, -1), cells, counts, strict=False))
        self.errors_ = "clustered" if cells else "model"
        self.degrees_of_freedom_ = min(
            [degrees_of_freedom(one.cluster, one.total) for one in cells[:2]], default=np.inf
        )
        if self.degrees_of_freedom_ < FEW_CLUSTERS:
            warn_caller(
                f"groups are worth {self.degrees_of_freedom_ + 1:.1f} groups of equal sizes, which is few to take "
                "errors from: intervals are wide, and rely on groups being alike. Add groups.",
                InsufficientDataWarning,
            )

    def _find_mode(self):
        """Set scores, parameters and information from the likelihood and the components."""
        component = self.connected_components_
        n_items = len(component)

        def centered(parameters):
            return np.concatenate([center(parameters[:n_items], component), parameters[n_items:]])

        self._parameters, info = find_mode(
            self._likelihood, self._likelihood.start(), centered, self.max_iter, self.tol
        )
        self.information_ = self._likelihood.information(self._parameters).tocsr()
        self._likelihood = replace(self._likelihood)  # without what it keeps of its last parameters
        self.scores_ = self._anchored_scores(self._parameters[:n_items])
        self.n_iter_ = info["n_iter"]
        if not info["converged"]:
            warn_caller(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations. Increase max_iter, tol or "
                "alpha.",
                ConvergenceWarning,
            )

    # ---------------------------------------------------------------- inside
    def _number(self, label):
        table = np.empty(1, object)
        table[0] = label
        number = encode(label_array(table), self.items_)[0]
        if number < 0:
            raise ValueError(f"{label!r} is not an item. The items are in items_: {_some(self.items_)}.")
        return int(number)

    def _anchor(self):
        return None if self.anchor is None else self._number(self.anchor)

    def _anchored_scores(self, scores):
        """Scores relative to the anchor, in the anchor's component."""
        anchor = self._anchor()
        if anchor is None:
            return scores
        same = self.connected_components_ == self.connected_components_[anchor]
        return np.where(same, scores - scores[anchor], scores)

    def _anchored(self, covariance):
        anchor = self._anchor()
        if anchor is None:
            return covariance
        same = (self.connected_components_ == self.connected_components_[anchor])[:, None]
        covariance = covariance - same * covariance[anchor]
        return covariance - same.T * covariance[:, anchor, None]

    def _meat(self, inverse):
        """Covariance of the gradient."""
        n_items = len(self.scores_)
        meat = penalty(self.alpha, n_items, self.information_.shape[0])
        if self.errors_ == "robust":
            return meat + self._likelihood.robust_meat(self._parameters, inverse)
        factors = [
            (sign, jackknife_factor(self._likelihood.contributions(self._parameters, cells), n_clusters, inverse))
            for sign, cells, n_clusters in self._clusterings
        ]
        if inverse.ndim == 1:
            return FactoredMeat(meat, factors)
        return meat + sum(sign * gram(factor) for sign, factor in factors)

    def _sampled_variances(self, random_state):
        meat = self._sparse_meat()
        variance = sampled_variances(self.information_, meat, self.connected_components_, N_DRAWS, random_state)
        anchor = self._anchor()
        if anchor is None:
            return variance
        column = covariance_column(self.information_, meat, self.connected_components_, anchor)
        same = self.connected_components_ == self.connected_components_[anchor]
        variance[anchor] = column[anchor]
        return np.maximum(np.where(same, variance + column[anchor] - 2 * column, variance), 0)

    def _sparse_meat(self):
        """The covariance of the gradient where there are too many items for a dense inverse; it is kept."""
        if self.errors_ == "model":
            return self.information_
        if self._kept_meat is None:
            self._kept_meat = self._meat(1 / self.information_.diagonal())
        return self._kept_meat

    def _variance_of_difference(self, i, j):
        if len(self.scores_) <= EXACT_UP_TO:
            covariance = self.covariance()
            return covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        columns = [
            covariance_column(self.information_, self._sparse_meat(), self.connected_components_, k) for k in (i, j)
        ]
        return columns[0][i] - columns[0][j] + columns[1][j] - columns[1][i]

    def _distribution(self):
        return t(self.degrees_of_freedom_) if np.isfinite(self.degrees_of_freedom_) else norm

    def _quantile(self, level):
        check_is_fitted(self)
        return float(self._distribution().ppf((1 + level) / 2))


def _some(items, most=5):
    names = ", ".join(map(repr, items[:most].tolist()))
    return names + (", ..." if len(items) > most else "")
