"""Squared distances from their differences: the constants that comparisons do not tell."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, validate_params

from skrank._typing import ArrayLike, Floats
from skrank.manifold._landmark_geometry import least_squares_shifts, project_edm, shifted


class RecoveredDistances(NamedTuple):
    """Result of :func:`distances_from_differences`.

    Attributes
    ----------
    distances : ndarray of shape (n_points, n_points)
        Squared distances between the points: a Euclidean distance matrix, symmetric, with a diagonal of zeros.
    constants : ndarray of shape (n_points,)
        What was added to each column of the differences.
    """

    distances: Floats
    constants: Floats


@validate_params(
    {"differences": ["array-like"], "n_components": [Interval(Integral, 1, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def distances_from_differences(differences: ArrayLike, n_components: int) -> RecoveredDistances:
    r"""Squared distances of points from estimates that miss a constant for each point.

    Comparisons of the distances to point i tell the differences :math:`D_{ij} - D_{ik}` of the squared distances, that
    is, column i of D up to a constant. Distances between points in few dimensions are not arbitrary, though, and what
    they have to fulfill determines the constants [1]_. That D is symmetric tells them up to one that all columns share,
    by least squares. The last one is the mean squared distance: an eigenvalue, ``n_points - n_components - 2`` times
    and only once exceeded, of the distance matrix less its mean [2]_. The mean of these eigenvalues is taken.

    Parameters
    ----------
    differences : array-like of shape (n_points, n_points)
        Column i holds the squared distances to point i, or estimates of them, up to a constant: scores from any model
        of comparisons. The diagonal is ignored.
    n_components : int
        Number of dimensions of the points, at most ``n_points - 3``. If the points have more, the constants are biased.

    Returns
    -------
    distances : ndarray of shape (n_points, n_points)
        Squared distances: the Euclidean distance matrix nearest to the differences with their constants.
    constants : ndarray of shape (n_points,)
        What was added to each column.

    Raises
    ------
    ValueError
        If the matrix is not square, holds values that are not finite, or has fewer than ``n_components + 3`` rows.

    See Also
    --------
    LandmarkOrdinalEmbedding : Asks for the comparisons, and places any number of items by few such points.
    skrank.linear_model.BradleyTerry : Scores from comparisons.

    Notes
    -----
    The recovery is exact where the differences are. With independent errors of standard deviation 0.01 in differences
    of standard normal points in the plane, the constants err by 0.005 with 10 points and 0.002 with 40. The paper takes
    the largest of the equal eigenvalues, which errs by 0.02 and 0.08 there, but works in any number of dimensions.

    References
    ----------
    .. [1] N. Ghosh, Y. Chen and Y. Yue, "Landmark Ordinal Embedding", NeurIPS 2019, Section 4, last remark.
    .. [2] Theorem 4 of reference [9] there.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.spatial.distance import cdist
    >>> from skrank.manifold import distances_from_differences
    >>> points = np.random.default_rng(0).standard_normal((7, 2))
    >>> D = cdist(points, points, "sqeuclidean")
    >>> differences = D - D.mean(axis=0)
    >>> distances, constants = distances_from_differences(differences, n_components=2)
    >>> np.allclose(distances, D), np.allclose(constants, D.mean(axis=0))
    (True, True)
    """
    W = check_array(differences, dtype=float, copy=True, input_name="differences")
    if W.shape[0] != W.shape[1]:
        raise ValueError(
            f"differences has shape {W.shape}: one row and one column are needed for each point. Leave out the rows of "
            "points to which no distances are known."
        )
    if len(W) < n_components + 3:
        raise ValueError(
            f"differences of {len(W)} points do not determine their distances in n_components={n_components} "
            f"dimensions: at least n_components + 3 = {n_components + 3} points are needed."
        )
    np.fill_diagonal(W, 0.0)
    constants = least_squares_shifts(W)
    eigenvalues = np.linalg.eigvalsh(shifted(W, constants))
    constants += eigenvalues[n_components + 1 : -1].mean()
    return RecoveredDistances(project_edm(shifted(W, constants)), constants)
