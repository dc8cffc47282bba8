r"""Bradley-Terry likelihoods of judges who differ: by tastes of their own, or by how reliable they are.

The margin of items a and b for judge j is

- *tastes*: :math:`(\theta_a + u_{ja}) - (\theta_b + u_{jb})` with :math:`u_{ja} \sim N(0, \sigma^2)`,
- *slopes*: :math:`(1 + b_j) (\theta_a - \theta_b)` with :math:`b_j \sim N(0, \sigma^2)`.

Both are fitted at the mode: a ridge of strength :math:`\lambda = \sigma^{-2}` shrinks the judges toward the common
scores. :math:`\lambda` itself is where the Laplace approximation of its marginal likelihood has its maximum: for P
differences d with the inverse H of their information, :math:`\lambda = (P - \lambda\, \mathrm{tr}\, H) / |d|^2`
(Fellner and Schall [1]_); the trace is estimated with random signs.

.. [1] S. N. Wood and M. Fasiolo, "A generalized Fellner-Schall method for smoothing parameter optimization with
   application to Tweedie location, scale and shape models", Biometrics 73, 2017.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from skrank.linear_model._newton import InformationBase, find_mode
from skrank.linear_model._pair_likelihood import negative_log_likelihood

LEAST_STRENGTH, LARGEST_STRENGTH = 1e-2, 1e4
_N_PROBES = 8
_MAX_ROUNDS = 25


class Votes(NamedTuple):
    """Comparisons of one judge on one pair, added up; a tie is half a win."""

    judge: np.ndarray
    left: np.ndarray
    right: np.ndarray
    total: np.ndarray
    wins: np.ndarray
    n_judges: int
    n_items: int


def votes_of(judge, numbers, share, weight, n_judges, n_items):
    """Add up comparisons; `share` is what the first item won."""
    first, second = numbers
    turned = first > second
    left, right = np.where(turned, second, first), np.where(turned, first, second)
    share = np.where(turned, 1 - share, share)
    key, cell = np.unique((judge.astype(np.int64) * n_items + left) * n_items + right, return_inverse=True)
    total, wins = (np.bincount(cell, weight * part, len(key)) for part in (np.ones(len(share)), share))
    pair = key % n_items**2
    return Votes(key // n_items**2, pair // n_items, pair % n_items, total, wins, n_judges, n_items)


@dataclass(frozen=True)
class JudgeData:
    """Single comparisons with numbered judges and items."""

    judge: np.ndarray
    numbers: np.ndarray
    share: np.ndarray
    weight: np.ndarray
    n_judges: int
    n_items: int

    def votes(self, rows):
        """The votes of some rows."""
        return votes_of(
            self.judge[rows],
            (self.numbers[0][rows], self.numbers[1][rows]),
            self.share[rows],
            self.weight[rows],
            self.n_judges,
            self.n_items,
        )

    def folds(self, n_folds, rng):
        """A random fold of each row, of each judge's rows about equally many in each."""
        order = np.lexsort([rng.random(len(self.judge)), self.judge])
        fold = np.empty(len(order), np.intp)
        fold[order] = (np.arange(len(order)) + rng.integers(n_folds)) % n_folds
        return fold


@dataclass(frozen=True)
class JudgeLikelihood:
    """The penalized negative log-likelihood of votes as a function of common scores and judges' differences.

    Attributes
    ----------
    votes : Votes
    alpha : float
        Ridge of the scores.
    strength : float
        Ridge of the differences.
    slopes : bool
        Whether judges differ by slopes, else by tastes.
    """

    votes: Votes
    alpha: float
    strength: float
    slopes: bool

    @property
    def n_comparisons(self):
        return self.votes.total.sum()

    def scaled(self, factor):
        """The objective times a factor."""
        votes = self.votes._replace(total=self.votes.total * factor, wins=self.votes.wins * factor)
        return replace(self, votes=votes, alpha=self.alpha * factor, strength=self.strength * factor)

    @cached_property
    def nodes(self):
        """The pairs of judge and item that have a difference, as judge * n_items + item; judges alone for slopes."""
        if self.slopes:
            return np.arange(self.votes.n_judges)
        ends = [self.votes.judge * self.votes.n_items + end for end in (self.votes.left, self.votes.right)]
        return np.unique(np.concatenate(ends))

    @cached_property
    def _differences(self):
        """Matrix that takes scores to margins."""
        return _incidence(self.votes.left, self.votes.right, self.votes.n_items)

    @cached_property
    def _tastes(self):
        votes = self.votes
        left, right = (
            np.searchsorted(self.nodes, votes.judge * votes.n_items + end) for end in (votes.left, votes.right)
        )
        return hstack([self._differences, _incidence(left, right, len(self.nodes))]).tocsr()

    @cached_property
    def ridge(self):
        return np.repeat([self.alpha, self.strength], [self.votes.n_items, len(self.nodes)]).astype(float)

    def margins(self, parameters):
        """Log-odds of `left` against `right` of each row of votes."""
        if not self.slopes:
            return self._tastes @ parameters
        n_items = self.votes.n_items
        return (1 + parameters[n_items:])[self.votes.judge] * (self._differences @ parameters[:n_items])

    def jacobian(self, parameters):
        """Derivatives of the margins, sparse."""
        if not self.slopes:
            return self._tastes
        n_items, judge = self.votes.n_items, self.votes.judge
        rows = np.arange(len(judge))
        scores, slope = parameters[:n_items], (1 + parameters[n_items:])[judge]
        by_slope = csr_array((self._differences @ scores, (rows, judge)), shape=(len(rows), self.votes.n_judges))
        return hstack([self._differences * slope[:, None], by_slope]).tocsr()

    def value_and_gradient(self, parameters):
        """The objective and its first derivatives."""
        value, in_margin, _ = negative_log_likelihood(
            self.margins(parameters), None, self.votes.total, self.votes.wins, None
        )
        gradient = self.jacobian(parameters).T @ in_margin + self.ridge * parameters
        return value + 0.5 * self.ridge @ parameters**2, gradient

    def information(self, parameters):
        """The second derivatives. Those of slopes need not be positive definite far from the mode."""
        margins = self.margins(parameters)
        p = expit(margins)
        mixed = None
        if self.slopes:
            residual = self.votes.total * p - self.votes.wins
            rows = np.arange(len(residual))
            mixed = self._differences.T @ csr_array(
                (residual, (rows, self.votes.judge)), shape=(len(rows), self.votes.n_judges)
            )
        return _JudgeInformation(self.jacobian(parameters), self.votes.total * p * (1 - p), self.ridge, mixed)


class _JudgeInformation(InformationBase):
    """J' W J and the ridge; and, where margins are products of scores and slopes, what is mixed of the two."""

    def __init__(self, jacobian, weights, ridge, mixed):
        self.jacobian, self.weights, self.ridge, self.mixed = jacobian, weights, ridge, mixed
        self.transposed = jacobian.T.tocsr()
        self.diagonal = (self.transposed**2) @ weights + ridge

    def product(self, vector):
        """The matrix times a vector."""
        result = self.transposed @ (self.weights * (self.jacobian @ vector)) + self.ridge * vector
        if self.mixed is not None:
            n_items = self.mixed.shape[0]
            result[:n_items] += self.mixed @ vector[n_items:]
            result[n_items:] += self.mixed.T @ vector[:n_items]
        return result


def _incidence(left, right, n_columns):
    rows = np.arange(len(left))
    values = np.repeat([1.0, -1.0], len(rows))
    return csr_array((values, (np.tile(rows, 2), np.concatenate([left, right]))), shape=(len(rows), n_columns))


def fit_judges(votes, alpha, strength, slopes, start=None, max_iter=100, tol=1e-3):
    """Common scores and judges' differences, and the strength that shrinks them.

    Parameters
    ----------
    votes : Votes
    alpha : float
    strength : float or None
        None: by the marginal likelihood.
    slopes : bool
    start : ndarray of shape (n_items,), default=None
        Scores to begin with.
    max_iter, tol
        Of each search, see `find_mode`.

    Returns
    -------
    likelihood : JudgeLikelihood
        With the strength.
    parameters : ndarray
        Scores, then differences.
    converged : bool
    """
    likelihood = JudgeLikelihood(votes, alpha, 1.0 if strength is None else strength, slopes)
    parameters = np.zeros(votes.n_items + len(likelihood.nodes))
    if start is not None:
        parameters[: votes.n_items] = start
    signs = np.where(np.random.default_rng(0).random((_N_PROBES, len(likelihood.nodes))) < 0.5, -1.0, 1.0)
    for _ in range(_MAX_ROUNDS):
        parameters, info = find_mode(likelihood, parameters, _unchanged, max_iter, tol)
        if strength is not None:
            break
        updated = _updated_strength(likelihood, parameters, signs)
        if abs(np.log(updated / likelihood.strength)) < 0.02:
            break
        likelihood = replace(likelihood, strength=updated)
    return likelihood, parameters, info["converged"]


def _unchanged(parameters):
    return parameters


def _updated_strength(likelihood, parameters, signs):
    n_items = likelihood.votes.n_items
    information = likelihood.information(parameters)
    differences = parameters[n_items:]
    trace = 0.0
    for probe in signs:
        vector = np.concatenate([np.zeros(n_items), probe])
        trace += probe @ information.solve(vector, rtol=1e-3)[n_items:] / len(signs)
    freedom = max(len(differences) - likelihood.strength * trace, 1e-12)
    strength = freedom / max(differences @ differences, 1e-12)
    return float(np.clip(strength, LEAST_STRENGTH, LARGEST_STRENGTH))


def log_likelihoods(margin, share):
    """Log-likelihood of comparisons of which the first item won a share, given its log-odds."""
    return share * margin - np.logaddexp(0, margin)


def judge_margins(likelihood, parameters, judge, numbers):
    """Log-odds that the first item wins with each judge; judges and items that were not seen have no differences."""
    n_items = likelihood.votes.n_items
    scores, differences = parameters[:n_items], parameters[n_items:]
    margin = scores[numbers[0]] - scores[numbers[1]]
    if likelihood.slopes:
        return (1 + differences[judge]) * margin
    for sign, item in zip((1, -1), numbers, strict=True):
        key = judge * n_items + item
        place = np.minimum(np.searchsorted(likelihood.nodes, key), len(likelihood.nodes) - 1)
        margin = margin + sign * np.where(likelihood.nodes[place] == key, differences[place], 0)
    return margin
