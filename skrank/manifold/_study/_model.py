"""The estimator behind a study: its fit to the responses, and what they say about its scale and about each rater."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from skrank.manifold._study._information import covariance, information, information_matrix, jacobian, margins

# A lapse rate e has the prior 2 e ~ beta(1, 2): a rater of few responses is taken to err little.
_PRIOR = 1.0
_GRID = np.linspace(0, 0.5, 201)
# Responses without noise leave the scale open: the median margin is at most this, 1 in 55 is wrong there.
_LARGEST_MARGIN = 4.0
_LEAST_LEFT = 0.1  # of a response's own weight, where it is taken out


class Lapse(NamedTuple):
    """A rater's lapse rate with its 95 % credible interval: 0 is flawless, 0.5 is guessing."""

    rate: float
    low: float
    high: float


class Fit(NamedTuple):
    """An embedding, and what the responses say about it.

    Attributes
    ----------
    embedding : ndarray of shape (n_items, n_components)
        As the estimator gives it.
    points : ndarray of shape (n_items, n_components)
        The same in the units of the model: squared distances that differ by m are told apart with probability f(m).
    scale : float
        Of the points' squared distances, by those of the embedding.
    lapses : dict of str to Lapse
        By rater.
    information : ndarray of shape (points.size, points.size)
        Fisher information of the responses about the points.
    """

    embedding: Any
    points: Any = None
    scale: float = 1.0
    lapses: dict[str, Lapse] = {}
    information: Any = None

    @property
    def median_lapse(self):
        """The lapse rate to expect of another rater."""
        return float(np.median([lapse.rate for lapse in self.lapses.values()]))


def embed(estimator, triplets, raters, n_items):
    """Coordinates by a clone of the estimator, which is given the raters if its `fit` takes them."""
    estimator = clone(estimator)
    if "n_items" in estimator.get_params():
        estimator.set_params(n_items=n_items)
    options = {"rater": raters} if has_fit_parameter(estimator, "rater") else {}
    embedding = np.asarray(estimator.fit(triplets, **options).embedding_, float)
    if embedding.shape[:1] != (n_items,):
        raise ValueError(
            f"{type(estimator).__name__} embedded {len(embedding)} items of {n_items}: those that occur last were not "
            "asked about yet. Ask more queries, or take an estimator with the parameter n_items."
        )
    return embedding


def assess(embedding, triplets, raters):
    """What the responses say about an embedding that was fitted to them.

    An embedding follows the noise of the responses, so that it predicts those that it was fitted to better than new
    ones. Scale and lapse rates are therefore estimated from the margins that each response would have if it were left
    out, approximately: by one Newton step (K. R. Rad and A. Maleki, "A scalable estimate of the out-of-sample
    prediction error via approximate leave-one-out cross-validation", JRSS B 82, 2020).

    Parameters
    ----------
    embedding : ndarray of shape (n_items, n_components)
        Coordinates.
    triplets : ndarray of shape (n_responses, 3)
        The responses, near items first.
    raters : ndarray of str of shape (n_responses,)
        Who gave them.

    Returns
    -------
    Fit
    """
    names, rater = np.unique(raters, return_inverse=True)
    centered = embedding - embedding.mean(axis=0)
    margin = margins(centered, triplets)
    scale, lapses = fit_scale(margin, rater, len(names))
    points = np.sqrt(scale) * centered
    margin = left_out_margins(points, scale * margin, triplets, lapses[rater])
    shrinkage, lapses = fit_scale(margin, rater, len(names))
    points, scale = np.sqrt(shrinkage) * points, shrinkage * scale
    intervals = {
        str(name): lapse_interval(shrinkage * margin[rater == number], lapses[number])
        for number, name in enumerate(names)
    }
    return Fit(embedding, points, scale, intervals, information_matrix(points, triplets, lapses[rater]))


def left_out_margins(points, margin, triplets, lapses):
    """The margin of each response in the embedding of all others, approximately."""
    spread = covariance(points, information_matrix(points, triplets, lapses))
    derivatives = jacobian(points, triplets)
    variance = np.asarray((derivatives * (derivatives @ spread)).sum(axis=1)).ravel()
    right = expit(margin)
    score = (1 - 2 * lapses) * right * (1 - right) / (lapses + (1 - 2 * lapses) * right)
    return margin - variance * score / np.maximum(1 - variance * information(margin, lapses), _LEAST_LEFT)


def fit_scale(margin, rater, n_raters):
    """Maximum a posteriori scale of the margins, and lapse rate of each rater."""

    def loss(parameters):
        scale, share = np.exp(parameters[0]), expit(parameters[1:])
        lapse = 0.5 * share[rater]
        right = expit(scale * margin)
        probability = np.maximum(lapse + (1 - 2 * lapse) * right, 1e-300)
        by_margin = (1 - 2 * lapse) * right * (1 - right) / probability
        by_share = np.bincount(rater, (0.5 - right) / probability, n_raters)
        slope = np.append(-(by_margin * margin).sum() * scale, (_PRIOR / (1 - share) - by_share) * share * (1 - share))
        return -np.log(probability).sum() - _PRIOR * np.log(np.maximum(1 - share, 1e-300)).sum(), slope

    unit = -np.log(np.median(np.abs(margin)) + 1e-300)
    bounds = [(unit - 6.0, unit + np.log(_LARGEST_MARGIN))] + [(-9.0, 9.0)] * n_raters
    starts = [np.append(unit, np.full(n_raters, logit(share))) for share in (0.05, 0.5)]
    best = min((minimize(loss, start, jac=True, bounds=bounds) for start in starts), key=lambda result: result.fun)
    return float(np.exp(best.x[0])), 0.5 * expit(best.x[1:])


def lapse_interval(margin, rate, confidence=0.95):
    """Credible interval of a rater's lapse rate, the margins given."""
    right = expit(margin)
    log_posterior = _PRIOR * np.log(np.maximum(1 - 2 * _GRID, 1e-300))
    log_posterior += [np.log(np.maximum(lapse + (1 - 2 * lapse) * right, 1e-300)).sum() for lapse in _GRID]
    below = np.cumsum(np.exp(log_posterior - log_posterior.max()))
    low, high = np.interp([(1 - confidence) / 2, (1 + confidence) / 2], below / below[-1], _GRID)
    return Lapse(float(rate), float(min(low, rate)), float(max(high, rate)))
