"""Estimators of comparisons by judges who differ, and which of them describes the judges best."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skrank._fitting import all_or_nothing, warn_caller
from skrank._random import as_generator
from skrank._rankings import check_weights
from skrank._typing import Array, ArrayLike, Floats, Items, RandomState, _fit_context
from skrank.linear_model._comparison_components import VoteMatrices, grown, one_component, win_probability
from skrank.linear_model._comparisons import check_outcomes, check_pairs, item_numbers
from skrank.linear_model._judge_models import (
    CLAIM,
    JudgeData,
    choose_components,
    gain_and_error,
    held_out_tastes,
    mixture_path,
    stability,
)
from skrank.linear_model._judges import fit_judges
from skrank.preprocessing._labels import GAP, check_items, distinct_labels, encode, label_array


class _JudgeEstimator(ClassifierMixin, BaseEstimator):
    """What both estimators share: reading comparisons with judges, and predictions."""

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
            Labels of items that were seen in fit.
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
            Labels of items that were seen in fit.
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
            Labels of items that were seen in fit.
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


class PersonalBradleyTerry(_JudgeEstimator):
    r"""Bradley-Terry scores of each judge, shrunk towards common ones.

    Judges differ either by tastes, :math:`\theta_{ja} = \theta_a + u_{ja}` with
    :math:`u_{ja} \sim N(0, \sigma^2)`, or by slopes, :math:`\theta_{ja} = (1 + b_j) \theta_a` with
    :math:`b_j \sim N(0, \sigma^2)`: a judge who answers at random has the slope 0, one who is surer than the others a
    slope above 1. All scores are at their posterior mode.

    Parameters
    ----------
    differences : {"tastes", "slopes"}, default="tastes"
        How judges differ.
    scale : float, default=None
        The standard deviation :math:`\sigma` of the differences. None: where the Laplace approximation of its marginal
        likelihood is largest; up to 10, and from 0.01, where judges do not differ.
    alpha : float, default=0.1
        Strength of the regularization of the common scores, as of :class:`BradleyTerry`; above 0.
    items : array-like of shape (n_items,), default=None
        Labels of the items, in the order of `scores_`. None: those in X, sorted.
    max_iter : int, default=100
        Largest number of Newton iterations for one scale.
    tol : float, default=1e-3
        As of :class:`BradleyTerry`.

    Attributes
    ----------
    scores_ : ndarray of shape (n_items,)
        Common scores in log-odds: those of a judge of whom nothing is known.
    judge_scores_ : ndarray of shape (n_judges, n_items)
        Scores of each judge.
    slopes_ : ndarray of shape (n_judges,) or None
        :math:`1 + b_j`; None for tastes.
    scale_ : float
        The standard deviation of the differences.
    items_, judges_ : ndarray of shape (n_items,), (n_judges,)
        Labels.
    classes_ : ndarray of shape (2,)
        [0, 1], or ["loss", "win"] if y held strings: what the first item of a pair gets.
    n_features_in_ : int
        2, the number of columns of the pairs.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns, when the pairs come as a DataFrame with string names.

    See Also
    --------
    compare_judge_models : Which description predicts held-out votes best.
    BradleyTerryMixture : Groups of judges.

    Notes
    -----
    A tie is half a win. Time and memory are about proportional to the number of distinct votes.

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
            The outcomes, as of :meth:`BradleyTerry.fit`.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made. None: once.
        groups : array-like of shape (n_comparisons,)
            The judge of each comparison, labels of any type. Needed.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            On bad items, outcomes or weights, as of :meth:`BradleyTerry.fit`, and where a judge is missing.

        Warns
        -----
        ConvergenceWarning
            If `max_iter` is reached.
        """
        data = self._read(X, y, sample_weight, groups)
        votes = data.votes(slice(None))
        strength = None if self.scale is None else self.scale**-2.0
        start = one_component(VoteMatrices(votes), self.alpha).scores[0]
        likelihood, parameters, converged = fit_judges(
            votes, self.alpha, strength, self.differences == "slopes", start, self.max_iter, self.tol
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


class BradleyTerryMixture(_JudgeEstimator):
    r"""Groups of judges: a mixture of Bradley-Terry models.

    Each judge belongs to one of k components, and compares by its scores. As many components are taken as are found
    again in halves of the judges, and predict held-out votes better than common scores: random differences between
    judges make neither.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of components.
    max_components : int, default=6
        The most that "auto" tries.
    alpha : float, default=0.1
        Strength of the regularization of each component's scores, as of :class:`BradleyTerry`; above 0.
    items : array-like of shape (n_items,), default=None
        Labels of the items, in the order of the columns of `scores_`. None: those in X, sorted.
    cv : int, default=5
        Number of parts of the votes that "auto" holds out in turn; of each judge's votes about equally many.
    random_state : int, RandomState instance or None, default=None
        Seeds the parts and the halves.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Proportions of the judges, the largest first.
    scores_ : ndarray of shape (n_components, n_items)
        Scores in log-odds, each row of sum zero.
    judge_proba_ : ndarray of shape (n_judges, n_components)
        Probability that a judge belongs to each component.
    stability_ : ndarray of shape (n_components,)
        How well each component is found again in random halves of the judges: the mean of its best soft Jaccard index,
        from 0 to 1, with the memberships of a half's mixture. 1 for a single component.
    held_out_gains_ : ndarray or None
        Gain in the log-likelihood of a held-out vote, in nats, of mixtures of 1, 2, ... components over common scores;
        None where `n_components` is given.
    n_components_ : int
        Number of components.
    items_, judges_ : ndarray of shape (n_items,), (n_judges,)
        Labels.
    classes_ : ndarray of shape (2,)
        [0, 1], or ["loss", "win"] if y held strings: what the first item of a pair gets.
    n_features_in_ : int
        2, the number of columns of the pairs.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns, when the pairs come as a DataFrame with string names.

    See Also
    --------
    compare_judge_models : Whether groups describe the judges better than tastes or slopes.
    skrank.mixture.MallowsMixture : Groups of people who rank.

    Notes
    -----
    EM on the judges' wins of each pair. A mixture grows by splitting each component along the main directions in which
    its judges differ; the likeliest one is kept. A tie is half a win. The number of components is the best of those
    whose gain on held-out votes is above 2 standard errors (by judges), and whose least stability is 0.7 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.linear_model import BradleyTerryMixture
    >>> rng = np.random.default_rng(0)
    >>> tastes = np.array([[2, 1, 0, -1, -2], [-2, -1, 0, 1, 2]])
    >>> judges = np.repeat(np.arange(40), 15)
    >>> first = rng.integers(0, 5, 600)
    >>> pairs = np.column_stack([first, (first + rng.integers(1, 5, 600)) % 5])
    >>> own = tastes[judges % 2]
    >>> rows = np.arange(600)
    >>> y = rng.random(600) < 1 / (1 + np.exp(own[rows, pairs[:, 1]] - own[rows, pairs[:, 0]]))
    >>> model = BradleyTerryMixture(random_state=0).fit(pairs, y, groups=judges)
    >>> model.n_components_
    2
    >>> bool((model.judge_proba_.argmax(axis=1)[::2] == model.judge_proba_[0].argmax()).all())
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_components": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "items": ["array-like", None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = "auto",
        *,
        max_components: int = 6,
        alpha: float = 0.1,
        items: Items = None,
        cv: int = 5,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.alpha = alpha
        self.items = items
        self.cv = cv
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Labels of the two items of each comparison.
        y : array-like of shape (n_comparisons,), default=None
            The outcomes, as of :meth:`BradleyTerry.fit`.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made. None: once.
        groups : array-like of shape (n_comparisons,)
            The judge of each comparison, labels of any type. Needed.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            On bad items, outcomes or weights, as of :meth:`BradleyTerry.fit`, where a judge is missing, or with more
            components than judges.

        Warns
        -----
        ConvergenceWarning
            If EM stops before it has converged.
        """
        data = self._read(X, y, sample_weight, groups)
        rng = as_generator(self.random_state)
        n_judges = len(self.judges_)
        self.held_out_gains_ = None
        if self.n_components == "auto":
            path = mixture_path(data, data.folds(self.cv, rng), self.alpha, min(self.max_components, n_judges))
            n_components = choose_components(data, path, self.alpha, rng)
            components = path.mixtures[n_components - 1]
            totals = np.array([np.average(logs, weights=data.weight) for logs in path.held_out])
            self.held_out_gains_ = totals - totals[0]
        else:
            n_components = self.n_components
            if n_components > n_judges:
                raise ValueError(f"n_components is {n_components}, but groups has {n_judges} judges.")
            votes = VoteMatrices(data.votes(slice(None)))
            components = one_component(votes, self.alpha)
            while components.n_components < n_components:
                components = grown(votes, components, self.alpha)
        components = components.sorted()
        self.stability_ = np.ones(1) if n_components == 1 else stability(data, components, self.alpha, rng)
        self.n_components_ = n_components
        self.weights_ = components.weights
        self.scores_ = components.scores - components.scores.mean(axis=1, keepdims=True)
        self.judge_proba_ = components.responsibilities
        if not components.converged:
            warn_caller("EM of BradleyTerryMixture did not converge. Increase alpha.", ConvergenceWarning)
        return self

    def _win_probability(self, numbers, judge):
        return win_probability(self.scores_, np.vstack([self.judge_proba_, self.weights_])[judge], numbers)


@dataclass(frozen=True)
class JudgeComparison:
    """How well each description of the judges predicts held-out votes; printing it shows a table.

    Parameters
    ----------
    log_likelihoods : dict
        Mean log-likelihood of a held-out vote, in nats, of "common" scores, "tastes", "slopes" and "mixture". The last
        one is there only where groups are stable and predict better than common scores.
    gains : dict
        What each gains over common scores, in nats for a vote.
    standard_errors : dict
        Of the gains, clustered by judges.
    best : str
        The description of the largest gain among those above 2 standard errors; "common" if there is none.
    n_components : int
        Number of groups of the mixture; 1 where there are none.

    Examples
    --------
    >>> from skrank.linear_model import JudgeComparison
    >>> print(JudgeComparison({"common": -0.6, "tastes": -0.55}, {"tastes": 0.05}, {"tastes": 0.01}, "tastes", 1))
            held-out log-likelihood   gain  standard error
    common                   -0.600
    tastes                   -0.550  0.050           0.010  best
    """

    log_likelihoods: dict[str, float]
    gains: dict[str, float]
    standard_errors: dict[str, float]
    best: str
    n_components: int

    def __str__(self) -> str:
        lines = [f"{'':<8}{'held-out log-likelihood':>23}{'gain':>7}{'standard error':>16}"]
        for name, value in self.log_likelihoods.items():
            line = f"{name:<8}{value:>23.3f}"
            if name in self.gains:
                line += f"{self.gains[name]:>7.3f}{self.standard_errors[name]:>16.3f}"
            lines.append(line + ("  best" if name == self.best else ""))
        return "\n".join(lines)


def compare_judge_models(
    X: ArrayLike,
    y: Any = None,
    *,
    groups: ArrayLike,
    sample_weight: ArrayLike | None = None,
    alpha: float = 0.1,
    cv: int = 5,
    max_components: int = 6,
    random_state: RandomState = 0,
) -> JudgeComparison:
    """Compare descriptions of the judges by how well they predict held-out votes.

    The descriptions are common scores (:class:`BradleyTerry`), tastes and slopes (:class:`PersonalBradleyTerry`), and
    groups (:class:`BradleyTerryMixture`). Each is fitted without a part of each judge's votes and predicts it.

    Parameters
    ----------
    X : array-like of shape (n_comparisons, 2)
        Labels of the two items of each comparison.
    y : array-like of shape (n_comparisons,), default=None
        The outcomes, as of :meth:`BradleyTerry.fit`.
    groups : array-like of shape (n_comparisons,)
        The judge of each comparison.
    sample_weight : array-like of shape (n_comparisons,), default=None
        How often each comparison was made. None: once.
    alpha : float, default=0.1
        Strength of the regularization of scores; above 0.
    cv : int, default=5
        Number of parts.
    max_components : int, default=6
        The most groups to try.
    random_state : int, RandomState instance or None, default=0
        Seeds the parts and the halves.

    Returns
    -------
    JudgeComparison
        Gains over common scores with standard errors, and which description is best.

    Raises
    ------
    ValueError
        On bad input, as the estimators; with fewer than two judges.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.linear_model import compare_judge_models
    >>> rng = np.random.default_rng(0)
    >>> judges = np.repeat(np.arange(30), 30)
    >>> first = rng.integers(0, 6, 900)
    >>> pairs = np.column_stack([first, (first + rng.integers(1, 6, 900)) % 6])
    >>> tastes = rng.standard_normal((30, 6))
    >>> rows = np.arange(900)
    >>> margin = tastes[judges, pairs[:, 0]] - tastes[judges, pairs[:, 1]]
    >>> y = rng.random(900) < 1 / (1 + np.exp(-margin))
    >>> compare_judge_models(pairs, y, groups=judges).best
    'tastes'
    """
    if not alpha > 0:
        raise ValueError(f"alpha must be above 0, got {alpha}.")
    reader = BradleyTerryMixture(alpha=alpha)
    data = reader._read(X, y, sample_weight, groups)
    if data.n_judges < 2:
        raise ValueError("groups has one judge only, so that there is nobody to differ from. Use BradleyTerry.")
    rng = as_generator(random_state)
    fold = data.folds(cv, rng)
    held_out = held_out_tastes(data, fold, alpha)
    path = mixture_path(data, fold, alpha, min(max_components, data.n_judges))
    n_components = choose_components(data, path, alpha, rng)
    if n_components > 1:
        held_out["mixture"] = path.held_out[n_components - 1]
    pairs = {
        name: gain_and_error(data, logs - held_out["common"]) for name, logs in held_out.items() if name != "common"
    }
    claimed = {name: float(gain) for name, (gain, error) in pairs.items() if gain > CLAIM * error}
    return JudgeComparison(
        {name: float(np.average(logs, weights=data.weight)) for name, logs in held_out.items()},
        {name: float(gain) for name, (gain, _) in pairs.items()},
        {name: float(error) for name, (_, error) in pairs.items()},
        max(claimed, key=lambda name: claimed[name]) if claimed else "common",
        n_components,
    )


def _check_judges(groups, n_rows):
    """Labels of the judges, 1-d, none missing."""
    if groups is None:
        raise ValueError("groups is None, but the judge of each comparison is needed. Without judges use BradleyTerry.")
    judges = groups if isinstance(groups, np.ndarray) else label_array(groups)
    if judges.ndim != 1:
        raise ValueError(f"groups must have one column, the judge of each comparison; its shape is {judges.shape}.")
    check_consistent_length(np.empty(n_rows), judges)
    gap = np.flatnonzero(encode(judges, label_array(["a", "b"])) == GAP) if judges.dtype.kind in "OUSf" else []
    if len(gap):
        raise ValueError(f"groups[{gap[0]}] is {judges.tolist()[gap[0]]!r}: every comparison needs a judge. Drop it.")
    return judges
