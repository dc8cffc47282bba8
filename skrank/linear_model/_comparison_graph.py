"""Bradley-Terry likelihood on a graph of comparisons: pure functions on arrays.

Items are numbered; edge e joins `left[e]` and `right[e]`, which were compared `total[e]` times (a sum of weights), and
`left[e]` won `wins[e]` of them, ties counting one half.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit

_LOG_ODDS = 0.01  # a step of this share of tol, in log-odds, is small whatever the standard errors


@dataclass(frozen=True)
class ComparisonGraph:
    """Comparisons of `n_items` items, one row for each pair that was compared."""

    n_items: int
    left: np.ndarray
    right: np.ndarray
    total: np.ndarray
    wins: np.ndarray

    @classmethod
    def from_pairs(cls, first, second, share, weight, n_items):
        """Aggregate comparisons: `share` (0 to 1) of `weight` was won by item `first` against item `second`."""
        turned = first > second
        left, right = np.where(turned, second, first), np.where(turned, first, second)
        edges, edge = np.unique(left.astype(np.int64) * n_items + right, return_inverse=True)
        total = np.bincount(edge, weight, len(edges))
        wins = np.bincount(edge, weight * np.where(turned, 1 - share, share), len(edges))
        return cls(n_items, edges // n_items, edges % n_items, total, wins)

    def differences(self, values):
        """values[left] - values[right] of each edge."""
        return values[self.left] - values[self.right]

    def divergence(self, flow):
        """Transpose of `differences`: what flows out of each item, along edges from left to right."""
        return np.bincount(self.left, flow, self.n_items) - np.bincount(self.right, flow, self.n_items)

    def adjacency_pattern(self):
        """Function from edge weights to the symmetric matrix of them, whose sparsity pattern is found once."""
        rows, columns = np.concatenate([self.left, self.right]), np.concatenate([self.right, self.left])
        pattern = csr_array((np.arange(len(rows)), (rows, columns)), shape=2 * (self.n_items,))
        edge = pattern.data % max(len(self.left), 1)

        def adjacency(weights):
            return csr_array((weights[edge], pattern.indices, pattern.indptr), shape=pattern.shape)

        return adjacency

    def degrees(self, weights):
        """Sum of the weights of each item's edges."""
        return np.bincount(self.left, weights, self.n_items) + np.bincount(self.right, weights, self.n_items)

    def won_and_lost(self):
        """Weight that each item won and lost; exactly zero where there is none."""
        lost = self.total - self.wins
        return tuple(
            np.bincount(self.left, of_left, self.n_items) + np.bincount(self.right, of_right, self.n_items)
            for of_left, of_right in ((self.wins, lost), (lost, self.wins))
        )

    def components(self, directed=False):
        """Component of each item; with `directed`, components in which each item has indirectly beaten each other."""
        won, lost = self.wins > 0, self.wins < self.total
        winner = np.concatenate([self.left[won], self.right[lost]])
        loser = np.concatenate([self.right[won], self.left[lost]])
        beaten = csr_array((np.ones(len(winner), np.int8), (winner, loser)), shape=2 * (self.n_items,))
        return connected_components(beaten, directed=True, connection="strong" if directed else "weak")


def fit_scores(graph, alpha, max_iter, tol):
    """Scores that minimise the negative log-likelihood plus alpha/2 times their sum of squares.

    Newton's method, its steps by conjugate gradients in a trust region, in coordinates in which the information of each
    item is one (Jacobi preconditioning): at equal scores, and again at what that leads to. Stops when the gradient in
    the coordinates of the scores it has reached, a step in standard errors, has a root mean square below `tol`. Where
    weights are so small that standard errors exceed one log-odd, `tol` is of log-odds; where they are so large that
    the loss does not tell such steps apart, a hundredth of it.

    Returns
    -------
    scores : ndarray of shape (n_items,)
        Of mean zero over each component.
    information : csr_array of shape (n_items, n_items)
        Second derivatives at the scores: the Laplacian weighted by the variances of the answers, plus alpha.
    info : dict
        `loss`, `n_iter`, `converged`.
    """
    component = graph.components()[1]
    # A factor of the objective leaves the scores as they are, and makes the largest standard error one.
    scale = 1 / min(1.0, (graph.degrees(graph.total / 4) + alpha).max())
    loss = _Loss(replace(graph, total=graph.total * scale, wins=graph.wins * scale), alpha * scale)
    scores, n_iter, converged, progress = np.zeros(graph.n_items), 0, False, True
    while progress and not converged and n_iter < max_iter:
        unit = 1 / np.sqrt(loss.information(scores)[0] + np.finfo(float).tiny)
        result = _minimize(loss, scores, unit, max_iter - n_iter, tol)
        scores = centre(unit * result.x, component)
        n_iter += result.nit
        progress = result.nit > 0
        error = 1 / np.sqrt(loss.information(scores)[0] + np.finfo(float).tiny)
        step = loss.value_and_gradient(scores)[1] * error
        converged = bool(min(_rms(step), _rms(step * error) / _LOG_ODDS) <= tol)
    diagonal, adjacency = loss.information(scores)
    matrix = ((diags_array(diagonal) - adjacency) / scale).tocsr()
    return scores, matrix, {"loss": float(result.fun / scale), "n_iter": int(n_iter), "converged": converged}


def _rms(values):
    return np.sqrt(np.mean(values**2))


class _Loss:
    """The objective as a function of the scores."""

    def __init__(self, graph, alpha):
        self.graph, self.alpha = graph, alpha
        self._adjacency_of = graph.adjacency_pattern()

    def value_and_gradient(self, scores):
        graph, alpha = self.graph, self.alpha
        margin = graph.differences(scores)
        tail = np.exp(-np.abs(margin))
        value = (np.maximum(margin, 0) + np.log1p(tail)) @ graph.total - graph.wins @ margin
        expected_wins = graph.total * np.where(margin > 0, 1, tail) / (1 + tail)
        gradient = graph.divergence(expected_wins - graph.wins) + alpha * scores
        return value + 0.5 * alpha * scores @ scores, gradient

    def information(self, scores):
        """The second derivatives' diagonal, and the matrix of what is off it, negated."""
        p = expit(self.graph.differences(scores))
        weights = self.graph.total * p * (1 - p)
        return self.graph.degrees(weights) + self.alpha, self._adjacency_of(weights)


def _minimize(loss, scores, unit, max_iter, tol):
    """scipy's result for the scores divided by `unit`."""
    current = {"u": None}

    def value_and_gradient(u):
        value, gradient = loss.value_and_gradient(unit * u)
        return value, unit * gradient

    def product(u, v):
        if current["u"] is None or not np.array_equal(current["u"], u):
            current.update(u=u.copy(), information=loss.information(unit * u))
        diagonal, adjacency = current["information"]
        v = unit * v
        return unit * (diagonal * v - adjacency @ v)

    radius = np.sqrt(loss.graph.total.sum() + 1)
    return minimize(
        value_and_gradient,
        scores / unit,
        jac=True,
        hessp=product,
        method="trust-ncg",
        options={
            "gtol": tol * np.sqrt(len(scores)),
            "maxiter": max_iter,
            "initial_trust_radius": 2 * radius,
            "max_trust_radius": 1e4 * radius,
        },
    )


def centre(values, component):
    """Values minus the mean of their component."""
    return values - (np.bincount(component, values) / np.bincount(component))[component]


def exact_standard_errors(information, alpha, component):
    """Standard errors of scores relative to the mean of their component: the inverse, without its constant vectors."""
    sizes = np.bincount(component)[component]
    same = component[:, None] == component
    # constants on a component are eigenvectors with the eigenvalue alpha: move it among the others and take its share
    # out again
    moved = information.diagonal().mean()
    inverse = np.linalg.inv(information.toarray() + same * ((moved - alpha) / sizes))
    return np.sqrt(np.maximum(inverse.diagonal() - 1 / (moved * sizes), 0))


def sampled_standard_errors(graph, scores, information, alpha, component, n_draws, random_state):
    r"""Standard errors as in `exact_standard_errors`, without a dense matrix.

    With H the information, D its diagonal and A = D - H, a draw x from N(0, H^-1) has variance
    :math:`1 / D_i + \mathrm{Var}((D^{-1} A x)_i)`: the variance of x_i given the other items, which is exact, and the
    variance of its mean given them, which the draws estimate. The latter is about one part in the number of an item's
    opponents, so that few draws serve. The mean of each component is split off and added in closed form.
    """
    sizes = np.bincount(component)[component]
    diagonal = information.diagonal()
    p = expit(graph.differences(scores))
    deviation = np.sqrt(graph.total * p * (1 - p))
    preconditioner = LinearOperator(information.shape, matvec=lambda v: v / diagonal, dtype=float)
    variance = np.zeros(graph.n_items)

    for _ in range(n_draws):
        noise = graph.divergence(deviation * random_state.standard_normal(len(deviation)))
        noise += np.sqrt(alpha) * centre(random_state.standard_normal(graph.n_items), component)
        x, _ = cg(information, noise, rtol=1e-2, maxiter=1000, M=preconditioner)
        x = centre(x, component)
        variance += (x - (information @ x) / diagonal) ** 2
    variance /= n_draws
    variance += 1 / diagonal - (2 / diagonal - alpha / diagonal**2) / sizes
    return np.sqrt(np.maximum(variance, 0))
