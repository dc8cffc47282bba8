"""Landmark ordinal embedding: coordinates of items from queries about which of two is nearer to a third."""

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from skrank._callbacks import CallbackSupportMixin, fit_task
from skrank._fitting import all_or_nothing
from skrank._random import as_random_state
from skrank._rankings import refuse_masked
from skrank._typing import ArrayLike, Floats, RandomState, _fit_context
from skrank.manifold._diagnosis import diagnose, warn_of_doubts
from skrank.manifold._euclidean_oracle import EuclideanOracle
from skrank.manifold._landmark_geometry import place_items, principal_axes
from skrank.manifold._new_items import count_panel_wins, draw_panels, improve_places, near_panels, place_rows
from skrank.manifold._pilot import choose_landmarks
from skrank.manifold._ranking import draw_design, rank_from_landmarks
from skrank.manifold._refinement import keep, refine_by_likelihood, refine_by_random_triplets
from skrank.manifold._row_index import RowIndex
from skrank.manifold._settings import Settings, plan_budget, plan_stages
from skrank.manifold._stages import embed_in_stages
from skrank.manifold._validation import check_landmarks, resolve_n_landmarks

_WARM_START_SHARE = 0.3
_FIRST_PANEL_SHARE = 0.3


class LandmarkOrdinalEmbedding(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates of items from an oracle's responses to "is A nearer to B or to C?", for up to millions of items.

    The estimator chooses its queries. By default it asks in two stages. The first stage asks uniform queries and gives
    a rough embedding (with millions of items, it ranks them from landmarks instead). The second stage compares items at
    nearly equal distances, according to the first stage, from *landmarks* that are far from each other; these queries
    are the most informative. The coordinates are then fitted to all responses by maximizing the likelihood times a
    prior, whose width on each axis is estimated.

    The basic method of [1]_ is also available: `landmarks="random", design="iid", refine=None`. A Bradley-Terry model
    scores the items by their squared distance from each landmark, up to a shift; the geometry of the landmarks
    determines the shifts, and landmark multidimensional scaling places all items.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    oracle : callable or None, default=None
        Callable that responds: `oracle(anchors, left, right)` receives three arrays of rows of X with the same length
        and returns a boolean array, True where the left row is nearer to the anchor than the right row. See
        :class:`~skrank.manifold.Oracle`, and :class:`~skrank.manifold.BlockOracle` for optional methods that make it
        faster. None treats the rows as points and responds according to their Euclidean distances without noise; the
        scale of the embedding is then arbitrary. A callable object is copied when the estimator is cloned, unless it
        defines `__sklearn_clone__`.
    n_landmarks : "auto" or int, default="auto"
        Number of landmarks, at least `n_components + 3`. "auto" is the larger of 20 and `4 * n_components`, or all
        items if there are fewer.
    landmarks : {"maxmin", "random"} or array-like of int, default="maxmin"
        "maxmin" selects items that are far from each other in the embedding of the first stage or, with another
        `design`, in a pilot embedding from a tenth of the queries. "random" selects random items. An array lists the
        rows of X to use.
    n_comparisons : "auto" or int, default="auto"
        Maximum total number of queries. "auto" is about 50 n ln n for n items, and increases in proportion to the
        dimension above 5; if `design` is not "auto", it is at least 30 responses about each item from each landmark.
    alpha : float in [1e-6, 1e6], default=0.1
        Ridge penalty on the scores of a ranking, which keeps the scores of items that always win or lose finite.
    design : {"auto", "circulant", "iid"}, default="auto"
        Which queries are asked. "auto" uses the two stages; with fewer than 100 queries per item, or if no embedding
        explains the responses about the first landmarks, the remaining queries are uniform, and with `refine=None` or
        "ste", it is "circulant". "circulant" compares all items from each landmark in cyclic shifts of a random order.
        "iid" compares independent uniform pairs for each landmark, as in [1]_, which is equally accurate and much
        slower.
    refine : {"mle", "ste"} or None, default="mle"
        "mle" maximizes the likelihood of all responses in the coordinates. "ste" (LOE-STE of [1]_) uses a proportion
        `warm_start_share` of the queries for landmarks and the rest for uniform triplets, which it fits by stochastic
        triplet embedding. None does not refine, as in [1]_.
    lapse : float in [0, 0.5) or "auto", default=0.0
        Proportion of responses that are wrong regardless of the distances; "auto" estimates it. Only with
        `refine="mle"`, and not with `design="iid"`.
    warm_start_share : float in (0, 1), default=None
        Proportion of the queries that are about landmarks with `refine="ste"`; otherwise, it must be None. None means
        0.3.
    tol : float, default=0.02
        The fit stops when the root mean square of the remaining step, in standard errors of a coordinate or of a score,
        is below `tol`, or below `10 * tol` for scores that are only the start of a refinement.
    max_iter : int, default=30
        Maximum number of passes over the responses in each ranking; a refinement has at most ten times as many.
    random_state : int, RandomState instance or None, default=None
        Determines which queries are asked.
    n_jobs : int or None, default=None
        Number of landmarks processed in parallel by :mod:`joblib`: in threads unless overridden by
        `joblib.parallel_config`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the rows of X, centered, on principal axes, with the largest coordinate of each axis positive.
        Their unit is that of the logistic model P(left nearer) = f(D_right - D_left), where D is the squared distance
        from the anchor. Identical rows are the same item and have the same coordinates.
    landmarks_ : ndarray of shape (n_landmarks,)
        Rows of X that are landmarks.
    landmark_distances_ : ndarray of shape (n_landmarks, n_landmarks)
        Squared distances between the landmarks in the embedding.
    landmark_scores_ : ndarray of shape (n_samples, n_landmarks)
        Bradley-Terry scores of each item (0 for the landmark itself), with mean zero in each column. Only exists if the
        items were ranked from all landmarks, in one stage.
    shifts_ : ndarray of shape (n_landmarks,)
        The constant that converts each column of scores to squared distances. Only exists if `landmark_scores_` does.
    lapse_ : float
        Lapse rate, given or estimated.
    n_queries_ : int
        Number of queries asked in `fit`.
    n_iter_ : int
        Number of iterations of the refinement, 1 without one.
    residual_ : float
        Square root of chi-squared per degree of freedom of the responses given the embedding: 1 if the model holds,
        less for responses without noise, and more if `n_components` is too small or the noise has another distribution.
    expected_error_ : float
        Expected Procrustes error (:func:`skrank.metrics.procrustes_error`) of the embedding if the model holds, from
        the Fisher information of the responses.
    oracle_ : callable
        The oracle that was asked, bound to the items if it supports that.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns of X, if it is a DataFrame with string column names.

    Raises
    ------
    ValueError
        If there are fewer than `n_components + 3` different rows or landmarks, if `n_comparisons` is less than the
        number of coordinates, if parameters contradict each other, or if the oracle returns responses of the wrong
        shape.
    TypeError
        If the oracle returns anything but booleans.

    Warns
    -----
    skrank.exceptions.InsufficientDataWarning
        If the responses do not determine the embedding: the expected error is above .06, an axis is determined to less
        than 76 percent, items are farther than all that they were compared with, or one percent of the items holds 40
        percent of the spread. With a `design` other than "auto", also if there are fewer than 30 responses per item and
        landmark, or if landmarks hardly span the last axis.
    sklearn.exceptions.ConvergenceWarning
        If the embedding does not explain the responses (`residual_` above 1.15), or if the fit did not converge.

    See Also
    --------
    StochasticTripletEmbedding : From recorded triplets.
    EuclideanOracle : Simulated responses.

    Notes
    -----
    X can contain whatever the oracle needs: features, or one column of identifiers. Its dtype is preserved.

    If there are more components than the items have dimensions, the embedding bends into the additional components, and
    no warning is issued: points on a line have a Procrustes error of about .1 in the plane, and of .3 if responses have
    no noise. Compare `residual_` and held-out responses for several values of `n_components`.

    For a row that was fitted, `transform` returns its coordinates in `embedding_`. A new row is compared, from each
    landmark, with about as many embedded items as in the fit: first with the same items for all rows, then with items
    that are about as far from the landmark as the row appears to be. Its coordinates are the maximum a posteriori
    estimate and do not depend on the other rows.

    References
    ----------
    .. [1] N. Ghosh, Y. Chen and Y. Yue, "Landmark Ordinal Embedding", NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.manifold import EuclideanOracle, LandmarkOrdinalEmbedding
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> oracle = EuclideanOracle(noise="logistic")
    >>> embedding = LandmarkOrdinalEmbedding(n_components=2, oracle=oracle, random_state=0).fit_transform(X)
    >>> embedding.shape
    (500, 2)

    The embedding is the cloud of points up to a similarity:

    >>> from scipy.spatial import procrustes
    >>> bool(procrustes(X, embedding)[2] < 0.02)
    True
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "oracle": [callable, None],
        "n_landmarks": [StrOptions({"auto"}), Interval(Integral, 4, None, closed="left")],
        "landmarks": [StrOptions({"maxmin", "random"}), "array-like"],
        "n_comparisons": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 1e-6, 1e6, closed="both")],
        "design": [StrOptions({"auto", "circulant", "iid"})],
        "refine": [StrOptions({"mle", "ste"}), None],
        "lapse": [Interval(Real, 0, 0.5, closed="left"), StrOptions({"auto"})],
        "warm_start_share": [Interval(Real, 0, 1, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        oracle: Any = None,
        n_landmarks: int | Literal["auto"] = "auto",
        landmarks: str | ArrayLike = "maxmin",
        n_comparisons: int | Literal["auto"] = "auto",
        alpha: float = 0.1,
        design: Literal["auto", "circulant", "iid"] = "auto",
        refine: Literal["mle", "ste"] | None = "mle",
        lapse: float | Literal["auto"] = 0.0,
        warm_start_share: float | None = None,
        tol: float = 0.02,
        max_iter: int = 30,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.oracle = oracle
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.n_comparisons = n_comparisons
        self.alpha = alpha
        self.design = design
        self.refine = refine
        self.lapse = lapse
        self.warm_start_share = warm_start_share
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = self.oracle is not None
        return tags

    @property
    def _n_features_out(self):
        return self.embedding_.shape[1]

    @_fit_context(prefer_skip_nested_validation=True)
    @all_or_nothing
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Ask the oracle about the rows of X and embed them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The items, one a row.
        y : None
            Ignored.

        Returns
        -------
        self : LandmarkOrdinalEmbedding
        """
        refuse_masked(X, "X")
        X = validate_data(self, X, dtype=self._dtype(), ensure_min_samples=self.n_components + 3)
        random_state = as_random_state(self.random_state)
        rows, first = self._index_rows(X, random_state)
        settings = self._settings()
        landmarks = check_landmarks(self.landmarks, len(X))
        landmarks = None if landmarks is None else rows[landmarks]
        n_landmarks = resolve_n_landmarks(self.n_landmarks, landmarks, len(first), self.n_components)
        if landmarks is None and self.landmarks == "random":
            landmarks = random_state.permutation(len(first))[:n_landmarks]
        plan = None
        if self.design == "auto" and self.refine == "mle":
            has_landmarks = landmarks is not None
            plan = plan_stages(len(first), n_landmarks, self.n_comparisons, self.n_components, has_landmarks)
        with threadpool_limits(limits=1, user_api="blas"), fit_task(self, X, n_stages=6) as task:
            if plan is None:
                self._embed_by_ranking(landmarks, n_landmarks, settings, random_state, task, rows)
            else:
                self._embed_in_stages(landmarks, n_landmarks, plan, settings, random_state, task)
        self.embedding_ = self._points[rows]
        self.landmarks_ = first[self._landmarks]
        differences = self.embedding_[self.landmarks_][:, None] - self.embedding_[self.landmarks_]
        self.landmark_distances_ = (differences**2).sum(axis=2)
        return self

    def _index_rows(self, X, random_state):
        """Index of each row of X among the distinct items, in the order of the design, and the first row of each item.

        The order of the design does not depend on the order of X.
        """
        self._index, first, inverse = RowIndex.build(X)
        base = random_state.permutation(len(first))
        self._position = np.empty(len(base), np.intp)
        self._position[base] = np.arange(len(base))
        self._items = X[first[base]]
        oracle = EuclideanOracle() if self.oracle is None else self.oracle
        self.oracle_ = oracle.bind(self._items) if hasattr(oracle, "bind") else oracle
        return self._position[inverse], first[base]

    def _settings(self):
        if self.warm_start_share is not None and self.refine != "ste":
            raise ValueError(
                f"warm_start_share={self.warm_start_share} applies to refine='ste' only, but refine={self.refine!r}: "
                "leave it out"
            )
        if self.lapse != 0 and self.refine != "mle":
            raise ValueError(f"lapse={self.lapse} applies to refine='mle' only, but refine={self.refine!r}")
        if self.lapse != 0 and self.design == "iid":
            raise ValueError(f"lapse={self.lapse} applies to the designs 'auto' and 'circulant', not to 'iid'")
        return Settings(self.n_components, self.alpha, self.refine, self.tol, self.max_iter, self.n_jobs, self.lapse)

    def _embed_in_stages(self, landmarks, n_landmarks, plan, settings, random_state, task):
        refinement, landmarks, self.n_queries_ = embed_in_stages(
            self.oracle_, self._items, landmarks, n_landmarks, plan, settings, random_state, task
        )
        self._finish(refinement, landmarks, diagnose(refinement, settings), settings, random_state)

    def _embed_by_ranking(self, landmarks, n_landmarks, settings, random_state, task, rows):
        """Rank, place, refine, diagnose."""
        oracle, items, n_items = self.oracle_, self._items, len(self._items)
        wants_pilot = landmarks is None and n_landmarks < n_items
        share = (self.warm_start_share or _WARM_START_SHARE) if self.refine == "ste" else 1.0
        budget = plan_budget(n_items, n_landmarks, self.n_comparisons, wants_pilot, share)
        pilot = None
        if budget.pilot:
            design = draw_design(self.design, n_items, budget.pilot, random_state)
            landmarks, pilot = choose_landmarks(oracle, items, n_landmarks, design, settings, random_state, task)
        elif landmarks is None:
            landmarks = random_state.permutation(n_items)[:n_landmarks]
        exclude = () if pilot is None or self.design == "iid" else pilot.design.shifts
        design = draw_design(self.design, n_items, budget.ranking, random_state, exclude)
        ranking = rank_from_landmarks(oracle, items, landmarks, design, settings, task)
        points, geometry = place_items(ranking.scores, landmarks, self.n_components)
        if self.refine == "mle":
            rankings = [ranking] if pilot is None else [pilot, ranking]
            refinement = refine_by_likelihood(points, rankings, settings, task)
        elif self.refine == "ste":
            refinement = refine_by_random_triplets(
                points, oracle, items, budget.n_triplets, ranking, settings, random_state, task
            )
        else:
            refinement = keep(points, ranking)
        self.n_queries_ = ranking.n_queries + budget.n_triplets + (0 if pilot is None else pilot.n_queries)
        self.landmark_scores_, self.shifts_ = _take_rows(ranking.scores, rows), geometry.shifts
        diagnosis = diagnose(refinement, settings, ranking, geometry)
        self._finish(refinement, landmarks, diagnosis, settings, random_state)

    def _finish(self, refinement, landmarks, diagnosis, settings, random_state):
        self._landmarks, self._points = landmarks, principal_axes(refinement.fit.points)
        n_items = len(self._items)
        size = round(2 * self.n_queries_ / n_items / len(landmarks))
        first = max(1, round(_FIRST_PANEL_SHARE * size))
        self._panel, self._n_near = draw_panels(n_items, landmarks, first, random_state), max(1, size - first)
        self.n_iter_, self.lapse_ = refinement.fit.n_iter, float(refinement.fit.lapse[0])
        self.residual_, self.expected_error_ = diagnosis.residual, diagnosis.expected_error
        warn_of_doubts(diagnosis, settings)

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Floats:
        """Ask the oracle about the rows of X, embed them and return their coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The items, one a row.
        y : None
            Ignored.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X).embedding_

    def transform(self, X: ArrayLike) -> Floats:
        """Places of rows in the embedding: known ones of fitted rows; of new rows after asking the oracle.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Items, one a row.

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        refuse_masked(X, "X")
        X = validate_data(self, X, dtype=self._dtype(), reset=False)
        number = self._index.find(X)
        embedding = self._points[self._position[number]]
        new = number < 0
        if new.any():
            with threadpool_limits(limits=1, user_api="blas"):
                embedding[new] = self._place(X[new])
        return embedding

    def _place(self, rows):
        """Places of new rows: by a panel for all, then by items that are about as far from each landmark."""
        points, landmarks = self._points, self._landmarks
        wins = count_panel_wins(self.oracle_, self._items, landmarks, self._panel[None], rows)
        places = place_rows(wins, points, landmarks, self._panel)
        near = near_panels(places, points, landmarks, self._n_near)
        near_wins = count_panel_wins(self.oracle_, self._items, landmarks, near, rows)
        everything = np.concatenate([np.broadcast_to(self._panel, (len(rows), *self._panel.shape)), near], axis=2)
        return improve_places(places, wins + near_wins, points, landmarks, everything)

    def _dtype(self):
        # an oracle gets the rows as they are, identifiers included; points must be numbers
        return "numeric" if self.oracle is None else None


def _take_rows(scores, rows):
    """scores[rows]; in place, a column at a time, where there are as many rows as before."""
    if len(rows) != len(scores):
        return scores[rows]
    for column in scores.T:
        column[:] = column[rows]
    return scores
