"""How sure a mixture is of its components: refits to voters redrawn with replacement, components matched."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrank._rankings import check_rankings, ordering
from skrank._typing import ArrayLike, Floats, Integers
from skrank.metrics import match_components
from skrank.mixture._bootstrap_refits import n_draws_a_block, refit
from skrank.mixture._em import expectation
from skrank.mixture._marginal import MarginalRankings, climb
from skrank.mixture._missing import MAX_ITER, SETTLED, leaves_items_out, posterior
from skrank.mixture._model import Mixture
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._search import FOUND, Search, subsample
from skrank.mixture._search._halves import soft_jaccard
from skrank.mixture._transpositions import polish, polish_large
from skrank.mixture._voters import make_table

MOST_COUNTED = 3000  # voters by which components are compared
MOST_POLISHED = 20_000  # distinct voters; more are polished by the moves of large data
SETTLED_DRAW = 1e-6  # a refit need not settle further than the redraws differ
EDGE = 1e-9


@dataclass(frozen=True, repr=False)
class MixtureBootstrap:
    """Result of :meth:`skrank.MallowsMixture.bootstrap`: the mixture and its refits to redrawn voters.

    Attributes
    ----------
    weights, dispersions : ndarrays of shape (n_components,)
        Weights and dispersions of the mixture.
    centers : ndarray of shape (n_components, n_items)
        Rank vectors of the mixture.
    drawn_weights, drawn_dispersions : ndarrays of shape (n_draws, n_components)
        Weights and dispersions of the refits, with the components in the order of the mixture.
    drawn_centers : ndarray of shape (n_draws, n_components, n_items)
        Rank vectors of the refits.
    indices : ndarray of shape (n_draws, n_components)
        Soft Jaccard index of each component with the matched one of the refit.
    item_names : ndarray of shape (n_items,)
        Names of the items.
    missing : {"subset", "marginal"}
        The model of missing items.
    n_draws : int
        Number of redraws.
    recovery : ndarray of shape (n_components,)
        Proportion of the redraws in which the component is found again, that is, with an index above .5.
    neighbor_agreement : ndarray of shape (n_components, n_items - 1)
        For the items at positions t and t + 1 of a center, the proportion of redraws that order them in the same way.
    place_shares : ndarray of shape (n_components, n_items, n_items)
        Proportion of the redraws in which the component's center has the item (axis 1) at the position (axis 2).

    Examples
    --------
    >>> from skrank import MallowsMixture
    >>> from skrank.datasets import make_mallows_mixture
    >>> X, _ = make_mallows_mixture(400, 5, n_components=2, phi=0.4, weights=[0.6, 0.4], random_state=0)
    >>> sure = MallowsMixture(n_components=2, random_state=0).fit(X).bootstrap(X, n_draws=50)
    >>> low, high = sure.weight_intervals().T
    >>> bool((low < [0.6, 0.4]).all() and (high > [0.6, 0.4]).all())
    True
    >>> sure.rank_sets()[0]    # the first and the last place of each item that 90 % of the redraws need
    array([[2, 2],
           [4, 4],
           [3, 3],
           [0, 0],
           [1, 1]])
    """

    weights: Floats
    dispersions: Floats
    centers: Integers
    drawn_weights: Floats
    drawn_dispersions: Floats
    drawn_centers: Integers
    indices: Floats
    item_names: Any
    missing: str = "subset"

    @property
    def n_draws(self) -> int:
        """Number of redraws."""
        return len(self.drawn_weights)

    @property
    def recovery(self) -> Floats:
        """Proportion of the redraws in which a component came back."""
        return (self.indices > FOUND).mean(axis=0)

    @property
    def neighbor_agreement(self) -> Floats:
        """Proportion of the redraws that order neighbors of a center the same."""
        order = np.broadcast_to(ordering(self.centers), self.drawn_centers.shape)
        return (np.diff(np.take_along_axis(self.drawn_centers, order, axis=2), axis=2) > 0).mean(axis=0)

    @property
    def place_shares(self) -> Floats:
        """Proportion of the redraws for each component, item and place."""
        return (self.drawn_centers[..., None] == np.arange(self.centers.shape[1])).mean(axis=0)

    def weight_intervals(self, level: float = 0.95) -> Floats:
        """Confidence intervals of the weights.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        intervals : ndarray of shape (n_components, 2)
            Normal on the scale of log(w / (1 - w)), with the standard deviation over the redraws.
        """
        return _intervals(self.weights, self.drawn_weights, level)

    def dispersion_intervals(self, level: float = 0.95) -> Floats:
        """Confidence intervals of the dispersions.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        intervals : ndarray of shape (n_components, 2)
            Normal on the scale of log(phi / (1 - phi)), with the standard deviation over the redraws.
        """
        return _intervals(self.dispersions, self.drawn_dispersions, level)

    def rank_sets(self, level: float = 0.9) -> Integers:
        """Positions that an item may have in a component's center.

        Parameters
        ----------
        level : float, default=0.9
            Coverage for one item.

        Returns
        -------
        rank_sets : ndarray of shape (n_components, n_items, 2)
            First and last position, from 0, of the smallest range that includes the item's position in the center and
            has at most (1 - level) / 2 of the redraws on either side.
        """
        _check_level(level)
        tail = (1 - level) / 2
        below = np.cumsum(self.place_shares, axis=2)
        # A place is needed if more than the tail of the redraws are there or beyond.
        first = (below > tail + EDGE).argmax(axis=2)
        last = (below >= 1 - tail - EDGE).argmax(axis=2)
        return np.stack([np.minimum(first, self.centers), np.maximum(last, self.centers)], axis=2)

    def predict_proba(self, X: ArrayLike, groups: ArrayLike | None = None) -> Floats:
        """Probabilities of the components, averaged over the refits.

        The probabilities of the mixture itself treat its parameters as known, so they are overconfident if components
        are close or voters are few.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_items)
            Rank matrix.
        groups : array-like of shape (n_samples,), default=None
            The voter of each row, as in `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
        """
        data, inverse = make_table(check_rankings(X), None, groups)
        total = np.zeros((len(self.weights), data.n_rows))
        for centers, dispersions, weights in zip(
            self.drawn_centers, self.drawn_dispersions, self.drawn_weights, strict=True
        ):
            total += posterior(data, Mixture(centers, dispersions, weights), self.missing)[0]
        return (total / total.sum(axis=0)).T[inverse]

    def table(self, level: float = 0.9) -> dict[str, Any]:
        """One row for each item of each component, in the order of its center: ``pandas.DataFrame(result.table())``.

        Parameters
        ----------
        level : float, default=0.9
            Coverage of the intervals and the rank sets.

        Returns
        -------
        columns : dict of str to ndarray of shape (n_components * n_items,)
            component, weight, weight_low, weight_high, dispersion, dispersion_low, dispersion_high, recovery, item,
            place, place_low, place_high (from 0), and above_next: the proportion of redraws in which the item precedes
            the next one (NaN for the last).
        """
        k, n_items = self.centers.shape
        order = ordering(self.centers)
        sets = np.take_along_axis(self.rank_sets(level), order[..., None], axis=1)
        above = np.column_stack([self.neighbor_agreement, np.full(k, np.nan)])
        by_component = {
            "component": np.arange(k),
            **_with_bounds("weight", self.weights, self.weight_intervals(level)),
            **_with_bounds("dispersion", self.dispersions, self.dispersion_intervals(level)),
            "recovery": self.recovery,
        }
        return {
            **{name: np.repeat(values, n_items) for name, values in by_component.items()},
            "item": np.asarray(self.item_names)[order].ravel(),
            "place": np.tile(np.arange(n_items), k),
            "place_low": sets[..., 0].ravel(),
            "place_high": sets[..., 1].ravel(),
            "above_next": above.ravel(),
        }

    def __str__(self) -> str:
        lines = []
        weights, dispersions = self.weight_intervals(), self.dispersion_intervals()
        order, sets = ordering(self.centers), self.rank_sets() + 1
        for i in range(len(self.weights)):
            lines.append(
                f"component {i}: weight {self.weights[i]:.3f} ({weights[i, 0]:.3f} to {weights[i, 1]:.3f}), dispersion "
                f"{self.dispersions[i]:.3f} ({dispersions[i, 0]:.3f} to {dispersions[i, 1]:.3f}), came back in "
                f"{100 * self.recovery[i]:.0f} % of {self.n_draws} redraws"
            )
            for place, item in enumerate(order[i], 1):
                low, high = sets[i, item]
                places = f"place {low}" if low == high else f"places {low} to {high}"
                lines.append(f"{place:>6}  {self.item_names[item]}  ({places})")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"MixtureBootstrap(n_draws={self.n_draws}, recovery={self.recovery.round(2).tolist()})"


def bootstrap(data, mixture, n_draws, rng, options, *, item_names, missing="subset", starts=None, n_jobs=None):
    """The `MixtureBootstrap` of a mixture; refits start from the mixture, with `starts` they are searched anew."""
    seeds = rng.integers(2**63, size=n_draws)
    if not leaves_items_out(data):
        missing = "subset"
    if starts is None and isinstance(data, PairSigns):
        parts = _refits_from_itself(data, mixture, seeds, options, n_jobs)
    else:
        parts = _refits_one_by_one(data, mixture, seeds, options, missing, starts, n_jobs, rng)
    names = np.asarray(item_names, dtype=object)
    weights, dispersions, centers, indices = parts
    return MixtureBootstrap(
        mixture.weights,
        mixture.dispersions,
        mixture.centers,
        weights,
        dispersions,
        centers,
        indices,
        names,
        missing,
    )


def _refits_from_itself(data, mixture, seeds, options, n_jobs):
    """Weights, dispersions, centers and indices of refits that start from the mixture, many at a time."""
    membership = expectation(data, mixture)[0]
    size = n_draws_a_block(data, mixture)
    tasks = (
        delayed(_refit_block)(data, mixture, membership, seeds[start : start + size], max(options.tol, SETTLED_DRAW))
        for start in range(0, len(seeds), size)
    )
    return [np.concatenate(values) for values in zip(*Parallel(n_jobs=n_jobs)(tasks), strict=True)]


def _refit_block(data, mixture, membership, seeds, tol):
    with threadpool_limits(1):
        counts = np.array([_redrawn(data, seed) for seed in seeds])
        refits, responsibilities = refit(data, mixture, counts, tol)
    weights = data.weights.astype(np.float32)
    both = np.minimum(responsibilities, membership) @ weights
    indices = both / np.maximum(membership @ weights + responsibilities @ weights - both, np.finfo(float).tiny)
    return refits.weights, refits.dispersions, refits.centers, indices


def _redrawn(data, seed):
    """How often each voter is in a redraw with replacement."""
    rng = np.random.default_rng(seed)
    size = max(round(data.total_weight), 1)
    if data.unit_weights:
        return np.bincount(rng.integers(data.n_rows, size=size), minlength=data.n_rows).astype(float)
    return rng.multinomial(size, data.weights / data.total_weight).astype(float)


def _refits_one_by_one(data, mixture, seeds, options, missing, starts, n_jobs, rng):
    """The same of refits that are searched for, or of voters who leave items out; components are matched."""
    rows = subsample(data, MOST_COUNTED, rng)
    refits = Parallel(n_jobs=n_jobs)(delayed(_refit)(data, mixture, seed, options, missing, starts) for seed in seeds)
    membership = expectation(rows, mixture)[0]
    matched = [_in_the_order_of(mixture, one) for one in refits]
    indices = [
        [
            soft_jaccard(own[None], other[None], rows.weights)[0]
            for own, other in zip(membership, expectation(rows, one)[0], strict=True)
        ]
        for one in matched
    ]
    parameters = ([getattr(one, name) for one in matched] for name in ("weights", "dispersions", "centers"))
    return *(np.array(values) for values in parameters), np.array(indices)


def _refit(data, mixture, seed, options, missing, starts):
    """The mixture fitted to voters drawn with replacement."""
    counts = _redrawn(data, seed)
    rows = np.flatnonzero(counts)
    drawn = data.subset(rows, counts[rows])
    tol = max(options.tol, SETTLED_DRAW)
    with threadpool_limits(1):
        if starts is not None:
            rng = np.random.default_rng([seed, 1])
            mixture = Search(drawn, starts, options, rng).fixed(mixture.n_components).mixture
        if missing == "marginal":
            return climb(MarginalRankings(drawn), mixture, MAX_ITER, SETTLED / drawn.total_weight)
        if starts is not None:
            return mixture
        return (polish if drawn.n_rows <= MOST_POLISHED else polish_large)(drawn, mixture, options.max_iter, tol)


def _in_the_order_of(mixture, refit):
    """The refit with each component at the number of the mixture's that it matches."""
    sides = [(one.centers, one.dispersions, one.weights) for one in (mixture, refit)]
    order = match_components(*sides).components
    return Mixture(refit.centers[order], refit.dispersions[order], refit.weights[order])


def _intervals(estimates, drawn, level):
    _check_level(level)
    spread = logit(np.clip(drawn, EDGE, 1 - EDGE)).std(axis=0, ddof=1) if len(drawn) > 1 else np.inf
    middle = logit(np.clip(estimates, EDGE, 1 - EDGE))
    reach = norm.ppf((1 + level) / 2) * spread
    return expit(np.stack([middle - reach, middle + reach], axis=1))


def _with_bounds(name, values, intervals):
    return {name: values, f"{name}_low": intervals[:, 0], f"{name}_high": intervals[:, 1]}


def _check_level(level):
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")
