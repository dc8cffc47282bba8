"""Responses to comparisons from one landmark: of circulant and sorted designs, and of independent pairs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

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
    balance : ndarray of shape (n_positions,), int16 or int32
        Number of comparisons that each position won (was the farther one), less the number of those that it lost.
    bits : list of ndarray of uint8, or None
        Packed: whether the left position was nearer, for each block and shift in turn.
    """

    landmark: int
    order: np.ndarray
    shifts: np.ndarray
    is_cyclic: bool
    balance: np.ndarray
    bits: list[np.ndarray] | None

    @property
    def degree(self):
        """Number of comparisons of each position."""
        n = len(self.order)
        if self.is_cyclic:
            return np.full(n, 2 * len(self.shifts), np.int32)
        up_to = np.cumsum(np.bincount(self.shifts, minlength=n)[:n], dtype=np.int32)  # shifts 0, 1, ..., n - 1
        return up_to + up_to[::-1]

    @property
    def wins(self):
        """Number of comparisons in which each position was the farther one."""
        return (self.degree + self.balance) // 2

    @property
    def is_one_sided(self):
        """Whether each position won, or lost, all its comparisons."""
        return np.abs(self.balance) >= self.degree

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

    @property
    def block_size(self):
        """Largest number of comparisons in a block."""
        return min(BLOCK_SIZE, len(self.order))

    def sample(self, size):
        """An evenly spaced sample of about so many comparisons: blocks of arrays, and how many each one stands for."""
        every, n = max(1, self.n_comparisons // size), len(self.order)
        left = (np.arange(0, self.n_left(shift), every) for shift in self.shifts.tolist())
        return ((t, (t + shift) % n) for t, shift in zip(left, self.shifts.tolist(), strict=True)), every

    def triplets(self):
        """Rows (landmark, near, far) of all comparisons; only where the responses are kept."""
        parts, n = [], len(self.order)
        for (left, right), packed in zip(self.blocks(), self.bits or (), strict=True):
            nearer = np.unpackbits(packed, count=left.stop - left.start).view(bool)
            left = self.order[left]
            right = self.order[np.arange(right.start, right.stop) % n]
            anchors = np.full(len(left), self.landmark, np.int32)
            parts.append(np.column_stack([anchors, np.where(nearer, left, right), np.where(nearer, right, left)]))
        return np.concatenate(parts)


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
    order, shifts = order.astype(np.int32), np.asarray(shifts)
    dtype = np.int16 if 2 * len(shifts) <= np.iinfo(np.int16).max else np.int32
    asked = LandmarkResponses(landmark, order, shifts, is_cyclic, np.empty(0, dtype), None)
    balance = asked.extended(np.zeros(len(order), dtype))
    signs: np.ndarray = np.empty(BLOCK_SIZE, dtype)
    bits: list[np.ndarray] = []
    for left, right in asked.blocks():
        nearer = ask(left.start, left.stop, right.start - left.start).view(np.int8)
        sign = signs[: len(nearer)]
        np.multiply(nearer, 2, out=sign)
        sign -= 1
        balance[left] -= sign
        balance[right] += sign
        if keeps_responses:
            bits.append(np.packbits(nearer))
    return replace(asked, balance=asked.folded(balance), bits=bits if keeps_responses else None)


@dataclass(frozen=True)
class PairResponses:
    """The responses to independent pairs of positions; its interface is that of `LandmarkResponses`.

    Neither the pairs are kept, which are drawn again in every pass, nor the responses to them: the likelihood depends
    on these through each item's number of wins alone.

    Attributes
    ----------
    landmark : int
        Index of the landmark among the items.
    order : ndarray of shape (n_positions,), int32
        Item at each position.
    pairs : callable
        Returns an iterator over blocks (left, right) of the pairs, arrays of positions.
    n_comparisons : int
        Number of pairs.
    block_size : int
        Largest number of pairs in a block.
    wins, degree : ndarray of shape (n_positions,), int32
        How often each position was the farther one, and how often it was compared.
    """

    landmark: int
    order: np.ndarray
    pairs: Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]]
    n_comparisons: int
    block_size: int
    wins: np.ndarray
    degree: np.ndarray

    is_cyclic = False

    @property
    def balance(self):
        """Number of comparisons that each position won, less the number of those that it lost."""
        return 2 * self.wins - self.degree

    @property
    def is_one_sided(self):
        """Whether each position won, or lost, all its comparisons."""
        return (self.wins == 0) | (self.wins == self.degree)

    def extended(self, values):
        """The values themselves: no position is beyond their end."""
        return values

    folded = extended

    def blocks(self):
        """The left and the right positions of each block of comparisons."""
        return self.pairs()

    def sample(self, size):
        """As that of `LandmarkResponses`, but the first pairs, which are random anyway."""
        left, right = next(iter(self.pairs()))
        return [(left[:size], right[:size])], self.n_comparisons / len(left[:size])
