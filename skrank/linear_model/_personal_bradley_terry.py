"""Scores of judges who differ: shrunk toward common scores."""

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skrank._fitting import all_or_nothing, warn_caller
from skrank._rankings import check_weights
from skrank._typing import Array, ArrayLike, Floats, Items, _fit_context
from skrank.linear_model._comparisons import check_outcomes, check_pairs, item_numbers
from skrank.linear_model._judges import JudgeData, fit_judges
from skrank.preprocessing._labels import GAP, check_items, distinct_labels, encode, label_array


class JudgeEstimator(ClassifierMixin, BaseEstimator):
    """What estimators of judges share: reading comparisons with judges, and predictions."""

    items: Any

    def _read(self, X, y, sample_weight, groups):
        """The data; sets items, judges and classes."""
        table = check_pairs(self, X, reset=True)
        self.items_ = distinct_labels(table) if self.items is None else check_items(self.items)
        numbers = item_numbers(table, self.items_)
        outcomes = check_outcomes(y, numbers, self.items_)
        weight = check_weights(sample_weight, table)
        judges = _check_judges(groups, len(table))
        self.judges_ = distinct_labels(judges)
        self.classes_ = np.array(["loss", "win"] if outcomes.are_words else [0, 1])
        kept = weight > 0
        return JudgeData(
            encode(judges, self.judges_)[kept],
            numbers[:, kept],
            outcomes.share[kept],
            weight[kept],
            len(self.judges_),
            len(self.items_),
        )

    def _judge_numbers(self, groups, n_rows):
        """Numbers of the judges; those that were not seen have the number after the last."""
        if groups is None:
            return np.full(n_rows, len(self.judges_))
        number = encode(_check_judges(groups, n_rows), self.judges_)
        return np.where(number < 0, len(self.judges_), number)

    def predict_proba(self, X: ArrayLike, groups: ArrayLike | None = None) -> Floats:
        """Probabilities that the first item of each pair loses and wins with a judge.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that occurred in `fit`.
        groups : array-like of shape (n_pairs,), default=None
            The judge of each comparison. None, or a judge who was not seen in fit: nothing is known of the judge.

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        numbers = item_numbers(check_pairs(self, X, reset=False), self.items_)
        win = self._win_probability(numbers, self._judge_numbers(groups, len(numbers[0])))
        return np.column_stack([1 - win, win])

    def predict(self, X: ArrayLike, groups: ArrayLike | None = None) -> Array:
        """Whether the first item of each pair is expected to win.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that occurred in `fit`.
        groups : array-like of shape (n_pairs,), default=None
            The judge of each comparison, as in :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_pairs,)
            One of `classes_`.
        """
        probability = self.predict_proba(X, groups)
        return self.classes_[(probability[:, 1] > 0.5).astype(int)]

    def score(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Proportion of comparisons that are predicted.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Labels of items that occurred in `fit`.
        y : array-like of shape (n_comparisons,), default=None
            The outcomes, as in :meth:`fit`.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made.
        groups : array-like of shape (n_comparisons,), default=None
            The judge of each comparison, as in :meth:`predict_proba`.

        Returns
        -------
        float
            Between 0 and 1; ties and equal probabilities count one half.
        """
        win = self.predict_proba(X, groups)[:, 1]
        numbers = item_numbers(check_pairs(self, X, reset=False), self.items_)
        share = check_outcomes(y, numbers, self.items_).share
        weight = check_weights(sample_weight, win)
        return float(np.average(np.where(win > 0.5, share, np.where(win < 0.5, 1 - share, 0.5)), weights=weight))

    def _win_probability(self, numbers, judge):
        raise NotImplementedError


class PersonalBradleyTerry(JudgeEstimator):
    r"""Bradley-Terry scores of each judge, shrunk toward common scores.

    Judges differ either by tastes, :math:`\theta_{ja} = \theta_a + u_{ja}` with :math:`u_{ja} \sim N(0, \sigma^2)`, or
    by slopes, :math:`\theta_{ja} = (1 + b_j) \theta_a` with :math:`b_j \sim N(0, \sigma^2)`: a judge who responds at
    random has slope 0, and a judge who is more consistent than the others has a slope above 1. All scores are posterior
    modes.

    Parameters
    ----------
    differences : {"tastes", "slopes"}, default="tastes"
        How judges differ.
    scale : float, default=None
        The standard deviation :math:`\sigma` of the differences. None maximizes the Laplace approximation of its
        marginal likelihood between 0.01, at which judges hardly differ, and 10.
    alpha : float, default=0.1
        Strength of the regularization of the common scores, as in :class:`BradleyTerry`; above 0.
    items : array-like of shape (n_items,), default=None
        Labels of the items, in the order of `scores_`. None means the sorted labels in X.
    max_iter : int, default=100
        Maximum number of Newton iterations for one scale.
    tol : float, default=1e-3
        Tolerance, as in :class:`BradleyTerry`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_items,)
        Common scores in log-odds, which are the expected scores of an unknown judge.
    judge_scores_ : ndarray of shape (n_judges, n_items)
        Scores of each judge.
    slopes_ : ndarray of shape (n_judges,) or None
        :math:`1 + b_j`; None for tastes.
    scale_ : float
        The standard deviation of the differences.
    items_, judges_ : ndarray of shape (n_items,), (n_judges,)
        Labels.
    classes_ : ndarray of shape (2,)
        Outcomes for the first item of a pair: [0, 1], or ["loss", "win"] if y contains strings.
    n_features_in_ : int
        2, the number of columns of the pairs.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns if X is a DataFrame with string names.

    See Also
    --------
    skrank.mixture.compare_judge_models : Which model predicts held-out votes best.
    skrank.mixture.BradleyTerryMixture : Groups of judges.

    Notes
    -----
    A tie counts as half a win. Time and memory are approximately proportional to the number of distinct votes.

    Examples
    --------
    >>> from skrank.linear_model import PersonalBradleyTerry
    >>> pairs = [["tea", "milk"], ["milk", "water"], ["tea", "water"]] * 8
    >>> judges = ["ann"] * 12 + ["bob"] * 12
    >>> y = [1, 1, 1] * 4 + [0, 1, 0] * 4    # ann likes tea best, bob least
    >>> model = PersonalBradleyTerry().fit(pairs, y, groups=judges)
    >>> model.predict_proba([["tea", "water"]] * 3, groups=["ann", "bob", "cid"]).round(2)
    array([[0.  , 1.  ],
           [0.94, 0.06],
           [0.26, 0.74]])
    """

    _parameter_constraints = {
        "differences": [StrOptions({"tastes", "slopes"})],
        "scale": [Interval(Real, 0, None, closed="neither"), None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "items": ["array-like", None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        differences: Literal["tastes", "slopes"] = "tastes",
        *,
        scale: float | None = None,
        alpha: float = 0.1,
        items: Items = None,
        max_iter: int = 100,
        tol: float = 1e-3,
    ) -> None:
        self.differences = differences
        self.scale = scale
        self.alpha = alpha
        self.items = items
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
            Labels of the two items of each comparison.
        y : array-like of shape (n_comparisons,), default=None
            The outcomes, as in :meth:`BradleyTerry.fit`.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made. None means once.
        groups : array-like of shape (n_comparisons,)
            The judge of each comparison: labels of any type. Required.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If items, outcomes or weights are invalid, as in :meth:`BradleyTerry.fit`, or if a judge is missing.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` is reached.
        """
        data = self._read(X, y, sample_weight, groups)
        votes = data.votes(slice(None))
        strength = None if self.scale is None else self.scale**-2.0
        likelihood, parameters, converged = fit_judges(
            votes, self.alpha, strength, self.differences == "slopes", None, self.max_iter, self.tol
        )
        n_items, n_judges = len(self.items_), len(self.judges_)
        self.scores_ = parameters[:n_items] - parameters[:n_items].mean()
        self.scale_ = float(likelihood.strength**-0.5)
        differences = parameters[n_items:]
        if self.differences == "slopes":
            self.slopes_ = 1 + differences
            self.judge_scores_ = self.slopes_[:, None] * self.scores_
        else:
            self.slopes_ = None
            tastes = np.zeros(n_judges * n_items)
            tastes[likelihood.nodes] = differences
            self.judge_scores_ = self.scores_ + tastes.reshape(n_judges, n_items)
        if not converged:
            warn_caller(
                f"PersonalBradleyTerry did not converge in {self.max_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        return self

    def _win_probability(self, numbers, judge):
        scores = np.vstack([self.judge_scores_, self.scores_])
        return expit(scores[judge, numbers[0]] - scores[judge, numbers[1]])


def _check_judges(groups, n_rows):
    """Labels of the judges, 1-d, none missing."""
    if groups is None:
        raise ValueError("groups is None, but the judge of each comparison is needed. Without judges use BradleyTerry.")
    judges = groups if isinstance(groups, np.ndarray) else label_array(groups)
    if judges.ndim != 1:
        raise ValueError(f"groups must have one column, the judge of each comparison; its shape is {judges.shape}.")
    check_consistent_length(np.empty(n_rows), judges)
    may_lack = judges.dtype.kind in "OUSf"
    gap = np.flatnonzero(encode(judges, label_array(["a", "b"])) == GAP) if may_lack else np.empty(0, np.intp)
    if len(gap):
        raise ValueError(f"groups[{gap[0]}] is {judges.tolist()[gap[0]]!r}: every comparison needs a judge. Drop it.")
    return judges
