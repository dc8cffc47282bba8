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


def weighted_item_differences(ranks, first, weights, n_permutations, rng):
    """Where two groups of people with survey weights differ: rank matrix of both, who is in the first, weights.

    A person keeps the weight in every division. The standard error is the standard deviation over the divisions, that
    which is tested among them, so that all are alike where groups do not differ.
    """
    wins = net_wins(check_rankings(ranks))
    weighted = weights[:, None] * wins

    def means(members):
        totals = members @ weights
        sums = members @ weighted
        return np.stack([sums / totals[:, None], (weighted.sum(axis=0) - sums) / (weights.sum() - totals)[:, None]])

    found = means(first[None].astype(float))[:, 0]
    drawn = [rng.permuted(np.tile(first, (size, 1)), axis=1) for size in _batches(n_permutations)]
    differences = np.concatenate([np.subtract(*means(members.astype(float))[::-1]) for members in drawn])
    error = np.sqrt((np.vstack([differences, found[1] - found[0]]) ** 2).mean(axis=0))
    error[error < ROUNDING * max(wins.shape[1], 1)] = 0
    z, most = (
        np.divide(one, error, out=np.zeros_like(one), where=error > 0) for one in (found[1] - found[0], differences)
    )
    reached = (np.abs(most).max(axis=1)[:, None] >= np.abs(z) * (1 - ROUNDING)).sum(axis=0)
    return ItemDifferences(found, error, z, (1 + reached) / (n_permutations + 1))


class LabelTest(NamedTuple):
    """A permutation test: its statistic, the p-value, and the statistic of random permutations of the labels."""

    statistic: float
    pvalue: float
    null_distribution: np.ndarray


def label_test(gram, labels, n_permutations, rng, weights=None):
    """Test of the hypothesis that rankings do not depend on labels: the mean squared MMD over pairs of classes.

    With survey weights the rankings count by them, and a person keeps ranking and weight while labels are permuted. So
    the level is exact if labels depend on neither, and on the safe side if weights depend on labels only.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise ValueError(f"the label {str(classes[sizes.argmin()])!r} occurs once: the test needs two or more.")
    weights = np.ones(len(codes)) if weights is None else weights
    observed = _mean_mmd(gram, codes[None], weights, len(sizes))[0]
    drawn = [np.stack([rng.permutation(codes) for _ in range(size)]) for size in _batches(n_permutations)]
    null = np.concatenate([_mean_mmd(gram, permuted, weights, len(sizes)) for permuted in drawn])
    reached = (null >= observed - ROUNDING * abs(observed)).sum()
    return LabelTest(float(observed), float((1 + reached) / (n_permutations + 1)), null)


def _batches(n_permutations):
    return [min(BATCH, n_permutations - start) for start in range(0, n_permutations, BATCH)]


def _mean_mmd(gram, codes, weights, n_classes):
    """Unbiased squared MMD, mean over pairs of classes, of several ways to label the rows: codes (n_ways, n_rows)."""
    members = np.eye(n_classes)[codes.T] * weights[:, None, None]  # (n_rows, n_ways, n_classes)
    towards = (gram @ members.reshape(len(gram), -1)).reshape(members.shape)
    sums = np.einsum("iwc,iwd->wcd", members, towards, optimize=True)
    own = np.diagonal(sums, axis1=1, axis2=2)
    totals = members.sum(axis=0)
    squares = np.einsum("iwc,i->wc", members, weights)
    selves = np.einsum("iwc,i->wc", members, weights * np.diag(gram))
    within = (own - selves) / (totals**2 - squares)
    products = totals[:, :, None] * totals[:, None, :]
    between = (sums / products).sum(axis=(1, 2)) - (own / totals**2).sum(axis=1)
    return ((n_classes - 1) * within.sum(axis=1) - between) / (n_classes * (n_classes - 1) / 2)


def holm(pvalues):
    """Holm's adjusted p-values: the smallest is multiplied by their number, the next by one less, and so on."""
    pvalues = np.asarray(pvalues)
    order = np.argsort(pvalues, kind="stable")
    stepped = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted
