"""Dendrogram purity against its definition."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering

from skrank.metrics import dendrogram_purity


def purity_by_definition(children, y):
    n_leaves = len(y)
    leaves = [{leaf} for leaf in range(n_leaves)]
    for left, right in np.asarray(children)[:, :2].astype(int):
        leaves.append(leaves[left] | leaves[right])
    purities = []
    for i, j in itertools.combinations(range(n_leaves), 2):
        if y[i] == y[j]:
            smallest = min((node for node in leaves if {i, j} <= node), key=len)
            purities.append(np.mean([y[leaf] == y[i] for leaf in smallest]))
    return np.mean(purities)


@pytest.mark.parametrize("n_labels", [1, 2, 5, 20])
@pytest.mark.parametrize("method", ["single", "average", "ward"])
def test_linkage_equals_brute_force(method, n_labels):
    rng = np.random.default_rng(n_labels)
    for n_leaves in (2, 3, 25):
        tree = linkage(rng.standard_normal((n_leaves, 2)), method)
        y = rng.integers(0, n_labels, n_leaves)
        y[0] = y[1]
        assert dendrogram_purity(tree, y) == pytest.approx(purity_by_definition(tree, y), rel=1e-12)


def test_children_of_scikit_learn_equal_brute_force():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.choice(["a", "b", "c"], 40)
    full = AgglomerativeClustering(n_clusters=None, distance_threshold=0).fit(X).children_
    assert dendrogram_purity(full, y) == pytest.approx(purity_by_definition(full, y), rel=1e-12)


def test_perfect_and_random_trees():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], 30)
    apart = linkage(rng.standard_normal((90, 2)) * 0.01 + y[:, None], "average")
    assert dendrogram_purity(apart, y) == 1
    assert dendrogram_purity(apart, rng.permutation(y)) < 0.6


def test_long_chains_do_not_recurse():
    n_leaves = 20_000
    children = np.column_stack([np.r_[0, n_leaves + np.arange(n_leaves - 2)], np.arange(1, n_leaves)])
    y = np.arange(n_leaves) % 7
    # Along a chain the smallest subtree of leaves i < j is the first j + 1 leaves.
    expected, n_pairs = 0.0, 0
    for label in range(7):
        members = np.flatnonzero(y == label)
        earlier = np.arange(len(members))
        expected += (earlier * (earlier + 1) / (members + 1)).sum()
        n_pairs += earlier.sum()
    assert dendrogram_purity(children, y) == pytest.approx(expected / n_pairs, rel=1e-12)


def test_what_is_no_full_tree():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((12, 2)), np.repeat([0, 1], 6)
    distances = np.abs(X[:, :1] - X[:, 0])
    with pytest.raises(ValueError, match=r"square matrix of shape \(12, 12\).*Cluster first"):
        dendrogram_purity(distances, y)
    with pytest.raises(ValueError, match="square matrix"):
        dendrogram_purity(distances[:4, :4], y[:4])
    with pytest.raises(ValueError, match="2 columns .* or 4"):
        dendrogram_purity(distances[:11, :5], y)
    with pytest.raises(ValueError, match="12 labels of y takes 11 merges.*compute_full_tree=True"):
        dendrogram_purity(linkage(X)[:-2], y)
    with pytest.raises(ValueError, match="11 times, but a full tree over the 13"):
        dendrogram_purity(linkage(X), np.append(y, 0))
    stopped = AgglomerativeClustering(n_clusters=5, connectivity=np.ones((12, 12)), compute_full_tree=False).fit(X)
    with pytest.raises(ValueError, match="compute_full_tree=True"):
        dendrogram_purity(stopped.children_, y)
    early = np.array([[0, 4], [1, 2]])
    with pytest.raises(ValueError, match=r"children\[0, 1\] is 4, but row 0 can only merge the nodes 0, ..., 2"):
        dendrogram_purity(early, [0, 0, 1])
    with pytest.raises(ValueError, match="merges node 0 twice"):
        dendrogram_purity([[0, 1], [0, 2]], [0, 0, 1])


def test_bad_labels():
    with pytest.raises(ValueError, match="No two entries of y are equal"):
        dendrogram_purity([[0, 1]], ["a", "b"])
    with pytest.raises(ValueError, match=r"class label.* 0\.5"):
        dendrogram_purity([[0, 1]], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"class label.* nan"):
        dendrogram_purity([[0, 1]], [np.nan, 1.0])


def purity_by_average(children, y, average):
    n_leaves = len(y)
    leaves = [{leaf} for leaf in range(n_leaves)]
    for left, right in np.asarray(children)[:, :2].astype(int):
        leaves.append(leaves[left] | leaves[right])

    def purity(i, j):
        smallest = min((node for node in leaves if {i, j} <= node), key=len)
        return np.mean([y[leaf] == y[i] for leaf in smallest])

    mates = {i: [j for j in range(n_leaves) if j != i and y[j] == y[i]] for i in range(n_leaves)}
    by_leaf = {i: np.mean([purity(i, j) for j in mates[i]]) for i in mates if mates[i]}
    if average == "leaves":
        return np.mean(list(by_leaf.values()))
    return np.mean(
        [np.mean([value for i, value in by_leaf.items() if y[i] == label]) for label in {y[i] for i in by_leaf}]
    )


@pytest.mark.parametrize("average", ["leaves", "classes"])
def test_averages_over_leaves_and_classes_equal_brute_force(average):
    rng = np.random.default_rng(3)
    tree = linkage(rng.standard_normal((30, 2)), "average")
    y = rng.choice(4, 30, p=[0.6, 0.25, 0.1, 0.05])
    y[0] = 9
    assert dendrogram_purity(tree, y, average=average) == pytest.approx(purity_by_average(tree, y, average), rel=1e-12)
    balanced = np.arange(30) % 3
    assert dendrogram_purity(tree, balanced, average=average) == pytest.approx(dendrogram_purity(tree, balanced))


def test_an_unknown_average_is_named():
    with pytest.raises(ValueError, match="average must be one of pairs, leaves, classes"):
        dendrogram_purity([[0, 1]], [0, 0], average="macro")
