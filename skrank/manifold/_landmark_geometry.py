"""From the scores that each landmark gives the items to coordinates: shifts, distance matrix, landmark MDS.

`scores[j, i]` is the score that landmark i gives item j: their squared distance up to a shift of each column. The
equations are those of N. Ghosh, Y. Chen and Y. Yue, "Landmark Ordinal Embedding" (NeurIPS 2019).
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import svd_flip

_COLLINEAR = 1e-9  # an eigenvalue below this share of the first spans no axis


def least_squares_shifts(W):
    """Shifts sigma that make W + (11' - I) diag(sigma) as near as can be to symmetric, hollow and of mean zero.

    The least squares solution of sigma_i - sigma_j = W_ij - W_ji for all i < j and sum sigma = -sum W / (l - 1).

    Parameters
    ----------
    W : ndarray of shape (n_landmarks, n_landmarks)
        Scores of landmarks (rows) for landmarks (columns), with a diagonal of zeros.

    Returns
    -------
    sigma : ndarray of shape (n_landmarks,)
    """
    n_landmarks = len(W)
    return (W.sum(axis=1) - W.sum(axis=0)) / n_landmarks - W.sum() / (n_landmarks * (n_landmarks - 1))


def shifted(W, shifts):
    """W + (11' - I) diag(shifts), made symmetric."""
    E = W + shifts
    np.fill_diagonal(E, 0.0)
    return (E + E.T) / 2


def estimate_shifts(W, n_components):
    """Shifts that turn scores into squared distances.

    The mean squared distance of the landmarks, which no comparison tells, is the second largest eigenvalue of their
    centered distance matrix (Theorem 4 of the paper's reference [9]), if there are at least n_components + 3 of them.

    Parameters
    ----------
    W : ndarray of shape (n_landmarks, n_landmarks)
        Scores of landmarks (rows) for landmarks (columns), with a diagonal of zeros.
    n_components : int
        Dimension of the embedding.

    Returns
    -------
    shifts : ndarray of shape (n_landmarks,)
    """
    if len(W) < n_components + 3:
        raise ValueError(
            f"{len(W)} landmarks do not determine the distances in {n_components} dimensions: "
            f"at least n_components + 3 = {n_components + 3} are needed"
        )
    sigma = least_squares_shifts(W)
    return sigma + np.linalg.eigvalsh(shifted(W, sigma))[-2]


def project_edm(A, max_iter=500, tol=1e-7):
    """The Euclidean distance matrix (of squared distances) nearest to a matrix in Frobenius norm.

    Dykstra's alternating projections between the symmetric matrices of zero diagonal and those that are negative
    semidefinite on the vectors of mean zero.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Any square matrix.
    max_iter : int, default=500
        Largest number of alternations.
    tol : float, default=1e-7
        Stop when the two projections differ by less than this share of the largest entry.

    Returns
    -------
    E : ndarray of shape (n, n)
        Squared distances of some points, to rounding.
    """
    n = len(A)
    if not A.any():
        return np.zeros((n, n))
    center = np.eye(n) - 1.0 / n
    Y, correction = np.array(A, float), np.zeros((n, n))
    for _ in range(max_iter):
        X = (Y + Y.T) / 2
        np.fill_diagonal(X, 0.0)
        Z = X - correction
        values, vectors = np.linalg.eigh(center @ Z @ center)
        Y = Z - (vectors * np.maximum(values, 0)) @ vectors.T
        correction = Y - Z
        if np.abs(Y - X).max() <= tol * np.abs(Y).max():
            break
    values, vectors = np.linalg.eigh(-0.5 * center @ (X + X.T) @ center / 2)
    points = vectors * np.sqrt(np.maximum(values, 0))
    gram = points @ points.T
    norms = np.diag(gram)
    E = np.maximum(norms[:, None] + norms[None, :] - 2 * gram, 0.0)
    np.fill_diagonal(E, 0.0)
    return E


@dataclass(frozen=True)
class LandmarkGeometry:
    """Where the landmarks are, and what it takes to place others by their distances to them.

    Attributes
    ----------
    shifts : ndarray of shape (n_landmarks,)
        What is added to each landmark's scores to make them squared distances.
    distances : ndarray of shape (n_landmarks, n_landmarks)
        Squared distances between the landmarks, a Euclidean distance matrix.
    points : ndarray of shape (n_landmarks, n_components)
        Coordinates of the landmarks.
    eigenvalues : ndarray of shape (n_components,)
        Of the landmarks' Gram matrix, in descending order.
    triangulation : ndarray of shape (n_landmarks, n_components)
        `-(delta - mean_distances) @ triangulation / 2` are the coordinates of an item with squared distances delta.
    """

    shifts: np.ndarray
    distances: np.ndarray
    points: np.ndarray
    eigenvalues: np.ndarray
    triangulation: np.ndarray

    @property
    def n_axes(self):
        """Number of axes that the landmarks span; the coordinates on the others are zero."""
        return int(np.sum(self.eigenvalues > _COLLINEAR * max(self.eigenvalues[0], np.finfo(float).tiny)))

    def place(self, scores):
        """Coordinates of items from their scores, an array of shape (n_items, n_landmarks)."""
        triangulation = self.triangulation.astype(scores.dtype)
        offset = (self.shifts - self.distances.mean(axis=0)) @ self.triangulation
        return -0.5 * (scores @ triangulation + offset.astype(scores.dtype))


def landmark_geometry(W, n_components):
    """Shifts, distances and coordinates of the landmarks from the scores that they give each other.

    Parameters
    ----------
    W : ndarray of shape (n_landmarks, n_landmarks)
        `W[j, i]`, the score of landmark j for landmark i; zeros on the diagonal.
    n_components : int
        Dimension of the embedding, at most n_landmarks - 3.

    Returns
    -------
    geometry : LandmarkGeometry
    """
    shifts = estimate_shifts(W, n_components)
    distances = project_edm(shifted(W, shifts))
    points, eigenvalues, triangulation = landmark_mds(distances, n_components)
    return LandmarkGeometry(shifts, distances, points, eigenvalues, triangulation)


def landmark_mds(distances, n_components):
    """Classical scaling of the landmarks and the map that triangulates other items.

    Parameters
    ----------
    distances : ndarray of shape (n_landmarks, n_landmarks)
        Squared distances between the landmarks.
    n_components : int
        Dimension of the embedding.

    Returns
    -------
    points : ndarray of shape (n_landmarks, n_components)
        Coordinates of the landmarks; zero on axes that they do not span. The largest on each axis is positive.
    eigenvalues : ndarray of shape (n_components,)
        Of the Gram matrix, in descending order, not negative.
    triangulation : ndarray of shape (n_landmarks, n_components)
        See :class:`LandmarkGeometry`.
    """
    n_landmarks = len(distances)
    center = np.eye(n_landmarks) - 1.0 / n_landmarks
    eigenvalues, axes = np.linalg.eigh(-0.5 * center @ distances @ center)
    eigenvalues, axes = np.maximum(eigenvalues[::-1][:n_components], 0), axes[:, ::-1][:, :n_components]
    axes, _ = svd_flip(axes.copy(), None)
    lengths = np.sqrt(eigenvalues)
    spanned = eigenvalues > _COLLINEAR * max(eigenvalues[0], np.finfo(float).tiny)
    inverse = np.divide(1.0, lengths, out=np.zeros(n_components), where=spanned)
    return axes * np.where(spanned, lengths, 0.0), eigenvalues, center @ axes * inverse


def farthest_points(X, n_points, random_state):
    """Indices of points chosen one after another, each as far as can be from those chosen before (maxmin)."""

    def squared_distances(index):
        difference = X - X[index]
        return np.einsum("ij,ij->i", difference, difference)

    chosen = [int(squared_distances(random_state.randint(len(X))).argmax())]
    nearest = squared_distances(chosen[0])
    while len(chosen) < n_points:
        nearest[chosen[-1]] = -1.0  # never twice, even among points that coincide
        chosen.append(int(nearest.argmax()))
        np.minimum(nearest, squared_distances(chosen[-1]), out=nearest)
    return np.array(chosen)


def principal_axes(X):
    """The cloud X, centered and rotated to its principal axes, with deterministic signs."""
    X = X - X.mean(axis=0)
    u, s, vt = np.linalg.svd(X, full_matrices=False)
    u, _ = svd_flip(u, vt)
    turned = np.zeros_like(X)
    turned[:, : len(s)] = u * s
    return turned


def place_items(scores, landmarks, n_components):
    """Second step: coordinates of all items from their scores for each landmark.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_landmarks)
        Squared distances up to a shift of each column.
    landmarks : ndarray of shape (n_landmarks,)
        Indices of the landmarks among the items.
    n_components : int
        Dimension of the embedding.

    Returns
    -------
    points : ndarray of shape (n_items, n_components)
    geometry : LandmarkGeometry
    """
    W = scores[landmarks].astype(float)
    np.fill_diagonal(W, 0.0)
    geometry = landmark_geometry(W, n_components)
    points = geometry.place(scores)
    points[landmarks] = geometry.points
    return points, geometry
