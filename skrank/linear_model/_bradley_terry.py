"""Bradley-Terry scores from pairwise comparisons."""

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skrank._fitting import all_or_nothing, warn_caller
from skrank._rankings import check_weights
from skrank._typing import Array, ArrayLike, Floats, Items, _fit_context
from skrank.exceptions import InsufficientDataWarning
from skrank.linear_model._comparison_graph import ComparisonGraph
from skrank.linear_model._comparisons import (
    check_groups,
    check_outcomes,
    check_pairs,
    item_numbers,
)
from skrank.linear_model._connectivity import check_connected
from skrank.linear_model._covariance import parameter_variance, sampled_standard_errors
from skrank.linear_model._pair_likelihood import PairLikelihood, cells_of, davidson_proba
from skrank.linear_model._scores import N_DRAWS, ScoresMixin
from skrank.preprocessing._labels import check_items, distinct_labels


class BradleyTerry(ScoresMixin, ClassifierMixin, BaseEstimator):
    r"""Scores of items from pairwise comparisons, by regularized maximum likelihood.

    Item i beats item j with probability :math:`1 / (1 + e^{\theta_j - \theta_i})` [1]_ [2]_. The scores :math:`\theta`
    minimize the weighted negative log-likelihood plus :math:`\frac{\alpha}{2} \sum_i \theta_i^2`, which gives the mode
    of the posterior under independent normal priors with variance :math:`1/\alpha`.

    Parameters
    ----------
    alpha : float, default=0.1
        Strength of the regularization. It corresponds to a prior standard deviation of :math:`1/\sqrt{\alpha}`, by
        default 3.2 log-odds, which bounds the scores of items that won or lost all their comparisons and has little
        effect on others. 0 is maximum likelihood, which only exists if each item has beaten each other item directly or
        through others.
    items : array-like of shape (n_items,), default=None
        Labels of the items, in the order of `scores_`. None means the sorted labels in X. Pass them if a part of the
        comparisons may not contain all items, as in cross-validation.
    ties : {"half", "davidson"}, default="half"
        How ties are modeled. "half": a tie is half a win and half a loss, and there are two classes. "davidson": a tie
        is a separate outcome [3]_, and there are three classes. The probabilities of win, loss and tie are proportional
        to :math:`e^{m/2}`, :math:`e^{-m/2}` and :math:`\nu` for a difference m of the scores. The scores of the two
        models are not comparable, because counting ties as half a win shrinks differences.
    order_effect : bool, default=False
        Whether to estimate an advantage of the first item of a pair, such as the home team, or the answer that is shown
        first. It is added to the log-odds of the first item.
    anchor : object, default=None
        Label of the item whose score is 0; `standard_errors` and `intervals` are then relative to it. None means that
        scores sum to 0.
    max_iter : int, default=100
        Maximum number of Newton iterations; 5 to 15 are typical.
    tol : float, default=1e-4
        The fit stops when the remaining step of the scores (root mean square) is below `tol` times their standard
        errors.

    Attributes
    ----------
    scores_ : ndarray of shape (n_items,)
        Scores in log-odds, higher is better. They sum to zero over each connected set of items; in the set of `anchor`,
        they are relative to it.
    items_ : ndarray of shape (n_items,)
        Label of the item of each score.
    tie_parameter_ : float or None
        Davidson's :math:`\nu`: equal items tie with probability :math:`\nu / (2 + \nu)`. None for ``ties="half"``; 0
        if there were no ties.
    order_effect_ : float
        Advantage of the first item in log-odds; 0 without `order_effect`.
    order_effect_standard_error_ : float
        Standard error of `order_effect_`, of the kind in `errors_`.
    errors_ : {"model", "robust", "clustered"}
        What standard errors, intervals and ranks account for. "clustered": the `groups` of :meth:`fit`, by CR3 [4]_,
        one-way or two-way. "robust": ties that count as half a win, which vary less than wins and losses. "model":
        neither, because there were no groups and no such ties.
    degrees_of_freedom_ : float
        Degrees of freedom of the t distribution whose quantiles are used for intervals: :math:`G^* - 1` with :math:`G^*
        = (\sum_g N_g)^2 / \sum_g N_g^2` for groups of :math:`N_g` comparisons, or the smaller number for two-way
        groups. Infinity without groups.
    information_ : csr_array of shape (n_parameters, n_parameters)
        Second derivatives of the objective at its minimum. For the scores, they are the Laplacian of the comparison
        graph, in which each comparison is weighted by the variance of its outcome, plus alpha on the diagonal. The
        order effect and the logarithm of the tie parameter follow, if there are any.
    connected_components_ : ndarray of shape (n_items,)
        Connected set to which each item belongs. Scores in different sets are not comparable.
    classes_ : ndarray of shape (2,) or (3,)
        Outcomes for the first item of a pair: [0, 1], or [0, 0.5, 1] with ties; ["loss", "win"] or ["loss", "tie",
        "win"] if y contains strings.
    n_iter_ : int
        Number of Newton iterations.
    n_features_in_ : int
        2, the number of columns of the pairs.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns if X is a DataFrame with string names.

    See Also
    --------
    PlackettLuce : The same for rankings of more than two items.
    skrank.preprocessing.ranks_from_scores : A rank matrix from scores.

    Notes
    -----
    Repeated comparisons are aggregated first. Newton steps are computed by conjugate gradients on the sparse Laplacian,
    so that time and memory are approximately proportional to the number of distinct pairs.

    With ``ties="davidson"``, pass "win", "tie" and "loss" as y if you use scikit-learn's log loss, which requires
    strings.

    References
    ----------
    .. [1] E. Zermelo, "Die Berechnung der Turnier-Ergebnisse als ein Maximumproblem der Wahrscheinlichkeitsrechnung",
       Mathematische Zeitschrift 29, 1929.
    .. [2] R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39, 1952.
    .. [3] R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments",
       Journal of the American Statistical Association 65, 1970.
    .. [4] R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
       samples", Survey Methodology 28, 2002.

    Examples
    --------
    >>> from skrank.linear_model import BradleyTerry
    >>> games = [["ann", "bob"], ["bob", "cid"], ["ann", "cid"], ["cid", "ann"]]
    >>> model = BradleyTerry().fit(games)
    >>> model.items_.tolist()
    ['ann', 'bob', 'cid']
    >>> model.scores_.round(2).tolist()
    [0.38, 0.0, -0.38]
    >>> model.predict_proba([["ann", "cid"]]).round(2).tolist()
    [[0.32, 0.68]]

    Winners by name, ties, and judges who each compared more than once:

    >>> pairs = [["ann", "bob"], ["bob", "cid"], ["ann", "cid"]] * 6
    >>> winners = ["ann", "tie", "ann", "bob", "bob", "cid", "ann", "bob", "tie"] * 2
    >>> judges = [judge for judge in range(6) for _ in range(3)]
    >>> model = BradleyTerry(ties="davidson").fit(pairs, winners, groups=judges)
    >>> model.classes_.tolist()
    ['loss', 'tie', 'win']
    >>> model.predict_proba([["ann", "cid"]]).round(2).tolist()
    [[0.23, 0.22, 0.55]]
    >>> round(model.contrast("ann", "cid").pvalue, 2)
    0.4
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "items": ["array-like", None],
        "ties": [StrOptions({"half", "davidson"})],
        "order_effect": ["boolean"],
        "anchor": "no_validation",
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        items: Items = None,
        ties: Literal["half", "davidson"] = "half",
        order_effect: bool = False,
        anchor: Any = None,
        max_iter: int = 100,
        tol: float = 1e-4,
    ) -> None:
        self.alpha = alpha
        self.items = items
        self.ties = ties
        self.order_effect = order_effect
        self.anchor = anchor
        self.max_iter = max_iter
        self.tol = tol

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Estimate the scores.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Labels of the two items of each comparison: numbers, strings or any hashable objects.
        y : array-like of shape (n_comparisons,), default=None
            The outcomes. Strings are the label of the winner or "tie"; or "win", "loss" and "tie" for the first item;
            "draw" means the same as "tie". Numbers are 1 or True if the first item won, 0 or False if it lost, and 0.5
            for a tie. Other numbers between 0 and 1 are the proportion of the row's `sample_weight` that the first item
            won; if there are any, 0.5 is also such a proportion. None means that the first item of each row won.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made. None means once. If weights are not counts, pass a different group for
            each row, so that standard errors do not depend on the unit of the weights.
        groups : array-like of shape (n_comparisons,) or (n_comparisons, 2), default=None
            Labels of any type of what comparisons have in common, such as the judge, or the judge and the prompt.
            Scores do not depend on `groups`, but standard errors do; see `errors_`.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If an item is missing, unknown or compared with itself; if y is outside [0, 1] or a string that is neither
            of the two items; if a weight is negative; if a group is missing, or all groups are the same. The message
            names the row and the value. With `alpha=0`, if the maximum of the likelihood is infinite or not unique.
            With ``ties="davidson"``, if all comparisons are ties, or y contains proportions.

        Warns
        -----
        InsufficientDataWarning
            If comparisons do not connect all items, so that scores of different sets are not comparable; if some items
            won or lost all their comparisons, so that only the regularization bounds their scores; if groups are so
            few, or their sizes so different, that `degrees_of_freedom_` is below 4; if all comparisons are ties.
        ConvergenceWarning
            If `max_iter` is reached.
        """
        table = check_pairs(self, X, reset=True)
        self.items_ = distinct_labels(table) if self.items is None else check_items(self.items)
        first, second = item_numbers(table, self.items_)
        outcomes = check_outcomes(y, (first, second), self.items_)
        weight = check_weights(sample_weight, table)
        ways = check_groups(groups, len(table))
        kept = weight > 0
        first, second, share, tie, weight = (part[kept] for part in (first, second, *outcomes[:2], weight))
        graph = ComparisonGraph.from_pairs(
            first, second, share, weight, len(self.items_), tie=tie, ordered=self.order_effect
        )
        n_components, self.connected_components_ = graph.components()
        n_classes, _ = graph.components(directed=True)
        won, lost = graph.won_and_lost()
        check_connected((n_components, self.connected_components_), n_classes, (won, lost), self.items_, self.alpha)
        davidson = _check_davidson(graph, outcomes) if self.ties == "davidson" else False
        self._likelihood = PairLikelihood(graph, self.alpha, davidson)
        cells = cells_of(graph, (first, second, share, tie, weight), [way[kept] for way in ways])
        self._choose_errors(graph, davidson, cells)
        self._find_scores()
        words = ["loss", "tie", "win"] if self.ties == "davidson" else ["loss", "win"]
        self.classes_ = np.array(words if outcomes.are_words else np.linspace(0, 1, len(words)))
        if self.ties == "half" and not outcomes.are_words:
            self.classes_ = np.array([0, 1])
        return self

    def _choose_errors(self, graph, davidson, cells):
        """Set what covariances are computed from."""
        self._n_comparisons = graph.degrees(graph.total)
        self._set_clusters(cells)
        half_ties = 0 if davidson else graph.ties.sum()
        if cells or half_ties == 0:
            return
        if half_ties < graph.total.sum():
            self.errors_ = "robust"
        else:
            warn_caller(
                "all comparisons are ties, which shows no variance to take errors from: standard errors are those of "
                "wins and losses, and too large. Add comparisons that are decided.",
                InsufficientDataWarning,
            )

    def _find_scores(self):
        self._find_mode()
        _, order_effect, log_nu = self._likelihood.split(self._parameters)
        self.order_effect_ = float(order_effect)
        self.tie_parameter_ = None if self.ties == "half" else 0.0 if log_nu is None else float(np.exp(log_nu))
        self.order_effect_standard_error_ = 0.0
        if self.order_effect:
            variance = parameter_variance(self.information_, self._sparse_meat(), len(self.scores_))
            self.order_effect_standard_error_ = float(np.sqrt(max(variance, 0)))

    def _sampled_variances(self, random_state):
        plain = self.errors_ == "model" and len(self._parameters) == len(self.scores_) and self.anchor is None
        if not plain:
            return super()._sampled_variances(random_state)
        return (
            sampled_standard_errors(
                self._likelihood.graph,
                self._parameters,
                self.information_,
                self.alpha,
                self.connected_components_,
                N_DRAWS,
                random_state,
            )
            ** 2
        )

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds that the first item of each pair beats the second.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that occurred in `fit`.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Positive if the first item is expected to win, including its `order_effect_`. With ``ties="davidson"``, the
            log-odds of a win compared with a loss.
        """
        check_is_fitted(self)
        first, second = item_numbers(check_pairs(self, X, reset=False), self.items_)
        return self.scores_[first] - self.scores_[second] + self.order_effect_

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities of the outcomes for the first item of each pair.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that occurred in `fit`.

        Returns
        -------
        ndarray of shape (n_pairs, n_classes)
            Probabilities of a loss, a tie (only with ``ties="davidson"``) and a win, in the order of `classes_`.
        """
        margin = self.decision_function(X)
        if self.ties == "half":
            return np.column_stack([expit(-margin), expit(margin)])
        with np.errstate(divide="ignore"):
            return davidson_proba(margin, np.log(np.float64(self.tie_parameter_)))

    def predict(self, X: ArrayLike) -> Array:
        """The most probable outcome of each pair for its first item.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that occurred in `fit`.

        Returns
        -------
        ndarray of shape (n_pairs,)
            One of `classes_`. If a win and a loss are equally probable, it is a loss.
        """
        probability = self.predict_proba(X)
        return self.classes_[probability.argmax(axis=1)]

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Proportion of comparisons that the scores predict.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Labels of items that occurred in `fit`.
        y : array-like of shape (n_comparisons,), default=None
            The outcomes, as in :meth:`fit`. The item with the higher score is predicted, and counts with the proportion
            that it won.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made.

        Returns
        -------
        float
            Between 0 and 1; ties and equal scores count one half.
        """
        margin = self.decision_function(X)
        numbers = item_numbers(check_pairs(self, X, reset=False), self.items_)
        share = check_outcomes(y, numbers, self.items_).share
        weight = check_weights(sample_weight, margin)
        won = np.where(margin > 0, share, np.where(margin < 0, 1 - share, 0.5))
        return float(np.average(won, weights=weight))


def _check_davidson(graph, outcomes):
    """Whether there are ties to estimate their parameter from."""
    if outcomes.are_shares:
        raise ValueError(
            "ties='davidson' needs outcomes, but y has shares other than 0, 0.5 and 1. Give a row, with its "
            "sample_weight, for each outcome of a pair."
        )
    ties, total = graph.ties.sum(), graph.total.sum()
    if ties == total:
        raise ValueError(
            "all comparisons are ties, so that the tie parameter of ties='davidson' is infinite. Use ties='half', or "
            "add comparisons that are decided."
        )
    return bool(ties > 0)
