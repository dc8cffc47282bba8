"""Bradley-Terry scores from pairwise comparisons."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_consistent_length,
    check_is_fitted,
)

from skrank._fitting import all_or_nothing, warn_caller
from skrank._random import as_random_state
from skrank._rankings import check_weights, refuse_masked
from skrank._typing import ArrayLike, Floats, Integers, Items, RandomState, _fit_context
from skrank.exceptions import InsufficientDataWarning
from skrank.linear_model._comparison_graph import (
    ComparisonGraph,
    exact_standard_errors,
    fit_scores,
    sampled_standard_errors,
)
from skrank.preprocessing._labels import GAP, UNKNOWN, check_items, distinct_labels, encode, label_table

_EXACT_UP_TO = 1500  # items: a dense inverse takes a fraction of a second
_N_DRAWS = 50


class BradleyTerry(ClassifierMixin, BaseEstimator):
    r"""Scores of items from pairwise comparisons, by regularised maximum likelihood.

    Item i beats item j with probability :math:`1 / (1 + e^{\theta_j - \theta_i})` [1]_ [2]_. The scores
    :math:`\theta` minimise the weighted negative log-likelihood plus
    :math:`\frac{\alpha}{2} \sum_i \theta_i^2`, which is the mode of their posterior under independent normal priors of
    variance :math:`1/\alpha`.

    Parameters
    ----------
    alpha : float, default=0.1
        Strength of the regularisation: a prior standard deviation of :math:`1/\sqrt{\alpha}`, 3.2 log-odds by default,
        which bounds the scores of items that won or lost all their comparisons and hardly moves those of others. 0 is
        plain maximum likelihood, which exists only where each item has beaten each other directly or through others.
    items : array-like of shape (n_items,), default=None
        Labels of the items, in the order of `scores_`. None: those in X, sorted. Give them where some may be missing
        from a part of the comparisons, as in cross-validation.
    max_iter : int, default=100
        Largest number of Newton iterations; 5 to 15 are usual.
    tol : float, default=1e-4
        The fit stops when the remaining step of the scores (root mean square) is below `tol` of their standard errors.

    Attributes
    ----------
    scores_ : ndarray of shape (n_items,)
        Scores in log-odds, higher is better. They sum to zero over each set of items that comparisons connect.
    items_ : ndarray of shape (n_items,)
        Label of each score's item.
    information_ : csr_array of shape (n_items, n_items)
        Second derivatives of the objective at `scores_`: the Laplacian of the comparison graph, each comparison
        weighted by p (1 - p), plus alpha on the diagonal.
    connected_components_ : ndarray of shape (n_items,)
        Which connected set of items each one belongs to. Scores of different sets are not comparable.
    classes_ : ndarray of shape (2,)
        [0, 1]: the first item of a pair loses or wins.
    n_iter_ : int
        Newton iterations done.
    n_features_in_ : int
        2, the number of columns of the pairs.
    feature_names_in_ : ndarray of shape (2,)
        Names of the columns, when the pairs come as a DataFrame with string names.

    See Also
    --------
    skrank.preprocessing.ranks_from_scores : A rank matrix from scores.

    Notes
    -----
    Repeated comparisons are added up first. Newton's steps come from conjugate gradients on the sparse Laplacian, so
    that time and memory are about proportional to the number of distinct pairs.

    References
    ----------
    .. [1] E. Zermelo, "Die Berechnung der Turnier-Ergebnisse als ein Maximumproblem der Wahrscheinlichkeitsrechnung",
       Mathematische Zeitschrift 29, 1929.
    .. [2] R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39, 1952.

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
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "items": ["array-like", None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, alpha: float = 0.1, *, items: Items = None, max_iter: int = 100, tol: float = 1e-4) -> None:
        self.alpha = alpha
        self.items = items
        self.max_iter = max_iter
        self.tol = tol

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Estimate the scores.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Labels of the two items of each comparison: numbers, strings or any hashable objects.
        y : array-like of shape (n_comparisons,), default=None
            What the first item won: 1 or True a win, 0 or False a loss, 0.5 a tie, or a share in between. None: the
            first item of each row won.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made. None: once.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            On an item that is missing, unknown or compared with itself, a y outside [0, 1] or a negative weight, with
            the row and the value; with `alpha=0`, where the maximum of the likelihood is infinite or not unique.

        Warns
        -----
        InsufficientDataWarning
            If comparisons do not connect all items, so that scores of different sets are not comparable, or if some
            items won or lost all their comparisons, so that the regularisation alone bounds their scores.
        ConvergenceWarning
            If `max_iter` is reached.
        """
        table = _check_pairs(self, X, reset=True)
        self.items_ = distinct_labels(table) if self.items is None else check_items(self.items)
        first, second = _item_numbers(table, self.items_)
        share = _check_shares(y, table)
        weight = check_weights(sample_weight, table)
        kept = weight > 0
        graph = ComparisonGraph.from_pairs(first[kept], second[kept], share[kept], weight[kept], len(self.items_))
        self.connected_components_ = _check_connected(graph, self.items_, self.alpha)
        self.scores_, self.information_, info = fit_scores(graph, self.alpha, self.max_iter, self.tol)
        self.n_iter_ = info["n_iter"]
        self.classes_ = np.array([0, 1])
        self._graph = graph
        if not info["converged"]:
            warn_caller(
                f"BradleyTerry did not converge in {self.n_iter_} iterations. Increase max_iter, tol or alpha.",
                ConvergenceWarning,
            )
        return self

    def standard_errors(self, random_state: RandomState = 0) -> Floats:
        r"""Standard errors of the scores, each relative to the mean of the items it is connected with.

        The square roots of the diagonal of the inverse of `information_`, after projection on sum zero over each
        connected set: the asymptotic standard errors of maximum likelihood, or with `alpha` > 0 those of the
        normal approximation to the posterior. Up to 1500 items the inverse is computed. Beyond, its diagonal is
        :math:`1/H_{ii}`, the variance of a score given all others, plus the variance of its mean given the others,
        which is estimated from 50 draws by conjugate gradients. That part is about one in the number of an item's
        opponents, so that with 20 opponents the standard errors are within 1 percent (root mean square) of the exact
        ones.

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
        if len(self.scores_) <= _EXACT_UP_TO:
            return exact_standard_errors(self.information_, self.alpha, self.connected_components_)
        random_state = as_random_state(random_state)
        return sampled_standard_errors(
            self._graph, self.scores_, self.information_, self.alpha, self.connected_components_, _N_DRAWS, random_state
        )

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds that the first item of each pair beats the second.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that were seen in fit.

        Returns
        -------
        ndarray of shape (n_pairs,)
        """
        check_is_fitted(self)
        first, second = _item_numbers(_check_pairs(self, X, reset=False), self.items_)
        return self.scores_[first] - self.scores_[second]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probabilities that the first item of each pair loses and wins.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that were seen in fit.

        Returns
        -------
        ndarray of shape (n_pairs, 2)
            In the order of `classes_`: column 1 is the probability that the first item wins.
        """
        margin = self.decision_function(X)
        return np.column_stack([expit(-margin), expit(margin)])

    def predict(self, X: ArrayLike) -> Integers:
        """Whether the first item of each pair is expected to win.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Labels of items that were seen in fit.

        Returns
        -------
        ndarray of shape (n_pairs,)
            1 where the first item's score is higher, 0 elsewhere.
        """
        return (self.decision_function(X) > 0).astype(int)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Share of comparisons that the scores predict.

        Parameters
        ----------
        X : array-like of shape (n_comparisons, 2)
            Labels of items that were seen in fit.
        y : array-like of shape (n_comparisons,), default=None
            What the first item won, as in :meth:`fit`. A prediction gets the share that its winner won.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made.

        Returns
        -------
        float
            Between 0 and 1; equal scores count one half.
        """
        margin = self.decision_function(X)
        share = _check_shares(y, margin)
        weight = check_weights(sample_weight, margin)
        won = np.where(margin > 0, share, np.where(margin < 0, 1 - share, 0.5))
        return float(np.average(won, weights=weight))


def _check_pairs(estimator, X, reset):
    _check_feature_names(estimator, X, reset=reset)
    table = label_table(X, "X")
    if len(table) == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is required.")
    if table.shape[1] != 2:
        raise ValueError(
            "X must have 2 columns, the items of each comparison; got "
            f"{table.shape[1]} feature(s) (shape={table.shape}) while a minimum of 2 is required."
        )
    _check_n_features(estimator, table, reset=reset)
    return table


def _item_numbers(table, items):
    numbers = encode(table, items)
    for code, problem in ((GAP, "names no item (NaN or empty); drop it"), (UNKNOWN, "names an item that is not known")):
        row, column = np.nonzero(numbers == code)
        if len(row):
            raise ValueError(f"row {row[0]} of X {problem}: {table[row[0]].tolist()}.")
    same = np.flatnonzero(numbers[:, 0] == numbers[:, 1])
    if len(same):
        raise ValueError(f"row {same[0]} of X compares {table[same[0], 0]!r} with itself; drop such rows.")
    return numbers.T


def _check_shares(y, comparisons):
    if y is None:
        return np.ones(len(comparisons))
    refuse_masked(y, "y")
    share = column_or_1d(y, dtype=np.float64)
    check_consistent_length(comparisons, share)
    outside = np.flatnonzero(~((share >= 0) & (share <= 1)))
    if len(outside):
        raise ValueError(
            f"y must be between 0 (the first item lost) and 1 (it won): y[{outside[0]}] is {share[outside[0]]}."
        )
    return share


def _check_connected(graph, items, alpha):
    """Component of each item; warns, or raises without regularisation, where comparisons leave scores open."""
    n_components, component = graph.components()
    n_classes, strong = graph.components(directed=True)
    if alpha == 0 and n_classes > 1:
        raise ValueError(
            f"with alpha=0 the scores have no finite, unique maximum: the items fall into {n_classes} groups of which "
            "none has both won and lost against the others. Use alpha > 0, or more comparisons."
        )
    items = items.tolist()
    if n_components > 1:
        other = items[np.argmax(component != component[0])]
        warn_caller(
            f"the comparisons leave the items in {n_components} unconnected sets: {items[0]!r} and {other!r}, for "
            "instance, are in different ones, and their scores cannot be compared. Add comparisons between the sets, "
            "or fit each alone.",
            InsufficientDataWarning,
        )
    if n_classes > n_components:
        won, lost = graph.won_and_lost()
        extreme = np.flatnonzero((won == 0) != (lost == 0))
        example = f" ({items[extreme[0]]!r} for instance)" if len(extreme) else ""
        warn_caller(
            f"{len(extreme)} items won or lost all their comparisons{example}, and the items fall into {n_classes} "
            "groups of which none has both won and lost against the others: between these the regularisation alone "
            "bounds the differences of scores. Add comparisons, or mind their standard errors.",
            InsufficientDataWarning,
        )
    return component
