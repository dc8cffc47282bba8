r"""Mixtures of Bradley-Terry models: each judge belongs to one of k components, which have scores of their own.

EM on the net wins of each judge on each pair. With W and T the sparse matrices (judges, pairs) of wins and
comparisons and M the margins (pairs, components), the log-likelihoods of the judges are :math:`W M - T \log(1 + e^M)`,
and the M-step's wins and totals :math:`W^\top R` and :math:`T^\top R` of the responsibilities R. The M-step is one
Newton step, which EM does not need to be more than. A mixture grows as those of rankings do by splits: each component
in two along the main directions in which its judges' residuals differ, a short EM for each, the likeliest kept.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp

from skrank.linear_model._judges import Votes, log_likelihoods

_LARGEST_STEP = 1.0  # log-odds of a Newton step
_N_DIRECTIONS = 2
_SHORT, _LONG = 12, 300


@dataclass(frozen=True)
class VoteMatrices:
    """Votes as matrices (judges, pairs) of wins and totals."""

    votes: Votes

    @cached_property
    def pairs(self):
        """First and second items of the pairs."""
        keys = self._keys[0]
        return keys // self.votes.n_items, keys % self.votes.n_items

    @cached_property
    def _keys(self):
        return np.unique(self.votes.left * self.votes.n_items + self.votes.right, return_inverse=True)

    def _matrix(self, values):
        keys, pair = self._keys
        return csr_array((values, (self.votes.judge, pair)), shape=(self.votes.n_judges, len(keys)))

    @cached_property
    def wins(self):
        return self._matrix(self.votes.wins)

    @cached_property
    def totals(self):
        return self._matrix(self.votes.total)

    @cached_property
    def wins_of_pairs(self):
        return self.wins.T.tocsr()

    @cached_property
    def totals_of_pairs(self):
        return self.totals.T.tocsr()

    def margins(self, scores):
        """(pairs, components)."""
        left, right = self.pairs
        return (scores[:, left] - scores[:, right]).T


@dataclass(frozen=True)
class Components:
    """A mixture: weights (k,), scores (k, n_items); after EM the penalized log-likelihood and responsibilities."""

    weights: np.ndarray
    scores: np.ndarray
    objective: float = -np.inf
    responsibilities: np.ndarray | None = None
    converged: bool = False

    @property
    def n_components(self):
        return len(self.weights)

    def sorted(self):
        """Heaviest first."""
        order = np.argsort(-self.weights, kind="stable")
        responsibilities = None if self.responsibilities is None else self.responsibilities[:, order]
        return Components(self.weights[order], self.scores[order], self.objective, responsibilities, self.converged)


def expectation(data, components):
    """Responsibilities (judges, k) and the log-likelihood."""
    margins = data.margins(components.scores)
    logs = data.wins @ margins - data.totals @ np.logaddexp(0, margins) + np.log(components.weights)
    total = logsumexp(logs, axis=1)
    return np.exp(logs - total[:, None]), total.sum()


def maximization(data, responsibilities, scores, alpha):
    """Weights (with one judge spread over all, so that none vanishes), and scores after one Newton step."""
    n_components, n_items = scores.shape
    left, right = data.pairs
    totals, wins = data.totals_of_pairs @ responsibilities, data.wins_of_pairs @ responsibilities
    p = expit(data.margins(scores))
    flow, curvature = (wins - totals * p).T, (totals * p * (1 - p)).T
    updated = np.empty_like(scores)
    for number in range(n_components):
        gradient = np.bincount(left, flow[number], n_items) - np.bincount(right, flow[number], n_items)
        information = np.zeros(n_items * n_items)
        for row, column, sign in ((left, left, 1), (right, right, 1), (left, right, -1), (right, left, -1)):
            information += sign * np.bincount(row * n_items + column, curvature[number], n_items**2)
        information = information.reshape(n_items, n_items) + alpha * np.eye(n_items)
        step = np.linalg.solve(information, gradient - alpha * scores[number])
        updated[number] = scores[number] + step * min(1.0, _LARGEST_STEP / max(np.abs(step).max(), 1e-12))
    mass = responsibilities.sum(axis=0) + 1 / n_components
    return Components(mass / mass.sum(), updated)


def em(data, components, alpha, max_iter=_LONG, tol=1e-5):
    """EM until the objective rises by less than `tol` nats for each judge in a hundred, or `max_iter` M-steps."""
    best = components
    for n_iter in range(max_iter + 1):
        responsibilities, log_likelihood = expectation(data, components)
        objective = log_likelihood - 0.5 * alpha * (components.scores**2).sum()
        converged = abs(objective - best.objective) < tol * (1 + len(responsibilities) / 100)
        if objective >= best.objective:
            best = Components(components.weights, components.scores, objective, responsibilities, bool(converged))
        if converged or n_iter == max_iter:
            break
        components = maximization(data, responsibilities, components.scores, alpha)
    return best


def one_component(data, alpha):
    """The common scores."""
    n_items = data.votes.n_items
    return em(data, Components(np.ones(1), np.zeros((1, n_items))), alpha)


def grown(data, components, alpha):
    """The likeliest mixture with one component more."""
    candidates = [
        em(data, candidate, alpha, _SHORT)
        for component in range(components.n_components)
        for candidate in _splits(data, components, component, alpha)
    ]
    return em(data, max(candidates, key=lambda one: one.objective), alpha)


def _splits(data, components, component, alpha):
    """A component in two, by the sign of its judges' residuals along their main directions."""
    left, right = data.pairs
    n_items, n_pairs = data.votes.n_items, len(left)
    rows = np.tile(np.arange(n_pairs), 2)
    differences = csr_array(
        (np.repeat([1.0, -1.0], n_pairs), (rows, np.concatenate([left, right]))), shape=(n_pairs, n_items)
    )
    p = expit(data.margins(components.scores[[component]]))[:, 0]
    residuals = data.wins @ differences - data.totals @ (differences * p[:, None]).tocsr()
    size = np.maximum(data.totals.sum(axis=1), 1)
    own = components.responsibilities[:, component]
    weighted = residuals.toarray() * np.sqrt(own / size)[:, None]
    directions = np.linalg.svd(weighted, full_matrices=False)[2][:_N_DIRECTIONS]
    for direction in directions:
        first = (residuals @ direction > 0) * own
        responsibilities = np.column_stack(
            [np.delete(components.responsibilities, component, axis=1), first, own - first]
        )
        scores = np.vstack([np.delete(components.scores, component, axis=0), components.scores[[component] * 2]])
        start = maximization(data, responsibilities, scores, alpha)
        for _ in range(2):
            start = maximization(data, responsibilities, start.scores, alpha)
        yield start


def mixed_log_likelihoods(data, components, judge, numbers, share):
    """Log-likelihood of comparisons of judges whose other votes are the data."""
    responsibilities, _ = expectation(data, components)
    p = win_probability(components.scores, responsibilities[judge], numbers)
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return log_likelihoods(np.log(p) - np.log1p(-p), share)


def win_probability(scores, responsibilities, numbers):
    """That the first item wins, for a mixture with these responsibilities."""
    margins = scores[:, numbers[0]] - scores[:, numbers[1]]
    return np.einsum("nk,kn->n", responsibilities, expit(margins))
