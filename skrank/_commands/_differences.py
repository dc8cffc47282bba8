"""Do groups of rankings differ, all in all and item by item: permutation tests for the commands."""

from typing import NamedTuple

import numpy as np

from skrank._rankings import MISSING, aggregate, check_rankings, mean_places, n_ranked

ROUNDING = 1e-9
BATCH = 50  # permutations at a time


def net_wins(ranks):
    """Items that each item beats less those that beat it, in each densified ranking; 0 if it is missing."""
    return np.where(ranks == MISSING, 0.0, n_ranked(ranks)[:, None] - 1 - 2 * mean_places(ranks))


class ItemDifferences(NamedTuple):
    """Of each item: its mean net wins in two groups, their difference in standard errors, and its p-value.

    The standard error is that of random divisions of all rankings into two such groups. The p-value is the share of
    divisions in which any item differs by so many of them: 5 % of all comparisons of equal groups find one at .05.
    """

    means: np.ndarray
    standard_error: np.ndarray
    z: np.ndarray
    pvalue: np.ndarray


def item_differences(X, Y, counts, other_counts, n_permutations, rng):
    """Where two sets of counted rankings differ."""
    table = aggregate(check_rankings(np.vstack([X, Y])), np.concatenate([counts, other_counts]))
    row, counted = table.inverse[: len(X)], counts > 0
    first = np.bincount(row[counted], counts[counted], len(table.weights))
    wins, total = net_wins(table.ranks), table.weights
    n_first, n_all = first.sum(), total.sum()
    sums = total @ wins
    spread = total @ (wins - sums / n_all) ** 2 / max(n_all - 1, 1)
    error = np.sqrt(spread * (1 / n_first + 1 / (n_all - n_first)))
    error[error < ROUNDING * max(wins.shape[1], 1)] = 0

    def means_and_z(first_sums):
        means = np.stack([first_sums / n_first, (sums - first_sums) / (n_all - n_first)])
        return means, np.divide(means[1] - means[0], error, out=np.zeros_like(first_sums), where=error > 0)

    means, z = means_and_z(first @ wins)
    draws = rng.multivariate_hypergeometric(total.astype(np.int64), int(n_first), n_permutations, method="marginals")
    most = np.abs(means_and_z(draws @ wins)[1]).max(axis=1)
    reached = (most[:, None] >= np.abs(z) * (1 - ROUNDING)).sum(axis=0)
    return ItemDifferences(means, error, z, (1 + reached) / (n_permutations + 1))


def label_pvalue(gram, labels, n_permutations, rng):
    """p-value of the hypothesis that rankings do not depend on labels: the mean squared MMD over pairs of classes."""
    classes, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise ValueError(f"the label {str(classes[sizes.argmin()])!r} occurs once: the test needs two or more.")
    observed = _mean_mmd(gram, codes[None], sizes)[0]
    reached = 0
    for start in range(0, n_permutations, BATCH):
        permuted = np.stack([rng.permutation(codes) for _ in range(min(BATCH, n_permutations - start))])
        reached += (_mean_mmd(gram, permuted, sizes) >= observed - ROUNDING * abs(observed)).sum()
    return (1 + reached) / (n_permutations + 1)


def _mean_mmd(gram, codes, sizes):
    """Unbiased squared MMD, mean over pairs of classes, of several ways to label the rows: codes (n_ways, n_rows)."""
    n_ways, n_rows = codes.shape
    n_classes = len(sizes)
    indicator = np.eye(n_classes)[codes.T]  # (n_rows, n_ways, n_classes)
    towards = (gram @ indicator.reshape(n_rows, -1)).reshape(indicator.shape)
    sums = np.einsum("iwc,iwd->wcd", indicator, towards, optimize=True)
    own = np.diagonal(sums, axis1=1, axis2=2)
    within = (own - np.einsum("iwc,i->wc", indicator, np.diag(gram))) / (sizes * (sizes - 1))
    between = (sums / np.outer(sizes, sizes)).sum(axis=(1, 2)) - (own / sizes**2).sum(axis=1)
    return ((n_classes - 1) * within.sum(axis=1) - between) / (n_classes * (n_classes - 1) / 2)


def holm(pvalues):
    """Holm's adjusted p-values: the smallest is multiplied by their number, the next by one less, and so on."""
    pvalues = np.asarray(pvalues)
    order = np.argsort(pvalues, kind="stable")
    stepped = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted
