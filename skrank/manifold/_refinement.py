"""Third step: refine the coordinates, by the likelihood of all responses or by random triplets."""

from dataclasses import dataclass

import numpy as np

from skrank._callbacks import UNWATCHED
from skrank.manifold._joint_fit import JointFit, JointLoss, maximize_likelihood
from skrank.manifold._random_triplets import ask_random_triplets
from skrank.manifold._triplet_fit import TripletData, TripletSettings, fit_triplets
from skrank.manifold._triplet_loss import NO_LAPSE

_PILOT_TOL = 0.3
_PILOT_ITERATIONS = 4


@dataclass(frozen=True)
class Refinement:
    """Coordinates with the loss that they are to be judged by.

    Attributes
    ----------
    fit : JointFit
        Coordinates, lapse rate and the loss of all responses that they were fitted to.
    judge : LandmarkLoss or TripletLoss
        The part of the loss that tells how well the coordinates explain the responses.
    n_scores : float
        Number of scores of an item in it, of which the fit used up as many as there are components.
    """

    fit: JointFit
    judge: object
    n_scores: float


def keep(points, ranking):
    """The coordinates as they are: the plain method."""
    fit = JointFit(np.asarray(points, float), NO_LAPSE, JointLoss([ranking.loss]), 1, True)
    return Refinement(fit, ranking.loss, len(ranking.landmarks))


def refine_by_likelihood(points, rankings, settings, task=UNWATCHED):
    """Maximize the likelihood of all the responses in some rankings together."""
    with task.stage("maximize likelihood", settings.most_iterations) as iterations:
        fit = maximize_likelihood(
            [ranking.loss for ranking in rankings],
            points,
            settings,
            task=iterations,
        )
    return Refinement(fit, rankings[-1].loss, len(rankings[-1].landmarks))


def refine_coarsely(points, rankings, settings, task=UNWATCHED):
    """As far as choosing queries needs it: without a prior, in few iterations. Returns the JointFit."""
    losses = [ranking.loss for ranking in rankings]
    with task.stage("pilot: maximize likelihood", _PILOT_ITERATIONS, "maximize likelihood") as iterations:
        return maximize_likelihood(
            losses, points, settings, has_prior=False, max_iter=_PILOT_ITERATIONS, tol=_PILOT_TOL, task=iterations
        )


def refine_by_random_triplets(points, oracle, items, n_triplets, ranking, settings, random_state, task=UNWATCHED):
    """Ask about uniform triplets and fit these by stochastic triplet embedding: LOE-STE of the paper."""
    data = TripletData(ask_random_triplets(oracle, items, n_triplets, random_state), len(items))
    max_iter = settings.most_iterations
    with task.stage("fit random triplets", max_iter) as iterations:
        fit = fit_triplets(
            data,
            TripletSettings(settings.n_components, max_iter=max_iter),
            init=points,
            random_state=random_state,
            callback=lambda n_iter, loss: iterations.step(),
        )
    own_loss = data.loss(0.0, np.inf)
    loss = JointLoss([ranking.loss, own_loss])
    converged = fit.info["converged"] or fit.info["stopped"]
    joint = JointFit(fit.points, NO_LAPSE, loss, fit.info["n_iter"], converged)
    return Refinement(joint, own_loss, n_triplets / len(items))
