"""Mixtures of Mallows models with distinct dispersions: heavy cells, pair tensors, selection, polish, exchange."""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from skrank._typing import RandomState
from skrank.exceptions import SeparationWarning
from skrank.mixture._base import BaseMallowsMixture
from skrank.mixture._moment_weights import moment_weights
from skrank.mixture._selection_of_atoms import separated_start


class SeparatedMallowsMixture(BaseMallowsMixture):
    """Mixture of Mallows models whose dispersions differ.

    Component i is a center, a full ranking c_i, and a dispersion phi_i in (0, 1]: a ranking at Kendall distance d
    from c_i has the probability ``phi_i^d / Z(phi_i)``. A ranking with ties has the probability of all full rankings
    consistent with it.

    If the dispersions differ, components can be told apart by any few neighbours, even where the centers are close or
    the same. The rankings that begin (or end) with the same few items, up to flips inside pairs, give a list of
    candidate centers: their consensus, and the centers that the tensor of their order bits reveals. Components are
    selected from the candidates with a grid of dispersions by likelihood, then polished (EM and exact flips of
    neighbours) and exchanged as in :class:`MallowsMixture`, of which this is the variant with a deterministic start.

    Parameters
    ----------
    n_components : int or "auto", default=1
        Number of components. "auto" grows the mixture until `criterion` says stop.
    separation : float, default=0.05
        Two fitted dispersions that are closer than this are warned of: there the reason for this estimator is gone.
        It does not change the fit.
    max_prefix : int, default=6
        Longest prefix and suffix, in items, whose rankings are looked at, in steps of two. A cell of a prefix of 2 m
        items can tell 2^m - 1 components apart and needs 40 rankings to try; longer prefixes are rarer.
    max_components : int, default=10
        The most that "auto" tries.
    criterion : {"mdl", "split"}, default="mdl"
        How "auto" decides. "mdl": grow while the description (`description_length_`) gets shorter. "split": grow
        while a split-sample likelihood ratio rejects the smaller mixture; too many components then have a probability
        of at most 5 %, but it takes more rankings to find them all.
    exchange : bool, default=True
        Whether components are dropped and grown again as long as the description gets shorter. Without it the fit is
        up to five times faster and draws nothing at random, and may stay in a local optimum.
    min_weight : float, default=0.02
        Components below it are taken for odd rankings. At least 10 rankings are always asked for.
    max_iter : int, default=150
        Iterations of EM at most.
    tol : float, default=1e-7
        EM stops when the mean penalised log-likelihood rises by less.
    subsample : int, default=3000
        Components are searched on at most so many rankings, drawn by weight; the last polish uses all.
    random_state : int, RandomState instance or None, default=None
        For the subsample and the exchange. An int gives the same mixture every time.
    n_jobs : int or None, default=None
        Bootstrap draws of `goodness_of_fit` in parallel, through joblib.

    Attributes
    ----------
    weights_ : ndarray of shape (n_components,)
        In decreasing order.
    centers_ : ndarray of shape (n_components, n_items)
        Rank vectors: the 0-based place of each item.
    dispersions_ : ndarray of shape (n_components,)
        phi in (0, 1]: 0 is no dispersion, 1 uniformly random rankings.
    moment_weights_ : ndarray of shape (n_components,)
        The mixing weights by Claim 6 of the paper: moments of test functions that annihilate all components but one,
        given the fitted centers and dispersions. A check on `weights_` that uses no likelihood, with an error up to
        six times larger; neither clipped to [0, 1] nor scaled to a sum of 1. NaN where the rankings have too few places
        without ties for ``n_components - 1`` pairs, or two components are the same.
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
        With "auto" the fits of each number of components, otherwise the final one; see :class:`MallowsMixture`.
    n_samples_required_ : float
        Number of full rankings from which all centers are determined with a risk of 5 %, if the mixture is right: the
        largest of ``log((n_items - 1) / .05) / log((1 + phi) / (2 sqrt(phi))) / weight``.
    n_features_in_ : int
        Number of items.
    feature_names_in_ : ndarray of shape (n_items,)
        Only if X is a DataFrame whose columns are strings.

    Warns
    -----
    SeparationWarning
        If two dispersions are closer than `separation`.
    InsufficientDataWarning, ConvergenceWarning
        As :class:`MallowsMixture`.

    See Also
    --------
    MallowsMixture : Any dispersions, equal ones too.
    skrank.stats.mallows : A single Mallows model.

    Notes
    -----
    The lemmas propose and the likelihood chooses. At realistic sample sizes the test functions alone, with dispersions
    and prefixes known, find a third of the centers (see the page on the theory of mixtures); as proposals they cost a
    few hundredths of a second. On well separated mixtures ``MallowsMixture(init="kmeans")`` finds the same optima.

    References
    ----------
    Allen Liu and Ankur Moitra, "Efficiently Learning Mixtures of Mallows Models", FOCS 2018: Theorems 1.4 and 7.1 (the
    plan), Claim 5 and Fact 2 (heavy prefixes and rankings), Lemma 10 (pair tensors), Claim 6 (weights), Lemma 11
    (test).

    Examples
    --------
    One ranking held firmly by some and loosely by others, which no clustering of the rankings separates:

    >>> import numpy as np
    >>> from skrank.mixture import SeparatedMallowsMixture
    >>> from skrank.stats import mallows
    >>> center = np.array([3, 0, 5, 1, 2, 4, 7, 6])
    >>> X = np.vstack([
    ...     mallows(center, 0.2).rvs(600, random_state=0),
    ...     mallows(center, 0.7).rvs(400, random_state=1),
    ... ])
    >>> mixture = SeparatedMallowsMixture(n_components=2, random_state=0).fit(X)
    >>> mixture.centers_
    array([[3, 0, 5, 1, 2, 4, 7, 6],
           [3, 0, 5, 1, 2, 4, 7, 6]])
    >>> mixture.dispersions_.round(1)
    array([0.2, 0.7])
    """

    _parameter_constraints: dict = {
        **BaseMallowsMixture._parameter_constraints,
        "separation": [Interval(Real, 0, 1, closed="both")],
        "max_prefix": [Interval(Integral, 2, None, closed="left")],
        "exchange": ["boolean"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 1,
        *,
        separation: float = 0.05,
        max_prefix: int = 6,
        max_components: int = 10,
        criterion: Literal["mdl", "split"] = "mdl",
        exchange: bool = True,
        min_weight: float = 0.02,
        max_iter: int = 150,
        tol: float = 1e-7,
        subsample: int = 3000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.separation = separation
        self.max_prefix = max_prefix
        self.max_components = max_components
        self.criterion = criterion
        self.exchange = exchange
        self.min_weight = min_weight
        self.max_iter = max_iter
        self.tol = tol
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _search_options(self):
        return replace(super()._search_options(), with_exchange=self.exchange)

    def _starts(self, data):
        return [partial(separated_start, options=self._search_options(), max_prefix=self.max_prefix)]

    def _fit_data(self, data, rng, options, progress):
        return self._search(data, self._starts(data), rng, options, progress)

    def _set_mixture(self, data, mixture):
        super()._set_mixture(data, mixture)
        self.moment_weights_ = moment_weights(data.ranks.T, data.weights, mixture.centers, mixture.dispersions)

    def _problems(self, data, search, options):
        found = super()._problems(data, search, options)
        for i, j in pairwise(np.argsort(self.dispersions_, kind="stable")):
            low, high = self.dispersions_[[i, j]]
            if high - low < self.separation:
                message = (
                    f"The dispersions {low:.3f} and {high:.3f} of components {i} and {j} are closer than "
                    f"separation={self.separation:g}, so they do not tell these components apart. Compare with "
                    "MallowsMixture, which needs no separation; lower separation if the fit is the one you want."
                )
                found.append((SeparationWarning, message))
        return found
