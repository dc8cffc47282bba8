"""First step: rank all items by their distance from each landmark."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skrank._callbacks import UNWATCHED
from skrank.manifold._designs import CirculantDesign, Design, IndependentDesign
from skrank.manifold._landmark_loss import LandmarkLoss
from skrank.manifold._mean_field_bradley_terry import fit_scores
from skrank.manifold._responses import PairResponses


def draw_design(design, n_items, n_shifts, random_state, exclude=()):
    """The comparisons of every landmark: `n_shifts` shifts that are not excluded, or as many independent pairs."""
    if design == "iid":
        return IndependentDesign.draw(n_items - 1, n_shifts * (n_items - 1), random_state)
    return CirculantDesign.draw(n_items - 1, n_shifts, random_state, exclude)


@dataclass(frozen=True)
class Ranking:
    """What the responses about each landmark say on their own.

    Attributes
    ----------
    landmarks : ndarray of shape (n_landmarks,)
        Indices of the landmarks among the items.
    design : Design
        Which comparisons were made.
    scores : ndarray of shape (n_items, n_landmarks), float32, or None
        Squared distances up to a shift of each column; 0 for a landmark itself.
    loss : LandmarkLoss
        That of all the responses, as a function of the coordinates.
    n_informative : ndarray of shape (n_items,)
        For how many landmarks an item neither won nor lost all of its comparisons.
    converged : bool
        Whether every landmark's scores converged.
    """

    landmarks: np.ndarray
    design: Design
    scores: np.ndarray | None
    loss: LandmarkLoss
    n_informative: np.ndarray
    converged: bool

    @property
    def n_queries(self):
        """Number of queries asked."""
        return self.design.n_comparisons * len(self.landmarks)


def _rank_landmark(oracle, items, landmark, number, design, settings):
    try:
        responses = design.ask(oracle, items, landmark, number, settings.keeps_responses)
    except Exception as error:
        error.add_note(f"raised while the oracle was asked about landmark {items[landmark].tolist()}")
        raise
    scores, converged = fit_scores(
        responses.wins,
        responses.degree if isinstance(responses, PairResponses) else design.mean_degree,
        _LandmarkPass(design, number),
        settings.alpha,
        settings.ranking_tol,
        settings.max_iter,
    )
    return scores, responses, converged


@dataclass(frozen=True)
class _LandmarkPass:
    design: Design
    number: int

    def __call__(self, half_scores):
        return self.design.sum_tanh(half_scores, self.number)


def rank_from_landmarks(oracle, items, landmarks, design, settings, task=UNWATCHED, stage="rank landmarks"):
    """Ask about each landmark and score all items by their distance from it: one task a landmark.

    Parameters
    ----------
    oracle : callable
        A bound oracle.
    items : ndarray of shape (n_items, n_features)
        The items.
    landmarks : ndarray of shape (n_landmarks,)
        Indices of the landmarks among the items.
    design : Design
        Which comparisons to ask about.
    settings : Settings
        Of the fit.
    task : Task
        Is told of the progress, in a stage of the name `stage`.

    Returns
    -------
    ranking : Ranking
    """
    parallel = Parallel(n_jobs=settings.n_jobs, prefer="threads", return_as="generator")
    results = parallel(
        delayed(_rank_landmark)(oracle, items, landmark, number, design, settings)
        for number, landmark in enumerate(landmarks)
    )
    scores = np.zeros((len(items), len(landmarks)), np.float32, order="F")
    all_responses, all_converged = [], True
    n_informative = np.full(len(items), len(landmarks), np.int16)
    tracked = task.track(stage, results, len(landmarks), "rank landmarks")
    for number, (landmark, (column, responses, converged)) in enumerate(zip(landmarks, tracked, strict=True)):
        scores[:landmark, number], scores[landmark + 1 :, number] = column[:landmark], column[landmark:]
        one_sided = responses.is_one_sided
        n_informative[:landmark] -= one_sided[:landmark]
        n_informative[landmark + 1 :] -= one_sided[landmark:]
        n_informative[landmark] -= 1
        all_responses.append(responses)
        all_converged &= converged
    if not scores.any():
        raise ValueError(
            "the responses do not distinguish any items: from each landmark every item was the nearer one as often as "
            "the farther one. Check that the oracle does not always say left, or always right."
        )
    loss = LandmarkLoss(all_responses, len(items), settings.n_jobs)
    return Ranking(landmarks, design, scores, loss, n_informative, all_converged)
