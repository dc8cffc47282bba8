"""What landmark ordinal embedding refuses, and what it warns of."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skrank._fitting import warn_caller
from skrank.exceptions import InsufficientDataWarning
from skrank.manifold._landmark_fit import RELIABLE_DEGREE

_LARGEST_RESIDUAL = 1.15  # 1 is healthy
_SMALL_RESIDUAL = 0.9  # less than answers with noise leave
_LARGEST_EXPECTED_ERROR = 0.06
_LARGEST_UNDETERMINED = 0.01
_LEAST_FLATNESS = 0.1


def check_landmarks(landmarks, n_samples):
    """Given rows as an array of indices, None for a name."""
    if isinstance(landmarks, str):
        return None
    indices = np.asarray(landmarks)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise TypeError(f"landmarks must be a name or a 1-d array of row numbers, got {landmarks!r}")
    outside = indices[(indices < 0) | (indices >= n_samples)]
    if len(outside):
        raise ValueError(f"landmarks contains {outside[0]}, which is not a row of X: it has {n_samples} rows")
    return indices


def resolve_n_landmarks(n_landmarks, landmarks, n_items, n_components):
    """Number of landmarks, or an error if it cannot be had or does not do."""
    least = n_components + 3
    if n_items < least:
        raise ValueError(
            f"X has {n_items} distinct rows; an embedding in n_components={n_components} dimensions needs at least "
            f"n_components + 3 = {least}"
        )
    if landmarks is not None:
        if len(np.unique(landmarks)) < len(landmarks):
            raise ValueError(
                "landmarks names the same item (or identical rows of X) more than once; name each item once"
            )
        n_landmarks = len(landmarks)
    elif isinstance(n_landmarks, str):
        n_landmarks = min(max(20, 4 * n_components), n_items)
    if not least <= n_landmarks <= n_items:
        raise ValueError(
            f"{n_landmarks} landmarks will not do: n_components={n_components} needs at least n_components + 3 = "
            f"{least} of them, and X has {n_items} distinct rows to choose from"
        )
    return n_landmarks


def warn_of_doubts(fit, degree, refine):
    """Warn of each reason not to rely on the embedding, with what to do about it."""

    def warn(message, category=InsufficientDataWarning):
        warn_caller(message, category)

    if degree < RELIABLE_DEGREE and refine != "ste":
        warn(
            f"only {degree:.3g} answers about each item from each landmark, and {RELIABLE_DEGREE} are needed for "
            "scores to be reliable: raise n_comparisons, or embed more items"
        )
    if fit.geometry.n_axes < len(fit.geometry.eigenvalues):
        warn(
            f"the landmarks span only {fit.geometry.n_axes} of {len(fit.geometry.eigenvalues)} dimensions; the other "
            "coordinates start at zero: choose other landmarks, or a smaller n_components"
        )
    elif fit.flatness < _LEAST_FLATNESS:
        warn(
            f"the last axis of the landmarks has an eigenvalue of {fit.flatness:.2g} of the first: "
            "coordinates on it are uncertain; choose other landmarks, more of them, or a smaller n_components"
        )
    if not fit.residual <= _LARGEST_RESIDUAL:
        warn(
            f"the embedding does not explain the answers (residual_ is {fit.residual:.3g}, about 1 is healthy): try a "
            "larger n_components, another random_state, or more comparisons",
            ConvergenceWarning,
        )
    if fit.expected_error > _LARGEST_EXPECTED_ERROR and refine != "ste":
        warn(
            f"the answers determine the embedding only to an expected Procrustes error of {fit.expected_error:.2g}: "
            "raise n_comparisons, or lower n_components"
        )
    if fit.n_beyond and refine != "ste":
        warn(
            f"{fit.n_beyond} items are farther than all that they were compared with from every landmark, so that they "
            "may be much farther away than the embedding has them: remove the outliers, or raise n_comparisons"
        )
    elif fit.undetermined > _LARGEST_UNDETERMINED and refine != "ste":
        warn(
            f"{fit.undetermined:.0%} of the spread of the embedding is due to items that are farther than all that "
            "they were compared with from most landmarks, so that their distance is not known: remove the outliers, or "
            "raise n_comparisons"
        )
    converged = fit.converged and (fit.ranked.converged or refine is not None)
    # answers without noise always leave something to gain, because the scale has no limit
    if not converged and fit.residual > _SMALL_RESIDUAL:
        warn("max_iter was reached before the fit converged: raise max_iter or tol", ConvergenceWarning)
