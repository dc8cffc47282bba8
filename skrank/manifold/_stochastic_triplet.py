"""Stochastic triplet embedding: maximum likelihood coordinates from recorded triplet responses."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._callbacks import CallbackSupportMixin, fit_task
from skrank._fitting import all_or_nothing, warn_caller
from skrank._random import as_random_state
from skrank._rankings import check_weights, refuse_masked
from skrank._triplets import count_items, unpack_tensor, weigh_triplets
from skrank._typing import ArrayLike, Floats, Items, RandomState, _fit_context
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold._triplet_fit import TripletData, TripletSettings, fit_triplets
from skrank.manifold._triplet_selection import MOST_COMPONENTS, N_FOLDS, choose_components, choose_settings
from skrank.metrics import triplet_accuracy
from skrank.preprocessing._triplets import encode_triplets

_FEW_ITEMS = 12  # up to which one start in four ends in a poor optimum, and more starts cost nothing
_STARTS_OF_FEW = 9


class StochasticTripletEmbedding(CallbackSupportMixin, BaseEstimator):
    r"""Coordinates from recorded responses to "is item j or item k more like item i?".

    The coordinates maximize the likelihood of the model of stochastic triplet embedding [1]_. With the squared
    Euclidean distances D of the embedding, the response "j is nearer to i than k" has the probability :math:`e + (1 -
    2e) / (1 + e^{D_{ij} - D_{ik}})`, where the lapse rate :math:`e` is the proportion of responses that are wrong
    regardless of the distances. The coordinates therefore have a scale: distances are in units of the noise of the
    responses.

    The fit starts from the leading eigenvectors of the signed counts of the responses, then runs L-BFGS in coordinates
    in which each item has unit curvature. Its memory is proportional to the number of responses.

    Parameters
    ----------
    n_components : int or "auto", default=2
        Number of dimensions of the embedding. "auto" tries 1, 2, ... (at most 10) as long as the likelihood of held-out
        responses increases, and selects the smallest number within one standard error of the best. It takes three fits
        for each number.
    n_items : int, default=None
        Number of items. None means the number of rows of `init` if that is an array, the number of `items` if they are
        given, and otherwise the largest index in the triplets plus one. Pass it if the triplets may not contain the
        last items, as in cross-validation.
    items : array-like of shape (n_items,), default=None
        Labels of the items in the order of the rows of `embedding_`, if the triplets contain labels instead of indices.
        None means that triplets of numbers contain indices; if triplets contain other labels, these are sorted.
    kernel : {"logistic", "student", "auto"}, default="logistic"
        How responses depend on distances. "student" is t-STE [1]_: :math:`D` is replaced by :math:`\frac{\nu + 1}{2}
        \log(1 + D/\nu)`, so that distant items have little influence. It predicts some recorded human responses better,
        but is less accurate if the logistic model holds. "auto" selects "logistic" unless the likelihood of held-out
        responses is higher for "student" by more than a standard error, which takes six more fits.
    nu : float or "auto", default="auto"
        Degrees of freedom of the Student kernel. "auto" is `max(1, n_components - 1)`, as in [1]_. With
        `kernel="logistic"`, a number is an error.
    alpha : float or "auto", default="auto"
        Strength of the regularization: alpha/2 times the sum of squared coordinates is added to the negative
        log-likelihood, which corresponds to a normal prior with standard deviation :math:`1/\sqrt{\alpha}`. "auto" uses
        empirical Bayes [2]_, which takes at most three times the time of one fit, and 0.1 with the Student kernel. 0 is
        maximum likelihood, which overfits if there are few responses and has no scale for responses without noise.
    lapse : float in [0, 0.5) or "auto", default=0.0
        Proportion of responses that are wrong regardless of the distances, due to slips, misread queries or inattentive
        raters. "auto" estimates it, with a separate rate for each rater if `rater` is passed to `fit`. Otherwise, one
        careless rater in five, or one wrong response in ten, dominates the error. If nobody errs, "auto" makes almost
        no difference.
    init : {"spectral", "random"} or array-like of shape (n_items, n_components), default="spectral"
        Starting point. "spectral" needs a fraction of the iterations of "random" and avoids its poor local optima. An
        array is a warm start: a previous `embedding_`, or the coordinates of another method at about the right scale.
    n_init : int or "auto", default="auto"
        Number of starts; the best result is kept. All starts except the first are random. "auto" is 9 for up to 12
        items, and 1 for more items or if `init` is an array.
    max_iter : int, default=300
        Maximum number of L-BFGS iterations for each start. From the spectral start, 10 to 20 are typical.
    tol : float, default=0.02
        The fit stops when the remaining step of the coordinates (root mean square) is below `tol` times their standard
        errors. Further iterations would move the embedding by much less than its uncertainty.
    random_state : int, RandomState instance or None, default=None
        Determines the start of the eigenvector iteration, the random starts and the held-out folds. Two fits from the
        spectral start agree to within `tol`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_items, n_components)
        Coordinates: centered, on their principal axes, longest first, with the signs that make the largest absolute
        coordinate of each axis positive. The coordinates of an item that no triplet contains are meaningless.
    items_ : ndarray of shape (n_items,)
        Label of each row of `embedding_`: indices if the triplets contain indices.
    loss_ : float
        Negative log-likelihood at `embedding_`, summed over the responses, plus the regularization.
    n_iter_ : int
        Number of iterations of the best start.
    alpha_ : float
        Strength of the regularization that is used.
    lapse_ : float or ndarray of shape (n_raters,)
        Lapse rate, given or estimated, for all responses or for each of `raters_`.
    raters_ : ndarray of shape (n_raters,)
        Labels of the raters, sorted. Only exists if `rater` was passed to `fit`.
    kernel_ : str
        "logistic" or "student".
    n_components_ : int
        Number of components that are used.
    held_out_log_likelihood_ : ndarray of shape (n_tried,)
        Mean log-likelihood of a held-out response with 1, 2, ... components; exists with `n_components="auto"`.
    n_features_in_ : int
        3, the number of columns of the triplets.
    feature_names_in_ : ndarray of shape (3,)
        Names of the columns if X is a DataFrame with string names.

    See Also
    --------
    LandmarkOrdinalEmbedding : Chooses its own queries; much faster if there is an oracle.
    skrank.metrics.triplet_accuracy : The same score for any coordinates.

    References
    ----------
    .. [1] L. van der Maaten and K. Weinberger, "Stochastic triplet embedding", IEEE MLSP 2012, equations 2 to 4.
    .. [2] D. MacKay, "Bayesian interpolation", Neural Computation 4, 1992.

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

    With items by name:

    >>> model = StochasticTripletEmbedding(n_components=1, random_state=0)
    >>> with_names = model.fit([["tea", "milk", "cola"], ["cola", "beer", "milk"], ["beer", "cola", "tea"]] * 5)
    >>> with_names.items_.tolist()
    ['beer', 'cola', 'milk', 'tea']
    >>> with_names.predict([["tea", "milk", "cola"]])    # is milk nearer to tea than cola?
    array([ True])
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_items": [Interval(Integral, 3, None, closed="left"), None],
        "items": ["array-like", None],
        "kernel": [StrOptions({"logistic", "student", "auto"})],
        "nu": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "lapse": [Interval(Real, 0, 0.5, closed="left"), StrOptions({"auto"})],
        "init": [StrOptions({"spectral", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | Literal["auto"] = 2,
        *,
        n_items: int | None = None,
        items: Items = None,
        kernel: Literal["logistic", "student", "auto"] = "logistic",
        nu: float | Literal["auto"] = "auto",
        alpha: float | Literal["auto"] = "auto",
        lapse: float | Literal["auto"] = 0.0,
        init: str | ArrayLike = "spectral",
        n_init: int | Literal["auto"] = "auto",
        max_iter: int = 300,
        tol: float = 0.02,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.n_items = n_items
        self.items = items
        self.kernel = kernel
        self.nu = nu
        self.alpha = alpha
        self.lapse = lapse
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        rater: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Embed the items of the triplets.

        Parameters
        ----------
        X : array-like of shape (n_triplets, 3), or a sparse tensor of shape (n_items, n_items, n_items)
            Indices (or labels) (i, j, k) of an anchor i and two other items. Or an object with the attributes `coords`
            and `data` of an array of the package sparse, whose entry (i, j, k) is how often j was nearer to i than k,
            or minus how often k was nearer.
        y : array-like of shape (n_triplets,), default=None
            The responses. None means that j is nearer to i than k in each row. Booleans, or numbers that are all 0 or
            1, are true where j is nearer. Other integers are how often j was nearer, or minus how often k was nearer.
        rater : array-like of shape (n_triplets,), default=None
            The rater of each response, numbers or names. With `lapse="auto"`, a separate lapse rate is estimated for
            each rater; otherwise, `lapse` applies to all raters.
        sample_weight : array-like of shape (n_triplets,), default=None
            How often each response was given.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a row is not a triplet, a response is undecided (the message names the row and the value), `init` has the
            wrong shape, or parameters contradict each other.

        Warns
        -----
        InsufficientDataWarning
            If some items do not occur in any triplet, or if there are fewer responses than coordinates.
        ConvergenceWarning
            If `max_iter` is reached.
        """
        random_state = as_random_state(self.random_state)
        init = self.init if isinstance(self.init, str) else check_array(self.init, dtype=float, input_name="init")
        data = self._read(X, y, rater, sample_weight, init)
        n_init = self.n_init
        if isinstance(n_init, str):
            n_init = _STARTS_OF_FEW if isinstance(init, str) and data.n_items <= _FEW_ITEMS else 1
        n_stages = self.max_iter * n_init + (MOST_COMPONENTS + 2) * N_FOLDS
        with fit_task(self, X, y, n_stages=n_stages) as task:
            settings = self._choose(
                data, TripletSettings(2, self.alpha, self.lapse, np.inf, n_init), random_state, task
            )
            if not isinstance(init, str) and init.shape != (data.n_items, settings.n_components):
                shape = (data.n_items, settings.n_components)
                raise ValueError(f"init must have the shape {shape}, got {init.shape}.")
            fit = fit_triplets(
                data,
                settings,
                init=init,
                random_state=random_state,
                callback=lambda n_iter, loss: task.step("iteration"),
            )
        self.embedding_, self.alpha_ = fit.points, fit.alpha
        self.lapse_ = fit.lapse if data.rater is not None else float(fit.lapse[0])
        self.kernel_ = "logistic" if np.isinf(settings.nu) else "student"
        self.n_components_ = settings.n_components
        self.loss_, self.n_iter_ = fit.info["loss"], fit.info["n_iter"]
        _warn_about(fit.info, data, self.embedding_.size, self.max_iter)
        return self

    def _read(self, X, y, rater, sample_weight, init):
        """Validated responses."""
        refuse_masked(X, "X")
        X, y, n_items = unpack_tensor(X, y)
        X, self.items_ = encode_triplets(validate_data(self, X, dtype=None), self.items)
        for number in (self.n_items, None if self.items_ is None else len(self.items_)):
            if number is not None and n_items not in (None, number):
                raise ValueError(f"n_items is {number}, but the other arguments have {n_items} items.")
            n_items = n_items if number is None else number
        if n_items is None and not isinstance(init, str):
            n_items = len(init)
        triplets, counts = weigh_triplets(X, y, n_items=n_items)
        n_items = count_items(triplets) if n_items is None else n_items
        if self.items_ is None:
            self.items_ = np.arange(n_items)
        weights = None if sample_weight is None else check_weights(sample_weight, triplets)
        if counts is not None:
            weights = counts.astype(float) if weights is None else weights * counts
        if rater is None:
            return TripletData(triplets, n_items, weights)
        rater = column_or_1d(rater)
        check_consistent_length(triplets, rater)
        self.raters_, codes = np.unique(rater, return_inverse=True)
        return TripletData(triplets, n_items, weights, codes, len(self.raters_))

    def _choose(self, data, settings, random_state, task):
        """Settings with the number of components and the kernel chosen."""
        if self.kernel == "logistic" and not isinstance(self.nu, str):
            raise ValueError(f'nu={self.nu} is used with kernel="student" only: leave it out, or set kernel.')
        settings = replace(settings, max_iter=self.max_iter, tol=self.tol)
        if self.kernel == "student" and not isinstance(self.nu, str):
            settings = replace(settings, nu=float(self.nu))
        elif self.kernel == "student":
            settings = replace(
                settings, nu=max(1.0, (2 if isinstance(self.n_components, str) else self.n_components) - 1.0)
            )
        if isinstance(self.n_components, str):
            number, self.held_out_log_likelihood_ = choose_components(data, settings, random_state, task)
            settings = replace(settings, n_components=number)
        else:
            settings = replace(settings, n_components=self.n_components)
        if self.kernel == "auto":
            nu = max(1.0, settings.n_components - 1.0) if isinstance(self.nu, str) else float(self.nu)
            candidates = [settings, replace(settings, nu=nu)]
            settings = candidates[choose_settings(data, candidates, random_state, task).chosen]
        return settings

    def fit_transform(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        rater: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Floats:
        """Embed the items of the triplets and return their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_triplets, 3)
            Indices (i, j, k) of an anchor i and two other items.
        y : array-like of shape (n_triplets,), default=None
            The responses, as in :meth:`fit`.
        rater, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_items, n_components)
            The coordinates of the items, `embedding_`.
        """
        return self.fit(X, y, rater=rater, sample_weight=sample_weight).embedding_

    def predict(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Respond to queries by the distances of the embedding.

        Parameters
        ----------
        X : array-like of shape (n_triplets, 3)
            Indices, or labels, (i, j, k) of an anchor i and two other items.

        Returns
        -------
        ndarray of shape (n_triplets,), bool
            True where j is nearer.
        """
        check_is_fitted(self)
        anchors, left, right = (self.embedding_[items] for items in self._indices(X).T)
        return ((anchors - left) ** 2).sum(axis=1) < ((anchors - right) ** 2).sum(axis=1)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Proportion of triplet responses that the embedding reproduces.

        Parameters
        ----------
        X : array-like of shape (n_triplets, 3)
            Indices, or labels, of embedded items.
        y : array-like of shape (n_triplets,), default=None
            The responses, as in :meth:`fit`.

        Returns
        -------
        float
            Between 0 and 1; guessing gives 0.5.
        """
        check_is_fitted(self)
        X, y, _ = unpack_tensor(X, y)
        return triplet_accuracy(self.embedding_, self._indices(X, n_items=None), y)

    def _indices(self, X, n_items=0):
        refuse_masked(X, "X")
        X = validate_data(self, X, reset=False, dtype=None)
        has_labels = self.items is not None or self.items_.dtype.kind not in "iu"
        X, _ = encode_triplets(X, self.items_ if has_labels else None)
        return X if n_items is None else weigh_triplets(X, n_items=len(self.items_))[0]


def _warn_about(info, data, n_coordinates, max_iter):
    unseen = np.flatnonzero(np.bincount(data.triplets.ravel(), minlength=data.n_items) == 0)
    n_responses = len(data.triplets) if data.weights is None else data.weights.sum()
    if len(unseen):
        warn_caller(
            f"{len(unseen)} items occur in no triplet, such as item {unseen[0]}: their coordinates are arbitrary. Ask "
            "about them, or leave them out.",
            InsufficientDataWarning,
        )
    if n_responses < n_coordinates:
        warn_caller(
            f"{n_responses:.6g} responses are fewer than the {n_coordinates} coordinates to be found, so that the "
            "embedding follows their noise. Ask more queries, or lower n_components.",
            InsufficientDataWarning,
        )
    if not (info["converged"] or info["stopped"]):
        warn_caller(
            f"StochasticTripletEmbedding did not converge in {max_iter} iterations: the remaining step is "
            f"{info['step']:.2g} standard errors. Increase max_iter, tol or alpha. If the responses have no noise, an "
            "embedding that reproduces them all can grow without end: then its order is meaningful, its scale is not.",
            ConvergenceWarning,
        )
