"""What landmark ordinal embedding refuses."""

import numpy as np


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
    """Resolve and validate the number of landmarks."""
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
            f"n_landmarks is {n_landmarks}, but n_components={n_components} needs at least n_components + 3 = {least} "
            f"landmarks, and X has {n_items} distinct rows to choose them from"
        )
    return n_landmarks
