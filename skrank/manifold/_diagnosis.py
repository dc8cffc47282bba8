"""Last step: how far the responses determine the embedding, and whether they agree with it."""

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._fitting import warn_caller
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold._settings import RELIABLE_DEGREE

_LARGEST_RESIDUAL = 1.15  # 1 is healthy
_SMALL_RESIDUAL = 0.9  # less than answers with noise leave
_LARGEST_EXPECTED_ERROR = 0.06
_LARGEST_UNDETERMINED = 0.01
_LEAST_FLATNESS = 0.1


@dataclass(frozen=True)
class Diagnosis:
    """What limits the embedding.

    Attributes
    ----------
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
    n_axes : int
        Number of axes that the landmarks span.
    degree : float
        Responses about an item from each landmark.
    converged : bool
        Whether all iterations converged.
    """

    residual: float
    expected_error: float
    undetermined: float
    n_beyond: int
    flatness: float
    n_axes: int
    degree: float
    converged: bool


def diagnose(ranking, geometry, refinement, settings):
    """Diagnose an embedding from what each step returned."""
    points, landmarks = refinement.points, ranking.landmarks
    # of the scores that all landmarks give an item, its coordinates use up n_components
    n_scores = refinement.n_landmarks
    dispersion = refinement.chi_squared * n_scores / (n_scores - settings.n_components)
    squared_norms = np.sum((points - points.mean(axis=0)) ** 2, axis=1, dtype=float)
    # an item that is beyond all others for most landmarks could as well be much farther away
    enough = min(settings.n_components + 3, len(landmarks) // 2)
    undetermined = squared_norms[ranking.n_informative < enough].sum() / squared_norms.sum()
    axes = np.linalg.eigvalsh(np.atleast_2d(np.cov(points[landmarks].T)))
    flatness = min(
        eigenvalues[0] / max(eigenvalues[-1], np.finfo(float).tiny)
        for eigenvalues in (axes, geometry.eigenvalues[::-1])
    )
    return Diagnosis(
        residual=float(np.sqrt(dispersion)),
        # responses without noise determine the coordinates better than the logistic model believes, others less
        expected_error=float(dispersion * refinement.relative_variance),
        undetermined=float(undetermined),
        # and one that is beyond all others for all landmarks could be anywhere
        n_beyond=int(np.count_nonzero(ranking.n_informative == 0)),
        flatness=float(flatness),
        n_axes=geometry.n_axes,
        degree=ranking.design.mean_degree,
        converged=refinement.converged and (ranking.converged or settings.refine is not None),
    )


def warn_of_doubts(diagnosis, settings):
    """Warn of each reason not to rely on the embedding, with what to do about it."""
    if diagnosis.n_axes < settings.n_components:
        _warn(
            f"the landmarks span only {diagnosis.n_axes} of {settings.n_components} dimensions; the other "
            "coordinates start at zero: choose other landmarks, or a smaller n_components"
        )
    elif diagnosis.flatness < _LEAST_FLATNESS:
        _warn(
            f"the last axis of the landmarks has an eigenvalue of {diagnosis.flatness:.2g} of the first: "
            "coordinates on it are uncertain; choose other landmarks, more of them, or a smaller n_components"
        )
    if not diagnosis.residual <= _LARGEST_RESIDUAL:
        _warn(
            f"the embedding does not explain the responses (residual_ is {diagnosis.residual:.3g}, about 1 is "
            "healthy): try a larger n_components, another random_state, or more comparisons",
            ConvergenceWarning,
        )
    if settings.refine != "ste":  # its random triplets determine the embedding, too
        _warn_of_too_few_responses(diagnosis)
    # responses without noise always leave something to gain, because the scale has no limit
    if not diagnosis.converged and diagnosis.residual > _SMALL_RESIDUAL:
        _warn("max_iter was reached before the fit converged: raise max_iter or tol", ConvergenceWarning)


def _warn_of_too_few_responses(diagnosis):
    if diagnosis.degree < RELIABLE_DEGREE:
        _warn(
            f"only {diagnosis.degree:.3g} responses about each item from each landmark, and {RELIABLE_DEGREE} are "
            "needed for scores to be reliable: raise n_comparisons, or embed more items"
        )
    if diagnosis.expected_error > _LARGEST_EXPECTED_ERROR:
        _warn(
            "the responses determine the embedding only to an expected Procrustes error of "
            f"{diagnosis.expected_error:.2g}: raise n_comparisons, or lower n_components"
        )
    if diagnosis.n_beyond:
        _warn(
            f"{diagnosis.n_beyond} items are farther than all that they were compared with from every landmark, so "
            "that they may be much farther away than the embedding has them: remove the outliers, or raise "
            "n_comparisons"
        )
    elif diagnosis.undetermined > _LARGEST_UNDETERMINED:
        _warn(
            f"{diagnosis.undetermined:.0%} of the spread of the embedding is due to items that are farther than all "
            "that they were compared with from most landmarks, so that their distance is not known: remove the "
            "outliers, or raise n_comparisons"
        )


def _warn(message, category=InsufficientDataWarning):
    warn_caller(message, category)
