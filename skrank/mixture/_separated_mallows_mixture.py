"""Mixtures of Mallows models with distinct dispersions: heavy cells, pair tensors, selection, polish, exchange."""

from dataclasses import replace
from itertools import pairwise
from numbers import Integral, Real
from typing import Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from skrank._typing import RandomState, Unranked
from skrank.exceptions import SeparationWarning
from skrank.mixture._base import BaseMallowsMixture, with_shared_docs
from skrank.mixture._liu_moitra import moment_weights
from skrank.mixture._search import Separated
from skrank.mixture._voters import complete_table


@with_shared_docs
class SeparatedMallowsMixture(BaseMallowsMixture):
    """Mixture of Mallows models whose dispersions differ.

    Component i is a center, a full ranking c_i, and a dispersion phi_i in (0, 1]: a ranking at Kendall distance d
    from c_i has the probability ``phi_i^d / Z(phi_i)``. A ranking with ties has the probability of all full rankings
    consistent with it.

    If the dispersions differ, a few neighboring items are sufficient to distinguish components, even if their centers
    are close or equal. Candidate centers are derived from rankings that begin (or end) with the same few items, up to
    the order inside pairs: their consensus, and the centers found from the tensor of the orders of pairs. Components
    are selected by likelihood from the candidates with a grid of dispersions. They are then polished (EM and adjacent
    transpositions) and exchanged as in :class:`MallowsMixture`; this estimator is its variant with a fixed start.

    Parameters
    ----------
    {parameters}
    separation : float, default=0.05
        A warning is issued if two fitted dispersions differ by less than this, or if one is above ``1 - separation``,
        because this estimator then has no advantage. It does not affect the fit.
    max_prefix : int, default=6
        Maximum number of items in prefixes and suffixes, in steps of two. A cell with a prefix of 2 m items can
        distinguish 2^m - 1 components and requires 40 rankings; longer prefixes are rarer.
    exchange : bool, default=True
        Whether components are dropped and grown again as long as the description gets shorter. Without it, the fit is
        up to five times faster and not random, but may stay in a local optimum.

    Attributes
    ----------
    {attributes}
    moment_weights_ : ndarray of shape (n_components,)
        Mixing weights by Claim 6 of the paper, that is, from moments of test functions that annihilate all components
        but one, given the fitted centers and dispersions. They are a check of `weights_` that does not use the
        likelihood; their error is up to six times larger. They are neither clipped to [0, 1] nor scaled to a sum of 1.
        NaN if the rankings have too few positions without ties for ``n_components - 1`` pairs, or if two components are
        equal.

    Warns
    -----
    SeparationWarning
        If two dispersions are closer than `separation`, or one is above ``1 - separation``.
    InsufficientDataWarning, ConvergenceWarning
        As :class:`MallowsMixture`.

    See Also
    --------
    MallowsMixture : Any dispersions, equal ones too.
    skrank.stats.mallows : A single Mallows model.

    Notes
    -----
    The lemmas of the paper propose candidates, and the likelihood selects among them. At realistic sample sizes, the
    test functions alone, with known dispersions and prefixes, find a third of the centers (see the page on the theory
    of mixtures); as proposals, they take a few hundredths of a second. On well separated mixtures,
    ``MallowsMixture(init="kmeans")`` finds the same optima.

    References
    ----------
    Allen Liu and Ankur Moitra, "Efficiently Learning Mixtures of Mallows Models", FOCS 2018. The start follows
    the plan of Theorems 1.4 and 7.1, which need n_items >= 10 k, dispersions at least gamma apart (`separation`) and at
    most 1 - gamma; Claim 5 and Fact 2 (heavy prefixes and rankings), Lemma 10 (pair tensors), Claim 6 (weights), Lemma
    11 (test).

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
        separation: float = 0.05,
        max_prefix: int = 6,
        exchange: bool = True,
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
        self.separation = separation
        self.max_prefix = max_prefix
        self.exchange = exchange

    def _search_options(self):
        return replace(super()._search_options(), with_exchange=self.exchange)

    def _starts(self, n_items):
        return [Separated(self.max_prefix)]

    def _set_mixture(self, data, mixture, searched):
        super()._set_mixture(data, mixture, searched)
        complete = complete_table(searched)
        if not complete.n_rows or complete.n_items < mixture.centers.shape[1]:
            self.moment_weights_ = np.full(mixture.n_components, np.nan)
            return
        self.moment_weights_ = moment_weights(complete.ranks.T, complete.weights, mixture.centers, mixture.dispersions)

    def _problems(self, data, least_weight, n_effective):
        found = super()._problems(data, least_weight, n_effective)
        for i, j in pairwise(np.argsort(self.dispersions_, kind="stable")):
            low, high = self.dispersions_[[i, j]]
            if high - low < self.separation:
                message = (
                    f"The dispersions {low:.3f} and {high:.3f} of components {i} and {j} are closer than "
                    f"separation={self.separation:g}, so they do not tell these components apart. Compare with "
                    "MallowsMixture, which needs no separation; lower separation if the fit is the one you want."
                )
                found.append((SeparationWarning, message))
        for component in np.flatnonzero(self.dispersions_ > 1 - self.separation):
            message = (
                f"The dispersion {self.dispersions_[component]:.3f} of component {component} is within "
                f"separation={self.separation:g} of 1, where rankings are nearly uniform and do not show a center. "
                "Compare with MallowsMixture, which needs no separation; lower separation if the fit is the one you "
                "want."
            )
            found.append((SeparationWarning, message))
        return found
