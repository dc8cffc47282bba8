"""Responses to comparisons from one landmark: of circulant and sorted designs, and of independent pairs."""

from dataclasses import dataclass

import numpy as np

from skrank.manifold._oracle import BLOCK_SIZE
from skrank.manifold._queries import ask_block


@dataclass(frozen=True)
class LandmarkResponses:
    """The responses to comparisons of position t with position t + shift, in one order of the items.

    Without lapses the likelihood depends on them through each item's number of wins alone; with lapses it does not,
    and the responses themselves are kept, one bit each.

    Attributes
    ----------
    landmark : int
        Index of the landmark among the items.
    order : ndarray of shape (n_positions,), int32
        Item at each position.
    shifts : ndarray of shape (n_shifts,)
        What is compared.
    is_cyclic : bool
        Whether positions continue at the start of the order, or comparisons end with the order.
    net : ndarray of shape (n_positions,), float32
        Half the number of comparisons that each position won (was the farther one), less half of those that it lost.
    degree : ndarray of shape (n_positions,), int32
        Number of comparisons of each position.
    bits : list of ndarray of uint8, or None
        Packed: whether the left position was nearer, for each block and shift in turn.
    """

    landmark: int
    order: np.ndarray
    shifts: np.ndarray
    is_cyclic: bool
    net: np.ndarray
    degree: np.ndarray
    bits: list[np.ndarray] | None

    @property
    def wins(self):
        """Number of comparisons in which each position was the farther one."""
        return np.rint(self.net + 0.5 * self.degree).astype(np.int32)

    @property
    def is_one_sided(self):
        """Whether each position won, or lost, all its comparisons."""
        return 2 * np.abs(self.net) >= self.degree

    @property
    def n_comparisons(self):
        """Number of comparisons."""
        return sum(self.n_left(shift) for shift in self.shifts)

    def n_left(self, shift):
        """Number of positions that are compared with the one `shift` further."""
        return len(self.order) if self.is_cyclic else len(self.order) - shift

    def extended(self, values):
        """Values so that a position t + shift is never beyond their end."""
        return np.concatenate([values, values]) if self.is_cyclic else values

    def folded(self, values):
        """The adjoint of `extended`."""
        n = len(self.order)
        return values[:n] + values[n:] if self.is_cyclic else values

    def blocks(self):
        """Slices of the left and of the right positions of each block of comparisons."""
        for start in range(0, len(self.order), BLOCK_SIZE):
            for shift in self.shifts.tolist():
                stop = min(start + BLOCK_SIZE, self.n_left(shift))
                if stop > start:
                    yield slice(start, stop), slice(start + shift, stop + shift)


def ask_landmark(oracle, items, landmark, order, shifts, *, is_cyclic=False, keeps_responses=False):
    """Ask an oracle to compare items from a landmark.

    Parameters
    ----------
    oracle : callable
        A bound oracle.
    items : ndarray of shape (n_items, n_features)
        The items.
    landmark : int
        Index of the landmark.
    order : ndarray of shape (n_positions,)
        Items to compare, in an order.
    shifts : ndarray of shape (n_shifts,)
        Position t is compared with position t + shift.
    is_cyclic : bool, default=False
        Whether positions continue at the start of the order.
    keeps_responses : bool, default=False
        Whether each response is kept, as lapse rates need.

    Returns
    -------
    LandmarkResponses
    """
    ask = ask_block(oracle, items, landmark, order)
    order = order.astype(np.int32)
    asked = LandmarkResponses(landmark, order, np.asarray(shifts), is_cyclic, np.empty(0), np.empty(0), None)
    losses, degree = (asked.extended(np.zeros(len(order), np.int32)) for _ in range(2))
    bits: list[np.ndarray] = []
    for left, right in asked.blocks():
        nearer = ask(left.start, left.stop, right.start - left.start).view(np.int8)
        losses[left] += nearer
        losses[right] -= nearer
        losses[right] += 1
        degree[left] += 1
        degree[right] += 1
        if keeps_responses:
            bits.append(np.packbits(nearer))
    degree = asked.folded(degree)
    net = 0.5 * degree.astype(np.float32) - asked.folded(losses)
    return LandmarkResponses(landmark, order, asked.shifts, is_cyclic, net, degree, bits if keeps_responses else None)


@dataclass(frozen=True)
class PairResponses:
    """The responses to independent pairs of items.

    Attributes
    ----------
    triplets : ndarray of shape (n_comparisons, 3), int32
        Rows (landmark, near, far).
    wins, degree : ndarray of shape (n_items - 1,)
        How often each item but the landmark was the farther one, and how often it was compared.
    """

    triplets: np.ndarray
    wins: np.ndarray
    degree: np.ndarray

    @property
    def is_one_sided(self):
        """Whether each item won, or lost, all its comparisons."""
        return (self.wins == 0) | (self.wins == self.degree)
