"""Coordinates by the likelihood of all responses together, of whatever design, under a prior from the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from skrank._callbacks import UNWATCHED
from skrank.manifold._gradient_descent import descend_by_gradient
from skrank.manifold._landmark_geometry import principal_axes
from skrank.manifold._misplaced import best_places
from skrank.manifold._quasi_newton import USUAL_LAPSE, minimize_loss
from skrank.manifold._triplet_loss import NO_LAPSE, Evaluation

_DEGREES_OF_FREEDOM = 4.0
_MOST_ROUNDS = 3
_COARSE_TOL = 0.1
_PRECISION_RANGE = (1e-6, 1e6)
_WEAK = 0.9  # share of an axis that the responses determine, below which the axis starts anew
_NEGLIGIBLE = 0.99  # and above which the prior needs no further round
_RESTART = 0.1
_LEAST_GAIN = 0.5  # nats
_MOST_RELOCATIONS = 4
_SCALE_STEP, _SCALE_BOUNDS = 0.2, (np.log(0.3), np.log(10))  # of the logarithm
_RADII = (0.6, 0.8, 1.25, 1.6)
_OTHER_PLACES = 8
_OUTLYING = 0.15  # weight of an item in the prior; the least of a normal cloud of a million is 0.2
_MOST_CHANGES = 10**7  # responses times places of others
_MOST_FOR_PRIOR = 10**7  # responses, beyond which they overrule a prior and each further descent is expensive


@dataclass(frozen=True)
class StudentPrior:
    """Prior of the items: a multivariate t distribution with 4 degrees of freedom along the axes of the coordinates.

    Its tails are heavy, so that outliers are left where the responses put them, while coordinates on axes that the
    responses hardly determine are drawn to zero instead of following the noise.

    Attributes
    ----------
    precision : ndarray of shape (n_components,)
        On each axis.
    """

    precision: np.ndarray

    def weights(self, X):
        """How strongly each item is drawn: (n_items,)."""
        total = _DEGREES_OF_FREEDOM + X.shape[1]
        return total / (_DEGREES_OF_FREEDOM + (X * X) @ self.precision)

    def values(self, X):
        """Negative log-density of each item: (n_items,)."""
        squares = (X * X) @ self.precision
        return 0.5 * (_DEGREES_OF_FREEDOM + X.shape[1]) * np.log1p(squares / _DEGREES_OF_FREEDOM)

    def value_and_gradient(self, X):
        """Negative log-density of all items and its gradient."""
        return float(self.values(X).sum()), X * self.precision * self.weights(X)[:, None]

    @classmethod
    def of_spread(cls, X):
        """Precisions by the median size of the coordinates, to start with."""
        return cls(np.clip(0.455 / np.maximum(np.median(X * X, axis=0), 1e-300), *_PRECISION_RANGE))

    def updated(self, X, variances):
        """Precisions by empirical Bayes, and the share of each axis that the responses determine.

        The fixed point of MacKay (1992, "Bayesian interpolation"), with the weights of the t distribution.

        Parameters
        ----------
        X : ndarray of shape (n_items, n_components)
            Coordinates.
        variances : ndarray of shape (n_items, n_components)
            Posterior variances of the coordinates.
        """
        prior = self
        for _ in range(5):
            weights = prior.weights(X)[:, None]
            determined = np.maximum((1 - prior.precision * weights * variances).mean(axis=0), 1e-3)
            precision = determined * len(X) / np.maximum((weights * X * X).sum(axis=0), 1e-300)
            prior = StudentPrior(np.clip(precision, *_PRECISION_RANGE))
        return prior, determined


class JointLoss:
    """The sum of several losses and a prior; its interface is that of `TripletLoss`."""

    def __init__(self, losses, prior=None):
        self.losses, self.prior = losses, prior
        self.n_items, self.n_rates = losses[0].n_items, 1

    def evaluate(self, X, lapse=NO_LAPSE):
        """Loss and its gradients."""
        value, gradient, lapse_gradient = 0.0, np.zeros_like(X), np.zeros(1)
        for loss in self.losses:
            one = loss.evaluate(X, lapse)
            value += one.value
            gradient += one.gradient
            lapse_gradient = lapse_gradient + one.lapse_gradient
        if self.prior is not None:
            penalty, pull = self.prior.value_and_gradient(X)
            value += penalty
            gradient += pull
        return Evaluation(value, gradient, lapse_gradient)

    def gradient(self, X):
        """Gradient of the losses without lapses and without a prior; faster than `evaluate`."""
        return np.ascontiguousarray(sum(loss.gradient(X) for loss in self.losses), np.float32)

    def curvature_blocks(self, X, lapse=NO_LAPSE):
        """Information of each item's coordinates when the others stand still."""
        blocks = sum(loss.curvature_blocks(X, lapse) for loss in self.losses)
        if self.prior is not None:
            blocks += self.prior.weights(X)[:, None, None] * np.diag(self.prior.precision)
        return blocks

    def lapse_information(self, X, lapse):
        """Information of the lapse rate at fixed coordinates."""
        return sum(loss.lapse_information(X, lapse) for loss in self.losses)

    def triplets(self):
        """Rows (anchor, near, far) of all responses."""
        return np.concatenate([loss.triplets() for loss in self.losses])

    def changes(self, X, moved, lapse):
        """Change of the loss for each item if it alone moved from its row of X to that of `moved`."""
        total = np.zeros(self.n_items)
        for loss in self.losses:
            total += loss.changes(X, moved, lapse)
        if self.prior is not None:
            total += self.prior.values(moved) - self.prior.values(X)
        return total


def relocate_items(loss, X, lapse, random_state, thorough=True):
    """Move items to other places, where that lowers the loss.

    Two places that mirror each other explain most responses alike, so that no gradient leads from one to the other;
    nor does one where the responses of the true place look like lapses. Tried are each item's mirror images across the
    principal axes, places farther out and farther in, and places of other items: all items at once, each as if the
    others stood still. With lapses, the items that fit worst are tried in many places. If those that gain do not gain
    together, fewer are moved.

    Parameters
    ----------
    loss : JointLoss
        The loss.
    X : ndarray of shape (n_items, n_components)
        Coordinates, on their principal axes.
    lapse : ndarray of shape (1,)
        Lapse rate.
    random_state : RandomState instance
        Draws the places of others.
    thorough : bool, default=True
        Whether more than the mirror images is tried.

    Returns
    -------
    X : ndarray of shape (n_items, n_components)
    n_moved : int
    """
    n_items, n_components = X.shape
    candidates = [X * np.where(np.arange(n_components) == axis, -1, 1) for axis in range(n_components)]
    if thorough:
        candidates += [factor * X for factor in _RADII]
    n_responses = sum(map(len, loss.losses))
    n_others = min(_OTHER_PLACES, _MOST_CHANGES // n_responses) if thorough else 0
    if n_others and np.any(lapse):
        candidates.append(best_places(loss.triplets(), X, float(lapse[0]), random_state))
    candidates += [X[random_state.permutation(n_items)] for _ in range(n_others)]
    best, places = np.full(n_items, -_LEAST_GAIN), X.copy()
    for candidate in candidates:
        change = loss.changes(X, candidate, lapse)
        better = change < best
        best[better], places[better] = change[better], candidate[better]
    gaining = np.flatnonzero(best < -_LEAST_GAIN)
    gaining = gaining[np.argsort(best[gaining])]
    total = loss.evaluate(X, lapse).value
    while len(gaining):
        trial = X.copy()
        trial[gaining] = places[gaining]
        if loss.evaluate(trial, lapse).value < total - _LEAST_GAIN:
            return trial, len(gaining)
        gaining = gaining[: len(gaining) // 4]
    return X, 0


@dataclass(frozen=True)
class JointFit:
    """Coordinates that maximize the likelihood of all responses.

    Attributes
    ----------
    points : ndarray of shape (n_items, n_components)
        Coordinates, on their principal axes.
    lapse : ndarray of shape (1,)
        Lapse rate.
    loss : JointLoss
        What was minimized.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the gradient is small.
    determined : float
        Share of the weakest axis that the responses determine; the rest is the prior's.
    """

    points: np.ndarray
    lapse: np.ndarray
    loss: JointLoss
    n_iter: int
    converged: bool
    determined: float = 1.0

    def variances(self):
        """Posterior variances of the coordinates when the others stand still: (n_items, n_components)."""
        return _variances(self.loss, self.points, self.lapse)


def maximize_likelihood(
    losses, start, settings, *, lapse=None, has_prior=True, max_iter=None, tol=None, task=UNWATCHED
):
    """Coordinates, and a lapse rate, that maximize the likelihood of all responses.

    A first descent is without a prior. Where it leaves an axis to noise, which items then share with their mirror
    images, the axis starts anew under the prior.

    Parameters
    ----------
    losses : list
        Losses with the interface of `TripletLoss`.
    start : ndarray of shape (n_items, n_components)
        Where to start.
    settings : Settings
        Of the fit: whether the lapse rate is unknown, and the defaults of what follows.
    lapse : ndarray of shape (1,), default=None
        Lapse rate, or its start.
    has_prior : bool, default=True
        Whether there is a prior.
    max_iter : int, default=None
        Largest number of iterations in all.
    tol : float, default=None
        Stop when the root mean square of the remaining step, in standard errors, is below this.
    task : Task
        Is told of each iteration.

    Returns
    -------
    JointFit
    """
    loss, X, n_iter = JointLoss(losses), principal_axes(np.asarray(start, float)), 0
    estimates_lapse = isinstance(settings.lapse, str)
    if lapse is None:
        lapse = np.array([USUAL_LAPSE if estimates_lapse else settings.lapse])
    max_iter = settings.most_iterations if max_iter is None else max_iter
    tol = settings.tol if tol is None else tol
    info: dict[str, Any] = {}

    def descend(X, lapse, tol):
        if is_large:
            X, info = descend_by_gradient(loss, X, max_iter - n_iter, tol, lambda n_iter, value: task.step())
            return X, lapse, info
        return minimize_loss(
            loss,
            X,
            max_iter - n_iter,
            tol,
            lambda n_iter, value: task.step(),
            lapse=lapse,
            estimates_lapse=estimates_lapse,
        )

    is_large = sum(map(len, losses)) > _MOST_FOR_PRIOR and not np.any(lapse)
    has_prior = has_prior and not is_large
    if not is_large and has_prior:
        X = X * _best_scale(loss, X, lapse)
    if has_prior and np.any(lapse):
        loss.prior = StudentPrior.of_spread(X)  # lapses leave a loss without it no scale where nothing else errs
    determined = np.ones(X.shape[1])
    for number in range(_MOST_ROUNDS if has_prior else 1):
        is_last = not has_prior or number == _MOST_ROUNDS - 1
        if number:
            loss.prior, determined = (loss.prior or StudentPrior.of_spread(X)).updated(X, _variances(loss, X, lapse))
            if number == 1:
                X = X * np.where(determined < _WEAK, _RESTART, 1.0)
            is_last |= bool(determined.min() > _NEGLIGIBLE)
        X, lapse, info = descend(X, lapse, tol if is_last else max(tol, _COARSE_TOL))
        n_iter += info["n_iter"]
        X = principal_axes(X)
        if is_last or info["stopped"]:
            break
    random_state = np.random.RandomState(0)  # of places to try, not of results
    has_outliers = loss.prior is not None and loss.prior.weights(X).min() < _OUTLYING
    thorough = bool(np.any(lapse)) or has_outliers
    n_relocations = _MOST_RELOCATIONS if thorough or determined.min() < _NEGLIGIBLE else 0
    for _ in range(0 if info["stopped"] else n_relocations):
        X, n_moved = relocate_items(loss, X, lapse, random_state, thorough)
        if not n_moved:
            break
        X, lapse, info = descend(X, lapse, tol)
        n_iter += info["n_iter"]
        X = principal_axes(X)
    return JointFit(X, lapse, loss, n_iter, info["converged"] or info["stopped"], float(determined.min()))


def _best_scale(loss, X, lapse):
    """The factor of all coordinates that the responses prefer: far from it items stay behind when the others move."""

    def evaluate(log_scale):
        scaled = np.exp(log_scale) * X
        value, gradient, _ = loss.evaluate(scaled, lapse)
        return value, float(np.vdot(gradient, scaled))

    slope = evaluate(0.0)[1]
    near = -_SCALE_STEP * np.sign(slope)
    if slope * (other := evaluate(near)[1]) <= 0:  # the usual case: the start has about that scale
        return np.exp(near * slope / (slope - other)) if slope != other else 1.0
    scale = minimize_scalar(
        lambda log_scale: evaluate(log_scale)[0],
        bounds=_SCALE_BOUNDS,
        method="bounded",
        options={"xatol": _SCALE_STEP},
    )
    return np.exp(scale.x)


def _variances(loss, X, lapse):
    blocks = loss.curvature_blocks(X, lapse)
    ridge = 1e-6 * np.einsum("naa->n", blocks) + 1e-9
    return np.einsum("naa->na", np.linalg.inv(blocks + ridge[:, None, None] * np.eye(X.shape[1])))
