"""Maximum likelihood of triplet responses in coordinates, lapse rates and the strength of the regularization."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from skrank._random import as_random_state
from skrank.manifold._landmark_geometry import principal_axes
from skrank.manifold._quasi_newton import minimize_loss
from skrank.manifold._triplet_loss import NO_LAPSE, TripletLoss

PRECISE_BELOW = 1 << 17  # triplets: double precision costs nothing noticeable below
_FIRST_LAPSES = (0.02, 0.12, 0.3)  # from a rate far from the true one the descent can end in a poor optimum
_FIRST_ITERATIONS = 8
_RESPONSES_A_COORDINATE = 50
_FIRST_ALPHA = 1.0
_ALPHA_RANGE = (1e-3, 1e3)
_STUDENT_ALPHA = 0.1  # the heavy tails keep the coordinates finite, and recorded responses prefer a weak prior
_ALPHA_ROUNDS = 6
_COARSE_TOL = 0.2


@dataclass(frozen=True)
class TripletData:
    """Responses as rows (i, j, k): j is nearer to i than k is. Nothing is checked here.

    Attributes
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        Indices below `n_items`.
    n_items : int
        Number of items.
    weights : ndarray of shape (n_triplets,), or None
        Weights of the responses.
    rater : ndarray of int of shape (n_triplets,), or None
        Who gave each response, numbered from 0; each has a lapse rate of their own.
    n_raters : int
        Number of raters.
    """

    triplets: np.ndarray
    n_items: int
    weights: np.ndarray | None = None
    rater: np.ndarray | None = None
    n_raters: int = 1

    def take(self, rows):
        """Some of the responses."""
        weights, rater = (None if values is None else values[rows] for values in (self.weights, self.rater))
        return replace(self, triplets=self.triplets[rows], weights=weights, rater=rater)

    def loss(self, alpha, nu):
        """The loss of these responses."""
        precision = np.float64 if len(self.triplets) < PRECISE_BELOW else np.float32
        return TripletLoss(
            self.triplets,
            self.n_items,
            alpha,
            precision,
            weights=self.weights,
            rater=self.rater,
            n_rates=self.n_raters,
            nu=nu,
        )


@dataclass(frozen=True)
class TripletSettings:
    """What is fitted and how; the parameters of `StochasticTripletEmbedding`, with nu = inf for its logistic kernel."""

    n_components: int
    alpha: float | Literal["auto"] = 0.0
    lapse: float | Literal["auto"] = 0.0
    nu: float = np.inf
    n_init: int = 1
    max_iter: int = 300
    tol: float = 0.02


@dataclass
class TripletFit:
    """A fit of triplet responses.

    Attributes
    ----------
    points : ndarray of shape (n_items, n_components)
        Coordinates.
    lapse : ndarray of shape (n_rates,)
        Lapse rates.
    alpha : float
        Strength of the regularization.
    info : dict
        That of `minimize_loss` for the last descent, with the iterations of all of them.
    """

    points: np.ndarray
    lapse: np.ndarray
    alpha: float
    info: dict[str, Any]


def fit_triplets(data, settings, *, init="spectral", random_state=None, callback=None):
    """Coordinates that maximize the likelihood of triplet responses.

    Parameters
    ----------
    data : TripletData
        The responses.
    settings : TripletSettings
        What is fitted.
    init : {"spectral", "random"} or ndarray of shape (n_items, n_components), default="spectral"
        Where to start; further starts are random.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.
    callback : callable or None, default=None
        Called as `callback(n_iter, loss)` after each iteration; a true answer stops the fit.

    Returns
    -------
    fit : TripletFit
        The best of all starts; its points are centered, on their principal axes, with the signs that make each axis'
        largest coordinate positive.
    """
    random_state = as_random_state(random_state)
    if isinstance(settings.alpha, str) and np.isfinite(settings.nu):
        settings = replace(settings, alpha=_STUDENT_ALPHA)
    automatic = isinstance(settings.alpha, str)
    loss = data.loss(_FIRST_ALPHA if automatic else settings.alpha, settings.nu)
    fits = []
    for number in range(settings.n_init):
        start = _start(init if number == 0 else "random", loss, settings.n_components, random_state)
        descent = _Descent(loss, settings, callback)
        if isinstance(settings.lapse, str):
            start = descent.find_lapse(data, start, isinstance(init, str))
        if automatic and number == 0:
            start = descent.find_alpha(start)
        fits.append(descent.finish(start))
        if descent.stopped:
            break
    best = min(fits, key=lambda fit: fit.info["loss"])
    best.points = principal_axes(best.points)
    return best


class _Descent:
    """One descent from a start, in stages that share the count of iterations."""

    def __init__(self, loss, settings, callback):
        self.loss, self.settings, self.callback = loss, settings, callback
        self.estimates_lapse = isinstance(settings.lapse, str)
        rate = 0.05 if self.estimates_lapse else settings.lapse
        self.lapse = np.full(loss.n_rates, rate, float)
        self.n_iter, self.n_evaluations, self.stopped = 0, 0, False

    def _minimize(self, loss, start, max_iter, tol, lapse=None):
        done = self.n_iter
        X, lapse, info = minimize_loss(
            loss,
            start,
            0 if self.stopped else min(max_iter, self.settings.max_iter - done),
            tol,
            None if self.callback is None else lambda n_iter, loss: self.callback(done + n_iter, loss),
            lapse=self.lapse if lapse is None else lapse,
            estimates_lapse=self.estimates_lapse,
        )
        self.n_iter += info["n_iter"]
        self.n_evaluations += info["n_evaluations"]
        self.stopped |= info["stopped"]
        return X, lapse, info

    def find_lapse(self, data, start, rescales):
        """The start of the best of a few short descents from different lapse rates, on a part of the responses."""
        results = []
        part = _part(data, self.loss, self.settings)
        for rate in _FIRST_LAPSES:
            lapse = np.full(self.loss.n_rates, rate)
            scaled = start * _best_scale(part, start, lapse) if rescales else start
            results.append(self._minimize(part, scaled, _FIRST_ITERATIONS, _COARSE_TOL, lapse))
        X, self.lapse, _ = min(results, key=lambda result: result[2]["loss"])
        return X

    def find_alpha(self, start):
        """Set the strength of the regularization by empirical Bayes; returns a better start.

        The fixed point of MacKay (1992, "Bayesian interpolation"): the effective number of coordinates over the sum
        of their squares.
        """
        X = start
        for _ in range(_ALPHA_ROUNDS):
            X, self.lapse, _ = self._minimize(self.loss, X, self.settings.max_iter, _COARSE_TOL)
            alpha = self.loss.alpha
            curvature = np.linalg.eigvalsh(self.loss.curvature_blocks(X, self.lapse)) - alpha
            curvature = np.maximum(curvature, 0)
            squares = max(float(np.sum((X - X.mean(axis=0)) ** 2)), 1e-12)
            self.loss.alpha = float(np.clip((curvature / (curvature + alpha)).sum() / squares, *_ALPHA_RANGE))
            if self.stopped or abs(np.log(self.loss.alpha / alpha)) < 0.1:
                break
        return X

    def finish(self, start):
        """Descend to the end."""
        X, lapse, info = self._minimize(self.loss, start, self.settings.max_iter, self.settings.tol)
        info.update(n_iter=self.n_iter, n_evaluations=self.n_evaluations, stopped=self.stopped)
        return TripletFit(X, lapse, self.loss.alpha, info)


def _part(data, loss, settings):
    """The loss of as many of the responses as the search for a lapse rate needs."""
    step = len(loss) // (_RESPONSES_A_COORDINATE * data.n_items * settings.n_components)
    if step < 2:
        return loss
    return data.take(slice(None, None, step)).loss(loss.alpha, settings.nu)


# ---------------------------------------------------------------- starts
def _start(init, loss, n_components, random_state):
    if isinstance(init, str):
        return {"spectral": spectral_start, "random": _random_start}[init](loss, n_components, random_state)
    start = np.array(init, float)
    size = np.ptp(start, axis=0).max()
    if size == 0:
        raise ValueError("all rows of init are equal, which the fit cannot leave: the gradient is zero there.")
    if not 1e-4 < size < 1e4:
        raise ValueError(
            f"the points of init spread over {size:.3g}, but squared distances are in units of the responses' noise, "
            "so that a few units are usual: rescale init."
        )
    return start - start.mean(axis=0)


def _random_start(loss, n_components, random_state):
    return random_state.standard_normal((loss.n_items, n_components)) / np.sqrt(n_components)


def spectral_start(loss, n_components, random_state):
    """Classical scaling of the signed counts, which at X = 0 are a linearised estimate of the squared distances.

    The leading eigenvectors of the doubly centered matrix. Its degree term is left out: with few answers an item its
    eigenvectors settle on outliers.
    """
    n_items = loss.n_items

    def centered_product(v):
        v = v.reshape(n_items, -1)
        v = loss.signed_counts(v - v.mean(axis=0))
        return v - v.mean(axis=0)

    n_vectors = min(n_components, n_items - 1)
    if n_items <= max(64, 3 * n_components):
        values, vectors = np.linalg.eigh(centered_product(np.eye(n_items)).astype(float))
    else:
        operator = LinearOperator((n_items, n_items), matvec=centered_product, matmat=centered_product, dtype=float)
        try:
            # a Krylov space now and then misses one of several close eigenvalues: one more than needed finds it
            v0 = random_state.standard_normal(n_items)
            values, vectors = eigsh(operator, n_vectors + 1, which="LA", tol=1e-2, v0=v0)
        except ArpackNoConvergence:
            return _random_start(loss, n_components, random_state)
    values, vectors = values[-n_vectors:], vectors[:, -n_vectors:]
    # an axis of length zero would be a saddle of the loss: keep a tenth of the longest
    lengths = np.sqrt(np.maximum(values, 1e-2 * max(values.max(), 1e-12)))
    start = np.zeros((n_items, n_components))
    start[:, :n_vectors] = vectors * lengths
    start /= np.sqrt((start**2).sum(axis=1).mean())
    start = start * _best_scale(loss, start, NO_LAPSE)
    return start - start.mean(axis=0)


def _best_scale(loss, start, lapse):
    """The factor of the start that a sample of the responses prefers."""
    step = max(1, len(loss) // (20 * loss.n_items))
    scale = minimize_scalar(
        lambda log_scale: loss.value(np.exp(log_scale) * start, step, lapse),
        bounds=(np.log(0.1), np.log(10)),
        method="bounded",
        options={"xatol": 0.1},
    )
    return np.exp(scale.x)
