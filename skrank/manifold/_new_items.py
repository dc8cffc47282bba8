"""Placing new items in an embedding by their answers against embedded ones.

A new item is compared, from each landmark, with a panel of embedded items whose squared distances theta from it are
known. The likelihood depends on the answers only through the number of wins for each landmark (how often the new item
was the farther one), which is therefore all that is kept.
"""

import numpy as np
from scipy.special import expit

from skrank.manifold._oracle import check_responses
from skrank.manifold._queries import queries_at_a_time

_LARGEST_STEP_SHARE = 0.5
_SPAN = 10


def draw_panels(n_items, landmarks, size, random_state):
    """For each landmark, distinct other items that new rows are compared with first: (n_landmarks, size)."""
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    size = max(1, min(size, n_items - 1))
    panel = np.array([rng.choice(n_items - 1, size, replace=False) for _ in landmarks])
    return panel + (panel >= landmarks[:, None])


def near_panels(places, points, landmarks, size):
    """For each row and landmark, items whose distance from it is near the row's own: (n_rows, n_landmarks, size).

    Their responses inform most. They are spread over a tenth of the items in the order of the distances, and depend on
    the row's place alone.
    """
    n_items = len(points)
    span = min(max(size, n_items // _SPAN), n_items - 1)
    offsets = np.unique(np.linspace(0, span - 1, min(size, span)).astype(int)) - span // 2
    panels = np.empty((len(places), len(landmarks), len(offsets)), np.intp)
    for number, landmark in enumerate(landmarks):
        known = _squared_distances(points, points[landmark])
        order = np.argsort(known, kind="stable")
        order = order[order != landmark]
        position = np.searchsorted(known[order], _squared_distances(places, points[landmark]))
        position = np.clip(position, span // 2, len(order) - 1 - (span - 1 - span // 2))
        panels[:, number] = order[position[:, None] + offsets]
    return panels


def count_panel_wins(oracle, items, landmarks, panels, rows):
    """How often each new row was answered to be farther from each landmark than the items of its panel.

    Parameters
    ----------
    oracle : callable
        A bound oracle.
    items : ndarray of shape (n_items, n_features)
        The embedded items.
    landmarks : ndarray of shape (n_landmarks,)
        Indices of the landmarks.
    panels : ndarray of shape (n_rows or 1, n_landmarks, panel_size)
        Indices of the items that each row is compared with.
    rows : ndarray of shape (n_rows, n_features)
        New rows.

    Returns
    -------
    wins : ndarray of shape (n_rows, n_landmarks)
    """
    panels = np.broadcast_to(panels, (len(rows), *panels.shape[1:]))
    panel_size = panels.shape[2]
    wins = np.empty((len(rows), len(landmarks)), np.int64)
    block_size = max(1, queries_at_a_time(items) // panel_size)
    # one call a landmark and block of rows, so that an oracle has long arrays to work on
    for number, landmark in enumerate(landmarks):
        for start in range(0, len(rows), block_size):
            block = rows[start : start + block_size]
            left = np.repeat(block, panel_size, axis=0)
            right = items[panels[start : start + block_size, number].ravel()]
            anchors = np.repeat(items[[landmark]], len(left), axis=0)
            nearer = check_responses(oracle(anchors, left, right), len(left)).reshape(len(block), panel_size)
            wins[start : start + block_size, number] = panel_size - nearer.sum(axis=1)
    return wins


def map_distances(theta, wins, mean, variance, n_iter=60):
    """Most probable squared distance of a new item from one landmark, given its number of wins.

    Solves sum_q f(t - theta_q) - wins + (t - mean) / variance = 0 by Newton steps, kept in a bracket by bisection.

    Parameters
    ----------
    theta : ndarray of shape (n_problems, panel_size)
        Squared distances of the panel from the landmark.
    wins : ndarray of shape (n_problems,)
        How often the new item was the farther one.
    mean, variance : ndarray of shape (n_problems,)
        Of the Gaussian prior.
    n_iter : int, default=60
        Number of steps.

    Returns
    -------
    distances : ndarray of shape (n_problems,)
    """
    panel_size = theta.shape[1]
    low = np.minimum(theta.min(axis=1), mean) - variance * panel_size
    high = np.maximum(theta.max(axis=1), mean) + variance * panel_size
    t = np.array(mean)
    for _ in range(n_iter):
        probability = expit(t[:, None] - theta)
        slope = probability.sum(axis=1) - wins + (t - mean) / variance
        curvature = (probability * (1 - probability)).sum(axis=1) + 1 / variance
        low, high = np.where(slope < 0, t, low), np.where(slope > 0, t, high)
        new = t - slope / curvature
        t = np.where((new > low) & (new < high), new, (low + high) / 2)
    return t


def place_rows(wins, points, landmarks, panel, max_iter=30, tol=1e-9):
    """Coordinates of new items: one-dimensional estimates, triangulation, then scoring on all responses.

    Every row is treated on its own, whatever rows come with it.

    Parameters
    ----------
    wins : ndarray of shape (n_rows, n_landmarks)
        From `count_panel_wins`.
    points : ndarray of shape (n_items, n_components)
        The embedding.
    landmarks : ndarray of shape (n_landmarks,)
        Indices of the landmarks.
    panel : ndarray of shape (n_landmarks, panel_size)
        Items that all rows were compared with.
    max_iter : int, default=30
        Largest number of scoring steps.
    tol : float, default=1e-9
        A row is done when its step is shorter than this share of the spread of the embedding.

    Returns
    -------
    new_points : ndarray of shape (n_rows, n_components)
    """
    anchors = points[landmarks]
    theta = np.array([_squared_distances(points[p], anchor) for p, anchor in zip(panel, anchors, strict=True)])
    start = _triangulate(_score_by_wins(theta, wins), anchors, theta, _Gaussian(points))
    return improve_places(start, wins, points, landmarks, panel[None], max_iter, tol)


def improve_places(places, wins, points, landmarks, panels, max_iter=30, tol=1e-9):
    """Scoring from given places; `panels`, of shape (n_rows or 1, n_landmarks, panel_size), may differ by row."""
    anchors, prior, y = points[landmarks], _Gaussian(points), np.array(places)
    size = max(1, (1 << 22) // (panels.shape[1] * panels.shape[2]))
    for start in range(0, len(wins), size):
        block = slice(start, start + size)
        own = panels if len(panels) == 1 else panels[block]
        difference = points[own] - anchors[:, None]
        theta = np.einsum("rijk,rijk->rij", difference, difference)
        y[block] = _refine(y[block], wins[block], anchors, theta, prior, max_iter, tol)
    return y


class _Gaussian:
    """Mean and precision of the embedded items, flattened axes included."""

    def __init__(self, points):
        self.mean = points.mean(axis=0)
        covariance = np.atleast_2d(np.cov(points.T))
        self.spread = np.sqrt(np.trace(covariance)) or 1.0
        self.precision = np.linalg.inv(covariance + 1e-6 * self.spread**2 * np.eye(len(self.mean)))


def _squared_distances(points, anchor):
    difference = points - anchor
    return np.einsum("ij,ij->i", difference, difference)


def _score_by_wins(theta, wins):
    """`map_distances` for each row and landmark; solved once for each number of wins that occurs."""
    distances = np.empty(wins.shape)
    for number, (known, column) in enumerate(zip(theta, wins.T, strict=True)):
        counts, inverse = np.unique(column, return_inverse=True)
        variance = known.var() + np.finfo(float).tiny
        constants = (np.full(len(counts), value) for value in (known.mean(), variance))
        known = np.broadcast_to(known, (len(counts), len(known)))
        distances[:, number] = map_distances(known, counts, *constants)[inverse]
    return distances


def _triangulate(distances, anchors, theta, prior):
    """Landmark MDS of the rows' distances, with the axes that the landmarks do not span at the mean."""
    center = anchors.mean(axis=0)
    among = np.array([_squared_distances(anchors, anchor) for anchor in anchors]).mean(axis=0)
    inverse = np.linalg.pinv(anchors - center, rcond=1e-5)
    delta = distances - among
    return -0.5 * np.einsum("ri,ai->ra", delta - delta.mean(axis=1, keepdims=True), inverse) + center


def _refine(y, wins, anchors, theta, prior, max_iter, tol):
    """Fisher scoring in all coordinates with a damping of each row's own (Levenberg and Marquardt)."""
    y = y.copy()
    active = np.arange(len(y))
    damping = np.full(len(y), 1e-3)
    loss, gradient, hessian = _loss_and_derivatives(y, wins, anchors, theta, prior)
    for _ in range(max_iter):
        diagonal = np.einsum("raa->ra", hessian)
        damped = hessian + (damping[active, None] * diagonal)[:, :, None] * np.eye(y.shape[1])
        step = -np.linalg.solve(damped, gradient[:, :, None])[:, :, 0]
        length = np.sqrt(np.einsum("ra,ra->r", step, step))
        step *= np.minimum(1, _LARGEST_STEP_SHARE * prior.spread / np.maximum(length, 1e-300))[:, None]
        own = theta if len(theta) == 1 else theta[active]
        trial = _loss_and_derivatives(y[active] + step, wins[active], anchors, own, prior)
        better = trial[0] <= loss
        y[active[better]] += step[better]
        damping[active] = np.where(better, np.maximum(damping[active] / 10, 1e-9), damping[active] * 10)
        loss, gradient, hessian = (
            np.where(better.reshape((-1,) + (1,) * (old.ndim - 1)), new, old)
            for new, old in zip(trial, (loss, gradient, hessian), strict=True)
        )
        going_on = length > tol * prior.spread
        active, loss, gradient, hessian = active[going_on], loss[going_on], gradient[going_on], hessian[going_on]
        if not len(active):
            break
    return y


def _loss_and_derivatives(y, wins, anchors, theta, prior):
    difference = y[:, None, :] - anchors
    distances = np.einsum("ria,ria->ri", difference, difference)
    z = distances[:, :, None] - theta
    probability = expit(z)
    slope = probability.sum(axis=2) - wins
    curvature = (probability * (1 - probability)).sum(axis=2)
    off = y - prior.mean
    pull = np.einsum("ab,rb->ra", prior.precision, off)
    # softplus(z) = max(z, 0) - log(max(f(z), f(-z)))
    losses = np.maximum(z, 0).sum(axis=2) - np.log(np.maximum(probability, 1 - probability)).sum(axis=2)
    loss = (losses - wins * distances).sum(axis=1) + 0.5 * np.einsum("ra,ra->r", off, pull)
    gradient = 2 * np.einsum("ri,ria->ra", slope, difference) + pull
    hessian = 4 * np.einsum("ri,ria,rib->rab", curvature, difference, difference) + prior.precision
    return loss, gradient, hessian
