"""The steps of Theorem 7.1 one after another, on the exact distribution: what the theorem does, to be read and checked.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), section 7. Given the probability of every
ranking of few items under a mixture of k components with distinct dispersions,

1. `candidate_prefixes` (Claim 5): every center's first items are those of a ranking drawn from it with a probability
   that is not small, so all centers' prefixes are among the frequent ones; the dispersions are guessed on a grid;
2. `recovered_center` (Lemma 10): for a prefix of one center, and guesses of the others' dispersions and of how they
   order the prefix's pairs, a test function annihilates all components but one, and what is left says of any two items
   which comes first in its center;
3. `mixing_weights` (Claim 6): with centers and dispersions, test functions give the weights without a guess;
4. `theorem_7_1` tries all guesses and keeps the mixture that fits. In place of Lemma 11's test by further test
   functions it compares the whole distribution, which is known here.

Everything is exact here, so that prefixes of the 2 (k - 1) items that the test functions use are enough; the theorem
lists prefixes of 10 k items, which is why it needs n >= 10 k. Samples would stop it twice. The list is of size
2^k gamma^(-10 k^2) (alpha beta)^(-k), beta the step of the grid; and a moment counts for what its test function leaves
of it, at least (gamma / 4)^(k - 1): for three components with gamma = 1/10 that is 1/1600 of the rankings that begin
with the prefix, which are few themselves.
"""

import itertools

import numpy as np

from skrank._mallows import log_q_factorial
from skrank._pair_words import kendall_distances
from skrank._rankings import ordering, pair_indices
from skrank._total_variation import all_rankings
from skrank.mixture._liu_moitra._heavy_cells import rows_with_prefix
from skrank.mixture._liu_moitra._pair_tensors import pair_tensor
from skrank.mixture._liu_moitra._test_functions import pair_test_function
from skrank.mixture._liu_moitra._weights import prefix_moment_weights


def n_items_of(probabilities):
    """The number of items of a distribution with one entry for each of `all_rankings`."""
    n_items, size = 1, 1
    while size < len(probabilities):
        n_items += 1
        size *= n_items
    return n_items


def mixture_distribution(centers, dispersions, weights):
    """Probability of each of `all_rankings` under a mixture, (n_items!,)."""
    centers, nu = np.asarray(centers), -np.log(dispersions)
    distances = kendall_distances(centers, all_rankings(centers.shape[1]))
    logs = -nu[:, None] * distances - log_q_factorial(centers.shape[1], nu)[:, -1:]
    return np.asarray(weights) @ np.exp(logs)


def candidate_prefixes(probabilities, n_items, length, least):
    """Step 1: the ordered first `length` items of rankings, as far as these begin with probability `least` or more."""
    first = ordering(all_rankings(n_items))[:, :length]
    prefixes, number = np.unique(first, axis=0, return_inverse=True)
    return prefixes[np.bincount(number.ravel(), probabilities) >= least]


def recovered_center(probabilities, prefix, dispersions, flips, tolerance=1e-9):
    """Step 2: the center that begins with `prefix`, if the other components are as guessed (Lemma 10).

    Parameters
    ----------
    probabilities : ndarray of shape (n_items!,)
        Of `all_rankings`.
    prefix : ndarray of shape (2 (k - 1),)
        First items of the wanted center, in pairs.
    dispersions : ndarray of shape (k - 1,)
        Of the other components, as guessed.
    flips : ndarray of shape (k - 1,), bool
        Whether component a orders pair a of the prefix the other way round, as guessed.
    tolerance : float, default=1e-9
        The smallest difference of two moments that says which is larger.

    Returns
    -------
    center : ndarray of shape (n_items,) or None
        Positions; None if the comparisons are no order: then a guess was wrong.
    """
    n_items = n_items_of(probabilities)
    ranks, pairs = all_rankings(n_items), prefix.reshape(-1, 2)
    rows = rows_with_prefix(ranks, probabilities, pairs)
    counts, differences = pair_tensor(ranks[rows], probabilities[rows], pairs)
    # <Z, T_x - T_y>, with the sign of <Z, T_k>: which is larger in absolute value.
    test_function = pair_test_function(dispersions, flips)
    i, j = pair_indices(n_items)
    outside = ~np.isin(i, prefix) & ~np.isin(j, prefix)
    lead = (test_function @ differences)[outside] * np.sign(test_function @ counts)
    if (np.abs(lead) < tolerance).any():
        return None
    wins = np.zeros(n_items, int)
    np.add.at(wins, np.where(lead > 0, i[outside], j[outside]), 1)
    rest = np.setdiff1d(np.arange(n_items), prefix)
    if len(set(wins[rest].tolist())) < len(rest):
        return None
    order = np.concatenate([prefix, rest[np.argsort(-wins[rest])]])
    return np.argsort(order)


def mixing_weights(probabilities, centers, dispersions):
    """Step 3: the weights of components with given centers and dispersions (Claim 6)."""
    return prefix_moment_weights(all_rankings(centers.shape[1]), probabilities, centers, dispersions)


def theorem_7_1(probabilities, n_components, grid, *, least_weight, gamma):
    """The mixture that a distribution is of, found by the theorem's steps.

    Parameters
    ----------
    probabilities : ndarray of shape (n_items!,)
        Of `all_rankings`, under a mixture of `n_components` whose dispersions are on the grid.
    n_components : int
    grid : ndarray of shape (n_dispersions,)
        Guesses of the dispersions, at least gamma apart.
    least_weight, gamma : float
        The mixture is (gamma, least_weight)-separated (Definition 14).

    Returns
    -------
    centers : ndarray of shape (n_components, n_items)
    dispersions, weights : ndarrays of shape (n_components,)
        By increasing dispersion.
    difference : float
        Total variation distance from the given distribution.
    """
    n_items, k = n_items_of(probabilities), n_components
    length = 2 * (k - 1)
    prefixes = candidate_prefixes(probabilities, n_items, length, least_weight * gamma**length / 2)
    # The candidates for a center, by the dispersions of the other components that were guessed.
    centers: dict = {others: {} for others in itertools.combinations(sorted(grid), k - 1)}
    for prefix, others in itertools.product(prefixes, centers):
        for dispersions in itertools.permutations(others):
            for flips in itertools.product([False, True], repeat=k - 1):
                center = recovered_center(probabilities, prefix, np.array(dispersions), np.array(flips))
                if center is not None:
                    centers[others][center.tobytes()] = center
    best, difference = None, np.inf
    for dispersions in itertools.combinations(sorted(grid), k):
        lists = [centers[tuple(phi for phi in dispersions if phi != own)].values() for own in dispersions]
        for chosen in itertools.product(*lists):
            candidate = np.array(chosen), np.array(dispersions)
            weights = mixing_weights(probabilities, *candidate)
            if not (weights >= least_weight / 2).all():  # nor where a test function vanishes
                continue
            distance = np.abs(mixture_distribution(*candidate, weights) - probabilities).sum() / 2
            if distance < difference:
                best, difference = (*candidate, weights), distance
    if best is None:
        raise ValueError(
            "No guess has weights of at least half the least one: the mixture is not as separated as said."
        )
    return (*best, float(difference))
