"""The variance of a kernel value that is estimated from samples, and how much antithetic pairs change it.

The estimate for two rankings is the mean of K(s, t) over all pairs of M samples s of the one and N samples t of the
other: a two-sample U-statistic. In the decomposition of Hoeffding, K(s, t) is its mean plus an effect of s, an effect
of t and an interaction, uncorrelated, with variances a, b and c, and

    Var = a / M + b / N + c / (M N).

The variances are those of a two-way layout with random effects: from the mean squares of rows, columns and residuals.
(Theorem 4 of Lomeli et al., 2019, as printed lacks the second effect.) Antithetic pairs are one draw of a pair: the
same holds for the means of K over the four combinations of two pairs.
"""

import numpy as np
from sklearn.utils import gen_batches

from skrank.kernels._sample_pairs import own_pair_values

BLOCK_ROWS = 256


def variance_components(values):
    """Variances of the effects of rows and columns and of the interaction, unbiased estimates.

    Parameters
    ----------
    values : ndarray of shape (n_layouts, n_rows, n_columns)
        At least two rows and two columns.

    Returns
    -------
    rows, columns, interaction : ndarray of shape (n_layouts,)
    """
    _, n_rows, n_columns = values.shape
    row_means, column_means = values.mean(axis=2), values.mean(axis=1)
    residuals = values - row_means[:, :, None] - column_means[:, None] + values.mean(axis=(1, 2))[:, None, None]
    interaction = (residuals**2).sum(axis=(1, 2)) / ((n_rows - 1) * (n_columns - 1))
    rows = row_means.var(axis=1, ddof=1) - interaction / n_columns
    columns = column_means.var(axis=1, ddof=1) - interaction / n_rows
    return rows, columns, interaction


def variance_of_mean(values, n_rows=None, n_columns=None):
    """Estimated variance of the mean of a layout of so many rows and columns (None: as many as there are)."""
    n_rows, n_columns = n_rows or values.shape[1], n_columns or values.shape[2]
    rows, columns, interaction = variance_components(values)
    return rows / n_rows + columns / n_columns + interaction / (n_rows * n_columns)


# ---------------------------------------------------------------- samples
def _weighted_values(kernel, samples, other):
    """Kernel values of all sample pairs of each ranking of `samples` with its counterpart of `other`, weighted."""
    values = own_pair_values(kernel, samples.positions, other.positions)
    for weights, axis in ((samples.weights, 2), (other.weights, 1)):
        if weights is not None:
            values *= np.expand_dims(weights * weights.shape[1], axis)
    return values


def pairing_variances(kernel, samples, other, n_draws):
    """Variance of estimates from independent draws, and from antithetic pairs of them, by the same antithetic draws.

    Parameters
    ----------
    kernel : RankingKernel
    samples, other : Samples
        Antithetic draws of rankings and their counterparts, an even number of at least four.
    n_draws : int
        Number of draws of the estimates in question.

    Returns
    -------
    independent, antithetic : ndarray of shape (n_rankings,)
        Unbiased; negative by chance where the true value is small.
    """
    independent, antithetic = np.empty((2, len(samples)))
    for rows in gen_batches(len(samples), BLOCK_ROWS):
        values = _weighted_values(kernel, samples[rows], other[rows])
        halves = [values[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        independent[rows] = sum(variance_of_mean(half, n_draws, n_draws) for half in halves) / 4
        antithetic[rows] = variance_of_mean(sum(halves) / 4, n_draws / 2, n_draws / 2)
    return independent, antithetic


def entry_variances(kernel, samples, other, antithetic):
    """Estimated variance of the mean over all sample pairs of each ranking with its counterpart.

    A value can be negative by chance where the true one is small. NaN if there are too few draws to tell: less than two
    of either ranking, or two antithetic pairs.

    Returns
    -------
    variances : ndarray of shape (n_rankings,)
    """
    variances = np.full(len(samples), np.nan)
    for rows in gen_batches(len(samples), BLOCK_ROWS):
        values = _weighted_values(kernel, samples[rows], other[rows])
        if antithetic:
            n_rows, n_columns = (2 * (size // 2) for size in values.shape[1:])
            values = values[:, :n_rows, :n_columns]
            values = (values[:, ::2, ::2] + values[:, 1::2, ::2] + values[:, ::2, 1::2] + values[:, 1::2, 1::2]) / 4
        if min(values.shape[1:]) > 1:
            variances[rows] = variance_of_mean(values)
    return variances
