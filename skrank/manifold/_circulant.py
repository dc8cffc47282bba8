"""The circulant design: which pairs of items are compared for a landmark, and passes over all its answers.

The items stand in one random order, positions 0, ..., n - 1, and position t is compared with position t + s (mod n) for
a few random shifts s. So every item takes part in exactly two comparisons a shift, the comparison graph is connected
(one shift is coprime with n), and every pass over the answers is a walk along contiguous slices: no gather, no
scatter. Only each item's number of wins is kept, because the Bradley-Terry likelihood needs nothing else.
"""

from dataclasses import dataclass

import numpy as np

CHUNK = 1 << 15  # positions at a time: three float32 slices of this length stay in a second-level cache


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
    """Consecutive ranges (start, stop) of at most CHUNK positions."""
    return ((start, min(n_positions, start + CHUNK)) for start in range(0, n_positions, CHUNK))


def doubled(x):
    """x twice over, so that the positions t + s (mod n) of a slice are a slice too."""
    return np.concatenate([x, x])


def folded(y):
    """Sum of the two halves: the adjoint of `doubled`."""
    n = len(y) // 2
    return y[:n] + y[n:]


def count_wins(ask, n_positions, shifts):
    """Number of comparisons in which each position was answered to be the farther one.

    Parameters
    ----------
    ask : callable
        `ask(start, stop, shift)` says of each position t in [start, stop) whether it is nearer than t + shift.
    n_positions : int
        Number of positions.
    shifts : ndarray of shape (n_shifts,)
        The shifts to ask about.

    Returns
    -------
    wins : ndarray of shape (n_positions,), int32
        Between 0 and 2 n_shifts.
    """
    losses = np.zeros(2 * n_positions, np.int32)
    for start, stop in slices(n_positions):
        left = losses[start:stop]
        for shift in shifts:
            nearer = ask(start, stop, shift).view(np.int8)
            left += nearer
            right = losses[start + shift : stop + shift]
            right -= nearer
    return len(shifts) - folded(losses)


def sum_tanh(half_scores, shifts):
    """B' tanh(B half_scores), with B the incidence matrix of the comparisons (+1 at t, -1 at t + shift)."""
    n_positions = len(half_scores)
    scores = doubled(half_scores)
    total = np.zeros(2 * n_positions, half_scores.dtype)
    buffer = np.empty(min(CHUNK, n_positions), half_scores.dtype)
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
    """The same shifts for every landmark.

    A design says which positions are compared: `wins_and_degree` asks an oracle about them and `sum_tanh` is the pass
    over the comparisons that every gradient of the likelihood consists of.
    """

    n_positions: int
    shifts: np.ndarray

    @classmethod
    def draw(cls, n_positions, n_shifts, random_state, exclude=()):
        return cls(n_positions, draw_shifts(n_positions, n_shifts, random_state, exclude))

    @property
    def n_comparisons(self):
        """Number of comparisons for each landmark."""
        return self.n_positions * len(self.shifts)

    @property
    def mean_degree(self):
        """Mean number of comparisons an item takes part in, for each landmark."""
        return 2 * len(self.shifts)

    def wins_and_degree(self, questions, landmark):
        """Wins and number of comparisons of each position, for the landmark with this number."""
        return count_wins(questions.block(), self.n_positions, self.shifts), self.mean_degree

    def sum_tanh(self, half_scores, landmark):
        """B' tanh(B half_scores) for the landmark with this number."""
        return sum_tanh(half_scores, self.shifts)
