"""Stochastic triplet embedding: maximum likelihood coordinates from recorded triplet answers."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._callbacks import CallbackSupportMixin, fit_task
from skrank._fitting import all_or_nothing, warn_caller
from skrank._random import as_random_state
from skrank._rankings import refuse_masked
from skrank._triplets import check_triplets, count_items
from skrank._typing import ArrayLike, Floats, RandomState, _fit_context
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold._landmark_geometry import principal_axes
from skrank.manifold._triplet_loss import TripletLoss
from skrank.metrics import triplet_accuracy

_PRECISE_BELOW = 1 << 17  # triplets: double precision costs nothing noticeable below


class StochasticTripletEmbedding(CallbackSupportMixin, BaseEstimator):
    r"""Coordinates from recorded answers to "is item j or item k more like item i?".

    Maximum likelihood under the model of stochastic triplet embedding [1]_: with D the squared Euclidean distances of
    the embedding, "j is nearer to i than k" is answered with probability :math:`1 / (1 + e^{D_{ij} - D_{ik}})`. The
    coordinates therefore have a scale: distances are in units of the noise of the answers.

    The fit starts from the leading eigenvectors of the signed counts of the answers, then runs L-BFGS in coordinates in
    which each item has unit curvature. Its memory is proportional to the number of answers.

    Parameters
    ----------
    n_components : int, default=2
        Number of dimensions of the embedding.
    n_items : int, default=None
        Number of items. None: the rows of `init` if that is an array, or else the largest index in the triplets plus
        one. Give it where the last items may be missing from some answers, as in cross-validation.
    init : {"spectral", "random"} or array-like of shape (n_items, n_components), default="spectral"
        Where to start. "spectral" needs a fraction of the iterations of "random" and avoids its poor local optima. An
        array is a warm start: a former `embedding_`, or another method's coordinates at about the right scale.
    alpha : float, default=0.0
        Strength of the regularisation: the negative log-likelihood gains alpha/2 times the sum of squared coordinates,
        a normal prior of standard deviation :math:`1/\sqrt{\alpha}`. 0 is maximum likelihood. With few answers an item
        (below some ten for each coordinate) values of 1 to 3 predict held-out answers better and take fewer iterations.
    max_iter : int, default=300
        Largest number of L-BFGS iterations. From the spectral start some 10 to 20 are usual.
    tol : float, default=0.02
        The fit stops when the remaining step of the coordinates (root mean square) is below `tol` of their standard
        errors: beyond that, iterations move the embedding by less than the noise of the answers leaves open.
    random_state : int, RandomState instance or None, default=None
        Seeds the eigenvectors' iteration or the random start. Two fits from the spectral start agree to within `tol`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_items, n_components)
        Coordinates: centred, on their principal axes, longest first, with the signs that make the largest absolute
        coordinate of each axis positive. An item that no triplet contains stays where it started, which says nothing.
    loss_ : float
        Negative log-likelihood at `embedding_`, a sum over the answers, with the regularisation.
    n_iter_ : int
        Iterations done.
    n_features_in_ : int
        3, the number of columns of the triplets.
    feature_names_in_ : ndarray of shape (3,)
        Names of the columns, when the triplets come as a DataFrame with string names.

    See Also
    --------
    LandmarkOrdinalEmbedding : Chooses its questions itself; much faster when an oracle can be asked.
    skrank.metrics.triplet_accuracy : The score, for any coordinates.

    References
    ----------
    .. [1] L. van der Maaten and K. Weinberger, "Stochastic triplet embedding", IEEE MLSP 2012, equations 2 and 3.

    Examples
    --------
    >>> from skrank.datasets import make_triplets
    >>> from skrank.manifold import StochasticTripletEmbedding
    >>> from skrank.metrics import procrustes_error
    >>> triplets, X = make_triplets(n_items=30, n_triplets=9000, noise="logistic", random_state=0)
    >>> model = StochasticTripletEmbedding(random_state=0).fit(triplets)
    >>> model.embedding_.shape
    (30, 2)
    >>> procrustes_error(X, model.embedding_) < 0.05
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_items": [Interval(Integral, 3, None, closed="left"), None],
        "init": [StrOptions({"spectral", "random"}), "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_items: int | None = None,
        init: str | ArrayLike = "spectral",
        alpha: float = 0.0,
        max_iter: int = 300,
        tol: float = 0.02,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_items = n_items
        self.init = init
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Embed the items of the triplets.

        Parameters
        ----------
        X : array-like of shape (n_triplets, 3)
            Indices (i, j, k) of an anchor i and two other items.
        y : array-like of shape (n_triplets,), default=None
            The answers. None: j is nearer to i than k in each row. Booleans, or numbers that are all 0 or 1: true where
            j is nearer. Other whole numbers: how often j was answered to be nearer, negative where k was.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            On a row that is not a triplet, a response that says nothing (the message names both), or an `init` of
            another shape.

        Warns
        -----
        InsufficientDataWarning
            If some items occur in no triplet, or there are fewer answers than coordinates.
        ConvergenceWarning
            If `max_iter` is reached.
        """
        init = self.init if isinstance(self.init, str) else check_array(self.init, dtype=float, input_name="init")
        n_items = self.n_items
        if n_items is None and not isinstance(init, str):
            n_items = len(init)
        refuse_masked(X, "X")
        triplets = check_triplets(validate_data(self, X, dtype="numeric"), y, n_items=n_items)
        n_items = count_items(triplets) if n_items is None else n_items
        if not isinstance(init, str) and init.shape != (n_items, self.n_components):
            raise ValueError(f"init must have the shape {(n_items, self.n_components)}, got {init.shape}.")

        with fit_task(self, X, y, n_stages=self.max_iter) as task:
            self.embedding_, info = fit_triplets(
                triplets,
                n_items,
                self.n_components,
                init=init,
                alpha=self.alpha,
                max_iter=self.max_iter,
                tol=self.tol,
                random_state=self.random_state,
                callback=lambda n_iter, loss: task.step("iteration"),
            )
        self.loss_, self.n_iter_ = info["loss"], info["n_iter"]
        _warn_about(info, len(triplets), self.embedding_.size, self.max_iter)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Floats:
        """Embed the items of the triplets and return their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_triplets, 3)
            Indices (i, j, k) of an anchor i and two other items.
        y : array-like of shape (n_triplets,), default=None
            The answers, as in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_items, n_components)
            The coordinates of the items, `embedding_`.
        """
        return self.fit(X, y).embedding_

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Share of triplet answers that the embedding reproduces.

        Parameters
        ----------
        X : array-like of shape (n_triplets, 3)
            Indices of embedded items.
        y : array-like of shape (n_triplets,), default=None
            The answers, as in :meth:`fit`.

        Returns
        -------
        float
            Between 0 and 1; guessing gives 0.5.
        """
        check_is_fitted(self)
        refuse_masked(X, "X")
        return triplet_accuracy(self.embedding_, validate_data(self, X, reset=False, dtype="numeric"), y)


def _warn_about(info, n_triplets, n_coordinates, max_iter):
    unseen = np.flatnonzero(info["n_answers"] == 0)
    if len(unseen):
        warn_caller(
            f"{len(unseen)} items occur in no triplet, such as item {unseen[0]}: their coordinates are arbitrary. Ask "
            "about them, or leave them out.",
            InsufficientDataWarning,
        )
    if n_triplets < n_coordinates:
        warn_caller(
            f"{n_triplets} answers are fewer than the {n_coordinates} coordinates to be found, so that the embedding "
            "follows their noise. Ask more questions, lower n_components or set alpha.",
            InsufficientDataWarning,
        )
    if not (info["converged"] or info["stopped"]):
        warn_caller(
            f"StochasticTripletEmbedding did not converge in {max_iter} iterations: the remaining step is "
            f"{info['step']:.2g} standard errors. Increase max_iter, tol or alpha. If the answers have no noise, an "
            "embedding that reproduces them all can grow without end: then its order is meaningful, its scale is not.",
            ConvergenceWarning,
        )


def fit_triplets(
    triplets,
    n_items,
    n_components,
    *,
    init="spectral",
    alpha=0.0,
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
    n_items, n_components : int
        Shape of the embedding.
    init : {"spectral", "random"} or ndarray of shape (n_items, n_components), default="spectral"
        Where to start.
    alpha : float, default=0.0
        Strength of the regularisation.
    max_iter : int, default=300
        Largest number of quasi-Newton iterations.
    tol : float, default=0.02
        Stop when the root mean square of the remaining step, in standard errors of a coordinate, is below this.
    random_state : int, RandomState instance or None, default=None
        Draws the start.
    callback : callable or None, default=None
        Called as `callback(n_iter, loss)` after each iteration; a true answer stops the fit.

    Returns
    -------
    embedding : ndarray of shape (n_items, n_components)
        Centred, on its principal axes, with the signs that make each axis' largest coordinate positive.
    info : dict
        `loss` (at the end, a sum over the triplets), `n_iter`, `n_evaluations` (of loss and gradient), `step` (the
        quantity that `tol` bounds), `converged`, `stopped` (by the callback) and `n_answers` (how many triplets each
        item occurs in).
    """
    random_state = as_random_state(random_state)
    loss = TripletLoss(triplets, n_items, alpha, np.float64 if len(triplets) < _PRECISE_BELOW else np.float32)
    if isinstance(init, str):
        start = {"spectral": _spectral_start, "random": _random_start}[init](loss, n_items, n_components, random_state)
    else:
        start = np.array(init, float)
        size = np.ptp(start, axis=0).max()
        if size == 0:
            raise ValueError("all rows of init are equal, which the fit cannot leave: the gradient is zero there.")
        if not 1e-4 < size < 1e4:
            raise ValueError(
                f"the points of init spread over {size:.3g}, but squared distances are in units of the answers' noise, "
                "so that a few units are usual: rescale init."
            )
    X, info = _minimize(loss, start - start.mean(axis=0), max_iter, tol, callback)
    return principal_axes(X), {**info, "n_answers": loss.n_answers}


def _random_start(loss, n_items, n_components, random_state):
    return random_state.standard_normal((n_items, n_components)) / np.sqrt(n_components)


def _spectral_start(loss, n_items, n_components, random_state):
    """Classical scaling of the signed counts, which at X = 0 are a linearised estimate of the squared distances.

    The leading eigenvectors of the doubly centred matrix. Its degree term is left out: with few answers an item its
    eigenvectors settle on outliers.
    """

    def centred_product(v):
        v = v.reshape(n_items, -1)
        v = loss.signed_counts(v - v.mean(axis=0))
        return v - v.mean(axis=0)

    n_vectors = min(n_components, n_items - 1)
    if n_items <= max(64, 3 * n_components):
        values, vectors = np.linalg.eigh(centred_product(np.eye(n_items)).astype(float))
    else:
        operator = LinearOperator((n_items, n_items), matvec=centred_product, matmat=centred_product, dtype=float)
        try:
            # a Krylov space now and then misses one of several close eigenvalues: one more than needed finds it
            v0 = random_state.standard_normal(n_items)
            values, vectors = eigsh(operator, n_vectors + 1, which="LA", tol=1e-2, v0=v0)
        except ArpackNoConvergence:
            return _random_start(loss, n_items, n_components, random_state)
    values, vectors = values[-n_vectors:], vectors[:, -n_vectors:]
    # an axis of length zero would be a saddle of the loss: keep a tenth of the longest
    lengths = np.sqrt(np.maximum(values, 1e-2 * max(values.max(), 1e-12)))
    start = np.zeros((n_items, n_components))
    start[:, :n_vectors] = vectors * lengths
    start /= np.sqrt((start**2).sum(axis=1).mean())
    step = max(1, len(loss) // (20 * n_items))
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
    n_items, n_components = start.shape
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
    state["stopped"] = False
    if state["step"] <= tol or length == 0 or max_iter == 0:
        return start, {**state, "converged": state["step"] <= tol}
    evaluated: dict[str, Any] = {"u": np.zeros(start.size), "result": (value, length * whitened.ravel())}

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
        state["converged"] = bool(state["step"] <= tol)
        stop = callback is not None and callback(state["n_iter"], value)
        if stop or state["converged"]:
            state["stopped"] = bool(stop)
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
