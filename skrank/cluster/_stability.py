"""Which clusters of rankings random halves find again, and whether one cloud would look the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.metrics import silhouette_samples
from sklearn.utils.parallel import Parallel, delayed

from skrank._random import as_random_state
from skrank._rankings import check_rankings, n_buckets, to_rank_matrix
from skrank._typing import ArrayLike, Floats, Integers, RandomState
from skrank.cluster._tree import cut, kernel_distances, kernel_tree
from skrank.kernels import PartialRankingKernel
from skrank.mixture._em import one_component
from skrank.mixture._goodness_of_fit import drawn_like_rows
from skrank.mixture._voters import make_table

STABLE, UNSTABLE = 0.75, 0.6  # Hennig's limits
FOUND = 0.5  # Jaccard coefficient above which a cluster came back
LEVEL = 0.05
AS_MANY = 1.1  # times as many distinct rankings are about as many


class Tried(NamedTuple):
    """A number of clusters that was tried: its mean silhouette, and the stability of its least stable cluster."""

    n_clusters: int
    silhouette: float
    least_stability: float


@dataclass(frozen=True, repr=False)
class ClusterStability:
    """Result of :func:`cluster_stability`; clusters are numbered by decreasing size.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int
        The cluster of each ranking; -1 for a ranking that orders no two items.
    stability : ndarray of shape (n_clusters,)
        Mean over the halves of the largest Jaccard coefficient of a cluster, as far as it is in the half, with one of
        the half's own clusters. NaN where the halves are too small for so many clusters.
    n_found : ndarray of shape (n_clusters,), int
        Number of halves in which a cluster came back: with a coefficient above .5.
    shares, share_errors : ndarrays of shape (n_clusters,)
        Share of the rankings in each cluster, and its standard deviation over the halves, clusters found anew in each.
        That is the standard error of a sample of this size; it does not take the clusters for known.
    silhouettes : ndarray of shape (n_samples,)
        Silhouette of each ranking.
    half_labels : ndarray of shape (n_halves, n_samples), int
        The cluster that each half puts its rankings in, numbered as the cluster it shares most with; -1 outside.
    pvalue : float or None
        How probable such a stability is if all rankings come from one Mallows model. None where it was not computed,
        since a cluster is below .75 anyway.
    is_stable : bool
        Whether all clusters are at .75 or above and the p-value is at most .05.
    tried : list of Tried
        Each number of clusters that was tried, with `n_clusters`, `silhouette` and `least_stability`.
    kernel_matrix : ndarray of shape (n_samples, n_samples)
        Normalized kernel values of the rankings that order two items or more.
    """

    labels: Integers
    stability: Floats
    n_found: Integers
    shares: Floats
    share_errors: Floats
    silhouettes: Floats
    half_labels: Integers
    pvalue: float | None
    is_stable: bool
    tried: list[Tried]
    kernel_matrix: Floats

    def __str__(self) -> str:
        lines = [
            f"cluster {number}: {100 * share:.1f} +- {100 * error:.1f} % of the rankings, stability {value:.2f}, came "
            f"back in {found} of {len(self.half_labels)} halves"
            for number, (share, error, value, found) in enumerate(
                zip(self.shares, self.share_errors, self.stability, self.n_found, strict=True)
            )
        ]
        if self.pvalue is not None:
            lines.append(f"as stable in one Mallows model: p = {self.pvalue:.3f}")
        return "\n".join([*lines, "stable" if self.is_stable else "not stable"])

    def __repr__(self) -> str:
        return f"ClusterStability(stability={self.stability.round(2).tolist()}, is_stable={self.is_stable})"


def cluster_stability(
    X: ArrayLike,
    n_clusters: int | Sequence[int] = (2, 3, 4, 5, 6, 7, 8),
    *,
    kernel: Any = "kendall",
    linkage: Literal["ward", "average", "complete", "single"] = "ward",
    n_halves: int = 30,
    n_null: int = 39,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ClusterStability:
    """Cluster rankings, and find out which clusters random halves of them find again.

    A clustering algorithm always finds clusters, even if there are no groups. Random halves show which clusters are
    found again (Hennig 2007), but with few rankings, few items or repeated rankings, even a single group can look
    stable. Clusters therefore only count as stable if those in draws from a single Mallows model rarely are. The model
    is fitted to X, and the draws have the ties, missing items and repeated rankings of X. The statistic is the
    stability of the least stable cluster, maximized over all numbers of clusters that are tried.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_items)
        Rank matrix, ties and missing items allowed. Each row is one ranking: repeat rows that occurred repeatedly.
        Memory increases with the square of their number.
    n_clusters : int or sequence of int, default=(2, 3, 4, 5, 6, 7, 8)
        Numbers of clusters. If there are several, the one with the best mean silhouette among the stable ones is
        selected or, if none is stable, the most stable one.
    kernel : str, kernel object or PartialRankingKernel, default="kendall"
        A kernel as in :class:`~skrank.kernels.PartialRankingKernel`; its values are normalized.
    linkage : {"ward", "average", "complete", "single"}, default="ward"
        How clusters are joined.
    n_halves : int, default=30
        Number of halves.
    n_null : int, default=39
        Number of draws from a single Mallows model; 0 for no comparison. They are only drawn if they can change the
        result.
    random_state : int, RandomState instance or None, default=None
        Determines the halves, the draws, and the samples of kernels.
    n_jobs : int or None, default=None
        Number of parallel jobs for the draws.

    Returns
    -------
    result : ClusterStability
        With `labels`, `stability`, `shares`, `share_errors`, `pvalue`, `is_stable` and more. Printing it shows a table.

    Raises
    ------
    ValueError
        If there are fewer distinct rankings that order two items than clusters.

    See Also
    --------
    skrank.MallowsMixture.stability : The same for the components of a mixture.

    References
    ----------
    C. Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics & Data Analysis 52 (2007).

    Examples
    --------
    >>> from skrank.cluster import cluster_stability
    >>> from skrank.datasets import make_mallows_mixture
    >>> X, _ = make_mallows_mixture(120, 6, n_components=2, centers="reversed", phi=0.3, random_state=0)
    >>> result = cluster_stability(X, n_null=19, random_state=0)
    >>> result.is_stable, len(result.shares)
    (True, 2)
    """
    ranks = check_rankings(X)
    counted = n_buckets(ranks) > 1
    rows = ranks[counted]
    several = not isinstance(n_clusters, Integral)
    numbers: list = list(n_clusters) if several else [n_clusters]  # type: ignore[arg-type]
    n_distinct = len(np.unique(rows, axis=0))
    if several:
        numbers = [number for number in numbers if number < n_distinct]
    if not numbers or max(numbers) > n_distinct or min(numbers) < 1:
        raise ValueError(
            f"X has {n_distinct} distinct rankings that order two items or more, and n_clusters is {n_clusters}. Ask "
            "for at least one cluster and for fewer than there are rankings."
        )
    rng = np.random.default_rng(as_random_state(random_state).randint(2**31, size=4))
    transformer = clone(kernel) if isinstance(kernel, PartialRankingKernel) else PartialRankingKernel(kernel)
    transformer.set_params(normalize=True, output="kernel", random_state=int(rng.integers(2**31)))
    halves_seed, null_seed = rng.integers(2**63, size=2)
    gram = transformer.fit_transform(to_rank_matrix(rows))
    tree = kernel_tree(gram, linkage, ordered=False)
    cuts = [cut(tree, number) for number in numbers]
    halves = half_cuts(gram, numbers, linkage, n_halves, halves_seed)
    found = [jaccard_of_halves(labels, halves[:, place]) for place, labels in enumerate(cuts)]
    least = np.array([_mean(values).min() for values in found])
    silhouettes = [_silhouettes(gram, labels) for labels in cuts]
    pvalues = None
    if n_null and (least >= STABLE).any():
        null = _null(rows, numbers, transformer, linkage, n_halves, n_null, null_seed, n_jobs)
        pvalues = (1 + (null[:, None] >= least).sum(axis=0)) / (n_null + 1)
    stable = (least >= STABLE) & (True if pvalues is None else pvalues <= LEVEL)
    means = np.array([values.mean() for values in silhouettes])
    best = int(np.where(stable, means, -np.inf).argmax() if stable.any() else np.nan_to_num(least, nan=-1).argmax())
    labels = np.full(len(ranks), -1)
    labels[counted] = cuts[best]
    half_labels = np.full((len(halves), len(ranks)), -1)
    half_labels[:, counted] = matched_halves(cuts[best], halves[:, best])
    return ClusterStability(
        labels,
        _mean(found[best]),
        (np.nan_to_num(found[best]) > FOUND).sum(axis=0),
        np.bincount(cuts[best]) / len(rows),
        share_errors(half_labels, numbers[best]),
        silhouettes[best],
        half_labels,
        None if pvalues is None else float(pvalues[best]),
        bool(stable[best]),
        [Tried(*one) for one in zip(numbers, means.tolist(), least.tolist(), strict=True)],
        gram,
    )


# ---------------------------------------------------------------- halves
def half_cuts(gram, numbers, linkage, n_halves, seed):
    """The clusters of random halves, (n_halves, len(numbers), n_rows); -1 where a ranking is not in the half.

    Halves with fewer rankings than clusters are -1 throughout.
    """
    rng = np.random.default_rng(seed)
    labels = np.full((n_halves, len(numbers), len(gram)), -1)
    for half in range(n_halves):
        rows = np.sort(rng.permutation(len(gram))[: -(-len(gram) // 2)])
        if len(rows) < 2:
            continue
        tree = kernel_tree(gram[np.ix_(rows, rows)], linkage, ordered=False)
        for place, number in enumerate(numbers):
            if number <= len(rows):
                labels[half, place, rows] = cut(tree, number)
    return labels


def _jaccard(labels, found):
    """Jaccard coefficients of clusters, as far as they are in the half, with the half's; sizes of the former in it."""
    inside = found >= 0
    both = np.zeros((labels.max() + 1, max(found.max() + 1, 1)))
    np.add.at(both, (labels[inside], found[inside]), 1)
    own = both.sum(axis=1, keepdims=True)
    return both / np.maximum(own + both.sum(axis=0) - both, 1), own[:, 0]


def jaccard_of_halves(labels, halves):
    """Largest coefficient of each cluster in each half, (n_halves, n_clusters); NaN where the half has none of it."""
    indices = np.full((len(halves), labels.max() + 1), np.nan)
    for half, found in enumerate(halves):
        coefficients, own = _jaccard(labels, found)
        indices[half] = np.where(own > 0, coefficients.max(axis=1), np.nan)
    return indices


def matched_halves(labels, halves):
    """The halves' clusters, numbered as the clusters they share most with (Hungarian method)."""
    matched = np.full_like(halves, -1)
    for half, found in enumerate(halves):
        if found.max() < 0:
            continue
        clusters, others = linear_sum_assignment(-_jaccard(labels, found)[0])
        number = np.full(found.max() + 2, -1)  # the last one is that of rankings outside
        number[others] = clusters
        matched[half] = number[found]
    return matched


def share_errors(half_labels, n_clusters):
    """Standard deviation over halves of the clusters' shares.

    A half is drawn without replacement from twice as many, so its share is as far from that of all as that of a sample
    as large as all is from the population's.
    """
    measured = half_labels[(half_labels >= 0).any(axis=1)]
    if len(measured) < 2:
        return np.full(n_clusters, np.nan)
    counts = np.array([[(half == cluster).sum() for cluster in range(n_clusters)] for half in measured])
    return (counts / (measured >= 0).sum(axis=1, keepdims=True)).std(axis=0, ddof=1)


def _mean(values):
    """Mean over halves, NaN where none has the cluster."""
    seen = ~np.isnan(values)
    return np.where(seen.any(axis=0), np.nansum(values, axis=0) / np.maximum(seen.sum(axis=0), 1), np.nan)


def _silhouettes(gram, labels):
    if not 1 < labels.max() + 1 < len(labels):  # one cluster, or each ranking its own
        return np.zeros(len(labels))
    return silhouette_samples(kernel_distances(gram), labels, metric="precomputed")


# ---------------------------------------------------------------- one cloud
def _null(ranks, numbers, transformer, linkage, n_halves, n_null, seed, n_jobs):
    """Largest least stability over the numbers of clusters, of draws from one Mallows model."""
    model = one_component(make_table(ranks)[0])
    seeds = np.random.default_rng(seed).integers(2**63, size=n_null)
    tasks = (delayed(_null_stability)(ranks, model, numbers, transformer, linkage, n_halves, one) for one in seeds)
    return np.array(Parallel(n_jobs=n_jobs)(tasks))


def _null_stability(ranks, model, numbers, transformer, linkage, n_halves, seed):
    rng = np.random.default_rng(seed)
    drawn = drawn_rows(ranks, model, rng)
    gram = transformer.fit_transform(to_rank_matrix(drawn))
    tree = kernel_tree(gram, linkage, ordered=False)
    halves = half_cuts(gram, numbers, linkage, n_halves, rng.integers(2**63))
    least = [_mean(jaccard_of_halves(cut(tree, number), halves[:, i])).min() for i, number in enumerate(numbers)]
    return np.nanmax(least, initial=0)


def drawn_rows(ranks, model, rng):
    """As many rankings of one Mallows model, with the ties and missing items of the rows.

    If the model gives many more distinct ones than there are, as many as there are, repeated like those.
    """
    drawn = drawn_like_rows(ranks, model, np.zeros(len(ranks), int), rng)
    counts = np.unique(ranks, axis=0, return_counts=True)[1]
    distinct = np.unique(drawn, axis=0)
    if len(distinct) <= AS_MANY * len(counts):
        return drawn
    kept = distinct[rng.permutation(len(distinct))[: len(counts)]]
    return np.repeat(kept, rng.permutation(counts), axis=0)
