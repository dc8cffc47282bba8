"""Plackett-Luce scores from rankings."""

from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skrank._fitting import all_or_nothing
from skrank._rankings import (
    MISSING,
    aggregate,
    bucket_sizes,
    check_rankings,
    check_weights,
    item_names,
    n_buckets,
    n_ranked,
)
from skrank._typing import ArrayLike, Floats, _fit_context
from skrank.linear_model._comparisons import check_groups, item_numbers
from skrank.linear_model._connectivity import check_connected, connections_of_rankings
from skrank.linear_model._davidson_luce import LARGEST_TIE, DavidsonLuceLikelihood
from skrank.linear_model._pair_likelihood import davidson_proba
from skrank.linear_model._scores import ScoresMixin
from skrank.linear_model._stages import StageLikelihood
from skrank.preprocessing._labels import label_table


class RankingCells(NamedTuple):
    """Equal rankings of one cluster, added up; ascending by cluster."""

    cluster: np.ndarray
    ranking: np.ndarray
    total: np.ndarray


class PlackettLuce(ScoresMixin, BaseEstimator):
    r"""Scores of items from rankings, by regularized maximum likelihood.

    A ranking is drawn from the top: the next item is i with probability :math:`e^{\theta_i} / \sum_j e^{\theta_j}`,
    where the sum is over the remaining items (Plackett-Luce [1]_ [2]_). Items that a ranking leaves out (NaN) were not
    available. For two items, this is :class:`BradleyTerry`. The scores minimize the weighted negative log-likelihood
    plus :math:`\frac{\alpha}{2} \sum_i \theta_i^2`.

    Parameters
    ----------
    alpha : float, default=0.1
        Strength of the regularization, as in :class:`BradleyTerry`. It corresponds to a prior standard deviation of
        :math:`1/\sqrt{\alpha}`, by default 3.2 log-odds. 0 is maximum likelihood, which only exists if each item was
        ranked above each other item directly or through others.
    ties : {"break", "davidson-luce"}, default="break"
        How ties are modeled. "break": tied items have an order that was not recorded, as in coarse ratings and top-k
        lists. The likelihood is that of the bucket in any order, so a tied last bucket does not contribute.
        "davidson-luce": ties of at most 4 items are separate outcomes, such as draws [3]_. At each stage, a set T of t
        items is chosen with a probability proportional to :math:`\delta_t \exp(\sum_{i \in T} \theta_i / t)`.
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
        Label of each score's item: names of the columns of a DataFrame, otherwise numbers from 0.
    tie_parameters_ : dict
        :math:`\delta_t` for each size t of ties that occurred; empty for ``ties="break"``. Two equal items tie with
        probability :math:`\delta_2 / (2 + \delta_2)`.
    errors_ : {"model", "clustered"}
        What standard errors, intervals and ranks account for. "clustered": the `groups` of :meth:`fit`, by CR3, one-way
        or two-way. "model": rankings are assumed to be independent draws from the model.
    degrees_of_freedom_ : float
        Degrees of freedom of the t distribution whose quantiles are used for intervals; infinity without groups. See
        :class:`BradleyTerry`.
    information_ : csr_array of shape (n_parameters, n_parameters)
        Second derivatives of the objective at its minimum with respect to scores and logarithms of tie parameters.
    connected_components_ : ndarray of shape (n_items,)
        Connected set to which each item belongs. Scores in different sets are not comparable.
    n_iter_ : int
        Number of Newton iterations.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of shape (n_items,)
        Names of the columns if X is a DataFrame with string names.

    See Also
    --------
    BradleyTerry : The same for comparisons of two items.
    skrank.mixture.MallowsMixture : Groups of rankings.
    skrank.preprocessing.ranks_from_orderings : A rank matrix from lists.

    Notes
    -----
    Equal rankings are aggregated first. Products with the second derivatives are cumulative sums along rankings, so a
    Newton iteration takes time proportional to the number of ranked items. The probability of a tied bucket in any
    order is an integral over one variable, which is computed to about eleven digits in a time that does not depend on
    the number of orders.

    References
    ----------
    .. [1] R. D. Luce, "Individual Choice Behavior", Wiley, 1959.
    .. [2] R. L. Plackett, "The analysis of permutations", Journal of the Royal Statistical Society C 24, 1975.
    .. [3] D. Firth, I. Kosmidis and H. Turner, "Davidson-Luce model for multi-item choice with ties",
       arXiv:1909.07123, 2019.

    Examples
    --------
    >>> from skrank.datasets import load_apa
    >>> from skrank.linear_model import PlackettLuce
    >>> apa = load_apa()
    >>> model = PlackettLuce().fit(apa.data, sample_weight=apa.sample_weight)
    >>> model.scores_.round(2)
    array([ 0.07, -0.08,  0.05, -0.05,  0.  ])
    >>> model.rank_ranges().tolist()
    [[1, 2], [4, 5], [1, 2], [4, 5], [3, 3]]
    >>> model.predict_proba([[2, 0]]).round(2)    # that candidate 0 is preferred to 2, and 2 to 0
    array([[0.51, 0.49]])
    """

    _parameter_constraints = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "ties": [StrOptions({"break", "davidson-luce"})],
        "anchor": "no_validation",
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        ties: Literal["break", "davidson-luce"] = "break",
        anchor: Any = None,
        max_iter: int = 100,
        tol: float = 1e-4,
    ) -> None:
        self.alpha = alpha
        self.ties = ties
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
        X : array-like of shape (n_samples, n_items)
            Rank matrix: lower is preferred, equal values are ties, NaN is missing. Rows that do not order any two items
            are ignored.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred. None means once.
        groups : array-like of shape (n_samples,) or (n_samples, 2), default=None
            Labels of any type of what rankings have in common, such as the judge. Scores do not depend on `groups`, but
            standard errors do; see `errors_`. A different group for each row gives standard errors that do not assume
            the model.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If X is not a valid rank matrix or does not order any two items; if a weight is negative; if a group is
            missing, or all groups are the same. With `alpha=0`, if the maximum of the likelihood is infinite or not
            unique. With ``ties="davidson-luce"``, if there are ties of more than 4 items, or if all stages are ties.

        Warns
        -----
        InsufficientDataWarning
            If rankings do not connect all items, if some items are first or last in all their rankings, or if there are
            few groups; see :class:`BradleyTerry`.
        ConvergenceWarning
            If `max_iter` is reached.
        """
        names = item_names(X)
        ranks = check_rankings(X, estimator=self)
        self.items_ = np.arange(ranks.shape[1]) if names is None else names
        weight = check_weights(sample_weight, ranks)
        ways = check_groups(groups, len(ranks))
        is_outcome = n_ranked(ranks) > 1 if self.ties == "davidson-luce" else n_buckets(ranks) > 1
        weight = np.where(is_outcome, weight, 0)
        if ranks.shape[1] < 2:
            raise ValueError("X has 1 feature(s), the item, but a ranking needs 2 items or more.")
        if not weight.any():
            raise ValueError("no ranking orders two items, so that there is nothing to fit. Check what X holds.")
        table = aggregate(ranks, weight)
        components, n_classes, won_and_lost = connections_of_rankings(table.ranks, self.ties == "davidson-luce")
        self.connected_components_ = components[1]
        check_connected(components, n_classes, won_and_lost, self.items_, self.alpha)
        if self.ties == "break":
            self._likelihood = StageLikelihood(table.ranks, table.weights, self.alpha)
        else:
            sizes = _check_tie_sizes(ranks, weight)
            self._likelihood = DavidsonLuceLikelihood(table.ranks, table.weights, self.alpha, sizes)
        self._n_comparisons = table.weights @ (table.ranks != MISSING)
        kept = table.inverse >= 0
        self._set_clusters([_cells(way[kept], table.inverse[kept], weight[kept]) for way in ways])
        self._find_mode()
        sizes = getattr(self._likelihood, "sizes", ())
        delta = np.exp(self._parameters[ranks.shape[1] :]).tolist()
        self.tie_parameters_ = dict(zip(sizes, delta, strict=True))
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def score_samples(self, X: ArrayLike) -> Floats:
        """Log probability of each ranking among all rankings of the same items.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 for rows that do not order any two items; minus infinity for ties of a size that did not occur in `fit`.
        """
        check_is_fitted(self)
        ranks = check_rankings(X, estimator=self, reset=False)
        ones = np.ones(len(ranks))
        if self.ties == "break":
            likelihood: Any = StageLikelihood(ranks, ones, self.alpha)
        else:
            likelihood = DavidsonLuceLikelihood(ranks, ones, self.alpha, self._likelihood.sizes)
        return likelihood.log_likelihoods(self._parameters)

    def score(self, X: ArrayLike, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log probability of rankings.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.
        y : Ignored
            Not used, present for API consistency by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each ranking occurred. None means once.

        Returns
        -------
        float
            In nats; at most 0.
        """
        logs = self.score_samples(X)
        return float(np.average(logs, weights=check_weights(sample_weight, logs)))

    def predict_proba(self, pairs: ArrayLike) -> Floats:
        """Probabilities of the outcomes of comparisons.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2)
            Labels of the two items of each comparison, as in `items_`.

        Returns
        -------
        ndarray of shape (n_pairs, 2) or (n_pairs, 3)
            Probabilities that the first item loses, that the two are tied (only with ``ties="davidson-luce"``), and
            that it wins.

        Raises
        ------
        ValueError
            If a label is not an item, or if an item is compared with itself. The message names the row.
        """
        check_is_fitted(self)
        table = label_table(pairs, "pairs")
        if table.shape[1] != 2:
            raise ValueError(f"pairs must have 2 columns, the items of each comparison; got {table.shape[1]}.")
        first, second = item_numbers(table, self.items_, "pairs")
        margin = self.scores_[first] - self.scores_[second]
        if self.ties == "break":
            return np.column_stack([expit(-margin), expit(margin)])
        with np.errstate(divide="ignore"):
            return davidson_proba(margin, np.log(np.float64(self.tie_parameters_.get(2, 0.0))))


def _cells(cluster, ranking, weight):
    n_rankings = int(ranking.max()) + 1
    key, cell = np.unique(cluster.astype(np.int64) * n_rankings + ranking, return_inverse=True)
    return RankingCells(key // n_rankings, key % n_rankings, np.bincount(cell, weight))


def _check_tie_sizes(ranks, weight):
    """Sizes of ties, from 2."""
    sizes = bucket_sizes(np.where(weight[:, None] > 0, ranks, MISSING))
    largest = sizes.max()
    if largest > LARGEST_TIE:
        row = int(np.argmax(sizes.max(axis=1)))
        raise ValueError(
            f"row {row} of X ties {largest} items, but ties='davidson-luce' takes ties of at most {LARGEST_TIE} as "
            "outcomes. Use ties='break', or NaN for items that were not ranked."
        )
    after = np.cumsum(sizes[:, ::-1], axis=1)[:, ::-1]
    if not ((sizes == 1) & (after > 1)).any():
        raise ValueError(
            "all stages are ties, so that the tie parameters of ties='davidson-luce' are infinite. Use ties='break', "
            "or add rankings without ties."
        )
    return tuple(int(size) for size in np.unique(sizes) if size > 1)
