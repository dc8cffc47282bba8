"""Groups of judges who compare: a mixture of Bradley-Terry models."""

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._fitting import all_or_nothing, warn_caller
from skrank._random import as_generator
from skrank._typing import ArrayLike, Items, RandomState, _fit_context
from skrank.linear_model._personal_bradley_terry import JudgeEstimator
from skrank.mixture._comparison_components import VoteMatrices, grown, one_component, win_probability
from skrank.mixture._judge_models import choose_components, mixture_path, stability


class BradleyTerryMixture(JudgeEstimator):
    r"""Groups of judges: a mixture of Bradley-Terry models.

    Each judge belongs to one of k components and compares items by the scores of this component. "auto" only accepts
    components that are found again in halves of the judges and that predict held-out votes better than common scores
    do; random differences between judges satisfy neither condition.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of components.
    max_components : int, default=6
        Largest number that "auto" tries.
    alpha : float, default=0.1
        Strength of the regularization of each component's scores, as of
        :class:`~skrank.linear_model.BradleyTerry`; above 0.
    items : array-like of shape (n_items,), default=None
        Labels of the items, in the order of the columns of `scores_`. None: those in X, sorted.
    cv : int, default=5
        Number of parts into which the votes are divided; "auto" holds out each part in turn. Each part contains about
        the same number of votes of each judge.
    random_state : int, RandomState instance or None, default=None
        Determines the parts and the halves.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        Proportions of the judges, the largest first.
    scores_ : ndarray of shape (n_components, n_items)
        Scores in log-odds. Each row sums to zero.
    judge_proba_ : ndarray of shape (n_judges, n_components)
        Probability that a judge belongs to each component.
    stability_ : ndarray of shape (n_components,)
        How well each component is found again in random halves of the judges: the mean, over the halves, of its soft
        Jaccard index (from 0 to 1) with the most similar component of the half. 1 for a single component.
    held_out_gains_ : ndarray or None
        Gain in the log-likelihood of a held-out vote, in nats, of mixtures of 1, 2, ... components compared with common
        scores; None if `n_components` is a number.
    n_components_ : int
        Number of components.
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
    compare_judge_models : Whether groups describe the judges better than tastes or slopes.
    MallowsMixture : Groups of people who rank.

    Notes
    -----
    The mixture is fitted by EM to the numbers of wins by judge and pair. It grows by splitting each component along the
    main directions in which its judges differ, and keeps the most likely result. A tie counts as half a win. Numbers of
    components are candidates if the gain on held-out votes is above 2 standard errors (clustered by judges) and the
    least stability is at least 0.6, the limit of :class:`MallowsMixture`; the candidate with the largest gain is
    selected.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.mixture import BradleyTerryMixture
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
            The outcomes, as of :meth:`skrank.linear_model.BradleyTerry.fit`.
        sample_weight : array-like of shape (n_comparisons,), default=None
            How often each comparison was made. None: once.
        groups : array-like of shape (n_comparisons,)
            The judge of each comparison: labels of any type. Required.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If items, outcomes or weights are invalid, as in :meth:`skrank.linear_model.BradleyTerry.fit`; if a judge is
            missing; if there are more components than judges.

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
