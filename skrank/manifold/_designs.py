"""Designs: which pairs of items are compared for a landmark, and passes over all the responses.

In the circulant design the items stand in one random order, positions 0, ..., n - 1, and position t is compared with
position t + s (mod n) for a few random shifts s. So every item takes part in exactly two comparisons a shift, the
comparison graph is connected (one shift is coprime with n), and every pass over the responses is a walk along
contiguous slices: no gather, no scatter. Only each item's number of wins is kept, because the Bradley-Terry likelihood
needs nothing else. The design of independent pairs is the paper's.

In this file `number` is the number of a landmark, 0, 1, ..., not the index of an item.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from skrank._typing import Array, Integers
from skrank.manifold._oracle import BLOCK_SIZE
from skrank.manifold._queries import ask_triplets
from skrank.manifold._responses import PairResponses, ask_landmark

_PAIRS_AT_A_TIME = 1 << 16


class Design(Protocol):
    """Which positions are compared for each landmark, and the passes over these comparisons."""

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons for each landmark."""
        ...

    @property
    def mean_degree(self) -> float:
        """Mean number of comparisons that an item takes part in, for each landmark."""
        ...

    def ask(self, oracle: Any, items: Array, landmark: int, number: int, keeps_responses: bool) -> Any:
        """Ask an oracle to compare the other items from a landmark, and return their responses."""
        ...

    def sum_tanh(self, half_scores: Array, number: int) -> Array:
        """B' tanh(B half_scores), B the incidence matrix of one landmark's comparisons: the pass of every gradient."""
        ...


def largest_n_shifts(n_positions):
    """Number of shifts that compare no pair twice."""
    return (n_positions - 1) // 2


def draw_shifts(n_positions, n_shifts, random_state, exclude=()):
    """Distinct shifts in 1, ..., (n_positions - 1) // 2, the first of which connects all positions by itself.

    Parameters
    ----------
    n_positions : int
        Number of positions, at least 3.
    n_shifts : int
        Number of shifts, at least 1; with those excluded at most `largest_n_shifts(n_positions)`.
    random_state : RandomState instance
        Draws the shifts.
    exclude : array-like of int, default=()
        Shifts that are taken already.

    Returns
    -------
    shifts : ndarray of shape (n_shifts,)
    """
    free = np.setdiff1d(np.arange(1, largest_n_shifts(n_positions) + 1), exclude, assume_unique=True)
    first = np.argmax(np.gcd(free, n_positions) == 1)
    others = random_state.permutation(np.delete(free, first))[: n_shifts - 1]
    return np.concatenate([free[[first]], others]).astype(np.intp)


def slices(n_positions):
    """Consecutive ranges (start, stop) of at most BLOCK_SIZE positions."""
    return ((start, min(n_positions, start + BLOCK_SIZE)) for start in range(0, n_positions, BLOCK_SIZE))


def doubled(x):
    """x twice over, so that the positions t + s (mod n) of a slice are a slice too."""
    return np.concatenate([x, x])


def folded(y):
    """Sum of the two halves: the adjoint of `doubled`."""
    n = len(y) // 2
    return y[:n] + y[n:]


def sum_tanh(half_scores, shifts):
    """B' tanh(B half_scores), with B the incidence matrix of the comparisons (+1 at t, -1 at t + shift)."""
    n_positions = len(half_scores)
    scores = doubled(half_scores)
    total = np.zeros(2 * n_positions, half_scores.dtype)
    buffer = np.empty(min(BLOCK_SIZE, n_positions), half_scores.dtype)
    for start, stop in slices(n_positions):
        z = buffer[: stop - start]
        left, left_total = scores[start:stop], total[start:stop]
        for shift in shifts:
            np.subtract(left, scores[start + shift : stop + shift], out=z)
            np.tanh(z, out=z)
            left_total += z
            right_total = total[start + shift : stop + shift]
            right_total -= z
    return folded(total)


@dataclass(frozen=True)
class CirculantDesign:
    """The same shifts for every landmark."""

    n_positions: int
    shifts: Integers

    @classmethod
    def draw(cls, n_positions, n_shifts, random_state, exclude=()):
        return cls(n_positions, draw_shifts(n_positions, n_shifts, random_state, exclude))

    @property
    def n_comparisons(self):
        return self.n_positions * len(self.shifts)

    @property
    def mean_degree(self):
        return 2 * len(self.shifts)

    def ask(self, oracle, items, landmark, number, keeps_responses):
        order = np.delete(np.arange(len(items)), landmark)
        return ask_landmark(
            oracle, items, landmark, order, self.shifts, is_cyclic=True, keeps_responses=keeps_responses
        )

    def sum_tanh(self, half_scores, number):
        return sum_tanh(half_scores, self.shifts)


def count_pairs(left, right, weights, n_positions):
    """Sum of the weights at each left position minus their sum at each right position."""
    return np.bincount(left, weights, n_positions) - np.bincount(right, weights, n_positions)


@dataclass(frozen=True)
class IndependentDesign:
    """Uniform random pairs of different positions, drawn anew for each landmark.

    The pairs are a function of the seed, the landmark and the block: they are drawn again in every pass rather than
    kept, so memory does not grow with their number.
    """

    n_positions: int
    n_comparisons: int
    seed: int

    @classmethod
    def draw(cls, n_positions, n_comparisons, random_state):
        return cls(n_positions, n_comparisons, int(random_state.randint(np.iinfo(np.int32).max)))

    @property
    def mean_degree(self):
        return 2 * self.n_comparisons / self.n_positions

    @property
    def block_size(self):
        """Number of pairs in a block: a pass over a block costs n_positions besides."""
        return max(_PAIRS_AT_A_TIME, self.n_positions)

    def pairs(self, number):
        """Blocks (left, right) of the pairs of one landmark."""
        for block, start in enumerate(range(0, self.n_comparisons, self.block_size)):
            rng = np.random.default_rng([self.seed, number, block])
            size = min(self.block_size, self.n_comparisons - start)
            left = rng.integers(self.n_positions, size=size)
            right = left + rng.integers(1, self.n_positions, size=size)
            yield left, np.where(right < self.n_positions, right, right - self.n_positions)

    def ask(self, oracle, items, landmark, number, keeps_responses):
        order = np.delete(np.arange(len(items)), landmark).astype(np.int32)
        wins, degree = np.zeros((2, self.n_positions), np.int32)
        for left, right in self.pairs(number):
            nearer = ask_triplets(oracle, items, np.full(len(left), landmark), order[left], order[right])
            for side, won in ((left, ~nearer), (right, nearer)):
                wins += np.bincount(side[won], minlength=self.n_positions).astype(np.int32)
                degree += np.bincount(side, minlength=self.n_positions).astype(np.int32)
        pairs = partial(self.pairs, number)
        return PairResponses(landmark, order, pairs, self.n_comparisons, self.block_size, wins, degree)

    def sum_tanh(self, half_scores, number):
        total = np.zeros(self.n_positions)
        for left, right in self.pairs(number):
            total += count_pairs(left, right, np.tanh(half_scores[left] - half_scores[right]), self.n_positions)
        return total.astype(half_scores.dtype)
