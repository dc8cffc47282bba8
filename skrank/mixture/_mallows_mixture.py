"""Mixtures of Mallows models with any dispersions: peel, polish, exchange."""

from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skrank._rankings import check_rankings
from skrank._typing import RandomState, Unranked
from skrank.mixture._base import BaseMallowsMixture, with_shared_docs
from skrank.mixture._search import Centers, KMeans, Peel, Random

STARTS = {"peel": Peel, "kmeans": KMeans, "random": Random}


@with_shared_docs
class MallowsMixture(BaseMallowsMixture):
    """Mixture of Mallows models.

    Component i is a center, a full ranking c_i, and a dispersion phi_i in (0, 1]: a ranking at Kendall distance d
    from c_i has the probability ``phi_i^d / Z(phi_i)``. A ranking with ties has the probability of all full rankings
    consistent with it.

    Expectation-maximization (EM) with restarts gets stuck on close centers, unbalanced weights, or a center with two
    dispersions. This estimator finds such mixtures in three ways: it peels off or splits components one at a time,
    along directions in which the rankings contradict a single Mallows model; it alternates EM with adjacent
    transpositions of the centers, which EM cannot find; and it drops components and grows new ones as long as the
    description gets shorter.

    Parameters
    ----------
    {parameters}
    init : {"peel", "kmeans", "random"}, array-like of shape (n_components, n_items) or tuple of these, default="peel"
        Starts: peeling, clusters of the pair signs, rankings drawn at random, or given centers (rank vectors). With a
        tuple, each start is run and the result with the shortest description is kept; ("peel", "kmeans") is the most
        thorough.
    n_init : int, default=1
        Number of runs of each random start. Peeling rarely needs more than one.
    polish : bool, default=True
        If False, only plain EM is run from the starts, on all rankings: the usual method, for comparison.

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SeparatedMallowsMixture : For components whose dispersions differ.
    skrank.stats.mallows : A single Mallows model.

    Notes
    -----
    The result is a function of the weighted table of distinct rankings: repeated rows are equivalent to
    `sample_weight`, and the order of rows does not matter.

    With adjacent transpositions and the exchange of components, ``init="kmeans"`` is as good and takes about the same
    time. Growing additionally gives a path over the number of components, a misfit statistic (`goodness_of_fit`) and a
    result that does not depend on a number of restarts. With few rankings (see `n_samples_required_`), other centers
    can be more likely than the true ones, so the maximum of the likelihood may not be the truth.

    References
    ----------
    Allen Liu and Ankur Moitra, "Efficiently Learning Mixtures of Mallows Models", FOCS 2018. The search is
    inspired by Theorem 1.1, and has no guarantee of its own: the theorem needs n_items >= 10 k^2, and components that
    are at least mu apart in total variation from each other and from the uniform distribution. It takes up Fact 2
    (heavy hitters), Lemma 8 and Corollary 4 (peeling), Corollary 5 (test) and the independence of disjoint neighbors
    (first part of the proof of Theorem 6.1).

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
        "init": [StrOptions(set(STARTS)), "array-like", tuple],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "polish": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 1,
        *,
        max_components: int = 10,
        criterion: Literal["stability", "mdl", "split"] = "stability",
        min_weight: float = 0.02,
        max_iter: int = 150,
        tol: float = 1e-7,
        subsample: int = 3000,
        missing: Literal["auto", "subset", "marginal"] = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        unranked: Unranked = None,
        init: Any = "peel",
        n_init: int = 1,
        polish: bool = True,
    ) -> None:
        super().__init__(
            n_components=n_components,
            max_components=max_components,
            criterion=criterion,
            min_weight=min_weight,
            max_iter=max_iter,
            tol=tol,
            subsample=subsample,
            missing=missing,
            random_state=random_state,
            n_jobs=n_jobs,
            unranked=unranked,
        )
        self.init = init
        self.n_init = n_init
        self.polish = polish

    def _search_options(self):
        return replace(super()._search_options(), with_polish=self.polish)

    def _starts(self, n_items):
        names = self.init if isinstance(self.init, tuple) else (self.init,)
        if n_items < self.n_features_in_ and not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"init holds centers, but of {self.n_features_in_} items in a sparse X only the {n_items} most listed "
                f"are searched. Name a start instead, one of {tuple(STARTS)}."
            )
        starts = _starts_of(self.init, self.n_components, n_items)
        return [start for start in starts for _ in range(self.n_init if start.is_random else 1)]


def _starts_of(init, n_components, n_items):
    """The starts that `init` names or gives."""
    if not isinstance(init, tuple):
        return [_start_of(init, n_components, n_items)]
    if not init:
        raise ValueError("init is an empty tuple: name at least one start.")
    # A tuple of rows is one array of centers.
    if not any(isinstance(start, str) or np.ndim(start) == 2 for start in init):
        return [_start_of(init, n_components, n_items)]
    return [_start_of(start, n_components, n_items) for start in init]


def _start_of(init, n_components, n_items):
    if isinstance(init, str):
        if init not in STARTS:
            raise ValueError(f"init must be one of {tuple(STARTS)}, centers, or a tuple of them, got {init!r}.")
        return STARTS[init]()
    if n_components == "auto":
        raise ValueError('Centers given as init need their number as n_components, not "auto".')
    centers = check_rankings(init, input_name="init", allow_missing=False, allow_ties=False).astype(np.intp)
    if centers.shape != (n_components, n_items):
        raise ValueError(
            f"init must hold n_components={n_components} rank vectors of {n_items} items, got shape {centers.shape}."
        )
    return Centers(centers)
