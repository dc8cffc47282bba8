"""Whether the rankings of a voter belong together: what one half of them says about the other half.

Where judges' errors grow as items are nearer, no single Mallows model fits their comparisons, and a mixture may find
groups even among judges to whom comparisons were dealt at random. Real groups are told from these by the voters: a
voter's component, learned from a random half of the rankings, predicts the other half better than the component of
another voter does. Under random dealing the two are exchangeable, so the rank of the true pairing among random ones is
a p-value.
"""

import numpy as np
from scipy.special import logsumexp

from skrank._rankings import aggregate
from skrank.mixture._model import log_densities
from skrank.mixture._pair_counts import PairCounts
from skrank.mixture._voters import make_table

N_PAIRINGS = 199
LEVEL = 0.05
LEAST_VOTERS = 20
SIMILAR = 20  # pairings exchange voters with about as many rankings


def pairing_pvalue(ranks, weights, voters, fit, rng):
    """P-value of the hypothesis that rankings are dealt to voters at random; None where too few voters gave several.

    Parameters
    ----------
    ranks : ndarray of shape (n_samples, n_items)
        Densified rankings.
    weights : ndarray of shape (n_samples,) or None
        Of each row's voter.
    voters : ndarray of shape (n_samples,)
        Number of each row's voter.
    fit : callable
        From a table of voters to a mixture of several components.
    rng : numpy.random.Generator
    """
    table = aggregate(ranks)
    weights = np.ones(len(ranks)) if weights is None else weights
    half = _random_halves(voters, table.inverse, rng)
    n_voters = voters.max() + 1
    sizes = np.array([np.bincount(voters[half == side], minlength=n_voters) for side in (0, 1)])
    both = (sizes > 0).all(axis=0)
    if both.sum() < LEAST_VOTERS:
        return None
    first = half == 0
    mixture = fit(make_table(ranks[first], weights[first], voters[first])[0])
    log_density = log_densities(PairCounts(table.ranks), mixture.centers, mixture.dispersions)[:, table.inverse]
    halves = [
        np.array([np.bincount(voters[half == side], row[half == side], n_voters) for row in log_density])[:, both]
        for side in (0, 1)
    ]
    prior = halves[0] + np.log(mixture.weights)[:, None]
    prior -= logsumexp(prior, axis=0)
    voter_weights = np.zeros(n_voters)
    voter_weights[voters] = weights

    def fit_of_pairing(order):
        return logsumexp(prior[:, order] + halves[1], axis=0) @ voter_weights[both]

    true = fit_of_pairing(slice(None))
    pairings = (_similar_voters(sizes[:, both].sum(axis=0), rng) for _ in range(N_PAIRINGS))
    return (1 + sum(fit_of_pairing(order) >= true for order in pairings)) / (N_PAIRINGS + 1)


def _random_halves(voters, rankings, rng):
    """0 or 1 for each row: a random half of the rows of each voter, a function of their content."""
    order = np.lexsort([rankings, voters])
    order = order[rng.permutation(len(order))]
    order = order[np.argsort(voters[order], kind="stable")]
    n_rows = np.bincount(voters)
    place = np.empty(len(voters), np.intp)
    place[order] = np.arange(len(voters)) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    return place % 2


def _similar_voters(sizes, rng):
    """A permutation that exchanges voters with about the same number of rankings."""
    by_size = np.lexsort([rng.random(len(sizes)), sizes])
    block = np.arange(len(sizes)) // SIMILAR
    shuffled = by_size[np.lexsort([rng.random(len(sizes)), block])]
    order = np.empty(len(sizes), np.intp)
    order[by_size] = shuffled
    return order
