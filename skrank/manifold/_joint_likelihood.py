"""Maximum likelihood of the answers of all landmarks together, under theta_ij = |y_j - y_i|^2.

Landmark ordinal embedding fits each landmark's scores on their own and then finds coordinates. Here the scores are
functions of the coordinates from the start. The unknowns are moved by Gauss-Newton steps, one d x d block for each item
and for each landmark (in its role of landmark), which Anderson mixing accelerates: blocks alone would let the
landmarks and the items wait for each other.
"""

from collections import deque
from typing import Any

import numpy as np

from skrank._callbacks import UNWATCHED
from skrank.manifold._mean_field_bradley_terry import mean_field_curvature

_LEAST_CURVATURE = np.float32(1e-3)
_RIDGE = np.float32(1e-3)
_LONGEST_STEP = 0.5  # in units in which the answers of the model err at distances near 1
_LARGEST_MIXING = 20.0


def landmark_gradient(points, landmark, number, net, design):
    """Gradient and curvature of one landmark's loss in the squared distances of all items from it.

    Parameters
    ----------
    points : ndarray of shape (n_components, n_items)
        Coordinates.
    landmark : int
        Index of the landmark among the items.
    number : int
        Number of the landmark in the design.
    net : ndarray of shape (n_items - 1,)
        Wins of the other items, minus half their number of comparisons.
    design : CirculantDesign or IndependentDesign
        Which comparisons were made.

    Returns
    -------
    gradient, curvature : ndarray of shape (n_items,)
        Zero at the landmark itself.
    """
    difference = points - points[:, [landmark]]
    distances = np.delete(np.einsum("an,an->n", difference, difference), landmark)
    others = design.sum_tanh(0.5 * distances, number)
    others *= 0.5
    others -= net
    gradient, curvature = np.zeros((2, points.shape[1]), points.dtype)
    for full, part in ((gradient, others), (curvature, mean_field_curvature(distances, design.mean_degree))):
        full[:landmark], full[landmark + 1 :] = part[:landmark], part[landmark:]
    curvature += _LEAST_CURVATURE
    curvature[landmark] = 0
    return gradient, curvature


def goodness_of_fit(points, landmarks, gradients):
    """How well coordinates explain the answers, and how well the answers determine them.

    Parameters
    ----------
    points : ndarray of shape (n_components, n_items), float32
        Coordinates.
    landmarks, gradients
        As in `maximize_joint_likelihood`.

    Returns
    -------
    chi_squared : float
        Mean over landmarks and items of gradient^2 / curvature in the squared distances.
    relative_variance : float
        Variance of all coordinates, by the inverse blocks of information, as a share of their spread.
    """
    chi2, _, blocks = _accumulate(points, landmarks, gradients(points))
    return chi2, _relative_variance(points, _with_ridge(blocks))


def _with_ridge(blocks):
    ridge = _RIDGE * sum(row[-1] for row in blocks) + np.float32(1e-6)
    return [[block + ridge if a == b else block for b, block in enumerate(row)] for a, row in enumerate(blocks)]


def _relative_variance(points, blocks):
    d, n = points.shape
    variance = 0.0
    for a in range(d):
        unit = [np.full(n, a == b, np.float32) for b in range(d)]
        variance += np.sum(_solve_blocks(blocks, unit)[a], dtype=float)
    spread = n * points.var(axis=1, dtype=float).sum()
    return variance / max(spread, np.finfo(float).tiny)


def maximize_joint_likelihood(points, landmarks, gradients, max_iter=30, memory=3, rtol=0.01, task=UNWATCHED):
    """Coordinates that maximise the likelihood of all answers.

    Parameters
    ----------
    points : ndarray of shape (n_components, n_items)
        Start.
    landmarks : ndarray of shape (n_landmarks,)
        Indices of the landmarks among the items.
    gradients : callable
        `gradients(points)` iterates over the pairs `landmark_gradient` of all landmarks, in order.
    max_iter : int, default=30
        Largest number of iterations; each is one pass over the answers.
    memory : int, default=3
        Number of former steps that Anderson mixing combines.
    rtol : float, default=0.01
        Stop when an iteration lowers chi-squared by less than this share.
    task : Task
        Is told of each iteration.

    Returns
    -------
    points : ndarray of shape (n_components, n_items)
    chi_squared, relative_variance : float
        See `goodness_of_fit`; at the last evaluation.
    n_iter : int
    converged : bool
    """
    points = np.ascontiguousarray(points, np.float32)
    mixing = _AndersonMixing(memory)
    history = []
    for iteration in range(max_iter):
        chi2, right, blocks = _accumulate(points, landmarks, gradients(points))
        history.append(chi2)
        task.step()
        blocks = _with_ridge(blocks)
        step = np.array(_solve_blocks(blocks, right))
        length = np.sqrt(np.einsum("an,an->n", step, step))
        step *= np.minimum(1, np.float32(_LONGEST_STEP) / np.maximum(length, np.float32(1e-12)))
        converged = iteration >= 2 and chi2 > (1 - rtol) * history[-2]
        if converged or iteration + 1 == max_iter:
            break
        points = mixing.advance(points, step, np.sqrt(_RIDGE * sum(row[-1] for row in blocks)))
    return points + step, chi2, _relative_variance(points, blocks), len(history), converged


def _accumulate(points, landmarks, gradients):
    """chi-squared, negative gradient (a list of rows) and lower triangle of the blocks of curvature, of all items."""
    d, n = points.shape
    right = [np.zeros(n, np.float32) for _ in range(d)]
    blocks = [[np.zeros(n, np.float32) for _ in range(a + 1)] for a in range(d)]
    chi2, own_terms = 0.0, []
    for landmark, (gradient, curvature) in zip(landmarks, gradients, strict=True):
        difference = points - points[:, [landmark]]
        own_gradient, own_block, coupling = np.zeros(d), np.zeros((d, d)), np.zeros(d)
        for a in range(d):
            pull = curvature * difference[a]
            coupling[a] = pull.sum(dtype=float)
            product = gradient * difference[a]
            own_gradient[a] = 2 * product.sum(dtype=float)
            product *= 2
            right[a] -= product
            pull *= 4
            for b in range(a + 1):
                product = pull * difference[b]
                own_block[a, b] = product.sum(dtype=float)
                blocks[a][b] += product
        # only differences of scores are observed: what moves all of them together carries no information
        own_block -= 4 * np.outer(coupling, coupling) / curvature.sum(dtype=float)
        own_terms.append((landmark, own_gradient, own_block))
        curvature[landmark] = 1
        chi2 += np.mean(gradient * gradient / curvature, dtype=float) / len(landmarks)
    for landmark, own_gradient, own_block in own_terms:
        for a in range(d):
            right[a][landmark] += own_gradient[a]
            for b in range(a + 1):
                blocks[a][b][landmark] += own_block[a, b]
    return chi2, right, blocks


def _solve_blocks(A, right):
    """Many small positive definite systems at once by Cholesky; `A[a][b]` (b <= a) and `right[a]` are arrays."""
    d = len(right)
    L: list[list[Any]] = [[None] * d for _ in range(d)]
    for a in range(d):
        for b in range(a + 1):
            value = A[a][b]
            for k in range(b):
                value = value - L[a][k] * L[b][k]
            L[a][b] = np.sqrt(np.maximum(value, np.float32(1e-12))) if a == b else value / L[b][b]
    x: list[Any] = [None] * d
    for a in range(d):
        value = right[a]
        for k in range(a):
            value = value - L[a][k] * x[k]
        x[a] = value / L[a][a]
    for a in reversed(range(d)):
        value = x[a]
        for k in range(a + 1, d):
            value = value - L[k][a] * x[k]
        x[a] = value / L[a][a]
    return x


class _AndersonMixing:
    """Extrapolates a fixed-point iteration from its last steps, by least squares with weights."""

    def __init__(self, memory):
        self.memory = memory
        self.point_changes: deque[Any] = deque(maxlen=memory)
        self.step_changes: deque[Any] = deque(maxlen=memory)
        self.last = None

    def advance(self, point, step, weights):
        new = point + step
        if not self.memory:
            return new
        if self.last is not None:
            self.point_changes.append(point - self.last[0])
            self.step_changes.append(step - self.last[1])
            changes = np.array([(change * weights).ravel() for change in self.step_changes])
            gram = changes @ changes.T
            ridge = (1e-8 * np.trace(gram) + np.finfo(np.float32).tiny) * np.eye(len(gram))
            coefficients = np.linalg.solve(gram + ridge, changes @ (step * weights).ravel())
            if np.abs(coefficients).max() < _LARGEST_MIXING:
                for c, moved, changed in zip(coefficients, self.point_changes, self.step_changes, strict=True):
                    new -= np.float32(c) * (moved + changed)
        self.last = (point, step)
        return new
