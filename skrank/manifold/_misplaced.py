"""Finding better places for the few items whose responses an embedding explains worst."""

import numpy as np
from scipy.spatial.distance import cdist

_FEWEST, _SHARE = 10, 0.01  # items looked at: so many, or this share of all
_MOST_PLACES = 1000


def losses_of_items(triplets, X, rate):
    """Loss of the responses that each item takes part in, less what is usual for so many, in standard deviations.

    Parameters
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        Rows (anchor, near, far).
    X : ndarray of shape (n_items, n_components)
        Coordinates.
    rate : float
        Lapse rate.

    Returns
    -------
    excess : ndarray of shape (n_items,)
    """
    anchors, near, far = (X[column] for column in triplets.T)
    losses = _losses(((anchors - far) ** 2).sum(axis=1) - ((anchors - near) ** 2).sum(axis=1), rate)
    losses -= losses.mean()
    n_responses = np.bincount(triplets.ravel(), minlength=len(X))
    total = np.bincount(triplets.ravel(), np.repeat(losses, 3), len(X))
    return total / np.sqrt(np.maximum(n_responses, 1) * losses.var() + np.finfo(float).tiny)


def best_places(triplets, X, rate, random_state):
    """For the items whose responses are explained worst, the place of another item that explains them best.

    Parameters
    ----------
    triplets : ndarray of shape (n_triplets, 3)
        Rows (anchor, near, far).
    X : ndarray of shape (n_items, n_components)
        Coordinates.
    rate : float
        Lapse rate.
    random_state : RandomState instance
        Draws the places, where there are many.

    Returns
    -------
    places : ndarray of shape (n_items, n_components)
        X, with the better places.
    """
    n_items, places = len(X), np.array(X, float)
    others = random_state.permutation(n_items)[:_MOST_PLACES]
    distances = cdist(X[others], X, "sqeuclidean")
    excess = losses_of_items(triplets, X, rate)
    for item in np.argsort(-excess)[: max(_FEWEST, int(_SHARE * n_items))]:
        own = triplets[(triplets == item).any(axis=1)]
        change = _losses_elsewhere(own, item, X, distances, rate)
        change -= _losses_elsewhere(own, item, X, cdist(X[[item]], X, "sqeuclidean"), rate)
        places[item] = X[others[change.argmin()]]
    return places


def _losses_elsewhere(triplets, item, X, distances, rate):
    """Sum of the losses of an item's responses, if it was at each of some places.

    `distances` are the squared distances of the places from all items; those of the item from itself do not occur.
    """
    anchors, near, far = triplets.T
    margins = np.empty((len(distances), len(triplets)))
    for role, rows in enumerate(triplets.T == item):
        i, j, k = anchors[rows], near[rows], far[rows]
        if role == 0:
            margins[:, rows] = distances[:, k] - distances[:, j]
        elif role == 1:
            margins[:, rows] = ((X[i] - X[k]) ** 2).sum(axis=1) - distances[:, i]
        else:
            margins[:, rows] = distances[:, i] - ((X[i] - X[j]) ** 2).sum(axis=1)
    return _losses(margins, rate).sum(axis=1)


def _losses(margins, rate):
    return -np.log(rate + (1 - 2 * rate) * 0.5 * (1 + np.tanh(0.5 * margins)) + 1e-300)
