r"""Ranks that scores and their errors leave open.

An item's rank is one more than the number of better items. With differences of scores, their standard errors and a
critical value c, item j is better than i beyond doubt if its score is more than c standard errors (of the difference)
higher. c is the quantile of the largest of the :math:`|t_{ij}|` under the errors' distribution: over all j for the
rank of i alone (marginal), over all pairs for all ranks at once (simultaneous).

M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility across
neighbourhoods and academic achievement across countries", Review of Economic Studies 91, 2024.
"""

import numpy as np

N_DRAWS = 2000


def rank_ranges(scores, covariance, component, level, dof, simultaneous, rng):
    """First and last rank of each item, 1 is the best.

    Parameters
    ----------
    scores : ndarray of shape (n_items,)
        Higher is better.
    covariance : ndarray of shape (n_items, n_items)
        Of the scores.
    component : ndarray of shape (n_items,)
        Items of different components cannot be compared.
    level : float
        Probability that the ranges contain the ranks.
    dof : float
        Degrees of freedom of the errors; infinity for normal ones.
    simultaneous : bool
        Whether all ranges contain their ranks with this probability, or each does.
    rng : Generator
        For the quantiles.

    Returns
    -------
    ranges : ndarray of shape (n_items, 2), int
    """
    n_items = len(scores)
    variance = covariance.diagonal()
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0))
    error[component[:, None] != component] = np.inf
    np.fill_diagonal(error, np.inf)
    critical = _critical_values(covariance, error, level, dof, simultaneous, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (scores - scores[:, None]) / error
    above, below = statistic > critical[:, None], -statistic > critical[:, None]  # j is better, worse than i
    return np.column_stack([1 + above.sum(axis=1), n_items - below.sum(axis=1)])


def _critical_values(covariance, error, level, dof, simultaneous, rng):
    n_items = len(error)
    values, vectors = np.linalg.eigh(covariance)
    draws = rng.standard_normal((N_DRAWS, n_items)) @ (vectors * np.sqrt(np.maximum(values, 0))).T
    if np.isfinite(dof):
        draws *= np.sqrt(dof / rng.chisquare(dof, N_DRAWS))[:, None]
    draws = draws.astype(np.float32)
    reciprocal = np.zeros_like(error, dtype=np.float32)
    np.divide(1, error, out=reciprocal, where=error > 0)
    critical, largest = np.zeros(n_items), np.zeros(N_DRAWS, np.float32)
    for item in range(n_items):
        of_item = (np.abs(draws - draws[:, item, None]) * reciprocal[item]).max(axis=1)
        if simultaneous:
            np.maximum(largest, of_item, out=largest)
        else:
            critical[item] = np.quantile(of_item, level, method="higher")
    return np.full(n_items, np.quantile(largest, level, method="higher")) if simultaneous else critical
