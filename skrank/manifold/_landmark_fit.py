"""The fit of landmark ordinal embedding, from a bound oracle to coordinates."""

from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skrank._callbacks import iterations
from skrank.manifold._circulant import CirculantDesign, largest_n_shifts
from skrank.manifold._joint_likelihood import goodness_of_fit, landmark_gradient, maximize_joint_likelihood
from skrank.manifold._landmark_geometry import LandmarkGeometry, farthest_points, landmark_geometry
from skrank.manifold._mean_field_bradley_terry import fit_scores
from skrank.manifold._pair_designs import IndependentDesign
from skrank.manifold._questions import LandmarkQuestions, ask_triplets
from skrank.manifold._stochastic_triplet import fit_triplets

RELIABLE_DEGREE = 30  # answers an item and landmark below which the scores are not to be trusted
_PILOT_SHARE = 0.1
_PILOT_MAX_ITER = 8
_COARSE = 10


def _no_tracking(iterable, name, length):
    return iterable


@dataclass(frozen=True)
class Budget:
    """How many shifts of the circulant design (or as many independent pairs) each landmark gets.

    A shift costs one question for each of the other items, and two answers about each of them.

    Attributes
    ----------
    pilot : int
        For the random landmarks of the pilot embedding; 0 where there is none.
    ranking : int
        For the landmarks themselves.
    n_triplets : int
        Random triplets asked afterwards, to refine by stochastic triplet embedding.
    """

    pilot: int
    ranking: int
    n_triplets: int = 0


def plan_budget(n_items, n_landmarks, n_comparisons, pilot, landmark_share=1.0):
    """Divide the questions between the pilot, the landmarks and random triplets.

    Parameters
    ----------
    n_items, n_landmarks : int
        Numbers of items and of landmarks.
    n_comparisons : int or "auto"
        All questions together. "auto" is 50 n ln n, more where that gives a landmark fewer than 15 shifts.
    pilot : bool
        Whether a pilot embedding is wanted: a tenth of the landmarks' questions, at least 2 shifts.
    landmark_share : float, default=1.0
        Share of the questions that is about landmarks; the rest is random triplets.

    Returns
    -------
    budget : Budget
    """
    automatic = isinstance(n_comparisons, str)
    total = round(50 * n_items * np.log(n_items)) if automatic else n_comparisons
    a_shift = n_landmarks * (n_items - 1)
    most = largest_n_shifts(n_items - 1)
    affordable = int(landmark_share * total / a_shift)
    if affordable < 1 and not automatic:
        raise ValueError(
            f"n_comparisons={n_comparisons} does not allow one question for each of {n_items} items and {n_landmarks} "
            f"landmarks; {int(np.ceil(a_shift / landmark_share))} are the least, and about "
            f"{int(np.ceil(RELIABLE_DEGREE / 2 * a_shift / landmark_share))} are reliable"
        )
    n_pilot = max(2, round(_PILOT_SHARE * min(affordable, most))) if pilot else 0
    ranking = affordable - n_pilot
    if automatic:
        ranking = max(ranking, RELIABLE_DEGREE // 2 if landmark_share == 1 else 1)
    if min(ranking, most - n_pilot) < n_pilot:  # a pilot would take more than it gives
        n_pilot, ranking = 0, max(ranking, affordable)
    ranking = min(ranking, most - n_pilot)
    rest = max(0, total - (n_pilot + ranking) * a_shift) if landmark_share < 1 else 0
    return Budget(n_pilot, ranking, rest)


@dataclass(frozen=True)
class RankedLandmarks:
    """What the answers about each landmark say on their own.

    Attributes
    ----------
    landmarks : ndarray of shape (n_landmarks,)
        Indices of the landmarks among the items.
    design : CirculantDesign or IndependentDesign
        Which comparisons were made.
    scores : ndarray of shape (n_items, n_landmarks), float32, or None
        Squared distances up to a shift of each column; 0 for a landmark itself.
    nets : list of ndarray of shape (n_items - 1,)
        Wins minus half the number of comparisons of the other items, doubled so as to be integers.
    n_informative : ndarray of shape (n_items,)
        For how many landmarks an item neither won nor lost all of its comparisons.
    converged : bool
        Whether every landmark's scores converged.
    """

    landmarks: np.ndarray
    design: CirculantDesign | IndependentDesign
    scores: np.ndarray | None
    nets: list
    n_informative: np.ndarray
    converged: bool

    @property
    def n_queries(self):
        """Number of questions asked."""
        return self.design.n_comparisons * len(self.landmarks)


def _rank_landmark(oracle, items, landmark, number, design, alpha, tol, max_iter):
    questions = LandmarkQuestions(oracle, items, landmark)
    try:
        wins, degree = design.wins_and_degree(questions, number)
    except Exception as error:
        error.add_note(f"raised while the oracle was asked about landmark {items[landmark].tolist()}")
        raise
    half_pass = _LandmarkPass(design, number)
    scores, converged = fit_scores(wins, degree, half_pass, alpha, tol, max_iter)
    net = 2 * wins - degree
    return scores, net.astype(np.min_scalar_type(-int(np.abs(net).max()) - 1)), degree, converged


@dataclass(frozen=True)
class _LandmarkPass:
    design: object
    number: int

    def __call__(self, half_scores):
        return self.design.sum_tanh(half_scores, self.number)


def rank_landmarks(oracle, items, landmarks, design, alpha, tol, max_iter, n_jobs=None, track=_no_tracking):
    """Ask about each landmark and score all items by their distance to it: one task a landmark."""
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    results = parallel(
        delayed(_rank_landmark)(oracle, items, landmark, number, design, alpha, tol, max_iter)
        for number, landmark in enumerate(landmarks)
    )
    scores, nets, all_converged = np.zeros((len(items), len(landmarks)), np.float32, order="F"), [], True
    n_informative = np.full(len(items), len(landmarks), np.int16)
    ranked = zip(landmarks, results, strict=True)
    for number, (landmark, (column, net, degree, converged)) in enumerate(
        track(ranked, "rank landmarks", len(landmarks))
    ):
        scores[:landmark, number], scores[landmark + 1 :, number] = column[:landmark], column[landmark:]
        one_sided = np.abs(net) == degree
        n_informative[:landmark] -= one_sided[:landmark]
        n_informative[landmark + 1 :] -= one_sided[landmark:]
        n_informative[landmark] -= 1
        nets.append(net)
        all_converged &= converged
    return RankedLandmarks(landmarks, design, scores, nets, n_informative, all_converged)


def _scaled_gradient(points, landmark, number, net, design):
    return landmark_gradient(points, landmark, number, net * np.float32(0.5), design)


@dataclass(frozen=True)
class _Gradients:
    """Iterates over the gradients of all landmarks at some points: one task a landmark, in order."""

    rankings: list
    n_jobs: int | None

    @property
    def landmarks(self):
        return np.concatenate([ranked.landmarks for ranked in self.rankings])

    def __call__(self, points):
        # Threads even where a cluster is set: a pass takes less time than its gradients on their way back.
        return Parallel(n_jobs=self.n_jobs, backend="threading", return_as="generator")(
            delayed(_scaled_gradient)(points, landmark, number, net, ranked.design)
            for ranked in self.rankings
            for number, (landmark, net) in enumerate(zip(ranked.landmarks, ranked.nets, strict=True))
        )


@dataclass(frozen=True)
class LandmarkFit:
    """An embedding of the items with what it was made from.

    Attributes
    ----------
    points : ndarray of shape (n_items, n_components)
        Coordinates.
    ranked : RankedLandmarks
        Scores of the items for each landmark.
    geometry : LandmarkGeometry
        Shifts of the scores and distances of the landmarks.
    residual : float
        Square root of chi-squared per degree of freedom.
    expected_error : float
        Expected Procrustes error.
    undetermined : float
        Share of the spread of the embedding that is due to items whose distances from most landmarks are known only to
        be larger (or smaller) than those of all items that they were compared with.
    n_beyond : int
        Number of items of which this holds for every landmark.
    flatness : float
        Smallest eigenvalue of the landmarks' covariance as a share of the largest, before or after the refinement: how
        well the landmarks span the last axis.
    n_iter : int
        Iterations of the refinement; 1 without one, for the pass that the residual takes.
    converged : bool
        Whether the refinement converged.
    """

    points: np.ndarray
    ranked: RankedLandmarks
    geometry: LandmarkGeometry
    residual: float
    expected_error: float
    undetermined: float
    n_beyond: int
    flatness: float
    n_iter: int
    converged: bool


def embed_landmarks(
    oracle,
    items,
    landmarks,
    design,
    n_components,
    *,
    refine="mle",
    pilot=None,
    alpha=0.1,
    tol=0.02,
    max_iter=30,
    n_triplets=0,
    random_state=None,
    n_jobs=None,
    track=_no_tracking,
):
    """Landmark ordinal embedding for given landmarks and a given design, optionally refined.

    The answers of a pilot, a RankedLandmarks, are used again where all answers are fitted together.

    Returns
    -------
    fit : LandmarkFit
    """
    # what is only the start of a refinement need not be exact
    scores_tol = tol if refine is None else _COARSE * tol
    ranked = rank_landmarks(oracle, items, landmarks, design, alpha, scores_tol, max_iter, n_jobs, track)
    if not ranked.scores.any():
        raise ValueError(
            "the answers tell no item from another: from each landmark every item was the nearer one as often as the "
            "farther one. Does the oracle always say that left is nearer, or always right?"
        )
    W = ranked.scores[landmarks].astype(float)
    np.fill_diagonal(W, 0.0)
    geometry = landmark_geometry(W, n_components)
    points = geometry.place(ranked.scores)
    points[landmarks] = geometry.points
    gradients = _Gradients([pilot, ranked] if pilot is not None and refine == "mle" else [ranked], n_jobs)
    n_iter, converged = 1, True
    if refine == "mle":

        def track_iterations(iterable):
            return track(iterable, "maximize likelihood", max_iter)

        points, chi2, variance, n_iter, converged = maximize_joint_likelihood(
            points.T, gradients.landmarks, gradients, max_iter, track=track_iterations
        )
        points = points.T
    else:
        if refine == "ste":
            points, n_iter, converged = _refine_by_random_triplets(
                oracle, items, points, n_triplets, 10 * max_iter, random_state, track
            )
        contiguous = np.ascontiguousarray(points.T, np.float32)
        chi2, variance = goodness_of_fit(contiguous, gradients.landmarks, gradients)
    # of the scores that all landmarks give an item, its coordinates use up n_components
    n_scores = len(gradients.landmarks)
    dispersion = chi2 * n_scores / (n_scores - n_components)
    squared_norms = np.sum((points - points.mean(axis=0)) ** 2, axis=1, dtype=float)
    # an item that is beyond all others for most landmarks could as well be much farther away
    enough = min(n_components + 3, len(landmarks) // 2)
    undetermined = squared_norms[ranked.n_informative < enough].sum() / squared_norms.sum()
    # and one that is beyond all others for all landmarks anywhere
    n_beyond = int(np.count_nonzero(ranked.n_informative == 0))
    axes = np.linalg.eigvalsh(np.atleast_2d(np.cov(points[landmarks].T)))
    flatness = min(
        eigenvalues[0] / max(eigenvalues[-1], np.finfo(float).tiny)
        for eigenvalues in (axes, geometry.eigenvalues[::-1])
    )
    return LandmarkFit(
        points,
        ranked,
        geometry,
        residual=float(np.sqrt(dispersion)),
        # answers without noise determine the coordinates better than the logistic model believes, others less
        expected_error=float(dispersion * variance),
        undetermined=float(undetermined),
        n_beyond=n_beyond,
        flatness=float(flatness),
        n_iter=n_iter,
        converged=converged,
    )


def _refine_by_random_triplets(oracle, items, points, n_triplets, max_iter, random_state, track):
    n_items, n_components = points.shape
    i, j, k = random_triplets(n_items, n_triplets, random_state)
    nearer = ask_triplets(oracle, items, i, j, k)
    triplets = np.column_stack([i, np.where(nearer, j, k), np.where(nearer, k, j)])
    with iterations(track(count(), "fit random triplets", max_iter)) as after_iteration:
        points, info = fit_triplets(
            triplets,
            n_items,
            n_components,
            init=points,
            max_iter=max_iter,
            random_state=random_state,
            callback=after_iteration,
        )
    return points, info["n_iter"], info["converged"]


def random_triplets(n_items, n_triplets, random_state):
    """Uniform triplets of three different items: arrays i, j, k."""
    i = random_state.randint(n_items, size=n_triplets)
    j = (i + random_state.randint(1, n_items, size=n_triplets)) % n_items
    k = random_state.randint(n_items - 2, size=n_triplets)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return i, j, k


def draw_design(design, n_items, n_shifts, random_state, pilot=None):
    """The comparisons of every landmark: `n_shifts` shifts, none of them a pilot's, or as many independent pairs."""
    if design == "circulant":
        exclude = () if pilot is None else pilot.design.shifts
        return CirculantDesign.draw(n_items - 1, n_shifts, random_state, exclude)
    return IndependentDesign.draw(n_items - 1, n_shifts * (n_items - 1), random_state)


def pilot_landmarks(oracle, items, n_landmarks, design, n_components, random_state, **options):
    """Landmarks that are far apart in an embedding from few questions about random landmarks.

    Returns
    -------
    landmarks : ndarray of shape (n_landmarks,)
    pilot : RankedLandmarks
        The answers about the random landmarks, without their scores.
    """
    landmarks = random_state.permutation(len(items))[:n_landmarks]
    pilot = embed_landmarks(
        oracle, items, landmarks, design, n_components, refine="mle", max_iter=_PILOT_MAX_ITER, **options
    )
    return farthest_points(pilot.points, n_landmarks, random_state), replace(pilot.ranked, scores=None)
