"""What responses tell about an embedding: Fisher information, and the Procrustes error to expect from it.

The model is that of stochastic triplet embedding with lapses: left is answered to be nearer with the probability
e + (1 - 2 e) f(m), where f is the logistic function, m = D(anchor, right) - D(anchor, left) the margin of the squared
distances, and e the lapse rate.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import expit


def margins(X, triplets):
    """D(anchor, right) - D(anchor, left) of triplets (n_triplets, 3) of rows of X."""
    anchor, left, right = (X[items] for items in triplets.T)
    return ((left - right) * (2 * anchor - left - right)).sum(axis=1)


def information(margin, lapse):
    """Fisher information of a response about its margin."""
    right = expit(margin)
    probability = lapse + (1 - 2 * lapse) * right
    slope = (1 - 2 * lapse) * right * (1 - right)
    return slope**2 / np.maximum(probability * (1 - probability), 1e-300)


def jacobian(X, triplets):
    """Derivatives of the margins by the coordinates, a sparse matrix of shape (n_triplets, X.size)."""
    anchor, left, right = (X[items] for items in triplets.T)
    derivatives = 2 * np.stack([left - right, anchor - left, right - anchor], axis=1)
    n_components = X.shape[1]
    columns = triplets[:, :, None] * n_components + np.arange(n_components)
    starts = np.arange(len(triplets) + 1) * 3 * n_components
    return csr_array((derivatives.ravel(), columns.ravel(), starts), shape=(len(triplets), X.size))


def information_matrix(X, triplets, lapses):
    """Fisher information of responses about all coordinates, dense, of shape (X.size, X.size)."""
    derivatives = jacobian(X, triplets)
    weighted = derivatives * information(margins(X, triplets), lapses)[:, None]
    return (derivatives.T @ weighted).toarray()


def covariance(X, information):
    """Posterior covariance of the coordinates, with a normal prior as wide as the embedding."""
    precision = information + X.size / (X**2).sum() * np.eye(len(information))
    return cho_solve(cho_factor(precision, overwrite_a=True), np.eye(len(information)), overwrite_b=True)


def indifferent_directions(X):
    """Orthonormal changes of X that a Procrustes error ignores: shifts, rotations and the scale; (X.size, k)."""
    n_items, n_components = X.shape
    X = X - X.mean(axis=0)
    changes = [np.tile(axis, (n_items, 1)) for axis in np.eye(n_components)]
    for first in range(n_components):
        for second in range(first):
            rotation = np.zeros_like(X)
            rotation[:, first], rotation[:, second] = X[:, second], -X[:, first]
            changes.append(rotation)
    changes.append(X)
    return np.linalg.qr(np.array(changes).reshape(len(changes), -1).T)[0]


def without_directions(covariance, directions):
    """The covariance of what is left of the coordinates when some directions are projected out."""
    product = covariance @ directions
    crossed = directions @ (product.T - 0.5 * (directions.T @ product) @ directions.T)
    return covariance - crossed - crossed.T


def expected_procrustes_error(X, covariance):
    """Expected :func:`skrank.metrics.procrustes_error` between X and the truth, of the posterior covariance."""
    variance = np.trace(without_directions(covariance, indifferent_directions(X)))
    return float(variance / (((X - X.mean(axis=0)) ** 2).sum() + variance))
