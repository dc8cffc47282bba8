"""Minimization of a large loss by its gradient alone: L-BFGS in single precision, in units of standard errors.

Of millions of items a start is near the optimum, so that values would only confirm each step, for the price of
another pass over the responses, and the former steps of a general optimizer are most of the memory.
"""

from typing import Any

import numpy as np

from skrank.manifold._quasi_newton import regularized_blocks

_MEMORY = 4  # former steps
_LONGEST_STEP = 0.5  # of an item, in units in which responses err at squared distances near 1
_OVERSHOT = 0.3  # slope after a step, as a share of that before, above which the step was too long
_SLICE = 1 << 16


def descend_by_gradient(loss, start, max_iter, tol, callback=None):
    """Coordinates that minimize a loss, from a start near them.

    Parameters
    ----------
    loss : JointLoss
        Of landmarks' responses, without lapses.
    start : ndarray of shape (n_items, n_components)
        Where to start.
    max_iter : int
        Largest number of iterations.
    tol : float
        Stop when the root mean square of the remaining step, in standard errors, is below this.
    callback : callable, default=None
        Called as `callback(n_iter, None)` after each iteration; a true answer stops the descent.

    Returns
    -------
    X : ndarray of shape (n_items, n_components), float32
    info : dict
        `n_iter`, `step` (the quantity that `tol` bounds), `converged`, `stopped`.
    """
    X = np.array(start, np.float32)
    metric = _inverses(loss.curvature_blocks(X))
    gradient = loss.gradient(X)
    former: list[tuple[np.ndarray, np.ndarray, float]] = []
    info: dict[str, Any] = {"n_iter": 0, "stopped": False}
    while True:
        direction = _two_loops(gradient, former, metric)
        info["step"] = float(np.sqrt(max(-_dot(direction, gradient), 0.0) / X.size))
        info["converged"] = info["step"] <= tol
        if info["converged"] or info["stopped"] or info["n_iter"] == max_iter:
            return X, info
        _shorten(direction)
        slope = _dot(direction, gradient)
        X += direction
        new = loss.gradient(X)
        if (after := _dot(direction, new)) > -_OVERSHOT * slope:  # back to where the slope is zero on a straight line
            share = np.float32(slope / (slope - after))
            X -= (1 - share) * direction
            direction *= share
            new = loss.gradient(X)
        change = new - gradient
        if (product := _dot(direction, change)) > 0:
            former = [*former[1 - _MEMORY :], (direction, change, product)]
        gradient = new
        info["n_iter"] += 1
        info["stopped"] = bool(callback is not None and callback(info["n_iter"], None))


def _two_loops(gradient, former, metric):
    """Minus the inverse of the curvature times the gradient, by the former steps (Nocedal, 1980)."""
    q, weights = np.array(gradient), []
    for step, change, product in reversed(former):
        weights.append(_dot(step, q) / product)
        q -= np.float32(weights[-1]) * change
    q = np.einsum("nab,nb->na", metric, q)
    for (step, change, product), weight in zip(former, reversed(weights), strict=True):
        q += np.float32(weight - _dot(change, q) / product) * step
    return np.negative(q, out=q)


def _dot(a, b):
    """In double precision over slices: one sum of millions of terms would lose digits."""
    return sum(
        float(np.vdot(a[start : start + _SLICE], b[start : start + _SLICE])) for start in range(0, len(a), _SLICE)
    )


def _shorten(direction):
    """Limit the steps of single items, in place."""
    lengths = np.sqrt(np.einsum("na,na->n", direction, direction))
    direction *= (_LONGEST_STEP / np.maximum(lengths, _LONGEST_STEP))[:, None]


def _inverses(blocks):
    """Inverses of the blocks of curvature, in single precision."""
    blocks = regularized_blocks(blocks)
    for start in range(0, len(blocks), _SLICE):
        part = slice(start, start + _SLICE)
        blocks[part] = np.linalg.inv(blocks[part].astype(float))
    return blocks
