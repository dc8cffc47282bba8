r"""Plackett-Luce likelihood of rankings, with tied items in any order.

Item i has the worth :math:`w_i = e^{\theta_i}`. A ranking is made in stages: the next item is i with probability
:math:`w_i / Z`, with Z the worth of what is left. Items that a ranking does not rank are no choices. The last bucket,
tied or not, is what remains, and contributes nothing.

A bucket S of several items before others, of worth W, comes first in any order with the probability

.. math:: P = \int_0^1 \prod_{i \in S} (1 - u^{w_i / W}) \, du,

the probability that exponential clocks with the rates :math:`w_i`, :math:`i \in S`, all ring before the first of the
others. In :math:`x = \log(-\log u)` the integrand is analytic in a strip and decays on both sides, so that the
trapezoidal rule converges exponentially: with steps of at most 0.35 its error is about 1e-10. With
:math:`v_i = e^{x + \theta_i - \log W}` and :math:`a_i = v_i / (e^{v_i} - 1)`, under the integrand as a density,
:math:`\partial \log P / \partial \theta_i = E a_i` and the second derivatives are
:math:`\mathrm{Cov}(a_i, a_j) + [i = j] E\, a_i (1 - a_i - v_i)`; those by :math:`\log W` follow, as P depends on
differences only.

Items of a ranking are in its order. A stage at position s is open to all positions from s on, so that sums over
stages are cumulative sums over positions, and sums over choices cumulative sums from the end.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from skrank._rankings import MISSING, n_ranked, ordering
from skrank.linear_model._covariance import Contributions
from skrank.linear_model._newton import InformationBase

_STEP = 0.35
_EXTREME = 300.0
_MOST_FACTORS = 30  # of a product of numbers up to 10^4
_LEAST = 1e-150  # worth relative to the largest, whose square is a number
_BLOCK = 1 << 20  # numbers in an array
_KEPT = 1 << 23  # ranks, up to which what is computed from scores is kept


class Buckets(NamedTuple):
    """Tied buckets of one size that others come after: their ranking and their first position."""

    row: np.ndarray
    start: np.ndarray
    size: int


@dataclass(frozen=True)
class StageLikelihood:
    """The penalized negative log-likelihood of distinct rankings as a function of the scores.

    Attributes
    ----------
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings.
    weights : ndarray of shape (n_rankings,)
        How often each was seen.
    alpha : float
        Strength of the penalty.
    """

    ranks: np.ndarray
    weights: np.ndarray
    alpha: float

    n_others = 0

    def __reduce__(self):
        return type(self), (self.ranks, self.weights, self.alpha)  # not what was cached

    @property
    def n_comparisons(self):
        return self.weights.sum()

    def scaled(self, factor):
        """The objective times a factor."""
        other = replace(self, weights=self.weights * factor, alpha=self.alpha * factor)
        vars(other).update({name: vars(self)[name] for name in ("_blocks",) if name in vars(self)})
        return other

    def start(self):
        """Equal scores."""
        return np.zeros(self.ranks.shape[1])

    @cached_property
    def _blocks(self):
        """Blocks of rankings: their slice, items in order, and stages."""
        rows = max(1, _BLOCK // self.ranks.shape[1])
        return [
            (slice(start, start + rows), *_stages(self.ranks[start : start + rows]))
            for start in range(0, len(self.ranks), rows)
        ]

    def terms(self, scores):
        """Slice of rankings, items in order and `_Terms` of each block; those of the last scores are kept."""
        if self.ranks.size > _KEPT:
            return ((rows, items, _Terms(scores, items, stages)) for rows, items, stages in self._blocks)
        if not np.array_equal(self._last["scores"], scores):
            self._last["scores"] = scores.copy()
            self._last["terms"] = [(rows, items, _Terms(scores, items, stages)) for rows, items, stages in self._blocks]
        return self._last["terms"]

    @cached_property
    def _last(self):
        return {"scores": None, "terms": None}

    def value_and_gradient(self, scores):
        """The objective and its first derivatives."""
        value, gradient = 0.5 * self.alpha * scores @ scores, self.alpha * scores
        for rows, items, terms in self.terms(scores):
            weights = self.weights[rows]
            value -= weights @ terms.log_likelihood()
            gradient -= _add_up(items, weights[:, None] * terms.gradient(), len(scores))
        return value, gradient

    def information(self, scores):
        """The second derivatives."""
        return StageInformation(self, scores)

    def log_likelihoods(self, scores):
        """Log-likelihood of each ranking."""
        return np.concatenate([terms.log_likelihood() for _, _, terms in self.terms(scores)])

    def contributions(self, scores, cells):
        """Gradient and information of each ranking and cluster, in blocks of bounded memory; see `Contributions`.

        `cells` is a list of (cluster, ranking, weight), ascending by cluster.
        """
        cluster, ranking, weight = cells
        size = max(1, _BLOCK // self.ranks.shape[1] ** 2)
        start = 0
        while start < len(cluster):
            stop = min(start + size, len(cluster))
            stop = int(np.searchsorted(cluster, cluster[stop - 1], side="right"))
            rows, factor = ranking[start:stop], weight[start:stop]
            items, stages = _stages(self.ranks[rows])
            terms = _Terms(scores, items, stages)
            yield Contributions(
                cluster[start:stop],
                items,
                factor[:, None] * terms.gradient(),
                factor[:, None, None] * terms.information(),
            )
            start = stop


class _Stages(NamedTuple):
    """Which positions of each ranking are chosen from, in (n_rankings, n_positions), and the tied buckets."""

    ranked: np.ndarray  # positions that hold ranked items
    single: np.ndarray  # positions that are stages of a single item, not the last
    buckets: list


def _stages(ranks):
    items = ordering(ranks)
    bucket = np.take_along_axis(ranks, items, axis=1).astype(np.intp)
    width = int(n_ranked(ranks).max(initial=1))
    items, bucket = items[:, :width], bucket[:, :width]
    ranked = bucket != MISSING
    last = bucket.max(axis=1, keepdims=True)
    first = np.ones(bucket.shape, bool)
    first[:, 1:] = bucket[:, 1:] != bucket[:, :-1]
    ends = np.ones(bucket.shape, bool)
    ends[:, :-1] = first[:, 1:]
    before = ranked & (bucket < last)
    row, start = np.nonzero(before & first & ~ends)
    size = np.nonzero(before & ends & ~first)[1] - start + 1 if len(row) else start
    buckets = [Buckets(row[size == k], start[size == k], int(k)) for k in np.unique(size)]
    return items, _Stages(ranked, before & first & ends, buckets)


class _Terms:
    """What value and derivatives are made of, for a block of rankings."""

    def __init__(self, scores, items, stages):
        self.stages = stages
        theta = scores[items]
        self.theta = theta
        self.largest = np.where(stages.ranked, theta, -np.inf).max(axis=1, keepdims=True, initial=-1e300)
        self.worth = np.where(stages.ranked, np.exp(theta - self.largest), 0)
        self.left = np.maximum(_from_end(self.worth), _LEAST)
        self.bursts = [_Burst(self, buckets) for buckets in stages.buckets]
        self.own = stages.single.astype(np.float64)
        self.first, self.second = self.own.copy(), self.own.copy()
        for burst in self.bursts:
            self.own[burst.row[:, None], burst.members] = burst.slope
            self.first[burst.row, burst.end] += burst.slope.sum(axis=1)
            self.second[burst.row, burst.end] += burst.slope.sum(axis=1) + burst.curvature.sum(axis=(1, 2))

    def log_likelihood(self):
        logs = np.where(self.stages.single, self.theta - self.largest - np.log(self.left), 0)
        result = logs.sum(axis=1)
        for burst in self.bursts:
            np.add.at(result, burst.row, burst.log_probability)
        return result

    def gradient(self):
        """Of the log-likelihood."""
        return self.own - self.worth * np.cumsum(self.first / self.left, axis=1)

    def diagonal(self):
        """Diagonal of the information."""
        first, second = self._cumulated()
        result = self.worth * first - self.worth**2 * second
        for burst in self.bursts:
            result[burst.row[:, None], burst.members] -= np.diagonal(burst.curvature, axis1=1, axis2=2)
        return result

    def product(self, vector):
        """The information times a vector of values of the positions."""
        weighted = _from_end(self.worth * vector)
        inner = -self.second * weighted / self.left / self.left
        result = self.worth * vector * np.cumsum(self.first / self.left, axis=1)
        for burst in self.bursts:
            mine = vector[burst.row[:, None], burst.members]
            mixed = burst.curvature.sum(axis=2)  # minus what is mixed with the logarithm of the others' worth
            share = weighted[burst.row, burst.end] / self.left[burst.row, burst.end]
            result[burst.row[:, None], burst.members] += (
                mixed * share[:, None] - (burst.curvature @ mine[:, :, None])[:, :, 0]
            )
            inner[burst.row, burst.end] += (mixed * mine).sum(axis=1) / self.left[burst.row, burst.end]
        return result + self.worth * np.cumsum(inner, axis=1)

    def information(self):
        """Dense, (n_rankings, n_positions, n_positions)."""
        n_positions = self.worth.shape[1]
        first, second = self._cumulated()
        position = np.arange(n_positions)
        earlier = np.minimum(position[:, None], position)
        result = -self.worth[:, :, None] * self.worth[:, None, :] * second[:, earlier]
        result[:, position, position] += self.worth * first
        for burst in self.bursts:
            rows, members = burst.row[:, None, None], burst.members
            result[rows, members[:, :, None], members[:, None, :]] -= burst.curvature
            share = np.where(
                position >= burst.end[:, None],
                self.worth[burst.row] / self.left[burst.row, burst.end][:, None],
                0,
            )
            mixed = burst.curvature.sum(axis=2)[:, :, None] * share[:, None, :]
            result[rows, members[:, :, None], position] += mixed
            result[rows, position[:, None], members[:, None, :]] += mixed.transpose(0, 2, 1)
        return result

    def _cumulated(self):
        return np.cumsum(self.first / self.left, axis=1), np.cumsum(self.second / self.left / self.left, axis=1)


class _Burst:
    """Tied buckets of one size: logarithms of their probabilities, with first and second derivatives."""

    def __init__(self, terms, buckets):
        self.row, size = buckets.row, buckets.size
        self.members = buckets.start[:, None] + np.arange(size)
        self.end = buckets.start + size
        theta = terms.theta[self.row[:, None], self.members] - terms.largest[self.row]
        log_ratio = theta - np.log(terms.left[self.row, self.end])[:, None]
        parts = -(-64 * log_ratio.size // _BLOCK)
        blocks = [tied_first(block) for block in np.array_split(log_ratio, parts)]
        self.log_probability, self.slope, self.curvature = map(np.concatenate, zip(*blocks, strict=True))


def tied_first(log_ratio):
    """Logarithm of the probability that tied items come before all others, and its derivatives.

    Parameters
    ----------
    log_ratio : ndarray of shape (n_buckets, size)
        Scores of the tied items, less the logarithm of the worth of all others.

    Returns
    -------
    log_probability : ndarray of shape (n_buckets,)
    slope : ndarray of shape (n_buckets, size)
    curvature : ndarray of shape (n_buckets, size, size)
        Second derivatives.
    """
    size = log_ratio.shape[1]
    clipped = np.clip(log_ratio, -_EXTREME, _EXTREME)
    ratio = np.exp(clipped)
    # As P >= prod s / (1 + s), the integrand below x is less than e^((size + 1) x) prod(1 + s) of it, and above x less
    # than e^(x - e^x) prod(1 + s) / s.
    lowest = min((36 + size * np.log1p(ratio.max())) / (size + 1), 36.0)
    highest = np.log(40 + size * np.log1p(1 / ratio.min()))
    step = min(_STEP, 0.7 / np.sqrt(size + 1))  # many items make a narrow integrand
    x = np.arange(-lowest, highest, step)
    v = ratio[:, :, None] * np.exp(x)
    rung = -np.expm1(-v)
    density, log_probability = _normalized(rung, np.minimum(ratio, 1), x, step)
    a = v * (1 - rung) / rung
    slope = (a @ density[:, :, None])[:, :, 0]
    centered = a - slope[:, :, None]
    curvature = (centered * density[:, None, :]) @ centered.transpose(0, 2, 1)
    number = np.arange(size)
    curvature[:, number, number] += ((a * (1 - a - v)) @ density[:, :, None])[:, :, 0]
    below = np.minimum(log_ratio + _EXTREME, 0)  # P is proportional to the worth there
    return log_probability + below.sum(axis=1), slope, curvature


def _normalized(rung, scale, x, step):
    """The integrand as a density over x, and the logarithm of the integral; `scale` is against underflow."""
    if rung.shape[1] <= _MOST_FACTORS:
        product = np.multiply.reduce(rung / scale[:, :, None], axis=1)
        density = product * (np.exp(x - np.exp(x)) * step)
        log_scale = np.log(scale).sum(axis=1)
    else:
        logs = np.log(rung).sum(axis=1) + x - np.exp(x) + np.log(step)
        log_scale = logs.max(axis=1)
        density = np.exp(logs - log_scale[:, None])
    total = density.sum(axis=1)
    return density / total[:, None], np.log(total) + log_scale


class StageInformation(InformationBase):
    """Second derivatives of a `StageLikelihood` at some scores: products without the matrix."""

    def __init__(self, likelihood, scores):
        self.likelihood, self.scores = likelihood, scores

    @cached_property
    def diagonal(self):  # type: ignore[override]
        n_items = len(self.scores)
        total = np.full(n_items, float(self.likelihood.alpha))
        for rows, items, terms in self.likelihood.terms(self.scores):
            total += _add_up(items, self.likelihood.weights[rows, None] * terms.diagonal(), n_items)
        return total

    def product(self, vector):
        """The matrix times a vector."""
        result = self.likelihood.alpha * vector
        for rows, items, terms in self.likelihood.terms(self.scores):
            result += _add_up(items, self.likelihood.weights[rows, None] * terms.product(vector[items]), len(vector))
        return result

    def tocsr(self):
        """The matrix."""
        n_items = len(self.scores)
        total = self.likelihood.alpha * np.eye(n_items)
        cells = np.arange(len(self.likelihood.weights))
        for terms in self.likelihood.contributions(self.scores, (cells, cells, self.likelihood.weights)):
            cell = terms.parameters[:, :, None] * n_items + terms.parameters[:, None, :]
            total += np.bincount(cell.ravel(), terms.information.ravel(), n_items**2).reshape(n_items, n_items)
        return csr_array(total)


def _from_end(values):
    """Cumulative sums from the last position."""
    return np.cumsum(values[:, ::-1], axis=1)[:, ::-1]


def _add_up(items, values, n_items):
    return np.bincount(items.ravel(), values.ravel(), n_items)
