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
_LEAST_FLATNESS = 0.1
_LEAST_DETERMINED = 0.76  # in simulations, errors are up to twice as large as expected below
_FAR_SHARE, _MOST_OF_FAR, _FEW = 0.01, 0.4, 50  # in a normal cloud the farthest hundredth has .05 of the spread
_DEPENDENCE = 1.4  # by how much the error exceeds that of items whose neighbors stand still, in simulations


@dataclass(frozen=True)
class Diagnosis:
    """What limits the embedding.

    Attributes
    ----------
    residual : float
        Square root of chi-squared per degree of freedom.
    expected_error : float
        Expected Procrustes error.
    n_beyond : int
        Number of items that are farther than all that they were compared with, from every landmark.
    flatness : float
        Smallest eigenvalue of the landmarks' covariance as a share of the largest; 1 where it does not matter.
    n_axes : int
        Number of axes that the landmarks span.
    degree : float
        Responses about an item from each landmark; infinity where it does not matter.
    converged : bool
        Whether all iterations converged.
    determined : float
        Share of the weakest axis that the responses determine.
    spread_of_far : float
        Share of the squared distances from the center that the farthest hundredth of the items has.
    """

    residual: float
    expected_error: float
    n_beyond: int
    flatness: float
    n_axes: int
    degree: float
    converged: bool
    determined: float
    spread_of_far: float


def diagnose(refinement, settings, ranking=None, geometry=None):
    """Diagnose an embedding from what each step returned, the last two where the items were ranked from landmarks."""
    fit, judge, n_scores = refinement.fit, refinement.judge, refinement.n_scores
    # of the scores of an item, its coordinates use up n_components
    chi_squared = judge.chi_squared(fit.points, fit.lapse)
    dispersion = chi_squared * n_scores / max(n_scores - settings.n_components, 1)
    variance = fit.variances().sum() / max(fit.points.var(axis=0).sum() * len(fit.points), np.finfo(float).tiny)
    flatness, n_axes, degree, converged = 1.0, settings.n_components, np.inf, fit.converged
    if ranking is not None:
        axes = np.linalg.eigvalsh(np.atleast_2d(np.cov(fit.points[ranking.landmarks].T)))
        flatness = min(
            eigenvalues[0] / max(eigenvalues[-1], np.finfo(float).tiny)
            for eigenvalues in (axes, geometry.eigenvalues[::-1])
        )
        n_axes, degree = geometry.n_axes, ranking.design.mean_degree
        converged = converged and (ranking.converged or settings.refine is not None)
    return Diagnosis(
        residual=float(np.sqrt(dispersion)),
        # responses without noise determine the coordinates better than the logistic model believes, others less
        expected_error=float(_DEPENDENCE * dispersion * variance),
        n_beyond=judge.n_beyond(),
        flatness=float(flatness),
        n_axes=n_axes,
        degree=degree,
        converged=converged,
        determined=fit.determined,
        spread_of_far=_spread_of_far(fit.points),
    )


def _spread_of_far(points):
    """Share of the squared distances from the center that the farthest hundredth of the items has; 0 of few items."""
    if len(points) < _FEW:
        return 0.0
    squares = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    n_far = max(1, round(_FAR_SHARE * len(points)))
    return float(np.partition(squares, -n_far)[-n_far:].sum() / max(squares.sum(), np.finfo(float).tiny))


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
    if diagnosis.determined < _LEAST_DETERMINED:
        _warn(
            f"the responses determine the last axis only to {diagnosis.determined:.0%}, so that coordinates on it are "
            "drawn to zero: raise n_comparisons, or choose a smaller n_components"
        )
    if diagnosis.n_beyond:
        _warn(
            f"{diagnosis.n_beyond} items are farther than all that they were compared with from every landmark, so "
            "that they may be much farther away than the embedding has them: remove the outliers, or raise "
            "n_comparisons"
        )
    elif diagnosis.spread_of_far > _MOST_OF_FAR:
        _warn(
            f"{_FAR_SHARE:.0%} of the items, far from the others, has {diagnosis.spread_of_far:.0%} of the spread; how "
            "far they are is determined less than expected_error_ implies: remove the outliers, or raise n_comparisons"
        )


def _warn(message, category=InsufficientDataWarning):
    warn_caller(message, category)
