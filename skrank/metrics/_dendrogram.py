"""Purity of a hierarchical clustering."""

from typing import Literal

import numpy as np
from sklearn.utils import check_array, column_or_1d

from skrank._typing import ArrayLike

AVERAGES = ("pairs", "leaves", "classes")


def dendrogram_purity(
    children: ArrayLike, y: ArrayLike, *, average: Literal["pairs", "leaves", "classes"] = "pairs"
) -> float:
    """Expected purity of the smallest cluster that contains two random leaves with the same label.

    Draw two different leaves with the same label and consider the smallest subtree that contains both. Its purity is
    the proportion of its leaves with this label. The mean is 1 if and only if the leaves of every label form a subtree.
    In contrast to scores of a cut tree, no number of clusters is needed.

    It takes O(n log n) time: label counts go from the smaller to the larger of two merged subtrees.

    Parameters
    ----------
    children : array-like of shape (n_samples - 1, 2) or (n_samples - 1, 4)
        `children_` of a fitted :class:`~sklearn.cluster.AgglomerativeClustering`, or a linkage matrix of
        :func:`scipy.cluster.hierarchy.linkage`, of which the first two columns are read. Row i merges two nodes into
        node n_samples + i; nodes below n_samples are leaves. The tree must be full: scikit-learn may stop early if the
        number of clusters is given, unless ``compute_full_tree=True`` or a `distance_threshold` is set.
    y : array-like of shape (n_samples,)
        Labels of the leaves.
    average : {"pairs", "leaves", "classes"}, default="pairs"
        How the two leaves are drawn, which matters if some labels are rarer than others. "pairs": uniformly among all
        pairs with the same label, so that the weight of a label is about the square of its size. "leaves": first a
        leaf, then another one with the same label, as in [1]_. "classes": first a label, then two of its leaves, as in
        [2]_. Labels with a single leaf are ignored.

    Returns
    -------
    purity : float in (0, 1]

    Raises
    ------
    ValueError
        If `children` is not a full binary tree over the labeled leaves (for example, if it is a square distance
        matrix), if no two leaves have the same label, or if `average` is invalid.

    References
    ----------
    .. [1] K. A. Heller and Z. Ghahramani, "Bayesian hierarchical clustering", ICML 2005.
    .. [2] M. Lomeli, M. Rowland, A. Gretton, Z. Ghahramani, "Antithetic and Monte Carlo kernel estimators for partial
       rankings", Statistics and Computing 29, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> from skrank.metrics import dendrogram_purity, pairwise_ranking_distances
    >>> X = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0], [3, 2, 0, 1]])
    >>> distances = pairwise_ranking_distances(X, metric="kendall")
    >>> tree = AgglomerativeClustering(
    ...     n_clusters=None, distance_threshold=0, metric="precomputed", linkage="average"
    ... ).fit(distances)
    >>> dendrogram_purity(tree.children_, ["left", "left", "right", "right"])
    1.0
    >>> dendrogram_purity(tree.children_, ["left", "right", "left", "right"])
    0.5
    """
    if average not in AVERAGES:
        raise ValueError(f"average must be one of {', '.join(AVERAGES)}, got {average!r}.")
    y = column_or_1d(y)
    if y.dtype.kind == "f" and not (y == np.rint(y)).all():
        raise ValueError(f"y must hold a class label for each leaf, got numbers such as {y[y != np.rint(y)][0]}.")
    labels = np.unique(y, return_inverse=True)[1]
    children = _check_tree(children, len(labels))
    sizes = np.bincount(labels)
    n_pairs = sizes * (sizes - 1) // 2
    drawn = n_pairs > 0
    if not drawn.any():
        raise ValueError("No two entries of y are equal: the purity is a mean over pairs of leaves with one label.")
    purities = _purity_sums(children, labels)[drawn] / n_pairs[drawn]
    weights = {"pairs": n_pairs, "leaves": sizes, "classes": np.ones(len(sizes))}[average][drawn]
    return float(np.average(purities, weights=weights))


def _purity_sums(children, labels):
    """For each label, the sum of purities over its pairs of leaves; a pair's smallest subtree is where it meets."""
    counts = [{label: 1} for label in labels.tolist()]
    sizes = [1] * len(counts)
    sums = [0.0] * (int(labels.max()) + 1)
    for left, right in children.tolist():
        large, small = counts[left], counts[right]
        if len(large) < len(small):
            large, small = small, large
        size = sizes[left] + sizes[right]
        for label, count in small.items():
            other = large.get(label, 0)
            sums[label] += count * other * (count + other) / size
            large[label] = count + other
        counts[left] = counts[right] = {}
        counts.append(large)
        sizes.append(size)
    return np.array(sums)


def _check_tree(children, n_leaves):
    children = check_array(children, dtype=None, input_name="children", ensure_min_samples=0)
    n_rows, n_columns = children.shape
    if n_rows == n_columns == n_leaves:
        raise ValueError(
            f"children is a square matrix of shape {children.shape}: distances or a kernel, where a tree is expected. "
            'Cluster first, say by AgglomerativeClustering(metric="precomputed", linkage="average", n_clusters=None, '
            "distance_threshold=0).fit(distances).children_ or by scipy's linkage(squareform(distances))."
        )
    if n_columns not in (2, 4):
        raise ValueError(
            f"children must have 2 columns (children_ of AgglomerativeClustering) or 4 (a scipy linkage), got "
            f"{n_columns}."
        )
    if n_rows != n_leaves - 1:
        raise ValueError(
            f"children merges {n_rows} times, but a full tree over the {n_leaves} labels of y takes {n_leaves - 1} "
            "merges. If the tree is scikit-learn's, fit AgglomerativeClustering with compute_full_tree=True, or with "
            "n_clusters=None, distance_threshold=0."
        )
    nodes = children[:, :2].astype(np.int64)
    wrong = (nodes != children[:, :2]) | (nodes < 0) | (nodes >= n_leaves + np.arange(n_rows)[:, None])
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"children[{row}, {column}] is {children[row, column]}, but row {row} can only merge the nodes 0, ..., "
            f"{n_leaves + row - 1}: {n_leaves} leaves and the {row} earlier merges."
        )
    values, counts = np.unique(nodes, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"children merges node {values[counts.argmax()]} twice, so it is no tree.")
    return nodes
