"""Stochastic triplet embedding: maximum likelihood coordinates from recorded triplet answers."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils import check_random_state
from sklearn.utils.extmath import svd_flip

from skrank.manifold._triplet_loss import TripletLoss

_PRECISE_BELOW = 1 << 17  # triplets: double precision costs nothing noticeable below


def fit_triplets(
    triplets,
    n_samples,
    n_components,
    *,
    init="spectral",
    max_iter=300,
    tol=0.02,
    random_state=None,
    callback=None,
):
    """Coordinates that maximise the likelihood of triplet answers (stochastic triplet embedding).

    Parameters
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        Rows (i, j, k): j is nearer to i than k is; valid indices, which is not checked here.
    n_samples, n_components : int
        Shape of the embedding.
    init : {"spectral", "random"} or ndarray of shape (n_samples, n_components), default="spectral"
        Where to start.
    max_iter : int, default=300
        Largest number of quasi-Newton iterations.
    tol : float, default=0.02
        Stop when the root mean square of the remaining step, in standard errors of a coordinate, is below this.
    random_state : int, RandomState instance or None, default=None
        Draws the start.
    callback : callable or None, default=None
        Called as `callback(n_iter, loss)` after each iteration.

    Returns
    -------
    embedding : ndarray of shape (n_samples, n_components)
        Centred, on its principal axes, with the signs that make each axis' largest coordinate positive.
    info : dict
        `loss` (at the end, a sum over the triplets), `n_iter`, `n_evaluations` (of loss and gradient), `step` (the
        quantity that `tol` bounds), `converged` and `n_answers` (how many triplets each item occurs in).
    """
    random_state = check_random_state(random_state)
    loss = TripletLoss(triplets, n_samples, np.float64 if len(triplets) < _PRECISE_BELOW else np.float32)
    if isinstance(init, str):
        start = {"spectral": _spectral_start, "random": _random_start}[init](
            loss, n_samples, n_components, random_state
        )
    else:
        start = np.array(init, float)
    X, info = _minimize(loss, start - start.mean(axis=0), max_iter, tol, callback)
    return principal_axes(X), {**info, "n_answers": loss.n_answers}


def principal_axes(X):
    """The cloud X, centred and rotated to its principal axes, with deterministic signs."""
    X = X - X.mean(axis=0)
    u, s, vt = np.linalg.svd(X, full_matrices=False)
    u, _ = svd_flip(u, vt)
    turned = np.zeros_like(X)
    turned[:, : len(s)] = u * s
    return turned


def _random_start(loss, n_samples, n_components, random_state):
    return random_state.standard_normal((n_samples, n_components)) / np.sqrt(n_components)


def _spectral_start(loss, n_samples, n_components, random_state):
    """Classical scaling of the signed counts, which at X = 0 are a linearised estimate of the squared distances.

    The leading eigenvectors of the doubly centred matrix. Its degree term is left out: with few answers an item its
    eigenvectors settle on outliers.
    """

    def centred_product(v):
        v = v.reshape(n_samples, -1)
        v = loss.signed_counts(v - v.mean(axis=0))
        return v - v.mean(axis=0)

    n_vectors = min(n_components, n_samples - 1)
    if n_samples <= max(64, 3 * n_components):
        values, vectors = np.linalg.eigh(centred_product(np.eye(n_samples)).astype(float))
    else:
        operator = LinearOperator((n_samples, n_samples), matvec=centred_product, matmat=centred_product, dtype=float)
        try:
            # a Krylov space now and then misses one of several close eigenvalues: one more than needed finds it
            v0 = random_state.standard_normal(n_samples)
            values, vectors = eigsh(operator, n_vectors + 1, which="LA", tol=1e-2, v0=v0)
        except ArpackNoConvergence:
            return _random_start(loss, n_samples, n_components, random_state)
    values, vectors = values[-n_vectors:], vectors[:, -n_vectors:]
    # an axis of length zero would be a saddle of the loss: keep a tenth of the longest
    lengths = np.sqrt(np.maximum(values, 1e-2 * max(values.max(), 1e-12)))
    start = np.zeros((n_samples, n_components))
    start[:, :n_vectors] = vectors * lengths
    start /= np.sqrt((start**2).sum(axis=1).mean())
    step = max(1, len(loss) // (20 * n_samples))
    scale = minimize_scalar(
        lambda log_scale: loss.value(np.exp(log_scale) * start, step),
        bounds=(np.log(0.1), np.log(10)),
        method="bounded",
        options={"xatol": 0.1},
    )
    return np.exp(scale.x) * start


def _minimize(loss, start, max_iter, tol, callback):
    """L-BFGS in coordinates u = c L'(X - start) in which the curvature of each item is the identity.

    LL' are the blocks of curvature at the start. A gradient in such coordinates is a step in standard errors. The
    constant c is chosen for the first step of L-BFGS-B, whose length is one.
    """
    n_samples, n_components = start.shape
    blocks = loss.curvature_blocks(start)
    trace = np.einsum("naa->n", blocks)
    floor = 1e-3 * trace + 1e-3 * trace.mean()
    blocks += (floor + np.finfo(float).tiny)[:, None, None] * np.eye(n_components)
    whitening = np.linalg.inv(np.linalg.cholesky(blocks))

    value, gradient = loss.value_and_gradient(start)
    whitened = np.einsum("nab,nb->na", whitening, gradient)
    step = np.einsum("nba,nb->na", whitening, whitened)
    longest = np.sqrt((step**2).sum(axis=1).max())
    length = np.linalg.norm(whitened) * min(1.0, 0.5 / max(longest, 1e-300))
    state = {"loss": value, "n_iter": 0, "n_evaluations": 1, "step": np.sqrt(np.mean(whitened**2)), "converged": False}
    if state["step"] <= tol or length == 0 or max_iter == 0:
        return start, {**state, "converged": state["step"] <= tol}
    evaluated = {"u": np.zeros(start.size), "result": (value, length * whitened.ravel())}

    def coordinates(u):
        return start + length * np.einsum("nba,nb->na", whitening, u.reshape(start.shape))

    def value_and_gradient(u):
        if not np.array_equal(u, evaluated["u"]):
            value, gradient = loss.value_and_gradient(coordinates(u))
            gradient = length * np.einsum("nab,nb->na", whitening, gradient).ravel()
            evaluated.update(u=u.copy(), result=(value, gradient))
            state["n_evaluations"] += 1
        return evaluated["result"]

    def after_iteration(intermediate_result):
        value, gradient = value_and_gradient(intermediate_result.x)
        state["n_iter"] += 1
        state["loss"], state["step"] = value, np.sqrt(np.mean(gradient**2)) / length
        if callback is not None:
            callback(state["n_iter"], value)
        if state["step"] <= tol:
            state["converged"] = True
            raise StopIteration

    result = minimize(
        value_and_gradient,
        np.zeros(start.size),
        jac=True,
        method="L-BFGS-B",
        callback=after_iteration,
        options={"maxiter": max_iter, "maxfun": 10 * max_iter, "maxcor": 8, "ftol": 1e-8, "gtol": 0},
    )
    # single precision can end the descent first: the loss no longer changes at its own rounding
    state["converged"] |= result.status == 0 or bool(state["step"] <= 10 * tol and result.status == 2)
    return coordinates(result.x), state
