"""Bradley-Terry scores from a random design: a start and a Newton metric in which the design is averaged out.

Minimized is, over the scores theta of the items that were compared with respect to one landmark,

    sum over comparisons of log(1 + exp(theta_near - theta_far)) + alpha / 2 |theta|^2

whose gradient is B' tanh(B theta / 2) / 2 - net + alpha theta, where net is the number of wins of each item (times it
was the farther one) minus half its number of comparisons. In a random design the neighbors of an item are a sample of
all items. Averaged over it, the equations have a solution in which theta is a function of the number of wins alone, and
the Hessian is a diagonal minus a matrix of low rank. The comparison graph is an expander, so quasi-Newton steps with
that Hessian shrink the error by about the square root of the degree each.
"""

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.special import expit

_LARGEST_STEP = 2.0


def mean_field_scores(wins, degree, alpha, n_bins=128, max_iter=30):
    """Scores as a function of the number of wins: degree * mean_k f(theta_j - theta_k) + alpha theta_j = wins_j.

    Parameters
    ----------
    wins : ndarray of shape (n_items,)
        Number of wins, integers in 0, ..., degree.
    degree : int
        Number of comparisons of an item.
    alpha : float
        Ridge penalty.
    n_bins : int, default=128
        Numbers of wins are binned to at most so many unknowns.
    max_iter : int, default=30
        Largest number of Newton steps.

    Returns
    -------
    scores : ndarray of shape (n_items,), float32
    """
    n_bins = min(n_bins, degree + 1)
    possible = np.arange(degree + 1)
    # equally spaced on the arcsine scale, which resolves both tails
    position = np.arcsin(np.sqrt((possible + 0.5) / (degree + 1)))
    bins = np.minimum((position - position[0]) / (position[-1] - position[0]) * n_bins, n_bins - 1).astype(int)
    counts = np.bincount(wins, minlength=degree + 1).astype(float)
    weights = np.bincount(bins, counts, n_bins)
    occupied = weights > 0
    mean_wins = np.bincount(bins, counts * possible, n_bins)[occupied] / weights[occupied]
    weights = weights[occupied] / len(wins)
    theta = np.log((mean_wins + 0.5) / (degree - mean_wins + 0.5))
    theta -= weights @ theta
    for _ in range(max_iter):
        probability = expit(theta[:, None] - theta[None, :])
        gradient = degree * (probability @ weights) + alpha * theta - mean_wins
        if np.sqrt(weights @ gradient**2) < 1e-4 * np.sqrt(degree / 2):
            break
        curvature = degree * probability * (1 - probability)
        hessian = np.diag(curvature @ weights + alpha) - curvature * weights + weights  # the last term: mean zero
        step = np.linalg.solve(hessian, gradient)
        theta = theta - step * min(1.0, _LARGEST_STEP / max(np.abs(step).max(), 1e-12))
        theta -= weights @ theta
    return np.interp(possible, mean_wins, theta).astype(np.float32)[wins]


class _Bins:
    """Values cut into equal bins: `index` of each, `centers`, and the logistic density between any two centers."""

    def __init__(self, values, n_bins):
        low, high = float(values.min()), float(values.max())
        width = max((high - low) / n_bins, 1e-6)
        self.index = np.minimum((values - values.dtype.type(low)) * values.dtype.type(1 / width), n_bins - 1)
        self.index = self.index.astype(np.int32)
        self.centers = low + width * (np.arange(n_bins) + 0.5)
        probability = expit(self.centers[:, None] - self.centers[None, :])
        self.density = probability * (1 - probability)
        self.counts = np.bincount(self.index, minlength=n_bins)


def mean_field_curvature(scores, degree, n_bins=64):
    """Fisher information of each score in a random design: degree * mean_k f'(theta_j - theta_k)."""
    bins = _Bins(scores, n_bins)
    curvature = bins.density @ bins.counts * (degree / len(scores))
    return curvature.astype(scores.dtype)[bins.index]


class _MeanFieldHessian:
    """diag(information) + alpha - degree / n f'(theta_i - theta_j), with theta in bins: solved in linear time."""

    def __init__(self, scores, degree, alpha, n_bins=96):
        bins = _Bins(scores, n_bins)
        coupling = bins.density * (degree / len(scores))
        dtype = scores.dtype
        self.index, self.n_bins = bins.index, n_bins
        self.diagonal = (coupling @ bins.counts + alpha).astype(dtype)[bins.index]
        self.inverse = 1 / self.diagonal
        self.coupling = coupling - coupling.mean()  # scores are known up to a constant: make that direction regular
        shares = np.bincount(self.index, self.inverse, n_bins)
        self.factors = lu_factor(np.eye(n_bins) - shares[:, None] * self.coupling)

    def solve(self, gradient):
        step = self.inverse * gradient
        binned = lu_solve(self.factors, np.bincount(self.index, step, self.n_bins))
        return step + self.inverse * (self.coupling @ binned).astype(step.dtype)[self.index]


def fit_scores(wins, degree, sum_tanh, alpha=0.1, tol=0.02, max_iter=30):
    """Ridge Bradley-Terry scores of the items compared in a random design.

    Parameters
    ----------
    wins : ndarray of shape (n_items,)
        How often each item was the farther one.
    degree : int or ndarray of shape (n_items,)
        How many comparisons each item took part in.
    sum_tanh : callable
        `sum_tanh(half_scores)` is B' tanh(B half_scores), B the incidence matrix of the comparisons.
    alpha : float, default=0.1
        Ridge penalty.
    tol : float, default=0.02
        Stop when the root mean square of the remaining step, in standard errors of a score, is below this.
    max_iter : int, default=30
        Largest number of passes over the comparisons.

    Returns
    -------
    scores : ndarray of shape (n_items,), float32
        Of mean 0.
    converged : bool
        Whether `tol` was reached.
    """
    net = (wins - degree / 2).astype(np.float32)
    mean_degree = max(1, round(float(np.mean(degree))))
    if np.ndim(degree):
        share = np.divide(wins, degree, out=np.full(len(wins), 0.5), where=degree > 0)
        wins = np.rint(share * mean_degree).astype(int)
    scores = mean_field_scores(wins, mean_degree, alpha)
    ratio, damping, last, last_gradient = 1.2 / np.sqrt(mean_degree), np.float32(1.0), np.inf, None
    for n_passes in range(1, max_iter + 1):
        gradient = sum_tanh(0.5 * scores)
        gradient *= 0.5
        gradient -= net
        gradient += np.float32(alpha) * scores
        if n_passes <= 2:  # the steps after these are small: the metric is kept
            hessian = _MeanFieldHessian(scores, mean_degree, alpha)
        residual = float(np.sqrt(np.mean(gradient * gradient / hessian.diagonal)))
        if n_passes > 1:
            ratio = residual / max(last, 1e-30)
            if ratio > 0.5:
                damping = _damp(damping, gradient, last_gradient)
        last, last_gradient = residual, gradient
        step = hessian.solve(gradient)
        np.clip(step, -_LARGEST_STEP, _LARGEST_STEP, out=step)
        step *= damping
        scores -= step
        scores -= scores.mean()
        if residual * min(ratio, 1.0) < tol:
            return scores, True
    return scores, False


def _damp(damping, gradient, last_gradient):
    """Shorter steps: of all items at first (modes of negative eigenvalue overshoot when there are few answers), then
    of those items that still overshoot, because their neighbors are far from a sample of all items."""
    if np.ndim(damping) == 0:
        return np.full(len(gradient), 0.7, np.float32)
    overshoots = gradient * last_gradient < 0
    overshoots &= np.abs(gradient) > 0.5 * np.abs(last_gradient)
    return np.where(overshoots, np.float32(0.5), np.float32(1)) * damping
