"""The automatic design: a first embedding by uniform queries, then queries whose responses inform most.

Pairs of items at nearly equal distances from a far landmark inform most about coordinates. Which these are the first
stage tells: for each landmark the items are sorted by their estimated distance, and positions a few shifts apart are
compared, along contiguous slices. Uniform triplets are the better first stage, because they settle the shape of any
cloud; for millions of items a ranking from landmarks is the faster one.

Where distances are not those of points in so few dimensions, near pairs from a few landmarks distort the embedding. A
quarter of the landmarks is asked about first; if no embedding explains their responses, the others are uniform.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skrank._callbacks import UNWATCHED
from skrank.manifold._joint_fit import maximize_likelihood
from skrank.manifold._landmark_geometry import farthest_points, place_items
from skrank.manifold._landmark_loss import LandmarkLoss
from skrank.manifold._random_triplets import ask_random_triplets
from skrank.manifold._ranking import draw_design, rank_from_landmarks
from skrank.manifold._refinement import Refinement, refine_coarsely
from skrank.manifold._responses import ask_landmark
from skrank.manifold._settings import SAMPLE_SIZE, draw_near_shifts
from skrank.manifold._triplet_fit import TripletData, TripletSettings, fit_triplets, spectral_start

_FIRST_TOL = 0.05
_FIRST_ITERATIONS = 60  # with noise it takes about 30; without, the scale has no limit and iterations hardly end
_PROBE_SHARE = 0.25  # of the landmarks
_PROBE_TOL = 0.1
_LARGEST_PROBE = (
    2.0  # chi-squared; in simulations up to 0.9 if the model holds, and up to 1.6 if responses are reversed
)


@dataclass(frozen=True)
class FirstStage:
    """A first embedding.

    Attributes
    ----------
    points : ndarray of shape (n_items, n_components)
        Coordinates.
    lapse : ndarray of shape (1,)
        Lapse rate.
    losses : list
        Those of the responses so far.
    n_queries : int
        Number of queries asked.
    """

    points: np.ndarray
    lapse: np.ndarray
    losses: list
    n_queries: int


def embed_uniform_triplets(oracle, items, n_triplets, settings, random_state, task=UNWATCHED, *, is_first):
    """Ask uniform queries and embed their responses, as far as a first stage needs it; returns the fit and the loss."""
    data = TripletData(ask_random_triplets(oracle, items, n_triplets, random_state), len(items))
    loss, lapse = data.loss(0.0, np.inf), None
    with task.stage("fit random triplets", settings.most_iterations) as iterations:
        if isinstance(settings.lapse, str):
            with_lapse = TripletSettings(settings.n_components, alpha="auto", lapse="auto", tol=0.2)
            found = fit_triplets(data, with_lapse, random_state=random_state)
            start, lapse = found.points, found.lapse
        else:
            start = spectral_start(loss, settings.n_components, random_state)
        limits = {"tol": _FIRST_TOL, "max_iter": min(_FIRST_ITERATIONS, settings.most_iterations)} if is_first else {}
        fit = maximize_likelihood([loss], start, settings, lapse=lapse, task=iterations, **limits)
    return fit, loss


def embed_from_landmarks(oracle, items, landmarks, n_landmarks, plan, settings, random_state, task=UNWATCHED):
    """A first stage by landmark ordinal embedding, from landmarks that are far from each other in a sample."""
    if landmarks is None:
        sample = items[:SAMPLE_SIZE]  # in random order already
        fit, _ = embed_uniform_triplets(oracle, sample, plan.n_of_sample, settings, random_state, task, is_first=True)
        landmarks = farthest_points(fit.points, n_landmarks, random_state)
    settings = settings.of_pilot()
    design = draw_design("circulant", len(items), plan.n_shifts, random_state)
    ranking = rank_from_landmarks(oracle, items, landmarks, design, settings, task)
    points, _ = place_items(ranking.scores, landmarks, settings.n_components)
    ranking = replace(ranking, scores=None)
    fit = refine_coarsely(points, [ranking], settings, task)
    return FirstStage(fit.points, fit.lapse, [ranking.loss], plan.n_of_sample + ranking.n_queries)


def ask_sorted(oracle, items, points, landmarks, per_landmark, settings, random_state, task=UNWATCHED):
    """Compare items at nearly equal distances from each landmark: one task a landmark. Returns the loss."""
    shifts = [draw_near_shifts(len(items) - 1, per_landmark, random_state) for _ in landmarks]
    parallel = Parallel(n_jobs=settings.n_jobs, prefer="threads", return_as="generator")
    results = parallel(
        delayed(_ask_sorted_from)(oracle, items, points, landmark, own, settings.keeps_responses)
        for landmark, own in zip(landmarks, shifts, strict=True)
    )
    return LandmarkLoss(list(task.track("compare near pairs", results, len(landmarks))), len(items), settings.n_jobs)


def order_by_distance(points, landmark):
    """The other items by their distance from one of them, the nearest first."""
    difference = (points - points[landmark]).astype(np.float32)
    keys = np.einsum("na,na->n", difference, difference).view(np.uint32).astype(np.uint64)
    # bits of a float that is not negative, then the index: numbers without ties, which numpy sorts several times as
    # fast as it finds a stable order
    keys <<= np.uint64(32)
    keys |= np.arange(len(points), dtype=np.uint64)
    keys.sort()
    keys &= np.uint64(2**32 - 1)
    order = keys.astype(np.int32)
    return order[order != landmark]


def _ask_sorted_from(oracle, items, points, landmark, shifts, keeps_responses):
    order = order_by_distance(points, landmark)
    try:
        return ask_landmark(oracle, items, landmark, order, shifts, keeps_responses=keeps_responses)
    except Exception as error:
        error.add_note(f"raised while the oracle was asked about landmark {items[landmark].tolist()}")
        raise


def embed_in_stages(oracle, items, landmarks, n_landmarks, plan, settings, random_state, task=UNWATCHED):
    """Ask and embed in two stages.

    Parameters
    ----------
    oracle : callable
        A bound oracle.
    items : ndarray of shape (n_items, n_features)
        The items.
    landmarks : ndarray of shape (n_landmarks,), "random" or None
        Indices of the landmarks; None chooses far ones in the first embedding.
    n_landmarks : int
        Number of landmarks.
    plan : StagePlan
        How the queries are divided.
    settings : Settings
        Of the fit.
    random_state : RandomState instance
        Draws the queries.
    task : Task
        Is told of the progress.

    Returns
    -------
    refinement : Refinement
    landmarks : ndarray of shape (n_landmarks,)
    n_queries : int
    """
    if plan.n_uniform:
        is_first = plan.n_sorted > 0
        fit, loss = embed_uniform_triplets(
            oracle, items, plan.n_uniform, settings, random_state, task, is_first=is_first
        )
        first = FirstStage(fit.points, fit.lapse, [loss], len(loss))
    else:
        first = embed_from_landmarks(oracle, items, landmarks, n_landmarks, plan, settings, random_state, task)
    if landmarks is None:
        landmarks = farthest_points(first.points, n_landmarks, random_state)
    if not plan.n_sorted:
        return Refinement(fit, loss, len(loss) / len(items)), landmarks, len(loss)
    first, probe = _probe(oracle, items, first, landmarks, plan, settings, random_state, task)
    if probe and probe.chi_squared(first.points, first.lapse) > _LARGEST_PROBE:
        n_more = plan.n_sorted - len(probe)
        more = TripletData(ask_random_triplets(oracle, items, n_more, random_state), len(items)).loss(0.0, np.inf)
        judge, losses = probe, [*first.losses, more]
    else:
        asked = probe.responses if probe else []
        others, per_landmark = landmarks[len(asked) :], plan.n_sorted // len(landmarks)
        more = ask_sorted(oracle, items, first.points, others, per_landmark, settings, random_state, task)
        judge = LandmarkLoss([*asked, *more.responses], len(items), settings.n_jobs)
        losses = [*first.losses, judge]
    with task.stage("maximize likelihood", settings.most_iterations) as iterations:
        fit = maximize_likelihood(losses, first.points, settings, lapse=first.lapse, task=iterations)
    return Refinement(fit, judge, len(judge.responses)), landmarks, first.n_queries + len(more)


def _probe(oracle, items, first, landmarks, plan, settings, random_state, task):
    """Ask about the first landmarks, where the first stage was uniform, and fit their responses, too.

    Returns
    -------
    first : FirstStage
        With the better coordinates, and the number of queries, but without the loss of the probe.
    probe : LandmarkLoss or None
    """
    if not plan.n_uniform:
        return first, None
    probing = landmarks[: max(settings.n_components + 1, int(_PROBE_SHARE * len(landmarks)))]
    per_landmark = plan.n_sorted // len(landmarks)
    probe = ask_sorted(oracle, items, first.points, probing, per_landmark, settings, random_state, task)
    max_iter = min(_FIRST_ITERATIONS, settings.most_iterations)
    with task.stage("probe: maximize likelihood", max_iter) as iterations:
        fit = maximize_likelihood(
            [*first.losses, probe],
            first.points,
            settings,
            lapse=first.lapse,
            has_prior=settings.keeps_responses,  # lapses leave a loss without a prior no scale
            max_iter=max_iter,
            tol=_PROBE_TOL,
            task=iterations,
        )
    n_queries = first.n_queries + len(probe)
    return replace(first, points=fit.points, lapse=fit.lapse, n_queries=n_queries), probe
