r"""Bradley-Terry likelihoods of paired comparisons, with ties as half a win or as an outcome, and an order effect.

With the margin :math:`m = \theta_i - \theta_j + \delta`, where :math:`\delta` favors the item that is shown first, and
counts of wins w, ties t and losses l (n in all):

- ties as half a win: :math:`P(\text{win}) = 1 / (1 + e^{-m})`, negative log-likelihood
  :math:`n \log(1 + e^m) - (w + t/2) m`;
- Davidson: win, loss and tie in the proportions :math:`e^{m/2} : e^{-m/2} : \nu`. With
  :math:`d = P(\text{win}) - P(\text{loss})` and :math:`P_t = P(\text{tie})`, the gradient of the log-likelihood is
  :math:`(w - l - n d)/2` in m and :math:`t - n P_t` in :math:`\log \nu`, and the information n times
  :math:`(1 - P_t - d^2)/4` (m), :math:`P_t (1 - P_t)` (:math:`\log \nu`) and :math:`-P_t d/2` (mixed).

Parameters are the scores, then :math:`\delta` if `graph.ordered`, then :math:`\log \nu` for Davidson.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.special import expit

from skrank.linear_model._comparison_graph import ComparisonGraph
from skrank.linear_model._covariance import Contributions
from skrank.linear_model._newton import Information


@dataclass(frozen=True)
class PairLikelihood:
    """The penalized negative log-likelihood of a graph of comparisons as a function of the parameters."""

    graph: ComparisonGraph
    alpha: float
    davidson: bool = False

    def __reduce__(self):
        return type(self), (self.graph, self.alpha, self.davidson)  # not what was cached

    @property
    def n_comparisons(self):
        return self.graph.total.sum()

    @property
    def n_others(self):
        return int(self.graph.ordered) + int(self.davidson)

    def scaled(self, factor):
        """The objective times a factor."""
        return replace(self, graph=self.graph.scaled(factor), alpha=self.alpha * factor)

    def start(self):
        """Equal scores, no order effect, and the tie parameter that gives the proportion of ties."""
        parameters = np.zeros(self.graph.n_items + self.n_others)
        if self.davidson:
            ties, total = self.graph.ties.sum(), self.graph.total.sum()
            parameters[-1] = np.log(2 * ties / (total - ties))
        return parameters

    def split(self, parameters):
        """Scores, order effect (0 without one), and log nu (None if ties are half a win)."""
        n_items = self.graph.n_items
        order = parameters[n_items] if self.graph.ordered else 0.0
        return parameters[:n_items], order, parameters[-1] if self.davidson else None

    def margins(self, parameters):
        """Log-odds of `left` against `right` for each edge."""
        scores, order, _ = self.split(parameters)
        return self.graph.differences(scores) + order

    def value_and_gradient(self, parameters):
        """The objective and its first derivatives."""
        scores, _, log_nu = self.split(parameters)
        value, in_margin, in_log_nu = negative_log_likelihood(
            self.margins(parameters), log_nu, self.graph.total, self.graph.wins, self.graph.ties
        )
        gradient = np.empty_like(parameters)
        gradient[: len(scores)] = self.graph.divergence(in_margin) + self.alpha * scores
        if self.graph.ordered:
            gradient[len(scores)] = in_margin.sum()
        if self.davidson:
            gradient[-1] = in_log_nu.sum()
        return value + 0.5 * self.alpha * scores @ scores, gradient

    def contributions(self, parameters, cells):
        """What each cluster contributes to gradient and information; see `contributions`."""
        return contributions(self, parameters, cells)

    def robust_meat(self, parameters, inverse):
        """Covariance of the gradient where ties are half a win; see `tie_robust_meat`."""
        return tie_robust_meat(self, parameters, inverse)

    @cached_property
    def _adjacency_of(self):
        return self.graph.adjacency_pattern()

    def information(self, parameters):
        """The second derivatives."""
        graph, n_items = self.graph, self.graph.n_items
        curvature = curvatures(self.margins(parameters), self.split(parameters)[2])
        margin, mixed, log_nu = (graph.total * part for part in curvature)
        diagonal = np.empty_like(parameters)
        diagonal[:n_items] = graph.degrees(margin) + self.alpha
        border = np.zeros((self.n_others, len(parameters)))
        if graph.ordered:
            border[0, :n_items] = graph.divergence(margin)
            diagonal[n_items] = margin.sum()
        if self.davidson:
            border[-1, :n_items] = graph.divergence(mixed)
            diagonal[-1] = log_nu.sum()
        if graph.ordered and self.davidson:
            border[0, -1] = border[1, n_items] = mixed.sum()
        return Information(diagonal, self._adjacency_of(margin), border)


def negative_log_likelihood(margin, log_nu, total, wins, ties):
    """Negative log-likelihood, summed, and its derivatives by each margin and by log nu (None without it)."""
    tail = np.exp(-np.abs(margin))
    if log_nu is None:
        value = (np.maximum(margin, 0) + np.log1p(tail)) @ total - wins @ margin
        return value, total * np.where(margin > 0, 1, tail) / (1 + tail) - wins, None
    excess = 2 * wins - total  # wins less losses, as a tie counts one half of either
    # of the weights e^(m/2), e^(-m/2), nu: all over the largest of the first two, then over the largest of all
    relative = log_nu - 0.5 * np.abs(margin)
    largest = np.maximum(relative, 0)
    scale, tie = np.exp(-largest), np.exp(relative - largest)
    sum_ = scale * (1 + tail) + tie
    d = np.sign(margin) * scale * (1 - tail) / sum_
    value = (0.5 * np.abs(margin) + largest + np.log(sum_)) @ total - 0.5 * (excess @ margin) - log_nu * ties.sum()
    return value, 0.5 * (total * d - excess), total * tie / sum_ - ties


def curvatures(margin, log_nu):
    """Information of one comparison: by its margin, mixed, by log nu (the last two 0 without it)."""
    if log_nu is None:
        p = expit(margin)
        return p * (1 - p), 0.0, 0.0
    loss, tie, win = davidson_proba(margin, log_nu).T
    d = win - loss
    # 1 - P_t - d^2 without cancellation
    return (4 * win * loss + tie * (win + loss)) / 4, -tie * d / 2, tie * (win + loss)


def davidson_proba(margin, log_nu):
    """Probabilities of loss, tie and win, shape (n, 3)."""
    logits = np.column_stack([-0.5 * margin, np.broadcast_to(log_nu, margin.shape), 0.5 * margin])
    logits -= logits.max(axis=1, keepdims=True)
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------- what the covariance needs
class Cells(NamedTuple):
    """Comparisons of one cluster on one edge, added up; ascending by cluster."""

    cluster: np.ndarray
    edge: np.ndarray
    total: np.ndarray
    wins: np.ndarray
    ties: np.ndarray


def cells_of(graph, comparisons, ways):
    """Comparisons (first, second, share, tie, weight) added up by cluster and edge, for each way of clustering."""
    if not ways:
        return []
    first, second, share, tie, weight = comparisons
    edge, turned = graph.locate(first, second)
    share, n_edges = np.where(turned, 1 - share, share), len(graph.left)
    cells = []
    for cluster in ways:
        key, cell = np.unique(cluster.astype(np.int64) * n_edges + edge, return_inverse=True)
        total, wins, ties = (np.bincount(cell, weight * part, len(key)) for part in (np.ones(len(edge)), share, tie))
        cells.append(Cells(key // n_edges, key % n_edges, total, wins, ties))
    return cells


def contributions(likelihood, parameters, cells):
    """What each cluster contributes to gradient and information, in blocks of bounded memory."""
    margin, (_, _, log_nu) = likelihood.margins(parameters), likelihood.split(parameters)
    per_comparison = curvatures(margin, log_nu)
    index, direction = _directions(likelihood)
    for block in _cluster_blocks(cells.cluster):
        edge, total = cells.edge[block], cells.total[block]
        _, in_margin, in_log_nu = negative_log_likelihood(
            margin[edge], log_nu, total, cells.wins[block], cells.ties[block]
        )
        gradient = -in_margin[:, None] * direction
        information = (total * per_comparison[0][edge])[:, None, None] * np.outer(direction, direction)
        if likelihood.davidson:
            gradient[:, -1] = -in_log_nu
            mixed = (total * per_comparison[1][edge])[:, None] * direction
            information[:, -1, :] += mixed
            information[:, :, -1] += mixed
            information[:, -1, -1] = total * per_comparison[2][edge]
        yield Contributions(cells.cluster[block], index[edge], gradient, information)


def _directions(likelihood):
    """Parameters of each edge, and how its margin changes with them (0 for log nu)."""
    graph = likelihood.graph
    others = np.arange(graph.n_items, graph.n_items + likelihood.n_others)
    index = np.column_stack([graph.left, graph.right, np.tile(others, (len(graph.left), 1))])
    return index, np.array([1.0, -1.0] + [1.0] * graph.ordered + [0.0] * likelihood.davidson)


def _cluster_blocks(cluster, size=1 << 17):
    """Slices of about `size` cells that divide no cluster."""
    start = 0
    while start < len(cluster):
        stop = min(start + size, len(cluster))
        stop = int(np.searchsorted(cluster, cluster[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def tie_robust_meat(likelihood, parameters, inverse):
    r"""Covariance of the gradient where ties are half a win, from the squared residuals of the comparisons.

    A residual is smaller than the error by the comparison's leverage h, which is large for items with few comparisons.
    To each edge's sum of squares 2 h times its expected value is added, :math:`\phi p (1 - p)` for a comparison, where
    :math:`\phi` is the ratio of all squared residuals to what the model expects. (Dividing by (1 - h)^2 instead leaves
    an item whose few comparisons are all ties with an error near zero.)
    """
    graph = likelihood.graph
    p = expit(likelihood.margins(parameters))
    wins, losses = graph.wins - graph.ties / 2, graph.total - graph.wins - graph.ties / 2
    squares = wins * (1 - p) ** 2 + graph.ties * (0.5 - p) ** 2 + losses * p**2
    expected = graph.total * p * (1 - p)
    index, direction = _directions(likelihood)
    if inverse.ndim == 1:
        variance = inverse[index] @ direction**2
    else:
        variance = np.einsum("eij,i,j->e", inverse[index[:, :, None], index[:, None, :]], direction, direction)
    leverage = np.minimum(p * (1 - p) * variance, 1)
    squares = squares + 2 * leverage * expected * min(1.0, squares.sum() / expected.sum())
    design = csr_array(
        (np.tile(direction, len(index)), (np.repeat(np.arange(len(index)), index.shape[1]), index.ravel())),
        shape=(len(index), len(parameters)),
    )
    return (design.T @ (diags_array(squares) @ design)).tocsr()
