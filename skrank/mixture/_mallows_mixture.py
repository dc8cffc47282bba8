"""Mixtures of Mallows models with any dispersions: peel, polish, exchange."""

from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._rankings import check_rankings
from skrank._typing import RandomState
from skrank.mixture._base import BaseMallowsMixture
from skrank.mixture._fit import starts

INITS = ("peel", "kmeans", "random")


class MallowsMixture(BaseMallowsMixture):
    """Mixture of Mallows models.

    Component i is a center, a full ranking c_i, and a dispersion phi_i in (0, 1]: a ranking at Kendall distance d
    from c_i has the probability ``phi_i^d / Z(phi_i)``. A ranking with ties has the probability of all full rankings
    consistent with it.

    Where expectation-maximisation with restarts gets stuck (close centers, unbalanced weights, one center with two
    dispersions), this estimator goes on: components are peeled off or split one at a time, along directions in which
    the rankings cannot be one Mallows model, EM alternates with exact flips of neighbours in the centers that EM cannot
    see, and components are dropped and grown again as long as the description gets shorter.

    Parameters
    ----------
    n_components : int or "auto", default=1
        Number of components. "auto" grows the mixture until `criterion` says stop.
    max_components : int, default=10
        The most that "auto" tries.
    criterion : {"mdl", "split"}, default="mdl"
        How "auto" decides. "mdl": grow while the description (`description_length_`) gets shorter. "split": grow
        while a split-sample likelihood ratio rejects the smaller mixture; too many components then have a probability
        of at most 5 %, whatever the number of rankings, but it takes more rankings to find them all.
    min_weight : float, default=0.02
        Components below it are taken for odd rankings. At least 10 rankings are always asked for.
    init : {"peel", "kmeans", "random"}, array-like of shape (n_components, n_items) or tuple of these, default="peel"
        Where to start: peeling, clusters of the pair signs, rankings drawn at random, or given centers (rank
        vectors). Each one of a tuple is run, and the shortest description kept: ("peel", "kmeans") is the most
        careful.
    n_init : int, default=1
        Runs of each start that is random. Peeling hardly needs more than one.
    polish : bool, default=True
        False is plain EM from the starts, on all rankings: the usual method, for comparison.
    max_iter : int, default=150
        Iterations of EM at most.
    tol : float, default=1e-7
        EM stops when the mean penalised log-likelihood rises by less.
    subsample : int, default=3000
        Components are searched on at most so many distinct rankings, drawn by weight; the last polish uses all.
    random_state : int, RandomState instance or None, default=None
        For the starts and the subsample. An int gives the same mixture every time.
    n_jobs : int or None, default=None
        Starts (and bootstrap draws) in parallel, through joblib.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        In decreasing order.
    centers_ : ndarray of shape (n_components, n_items)
        Rank vectors: the 0-based place of each item.
    dispersions_ : ndarray of shape (n_components,)
        phi in (0, 1]: 0 is no dispersion, 1 uniformly random rankings.
    n_components_ : int
    lower_bound_ : float
        Mean penalised log-likelihood, which EM never lowers: each component also sees half a pseudo-ranking at
        distance 1 from its center.
    description_length_ : float
        Nats to describe the mixture and, by it, the rankings.
    converged_ : bool
        Whether the last EM converged.
    n_iter_ : int
        Iterations of the last EM.
    path_ : list of MixtureFit
        Mixtures of fewer components on the way and the final one, each with `n_components`, `weights`, `centers`,
        `dispersions`, `log_likelihood` (a mean) and `description_length`. With "auto" all are fits to all rankings;
        with a given number those before the last are as peeled, not polished, on at most `subsample` rankings.
    n_samples_required_ : float
        Number of full rankings from which all centers are determined with a risk of 5 %, if the mixture is right: the
        largest of ``log((n_items - 1) / .05) / log((1 + phi) / (2 sqrt(phi))) / weight``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of shape (n_items,)
        Only if X is a DataFrame whose columns are strings.

    See Also
    --------
    SeparatedMallowsMixture : For components whose dispersions differ.
    skrank.stats.mallows : A single Mallows model.

    Notes
    -----
    Everything is a function of the weighted table of distinct rankings: repeated rows equal `sample_weight`, and the
    order of rows does not matter.

    Given flips and exchange, ``init="kmeans"`` does as well in equal time. Growing gives a path over the number of
    components, a misfit statistic (`goodness_of_fit`) and an answer that does not hang on a restart count;
    not an optimum that nothing else reaches. The maximum of the likelihood is not the
    truth either: with few rankings (see `n_samples_required_`) other centers can be more likely than the true ones.

    References
    ----------
    Allen Liu and Ankur Moitra, "Efficiently Learning Mixtures of Mallows Models", FOCS 2018: Theorem 1.1 (the plan),
    Lemmas 4 and 7 (independence of neighbours), Fact 2 (heavy hitters), Lemma 8 and Corollary 4 (peeling), Corollary
    5 (test).

    Examples
    --------
    Two groups of voters over five candidates:

    >>> import numpy as np
    >>> from skrank.mixture import MallowsMixture
    >>> first, second = [0, 1, 2, 3, 4], [4, 3, 2, 0, 1]
    >>> X = np.array([first, [1, 0, 2, 3, 4], [0, 1, 3, 2, 4], second, [3, 4, 2, 0, 1]])
    >>> mixture = MallowsMixture(n_components=2, random_state=0)
    >>> mixture.fit(X, sample_weight=[300, 40, 30, 150, 25]).centers_
    array([[0, 1, 2, 3, 4],
           [4, 3, 2, 0, 1]])
    >>> mixture.weights_.round(2)
    array([0.68, 0.32])
    >>> mixture.predict([[4, 3, 2, 1, 0]])
    array([1])
    """

    _parameter_constraints: dict = {
        **BaseMallowsMixture._parameter_constraints,
        "init": [StrOptions(set(INITS)), "array-like", tuple],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "polish": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 1,
        *,
        max_components: int = 10,
        criterion: Literal["mdl", "split"] = "mdl",
        min_weight: float = 0.02,
        init: Any = "peel",
        n_init: int = 1,
        polish: bool = True,
        max_iter: int = 150,
        tol: float = 1e-7,
        subsample: int = 3000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.criterion = criterion
        self.min_weight = min_weight
        self.init = init
        self.n_init = n_init
        self.polish = polish
        self.max_iter = max_iter
        self.tol = tol
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _inits(self, data):
        return _checked_inits(self.init, self.n_components, data.n_items)

    def _starts(self, data):
        return starts(self._inits(data), self.n_init)

    def _fit_data(self, data, rng, options, progress):
        inits = self._inits(data)
        return self._search(data, inits, rng, options, progress, self.n_init, self.polish)


def _checked_inits(init, n_components, n_items):
    """The starts as a list of names and of arrays of centers (positions)."""
    if not isinstance(init, tuple):
        return [_checked_init(init, n_components, n_items)]
    if not init:
        raise ValueError("init is an empty tuple: name at least one start.")
    # A tuple of rows is one array of centers.
    if not any(isinstance(start, str) or np.ndim(start) == 2 for start in init):
        return [_checked_init(init, n_components, n_items)]
    return [_checked_init(start, n_components, n_items) for start in init]


def _checked_init(init, n_components, n_items):
    if isinstance(init, str):
        if init not in INITS:
            raise ValueError(f"init must be one of {INITS}, centers, or a tuple of them, got {init!r}.")
        return init
    if n_components == "auto":
        raise ValueError('Centers given as init need their number as n_components, not "auto".')
    centers = check_rankings(init, input_name="init", allow_missing=False, allow_ties=False).astype(np.intp)
    if centers.shape != (n_components, n_items):
        raise ValueError(
            f"init must hold n_components={n_components} rank vectors of {n_items} items, got shape {centers.shape}."
        )
    return centers
