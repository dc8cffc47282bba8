r"""Davidson-Luce likelihood of rankings, where ties are outcomes.

At each stage a set T of t items is chosen from what is left, with a probability proportional to
:math:`\delta_t (\prod_{i \in T} w_i)^{1/t}`, where :math:`\delta_1 = 1` and t is one of the sizes that occur [1]_. With
:math:`x_i = w_i^{1/t}` the sum over all sets of t items is the elementary symmetric polynomial :math:`e_t(x)`. Without
item i it is :math:`e_t(S \setminus i) = \sum_a (-x_i)^a e_{t - a}(S)`, and likewise without two, so that all
derivatives are sums of outer products.

Parameters are the scores, then :math:`\log \delta_t` of each size t above 1.

.. [1] D. Firth, I. Kosmidis and H. Turner, "Davidson-Luce model for multi-item choice with ties", arXiv:1909.07123,
   2019.
"""

from dataclasses import dataclass, replace

import numpy as np

from skrank._rankings import MISSING
from skrank.linear_model._covariance import Contributions
from skrank.linear_model._newton import Information

LARGEST_TIE = 4
_BLOCK = 1 << 20  # numbers in an array


@dataclass(frozen=True)
class DavidsonLuceLikelihood:
    """The penalized negative log-likelihood of distinct rankings as a function of the parameters.

    Attributes
    ----------
    ranks : ndarray of shape (n_rankings, n_items)
        Densified rankings.
    weights : ndarray of shape (n_rankings,)
        How often each was seen.
    alpha : float
        Strength of the penalty on the scores.
    sizes : tuple of int
        Sizes of ties, from 2.
    """

    ranks: np.ndarray
    weights: np.ndarray
    alpha: float
    sizes: tuple

    @property
    def n_comparisons(self):
        return self.weights.sum()

    @property
    def n_others(self):
        return len(self.sizes)

    def scaled(self, factor):
        """The objective times a factor."""
        return replace(self, weights=self.weights * factor, alpha=self.alpha * factor)

    def start(self):
        """Equal scores, and all sets equally probable."""
        return np.zeros(self.ranks.shape[1] + self.n_others)

    def value_and_gradient(self, parameters):
        """The objective and its first derivatives."""
        n_items = self.ranks.shape[1]
        scores = parameters[:n_items]
        value, gradient = 0.5 * self.alpha * scores @ scores, np.zeros(len(parameters))
        gradient[:n_items] = self.alpha * scores
        for choices in self._blocks(np.arange(len(self.ranks)), parameters):
            weights = self.weights[choices.row]
            value -= weights @ choices.log_likelihood()
            gradient -= weights @ choices.gradient()
        return value, gradient

    def log_likelihoods(self, parameters):
        """Log-likelihood of each ranking."""
        result = np.zeros(len(self.ranks))
        for choices in self._blocks(np.arange(len(self.ranks)), parameters):
            result += np.bincount(choices.row, choices.log_likelihood(), len(result))
        return result

    def information(self, parameters):
        """The second derivatives."""
        n_items = self.ranks.shape[1]
        total = np.zeros((len(parameters), len(parameters)))
        for choices in self._blocks(np.arange(len(self.ranks)), parameters):
            weights = self.weights[choices.row]
            diagonal, products = choices.information()
            for left, right in products:
                total += (weights[:, None] * left).T @ right
            total += np.diag(weights @ diagonal)
        total[:n_items, :n_items] += self.alpha * np.eye(n_items)
        diagonal = total.diagonal().copy()
        np.fill_diagonal(total, 0)
        return Information(diagonal, -total[:n_items, :n_items], total[n_items:])

    def contributions(self, parameters, cells):
        """Gradient and information of each ranking and cluster; see `StageLikelihood.contributions`."""
        cluster, ranking, weight = cells
        n_parameters = len(parameters)
        size = max(1, _BLOCK // n_parameters**2)
        start = 0
        while start < len(cluster):
            stop = min(start + size, len(cluster))
            stop = int(np.searchsorted(cluster, cluster[stop - 1], side="right"))
            gradient = np.zeros((stop - start, n_parameters))
            information = np.zeros((stop - start, n_parameters, n_parameters))
            for choices in self._blocks(ranking[start:stop], parameters):
                np.add.at(gradient, choices.row, choices.gradient())
                diagonal, products = choices.information()
                matrices = sum(left[:, :, None] * right[:, None, :] for left, right in products)
                matrices[:, np.arange(n_parameters), np.arange(n_parameters)] += diagonal
                np.add.at(information, choices.row, matrices)
            factor = weight[start:stop]
            index = np.tile(np.arange(n_parameters), (stop - start, 1))
            yield Contributions(
                cluster[start:stop], index, factor[:, None] * gradient, factor[:, None, None] * information
            )
            start = stop

    def _blocks(self, rankings, parameters):
        """Choices of the given rankings, in blocks; `row` is a place in `rankings`."""
        n_items = self.ranks.shape[1]
        size = max(1, _BLOCK // (n_items * max(n_items, 8)))
        for start in range(0, len(rankings), size):
            ranks = self.ranks[rankings[start : start + size]]
            row, bucket = np.nonzero(np.arange(n_items) <= ranks.max(axis=1)[:, None])
            open_ = (ranks[row] >= bucket[:, None]) & (ranks[row] != MISSING)
            chosen = ranks[row] == bucket[:, None]
            several = open_.sum(axis=1) > 1
            yield _Choices(
                row[several] + start,
                open_[several],
                chosen[several],
                parameters[:n_items],
                parameters[n_items:],
                self.sizes,
            )


class _Choices:
    """Stages: what is open, (n_stages, n_items), what was chosen, and the derivatives of its logarithm."""

    def __init__(self, row, open_, chosen, scores, log_delta, sizes):
        self.row, self.chosen = row, chosen
        self.scores, self.log_delta = scores, log_delta
        largest = np.where(open_, scores, -np.inf).max(axis=1, keepdims=True, initial=-1e300)
        self.largest = largest[:, 0]
        self.sizes = np.array([1, *sizes])
        self.delta = np.exp(np.concatenate([[0.0], log_delta]))
        self.x = [np.where(open_, np.exp((scores - largest) / size), 0) for size in self.sizes]
        self.e = [elementary(x, size) for x, size in zip(self.x, self.sizes, strict=True)]
        total = np.array([d * e[-1] for d, e in zip(self.delta, self.e, strict=True)])
        self.z = total.sum(axis=0)
        self.of_size = (total / self.z).T

    def log_likelihood(self):
        size = self.chosen.sum(axis=1)
        logs = (self.chosen @ self.scores) / size - self.largest - np.log(self.z)
        log_delta = np.full(max(self.chosen.shape[1], self.sizes[-1]) + 1, -np.inf)  # other sizes do not occur
        log_delta[self.sizes] = np.concatenate([[0.0], self.log_delta])
        return logs + log_delta[size]

    def _expected(self):
        """Expectation of [i in T] / t where T has each of the sizes, a list."""
        return [
            (d / size / self.z)[:, None] * x * without_one(x, e, size - 1)
            for d, size, x, e in zip(self.delta, self.sizes, self.x, self.e, strict=True)
        ]

    def gradient(self):
        """Of the log-likelihood of each stage."""
        size = self.chosen.sum(axis=1)
        in_scores = self.chosen / size[:, None] - sum(self._expected())
        in_sizes = (size[:, None] == self.sizes[1:]) - self.of_size[:, 1:]
        return np.column_stack([in_scores, in_sizes])

    def information(self):
        """A diagonal, and pairs of arrays whose outer products are summed."""
        parts = self._expected()
        mean = np.column_stack([sum(parts), self.of_size[:, 1:]])
        diagonal = np.column_stack(
            [sum(part / size for part, size in zip(parts, self.sizes, strict=True)), self.of_size[:, 1:]]
        )
        n_items, n_parameters = self.chosen.shape[1], mean.shape[1]
        products = [(-mean, mean)]
        for number, (part, size) in enumerate(zip(parts, self.sizes, strict=True)):
            if size == 1:
                continue
            unit = np.zeros((len(mean), n_parameters))
            unit[:, n_items + number - 1] = 1
            padded = np.zeros((len(mean), n_parameters))
            padded[:, :n_items] = part
            products += [(padded, unit), (unit, padded)]
            for left, right in self._pairs(number, size):
                products.append((_padded(left, n_parameters), _padded(right, n_parameters)))
                diagonal[:, :n_items] -= left * right
        return diagonal, products

    def _pairs(self, number, size):
        """Outer products that sum to the expectation of [i in T] [j in T] / t^2, where i and j differ."""
        x, e = self.x[number], self.e[number]
        factor = (self.delta[number] / size**2 / self.z)[:, None]
        for a in range(size - 1):
            for b in range(size - 1 - a):
                coefficient = (-1) ** (a + b) * e[size - 2 - a - b]
                yield factor * coefficient[:, None] * x ** (a + 1), x ** (b + 1)


def _padded(values, width):
    return np.pad(values, ((0, 0), (0, width - values.shape[1])))


def elementary(x, degree):
    """Elementary symmetric polynomials of the rows of x, of degrees 0 to `degree`: a list of arrays."""
    e = [np.ones(len(x)), *(np.zeros(len(x)) for _ in range(degree))]
    for column in x.T:
        for k in range(degree, 0, -1):
            e[k] = e[k] + column * e[k - 1]
    return e


def without_one(x, e, degree):
    """The polynomial of a degree without each of the items, of x's shape."""
    result = np.ones_like(x)
    for k in range(1, degree + 1):
        result = e[k][:, None] - x * result
    return result
