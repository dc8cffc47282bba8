"""Choosing the number of dimensions and the kernel by the likelihood of held-out triplet responses."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from skrank._triplets import query_codes
from skrank.manifold._triplet_fit import fit_triplets

MOST_COMPONENTS = 10
N_FOLDS = 3
_BATCH = 1 << 18


class HeldOut(NamedTuple):
    """Mean log-likelihood of a held-out response, for each value tried, and the one chosen."""

    log_likelihood: np.ndarray
    chosen: int


def log_probabilities(data, points, lapse, nu):
    """Log-probability of each response under an embedding: (n_triplets,)."""
    result = np.empty(len(data.triplets))
    for batch in gen_batches(len(result), _BATCH):
        anchors, near, far = (points[items] for items in data.triplets[batch].T)
        near, far = (((anchors - items) ** 2).sum(axis=1) for items in (near, far))
        if np.isfinite(nu):
            near, far = (0.5 * (nu + 1) * np.log1p(D / nu) for D in (near, far))
        rate = lapse[0] if data.rater is None or len(lapse) == 1 else lapse[data.rater[batch]]
        right = 1 / (1 + np.exp(np.minimum(near - far, 700)))
        result[batch] = np.log(np.maximum(rate + (1 - 2 * rate) * right, 1e-300))
    return result


class HeldOutLikelihood:
    """Log-likelihoods of held-out responses; queries are never split between fitting and testing.

    Parameters
    ----------
    data : TripletData
        The responses.
    random_state : RandomState instance
        Draws the folds.
    task : Task
        Is told of each fit.
    """

    def __init__(self, data, random_state, task):
        self.data, self.task = data, task
        self.codes = query_codes(data.triplets)
        self.n_queries = int(self.codes.max()) + 1
        if self.n_queries < N_FOLDS:
            raise ValueError(
                f"the responses are to {self.n_queries} different queries, which cannot be split into {N_FOLDS} parts "
                'to choose between models: give n_components and kernel instead of "auto".'
            )
        self.fold = random_state.permutation(self.n_queries)[self.codes] % N_FOLDS
        self.weights = np.ones(len(self.codes)) if data.weights is None else data.weights

    def by_query(self, settings, random_state):
        """Sum of the log-probabilities of each query's responses, held out once: (n_queries,)."""
        total = np.zeros(self.n_queries)
        for fold in range(N_FOLDS):
            test = self.fold == fold
            fit = fit_triplets(self.data.take(~test), settings, random_state=random_state)
            values = log_probabilities(self.data.take(test), fit.points, fit.lapse, settings.nu) * self.weights[test]
            total += np.bincount(self.codes[test], values, self.n_queries)
            self.task.step()
        return total


def choose_settings(data, candidates, random_state, task, *, stops_early=False):
    """The first of a list of settings, simplest first, whose held-out likelihood is near the best.

    Near is within one standard error of the difference, which is over queries: responses to one query are not
    independent. With `stops_early` candidates are tried only until two in a row gain nothing.

    Returns
    -------
    held_out : HeldOut
    """
    held_out = HeldOutLikelihood(data, random_state, task)
    seed = int(random_state.randint(np.iinfo(np.int32).max))
    results: list[np.ndarray] = []
    for settings in candidates:
        results.append(held_out.by_query(settings, seed))
        best = int(np.argmax([result.sum() for result in results]))
        if stops_early and best < len(results) - 2:
            break
    chosen = best
    for number, result in enumerate(results):
        difference = results[best] - result
        if difference.sum() <= difference.std() * np.sqrt(len(difference)):
            chosen = number
            break
    return HeldOut(np.array([result.sum() for result in results]) / held_out.weights.sum(), chosen)


def choose_components(data, settings, random_state, task):
    """The number of components, and the held-out log-likelihoods of 1, 2, ... components."""
    most = max(1, min(MOST_COMPONENTS, data.n_items - 2))
    candidates = [replace(settings, n_components=number) for number in range(1, most + 1)]
    held_out = choose_settings(data, candidates, random_state, task, stops_early=True)
    return held_out.chosen + 1, held_out.log_likelihood
