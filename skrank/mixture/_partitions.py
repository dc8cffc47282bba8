"""Rankings in the partitions of a Dask array: a mixture is searched on a draw and polished by sums over partitions."""

from typing import NamedTuple

import numpy as np

from skrank._dask import row_blocks_of, sum_over_blocks, taken_rows
from skrank._rankings import check_rankings, has_missing, row_blocks
from skrank.mixture._missing import posterior, posterior_probabilities
from skrank.mixture._model import Mixture
from skrank.mixture._pair_counts import PairCounts
from skrank.mixture._pair_signs import PairSigns
from skrank.mixture._sums import Gains, gains_of, no_sums, polish_by_sums, sums_of
from skrank.mixture._voters import make_table, orders_something

# Draws of so many times `subsample` rows: the stability criterion judges on as many.
DRAWN = 4
BLOCK_ROWS = 1 << 16  # rows that a worker has unpacked at a time


class Partitions:
    """The rows of a Dask array or DataFrame, where they lie.

    Parameters
    ----------
    X : Dask array or DataFrame of shape (n_samples, n_items)
    n_drawn : int
        Rows that `drawn` is of, at most.
    rng : numpy.random.Generator
        Draws them.

    Attributes
    ----------
    rows : Dask array
        Whole rows.
    drawn : ndarray or DataFrame of shape (min(n_samples, n_drawn), n_items)
        Rows drawn without replacement, in the order of X.
    """

    def __init__(self, X, n_drawn, rng):
        self.rows = row_blocks_of(X)
        n_rows = self.rows.shape[0]
        self.is_drawn_whole = n_rows <= n_drawn
        places = slice(None) if self.is_drawn_whole else np.sort(rng.choice(n_rows, n_drawn, replace=False))
        self.drawn = taken_rows(X, self.rows, places)

    def sums(self, mixture):
        """`Sums` over all rows that order anything."""
        return sum_over_blocks(self.rows, _block_sums, mixture)

    def transpositions(self, mixture):
        """Gains in total log-likelihood of the adjacent transpositions, the moves, and the number of rankings."""
        return sum_over_blocks(self.rows, _block_gains, mixture)

    def polished(self, mixture, max_iter, tol):
        """The mixture polished on all rows, and what is known of them."""
        mixture, sums = polish_by_sums(self, mixture, max_iter, tol)
        return mixture, Totals(sums.total_weight, sums.n_items, sums.coverage), bool(sums.leaves_out)


class Totals(NamedTuple):
    """What is known of rankings that lie elsewhere; it stands for their table."""

    total_weight: float
    n_items: int
    coverage: float


# ---------------------------------------------------------------- on the workers
def _engines(block, first_row):
    """Engines of the rows of a partition that order anything, a block of rows at a time."""
    for rows in row_blocks(len(block), 16 * block.shape[1] ** 2, max_rows=BLOCK_ROWS):
        try:
            ranks = check_rankings(block[rows])
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"In rows {first_row + rows.start} to {first_row + rows.stop - 1} of X: {error}"
            ) from error
        ranks = ranks[orders_something(ranks)]
        if len(ranks):
            yield (PairCounts if has_missing(ranks) else PairSigns)(ranks)


def _block_sums(block, first_row, mixture: Mixture):
    total = no_sums(*mixture.centers.shape)
    for data in _engines(block, first_row):
        total += sums_of(data, mixture, leaves_out=int(isinstance(data, PairCounts)))
    return total


def _block_gains(block, first_row, mixture: Mixture):
    total = Gains(np.zeros(1), [], 0.0)
    for data in _engines(block, first_row):
        total += gains_of(data, mixture)
    return total


def block_posterior(block, mixture, missing):
    """Posterior probabilities of the components for the rows of a partition."""
    data, inverse = make_table(check_rankings(block))
    return posterior_probabilities(data, mixture, missing)[inverse]


def block_log_densities(block, mixture, missing):
    """Log probabilities of the rows of a partition."""
    data, inverse = make_table(check_rankings(block))
    return posterior(data, mixture, missing)[2][inverse]


def block_score(block, first_row, mixture, missing):
    """Total log probability of the rows that order anything, and their number."""
    total = np.zeros(2)
    for data in _engines(block, first_row):
        total += data.total_weight * np.array([posterior(data, mixture, missing)[1], 1.0])
    return total
