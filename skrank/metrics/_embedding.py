"""How well coordinates reproduce other coordinates, or triplet answers."""

import numpy as np
from sklearn import get_config
from sklearn.utils import check_array, check_consistent_length, gen_batches

from skrank._triplets import check_triplets
from skrank._typing import ArrayLike


def procrustes_error(reference: ArrayLike, embedding: ArrayLike) -> float:
    r"""Proportion of the variation of the reference that the embedding misses after the best similarity transformation.

    The embedding is scaled, rotated, reflected and translated. If both clouds are centered and scaled to a Frobenius
    norm of one, and :math:`\sigma` are the singular values of `reference.T @ embedding`, the error is :math:`1 - (\sum
    \sigma)^2`. It is the `disparity` of :func:`scipy.spatial.procrustes`, which also returns the matched clouds. If the
    numbers of columns differ, the additional coordinates count as zero in the other cloud.

    Parameters
    ----------
    reference : array-like of shape (n_samples, n_features)
        The coordinates to reproduce.
    embedding : array-like of shape (n_samples, n_components)
        Coordinates of the same items, in the same order.

    Returns
    -------
    float
        Between 0 (equal up to scale, rotation, reflection and translation) and 1 (nothing in common). It is symmetric.

    Raises
    ------
    ValueError
        If all rows of `reference` or of `embedding` are equal, so that it has no scale.

    References
    ----------
    Gower, J. C. (1975), "Generalized Procrustes analysis", Psychometrika 40.

    Examples
    --------
    >>> from skrank.metrics import procrustes_error
    >>> square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> round(procrustes_error(square, [[3, 1], [1, 1], [3, 3], [1, 3]]), 12)
    0.0
    >>> round(procrustes_error(square, [[0, 0], [0, 1], [1, 0], [1, 2]]), 3)
    0.133
    """
    clouds = []
    for name, cloud in (("reference", reference), ("embedding", embedding)):
        cloud = check_array(cloud, dtype=float, input_name=name)
        centered = cloud - cloud.mean(axis=0)
        norm = np.linalg.norm(centered)
        if norm <= 1e-14 * np.abs(cloud).max():
            raise ValueError(f"all rows of {name} are equal: it has no scale to compare.")
        clouds.append(centered / norm)
    check_consistent_length(*clouds)
    singular_values = np.linalg.svd(clouds[0].T @ clouds[1], compute_uv=False)
    return float(np.clip(1 - singular_values.sum() ** 2, 0, 1))


def triplet_accuracy(embedding: ArrayLike, triplets: ArrayLike, responses: ArrayLike | None = None) -> float:
    """Proportion of triplet responses that an embedding reproduces.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_components)
        Coordinates.
    triplets : array-like of shape (n_triplets, 3)
        Indices (i, j, k) of three different rows of `embedding`.
    responses : array-like of shape (n_triplets,), default=None
        None means that j is nearer to i than k in each row. Booleans, or numbers that are all 0 or 1, are true where j
        is nearer. Other integers are how often j was nearer, or minus how often k was nearer.

    Returns
    -------
    float
        Between 0 and 1; guessing gives 0.5. A response about two items at exactly equal distances counts one half.

    Raises
    ------
    ValueError
        If a row is not a triplet of rows of `embedding`, or if a response is uninformative.

    Examples
    --------
    >>> from skrank.metrics import triplet_accuracy
    >>> triplet_accuracy([[0.0], [1.0], [3.0]], [[0, 1, 2], [1, 2, 0], [2, 1, 0]])
    0.6666666666666666
    >>> triplet_accuracy([[0.0], [1.0], [3.0]], [[0, 1, 2], [1, 2, 0], [2, 1, 0]], [True, False, True])
    1.0
    """
    embedding = check_array(embedding, dtype=(np.float64, np.float32), input_name="embedding")
    triplets = check_triplets(triplets, responses, n_items=len(embedding))
    rows = max(1, int(get_config()["working_memory"] * 2**20 / (4 * embedding.shape[1] * embedding.itemsize)))
    agreed = 0.0
    for batch in gen_batches(len(triplets), rows):
        anchors, near, far = (embedding[items] for items in triplets[batch].T)
        margin = ((anchors - far) ** 2).sum(axis=1) - ((anchors - near) ** 2).sum(axis=1)
        agreed += np.count_nonzero(margin > 0) + 0.5 * np.count_nonzero(margin == 0)
    return float(agreed / len(triplets))
