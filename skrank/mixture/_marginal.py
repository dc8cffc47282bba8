"""The marginal model of missing items: a voter has a full Mallows ranking, and the places of some items are unknown.

The probability of a ranking is then the sum over the full rankings consistent with it. Where it is cheap the sum is
exact, otherwise a mean of weighted draws (``stats._mallows_completions``). The draws' random numbers are a function of
the ranking and the draw, so that a likelihood is one function of the parameters, which can be climbed and compared.

The *subset* model of `PairCounts` takes a ranking for one of just the items that it ranks. Both are probabilities of
the same data, the orders of the items that voters ranked, with equally many parameters: they compare by likelihood.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skrank._mallows import dispersion_from_mean_distance, log_q_factorial
from skrank._random import hash_rows, random_words, uniform
from skrank._rankings import MISSING, n_buckets, ordering, row_blocks
from skrank.mixture._em import LEAST_DISPERSION
from skrank.mixture._model import (
    PSEUDO_DISTANCE,
    PSEUDO_RANKINGS,
    Mixture,
    log_densities,
    pseudo_log_likelihood,
)
from skrank.mixture._pair_counts import PairCounts
from skrank.stats._kemeny import local_kemeny
from skrank.stats._mallows_completions import MAX_LOG, completion_sums, insertion_draws, shapes
from skrank.stats._mallows_missing import n_states

N_DRAWS = 32
MAX_STATES = 1024  # of a ranking that is summed exactly
MAX_STATES_ALONE = 64  # and of one that shares its shape with few others, since each shape costs a pass
FEW_ITEMS = 6  # of so many items all rankings are summed
LEAST_EFFECTIVE = 0.25  # share of the draws that must count, on average: below, their noise hides the likelihood
MOST_ITEMS = 30  # above, the many adjacent transpositions take too long
PROBED = 300  # rankings on which that is tried first


class _Shape(NamedTuple):
    """Rankings that are summed exactly together."""

    shape: np.ndarray
    rows: np.ndarray
    items: np.ndarray


class MarginalRankings:
    """The rankings of a table of voters under the marginal model.

    Parameters
    ----------
    data : PairCounts
    n_draws : int, default=32
        Of each ranking that is not summed exactly; and of each one for the pair sums.

    Attributes
    ----------
    data : PairCounts
    ranks : ndarray of shape (n_rankings, n_items)
        The distinct rankings of the table.
    members : csr_array of shape (n_rows, n_rankings)
    """

    def __init__(self, data, n_draws=N_DRAWS):
        used = np.unique(data.members.indices)
        self.data, self.n_draws, self.n_items = data, n_draws, data.n_items
        self.members, self.ranks = data.members[:, used], data.ranks[used]
        # Without missing items there is a closed form, and a ranking that orders nothing is certain.
        is_open = (self.ranks == MISSING).any(axis=1) & (n_buckets(self.ranks) > 1)
        self.open, self._closed_rows = np.flatnonzero(is_open), np.flatnonzero(~is_open)
        self._closed = PairCounts(self.ranks[self._closed_rows])
        summed = [_Shape(shape, self.open[rows], items) for shape, rows, items in shapes(self.ranks[self.open])]
        self._summed = [one for one in summed if _is_cheap(one)]
        exact = np.concatenate([np.empty(0, np.intp), *(one.rows for one in self._summed)])
        self.drawn = np.setdiff1d(self.open, exact)

    @property
    def total_weight(self):
        return self.data.total_weight

    def _uniform(self, rows):
        """The random numbers of rankings, (n_items, n_rankings, n_draws)."""
        words = random_words(hash_rows(self.ranks[rows]), self.n_items * self.n_draws)
        return uniform(words).reshape(len(rows), self.n_items, self.n_draws).transpose(1, 0, 2)

    def _draw_blocks(self, rows, center, dispersion):
        """`insertion_draws` of some rankings, a block at a time, with the block's rows."""
        nu = -np.log(dispersion)
        for block in row_blocks(len(rows), 40 * self.n_items * self.n_draws, max_rows=4096):
            some = rows[block]
            yield some, *insertion_draws(self.ranks[some], center, nu, self._uniform(some))

    # ------------------------------------------------------------ one component
    def log_probabilities(self, center, dispersion):
        """Log probability of each ranking, and the mean distance of the full rankings consistent with it."""
        nu = -np.log(dispersion)
        log_probabilities, distances = np.zeros((2, len(self.ranks)))
        log_probabilities[self._closed_rows] = log_densities(self._closed, center[None], np.array([dispersion]))[0]
        distances[self._closed_rows] = self._closed.distances(center)[0]
        summed, drawn = self._summed, self.drawn
        if nu * self.data.n_pairs > MAX_LOG:
            summed, drawn = [], self.open
        log_normalizer = log_q_factorial(self.n_items, nu)[-1]
        for shape, rows, items in summed:
            log_sums, distances[rows] = completion_sums(shape, center[items], nu)
            log_probabilities[rows] = log_sums - log_normalizer
        for rows, log_weights, drawn_distances, _ in self._draw_blocks(drawn, center, dispersion):
            total = logsumexp(log_weights, axis=1)
            log_probabilities[rows] = total - np.log(self.n_draws)
            distances[rows] = (np.exp(log_weights - total[:, None]) * drawn_distances).sum(axis=1)
        return np.minimum(log_probabilities, 0.0), distances

    def expected_pair_sums(self, weights, center, dispersion):
        """Sum of the expected pair signs of rankings, times their weights, (n_pairs,): by draws."""
        sums = self._closed.pair_sums(weights[None, self._closed_rows])[0]
        for rows, log_weights, _, positions in self._draw_blocks(self.open, center, dispersion):
            share = np.exp(log_weights - logsumexp(log_weights, axis=1)[:, None]) * weights[rows][:, None]
            share = share.ravel().astype(np.float32)
            flat = positions.reshape(self.n_items, -1)
            start = 0
            for item in range(self.n_items - 1):
                pairs = slice(start, start + self.n_items - 1 - item)
                sums[pairs] += 2 * ((flat[item] < flat[item + 1 :]).astype(np.float32) @ share) - share.sum()
                start = pairs.stop
        return sums

    def effective_share(self, center, dispersion, weights):
        """Weighted mean of the effective sample size of the draws, as a share of their number; 1 if none are needed."""
        if not len(self.drawn) or not weights[self.drawn].any():
            return 1.0
        shares = []
        for _, log_weights, _, _ in self._draw_blocks(self.drawn, center, dispersion):
            drawn = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
            shares.append(drawn.sum(axis=1) ** 2 / (drawn**2).sum(axis=1) / self.n_draws)
        return float(np.average(np.concatenate(shares), weights=weights[self.drawn]))


def _is_cheap(shape):
    states = n_states(shape.shape)
    if states > MAX_STATES:
        return False
    return len(shape.shape) <= FEW_ITEMS or states <= MAX_STATES_ALONE * len(shape.rows)


# ---------------------------------------------------------------- mixtures
class Evaluation(NamedTuple):
    """A mixture on voters under the marginal model."""

    responsibilities: np.ndarray  # (n_components, n_rows)
    log_likelihood: float  # mean over voters
    log_density: np.ndarray  # (n_rows,)
    distances: np.ndarray  # (n_components, n_rankings): mean distances of the consistent full rankings


def evaluate(rankings, mixture):
    """E-step."""
    parts = [rankings.log_probabilities(*one) for one in zip(mixture.centers, mixture.dispersions, strict=True)]
    joint = np.array([rankings.members @ log_probability for log_probability, _ in parts])
    with np.errstate(divide="ignore"):
        joint += np.log(mixture.weights)[:, None]
    log_density = logsumexp(joint, axis=0)
    data = rankings.data
    log_likelihood = float(log_density @ data.weights / data.total_weight)
    return Evaluation(np.exp(joint - log_density), log_likelihood, log_density, np.array([part[1] for part in parts]))


def climb(rankings, mixture, max_iter=150, tol=1e-6, max_rounds=8):
    """EM of the marginal model from a mixture, until the mean penalized log-likelihood rises by less than tol.

    Weights and dispersions climb with the centers fixed. Then the centers move to the weighted Kemeny consensus of the
    expected pair signs, all of them or none: kept if that, with new weights and dispersions, is likelier.
    """
    best, at = _climb_with_fixed_centers(rankings, mixture, max_iter, tol)
    for _ in range(max_rounds):
        centers = _moved_centers(rankings, best, at)
        if np.array_equal(centers, best.centers):
            break
        candidate, at_candidate = _climb_with_fixed_centers(rankings, replace(best, centers=centers), max_iter, tol)
        if candidate.lower_bound < best.lower_bound + tol:
            break
        best, at = candidate, at_candidate
    return best


def polish(rankings, mixture, max_iter=150, tol=1e-6, max_moves=20):
    """The climb and adjacent transpositions of the centers, which it cannot see, in turn, until none gains."""
    mixture = climb(rankings, mixture, max_iter, tol)
    if rankings.n_items > MOST_ITEMS:
        return mixture
    for _ in range(max_moves):
        losses = exchange_losses(rankings, mixture)
        component, place = np.unravel_index(losses.argmin(), losses.shape)
        if losses[component, place] > -tol * rankings.total_weight:
            break
        centers = mixture.centers.copy()
        items = np.argsort(centers[component])[[place, place + 1]]
        centers[component, items] = centers[component, items[::-1]]
        candidate = climb(rankings, replace(mixture, centers=centers), max_iter, tol)
        if candidate.lower_bound < mixture.lower_bound + tol:
            break
        mixture = candidate
    return mixture


def _climb_with_fixed_centers(rankings, mixture, max_iter, tol):
    best = None
    for n_iter in range(max_iter + 1):
        at = evaluate(rankings, mixture)
        penalty = pseudo_log_likelihood(rankings.n_items, mixture.dispersions) / rankings.total_weight
        lower_bound = at.log_likelihood + penalty
        converged = best is not None and bool(lower_bound - best[0].lower_bound < tol)
        if best is None or lower_bound >= best[0].lower_bound:
            best = replace(mixture, log_likelihood=at.log_likelihood, lower_bound=lower_bound), at
        if converged or n_iter == max_iter:
            return replace(best[0], n_iter=n_iter, converged=converged), best[1]
        mixture = _with_new_weights_and_dispersions(rankings, mixture, at)


def _with_new_weights_and_dispersions(rankings, mixture, at):
    row_weights = at.responsibilities * rankings.data.weights
    by_ranking = (rankings.members.T @ row_weights.T).T
    closed = rankings._closed
    mass = by_ranking[:, rankings.open].sum(axis=1) + PSEUDO_RANKINGS
    # A closed ranking is as far as one of the items that it ranks, less what is inside its buckets.
    coefficients = -by_ranking[:, rankings._closed_rows] @ (closed.patterns[closed.pattern])
    coefficients[:, -1] += by_ranking[:, rankings._closed_rows].sum(axis=1) + mass
    scale = row_weights.sum(axis=1) + PSEUDO_RANKINGS
    target = ((by_ranking * at.distances).sum(axis=1) + PSEUDO_RANKINGS * PSEUDO_DISTANCE) / scale
    dispersions = dispersion_from_mean_distance(rankings.n_items, target, coefficients / scale[:, None])
    weights = row_weights.sum(axis=1)
    return Mixture(mixture.centers, np.maximum(dispersions, LEAST_DISPERSION), weights / weights.sum())


def _moved_centers(rankings, mixture, at):
    by_ranking = (rankings.members.T @ (at.responsibilities * rankings.data.weights).T).T
    components = zip(by_ranking, mixture.centers, mixture.dispersions, strict=True)
    sums = np.array([rankings.expected_pair_sums(*one) for one in components])
    return np.argsort(local_kemeny(sums, ordering(mixture.centers))[0], axis=1)


def exchange_losses(rankings, mixture):
    """What exchanging neighbors of each center costs in total log-likelihood, (n_components, n_items - 1)."""
    components = list(zip(mixture.centers, mixture.dispersions, strict=True))
    joint = np.array([rankings.members @ rankings.log_probabilities(*one)[0] for one in components])
    with np.errstate(divide="ignore"):
        joint += np.log(mixture.weights)[:, None]
    before = logsumexp(joint, axis=0)
    losses = np.empty((mixture.n_components, rankings.n_items - 1))
    for component, (center, dispersion) in enumerate(components):
        order = np.argsort(center)
        for place in range(rankings.n_items - 1):
            exchanged, changed = center.copy(), joint.copy()
            exchanged[order[[place, place + 1]]] = center[order[[place + 1, place]]]
            changed[component] = rankings.members @ rankings.log_probabilities(exchanged, dispersion)[0]
            changed[component] += np.log(mixture.weights[component])
            losses[component, place] = rankings.data.weights @ (before - logsumexp(changed, axis=0))
    return losses


def is_within_reach(rankings, mixture):
    """Whether the draws reach the rankings: their mean effective sample size is a quarter of their number at least.

    Tried on a few rankings first.
    """
    if not len(rankings.drawn):
        return True
    at_most = rankings.data.n_rows
    few = np.unique(np.linspace(0, at_most - 1, min(PROBED, at_most)).astype(int))
    probe = MarginalRankings(rankings.data.subset(few), rankings.n_draws)
    mass = np.asarray(probe.members.sum(axis=0)).ravel()
    shares = [probe.effective_share(*one, mass) for one in zip(mixture.centers, mixture.dispersions, strict=True)]
    return bool(mixture.weights @ np.array(shares) >= LEAST_EFFECTIVE)
