"""Designs of independent pairs: the comparisons of a landmark are drawn uniformly, as in the paper."""

from dataclasses import dataclass

import numpy as np

_PAIRS_AT_A_TIME = 1 << 16


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
        """Mean number of comparisons an item takes part in, for each landmark."""
        return 2 * self.n_comparisons / self.n_positions

    def pairs(self, landmark):
        """Blocks (left, right) of the pairs of one landmark."""
        block_size = max(_PAIRS_AT_A_TIME, self.n_positions)  # a pass over a block costs n_positions besides
        for block, start in enumerate(range(0, self.n_comparisons, block_size)):
            rng = np.random.default_rng([self.seed, landmark, block])
            size = min(block_size, self.n_comparisons - start)
            left = rng.integers(self.n_positions, size=size)
            right = left + rng.integers(1, self.n_positions, size=size)
            yield left, np.where(right < self.n_positions, right, right - self.n_positions)

    def wins_and_degree(self, questions, landmark):
        """Wins and number of comparisons of each position, for the landmark with this number."""
        net = np.zeros(self.n_positions)
        degree = np.zeros(self.n_positions, np.int64)
        for left, right in self.pairs(landmark):
            farther = np.where(questions.pairs(left, right), -0.5, 0.5)
            net += count_pairs(left, right, farther, self.n_positions)
            degree += np.bincount(left, minlength=self.n_positions) + np.bincount(right, minlength=self.n_positions)
        return np.rint(net + degree / 2).astype(np.int64), degree

    def sum_tanh(self, half_scores, landmark):
        """B' tanh(B half_scores) for the landmark with this number, B the incidence matrix of its comparisons."""
        total = np.zeros(self.n_positions)
        for left, right in self.pairs(landmark):
            total += count_pairs(left, right, np.tanh(half_scores[left] - half_scores[right]), self.n_positions)
        return total.astype(half_scores.dtype)
