"""The pilot: a first embedding, from few queries about random landmarks, in which to choose the landmarks."""

from dataclasses import replace

from skrank._callbacks import UNWATCHED
from skrank.manifold._landmark_geometry import farthest_points, place_items
from skrank.manifold._ranking import rank_from_landmarks
from skrank.manifold._refinement import refine_coarsely


def choose_landmarks(oracle, items, n_landmarks, design, settings, random_state, task=UNWATCHED):
    """Landmarks that are far from each other in a pilot embedding.

    Parameters
    ----------
    oracle : callable
        A bound oracle.
    items : ndarray of shape (n_items, n_features)
        The items.
    n_landmarks : int
        How many landmarks to choose, and how many random ones the pilot has.
    design : Design
        Which comparisons the pilot asks about.
    settings : Settings
        Of the whole fit.
    random_state : RandomState instance
        Draws the pilot's landmarks.
    task : Task
        Is told of the progress.

    Returns
    -------
    landmarks : ndarray of shape (n_landmarks,)
    pilot : Ranking
        The responses about the random landmarks, without their scores, to be used again.
    """
    settings = settings.of_pilot()
    landmarks = random_state.permutation(len(items))[:n_landmarks]
    ranking = rank_from_landmarks(oracle, items, landmarks, design, settings, task, "pilot: rank landmarks")
    points, _ = place_items(ranking.scores, landmarks, settings.n_components)
    points = refine_coarsely(points, [ranking], settings, task).points
    return farthest_points(points, n_landmarks, random_state), replace(ranking, scores=None)
