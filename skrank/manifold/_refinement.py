"""Third step: refine the coordinates, by the likelihood of all responses or by random triplets."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skrank._callbacks import UNWATCHED
from skrank.manifold._joint_likelihood import goodness_of_fit, landmark_gradient, maximize_joint_likelihood
from skrank.manifold._queries import ask_triplets
from skrank.manifold._triplet_fit import TripletData, TripletSettings, fit_triplets


@dataclass(frozen=True)
class Refinement:
    """Coordinates, and how well they explain the responses.

    Attributes
    ----------
    points : ndarray of shape (n_items, n_components)
        Coordinates.
    chi_squared, relative_variance : float
        See `goodness_of_fit`.
    n_landmarks : int
        Number of landmarks whose responses were used, those of the pilot included.
    n_iter : int
        Iterations; 1 without a refinement, for the pass that `chi_squared` takes.
    converged : bool
        Whether the iterations converged.
    """

    points: np.ndarray
    chi_squared: float
    relative_variance: float
    n_landmarks: int
    n_iter: int = 1
    converged: bool = True


def keep(points, ranking, settings):
    """The coordinates as they are, with the figures of a refinement."""
    gradients = _Gradients([ranking], settings.n_jobs)
    chi_squared, variance = goodness_of_fit(np.ascontiguousarray(points.T, np.float32), gradients.landmarks, gradients)
    return Refinement(points, chi_squared, variance, len(gradients.landmarks))


def refine_by_likelihood(points, rankings, settings, task=UNWATCHED, stage="maximize likelihood"):
    """Maximize the likelihood of all the responses in some rankings together."""
    gradients = _Gradients(rankings, settings.n_jobs)
    with task.stage(stage, settings.max_iter, "maximize likelihood") as iterations:
        points, chi_squared, variance, n_iter, converged = maximize_joint_likelihood(
            points.T, gradients.landmarks, gradients, settings.max_iter, task=iterations
        )
    return Refinement(points.T, chi_squared, variance, len(gradients.landmarks), n_iter, converged)


def refine_by_random_triplets(points, oracle, items, n_triplets, ranking, settings, random_state, task=UNWATCHED):
    """Ask about uniform triplets and fit these by stochastic triplet embedding: LOE-STE of the paper."""
    n_items, n_components = points.shape
    i, j, k = random_triplets(n_items, n_triplets, random_state)
    nearer = ask_triplets(oracle, items, i, j, k)
    triplets = np.column_stack([i, np.where(nearer, j, k), np.where(nearer, k, j)])
    max_iter = 10 * settings.max_iter  # its line searches are short steps
    with task.stage("fit random triplets", max_iter) as iterations:
        fit = fit_triplets(
            TripletData(triplets, n_items),
            TripletSettings(n_components, max_iter=max_iter),
            init=points,
            random_state=random_state,
            callback=lambda n_iter, loss: iterations.step(),
        )
    kept = keep(fit.points, ranking, settings)
    return replace(kept, n_iter=fit.info["n_iter"], converged=fit.info["converged"])


def random_triplets(n_items, n_triplets, random_state):
    """Uniform triplets of three different items: arrays i, j, k."""
    i = random_state.randint(n_items, size=n_triplets)
    j = (i + random_state.randint(1, n_items, size=n_triplets)) % n_items
    k = random_state.randint(n_items - 2, size=n_triplets)
    k += k >= np.minimum(i, j)
    k += k >= np.maximum(i, j)
    return i, j, k


def _scaled_gradient(points, landmark, number, net, design):
    return landmark_gradient(points, landmark, number, net * np.float32(0.5), design)


@dataclass(frozen=True)
class _Gradients:
    """Iterates over the gradients of all landmarks at some points: one task a landmark, in order."""

    rankings: list
    n_jobs: int | None

    @property
    def landmarks(self):
        return np.concatenate([ranking.landmarks for ranking in self.rankings])

    def __call__(self, points):
        # Threads even where a cluster is set: a pass takes less time than its gradients on their way back.
        return Parallel(n_jobs=self.n_jobs, backend="threading", return_as="generator")(
            delayed(_scaled_gradient)(points, landmark, number, net, ranking.design)
            for ranking in self.rankings
            for number, (landmark, net) in enumerate(zip(ranking.landmarks, ranking.nets, strict=True))
        )
