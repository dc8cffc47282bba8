"""Hierarchical clustering of the rankings of a kernel matrix."""

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from skrank.kernels._gram import kernel_to_distance

LINKAGES = ("ward", "average", "complete", "single")


def kernel_distances(gram):
    """Squared kernel distances, K(R, R) + K(R', R') - 2 K(R, R')."""
    distances = gram.copy()
    kernel_to_distance(distances, np.diag(gram), np.diag(gram))
    np.fill_diagonal(distances, 0)
    return distances


def kernel_tree(gram, linkage, *, ordered=True):
    """The tree of the clusters that a linkage joins, by kernel distance.

    With `ordered` neighboring leaves are as close as the tree allows, which takes longer than the tree.
    """
    if linkage not in LINKAGES:
        raise ValueError(f"linkage must be one of {', '.join(map(repr, LINKAGES))}, got {linkage!r}.")
    distances = squareform(np.sqrt(kernel_distances(gram)), checks=False)
    return hierarchy.linkage(distances, linkage, optimal_ordering=ordered)


def cut(tree, n_clusters):
    """The cluster of each leaf, numbered by decreasing size: the last ``n_clusters - 1`` joins are undone."""
    n_leaves = len(tree) + 1
    top = 2 * n_leaves - n_clusters  # the first node that is undone
    cluster = np.full(2 * n_leaves - 1, -1)
    children = tree[:, :2].astype(int)
    roots = children[top - n_leaves :][children[top - n_leaves :] < top] if n_clusters > 1 else [2 * n_leaves - 2]
    cluster[roots] = np.arange(n_clusters)
    for node in range(min(top, 2 * n_leaves - 1) - 1, n_leaves - 1, -1):
        cluster[children[node - n_leaves]] = cluster[node]
    labels = cluster[:n_leaves]
    # Equal sizes in the order of their first leaf, so that numbers do not depend on the joins.
    first = np.unique(labels, return_index=True)[1]
    order = np.lexsort([first, -np.bincount(labels)])
    return np.argsort(order)[labels]
