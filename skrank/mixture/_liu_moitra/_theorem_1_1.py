"""The steps of Theorem 1.1 one after another, on exact moments of two components: to be read and checked.

Liu and Moitra, "Efficiently Learning Mixtures of Mallows Models" (FOCS 2018), section 5. Unlike Theorem 7.1, components
may share a dispersion, or a center. The theorem works on moments of order c >= 10 k^2 (Definition 12) and needs as many
items. With fewer items the moments of the highest order are the distribution itself, which is what stands here for
them: a vector with one entry for each of `all_rankings`. Two components are the fewest that have to be told apart.

1. `without_small_components` (Fact 2, Claim 2): a component of a dispersion below 1/(2n) mostly draws its own center,
   which is therefore among the frequent rankings. Which of them are centers, and with which weights and dispersions,
   is guessed, and the guess subtracted from the moments.
2. `candidate_centers` (Lemmas 7 and 8): with guesses of the dispersions, of a pair of items and of how the components
   order it, a test function annihilates all components but one. What it leaves says of any other two items which comes
   first in that center; the places of the pair are guessed. If the dispersions differ, the pair is at the top of the
   center (Lemma 8); if they are equal, it is ordered differently in the other center (Lemma 7).
3. `candidate_mixtures` (Corollary 4): a candidate with a guessed weight is subtracted, and step 2 is repeated on the
   rest. All k-tuples are candidates for the mixture.
4. `theorem_1_1` (Corollary 5 and the end of the proof) drops candidates that are degenerate, and keeps the one whose
   moments are nearest to the given ones.

Samples would stop the proof, not the idea. The guesses are on a grid of step (epsilon alpha / 2nk)^(150 k^4), epsilon =
mu^2 / (10 n^3), and the bound on the number of rankings has the exponent (10k)^(10k), 20^20 for two components. What
decides in practice is how much the test function leaves. For seven items, two centers that exchange the first two, and
right guesses, each order in step 2 stands out by three standard errors from 1600 rankings if both dispersions are 0.5,
3000 if they are 0.5 and 0.8, and 190 000 if both are 0.8 (`leading_difference`). But nobody tells which guess is right.
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np

from skrank._rankings import pair_indices
from skrank._total_variation import all_rankings
from skrank.mixture._liu_moitra._test_functions import pair_annihilator
from skrank.mixture._liu_moitra._theorem_7_1 import mixture_distribution, n_items_of

TOLERANCE = 1e-9  # the smallest difference of two moments that says which is larger


class Component(NamedTuple):
    """A component, or a guess of one."""

    center: tuple
    dispersion: float
    weight: float

    @property
    def moments(self):
        """Its part of the mixture's moments, (n_items!,)."""
        return self.weight * _distribution(self.center, self.dispersion)


@cache  # the same few candidates are subtracted again and again
def _distribution(center, dispersion):
    return mixture_distribution([center], np.array([dispersion]), [1.0])


class Grid(NamedTuple):
    """The values that are guessed: small dispersions are below 1/(2n), large ones are not."""

    small_dispersions: tuple
    large_dispersions: tuple
    weights: tuple


# ---------------------------------------------------------------- step 1
def heavy_rankings(moments, least):
    """Rankings of probability `least` or more, as a list of tuples (Fact 2, with least = alpha / 4)."""
    return [tuple(center.tolist()) for center in all_rankings(n_items_of(moments))[moments >= least]]


def without_small_components(moments, n_components, grid, least_weight):
    """Step 1: guesses of the components of small dispersions, each with the moments that are left without them.

    Yields
    ------
    small : tuple of Component
    rest : ndarray of shape (n_items!,)
    """
    heavy = heavy_rankings(moments, least_weight / 4)
    guesses = [Component(*one) for one in itertools.product(heavy, grid.small_dispersions, grid.weights)]
    for n_small in range(n_components + 1):
        for small in itertools.combinations(guesses, n_small):
            yield small, moments - sum(component.moments for component in small)


# ---------------------------------------------------------------- step 2
def isolated(moments, pair, test_vector, at_the_top):
    """The moments times a test function on the order of a pair, (n_items!,): zero where it does not apply.

    Summed over the two orders of the pair, an annihilated component cancels.

    Parameters
    ----------
    moments : ndarray of shape (n_items!,)
    pair : tuple of two items
    test_vector : ndarray of shape (2,)
        Factors of the rankings with the pair in order, and reversed.
    at_the_top : bool
        Whether the pair must have the first two places (the set S of Lemma 8) or any neighboring ones (Lemma 7).
    """
    ranks = all_rankings(n_items_of(moments))
    first, second = ranks[:, pair[0]].astype(int), ranks[:, pair[1]].astype(int)
    applies = (first + second == 1) if at_the_top else (np.abs(first - second) == 1)
    return moments * applies * test_vector[(first > second).astype(int)]


def order_of_the_rest(left, excluded=()):
    """The order of all items but the excluded ones in the only component that is left, or None if there is none."""
    n_items = n_items_of(left)
    ranks = all_rankings(n_items)
    rest = [item for item in range(n_items) if item not in excluded]
    wins = dict.fromkeys(rest, 0)
    sign = np.sign(left.sum())
    for a, b in itertools.combinations(rest, 2):
        lead = sign * (left @ np.where(ranks[:, a] < ranks[:, b], 1.0, -1.0))
        if abs(lead) < TOLERANCE:
            return None
        wins[a if lead > 0 else b] += 1
    order = sorted(rest, key=lambda item: -wins[item])
    return order if len(set(wins.values())) == len(rest) else None


def leading_difference(left, excluded=()):
    """The smallest lead of one item over another that `order_of_the_rest` relies on."""
    ranks = all_rankings(n_items_of(left))
    i, j = pair_indices(ranks.shape[1])
    outside = ~np.isin(i, excluded) & ~np.isin(j, excluded)
    return np.abs(left @ np.where(ranks[:, i] < ranks[:, j], 1.0, -1.0))[outside].min()


def completed(order, pair):
    """All centers that have the order of the rest, with the pair's items at any places."""
    for first in range(len(order) + 1):
        once = [*order[:first], pair[0], *order[first:]]
        for second in range(len(once) + 1):
            yield tuple(np.argsort([*once[:second], pair[1], *once[second:]]).tolist())


def candidate_centers(moments, n_components, dispersions):
    """Step 2: candidates for the centers of the components of one or two large dispersions.

    Returns
    -------
    candidates : dict
        For each dispersion, the set of centers.
    """
    candidates: dict = {dispersion: set() for dispersion in dispersions}
    if n_components == 1:
        order = order_of_the_rest(moments)
        if order is not None:
            for dispersion in dispersions:
                candidates[dispersion].add(tuple(np.argsort(order).tolist()))
        return candidates
    pairs = list(itertools.permutations(range(n_items_of(moments)), 2))
    for own, other in itertools.product(dispersions, repeat=2):
        # Of one dispersion, the pair must be ordered differently in the other center.
        for pair, is_flipped in itertools.product(pairs, [True] if own == other else [False, True]):
            left = isolated(moments, pair, pair_annihilator(other, is_flipped), at_the_top=own != other)
            order = order_of_the_rest(left, pair)
            if order is not None:
                candidates[own].update(completed(order, pair))
    return candidates


# ---------------------------------------------------------------- step 3
def candidate_mixtures(moments, n_components, grid):
    """Step 3: tuples of components, each a candidate of what the ones before it leave (Corollary 4)."""
    if n_components == 0:
        yield ()
        return
    candidates = candidate_centers(moments, n_components, grid.large_dispersions)
    for dispersion, centers in candidates.items():
        for center, weight in itertools.product(sorted(centers), grid.weights):
            component = Component(center, dispersion, weight)
            for others in candidate_mixtures(moments - component.moments, n_components - 1, grid):
                yield (component, *others)


# ---------------------------------------------------------------- step 4
def is_degenerate(mixture, least_weight, epsilon):
    """Whether a candidate is dropped: components too similar, too near the uniform distribution, or too light."""
    return any(one.dispersion > 1 - epsilon / 2 or one.weight < least_weight / 2 for one in mixture) or any(
        one.center == other.center and abs(one.dispersion - other.dispersion) <= epsilon / 10
        for one, other in itertools.combinations(mixture, 2)
    )


def theorem_1_1(moments, n_components, grid, *, least_weight, mu):
    """The mixture that has the given moments, found by the theorem's steps.

    Parameters
    ----------
    moments : ndarray of shape (n_items!,)
        Probabilities of `all_rankings` under a mixture whose parameters are on the grid.
    n_components : {1, 2}
    grid : Grid
    least_weight, mu : float
        The mixture is (mu, least_weight)-non-degenerate (Definition 10).

    Returns
    -------
    mixture : tuple of Component
        By decreasing weight.
    difference : float
        Total variation distance from the given moments.
    """
    if n_components > 2:
        raise ValueError(f"n_components={n_components}: the guesses for more than 2 components are too many to list.")
    epsilon = mu**2 / (10 * n_items_of(moments) ** 3)
    best, difference = (), np.inf
    for small, rest in without_small_components(moments, n_components, grid, least_weight):
        for large in candidate_mixtures(rest, n_components - len(small), grid):
            mixture = (*small, *large)
            if is_degenerate(mixture, least_weight, epsilon):
                continue
            distance = np.abs(moments - sum(component.moments for component in mixture)).sum() / 2
            if distance < difference:
                best, difference = mixture, float(distance)
    if not best:
        raise ValueError("All guesses are degenerate: the mixture is not one of these parameters.")
    return tuple(sorted(best, key=lambda component: -component.weight)), difference
