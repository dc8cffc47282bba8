"""`skrank cluster`: the clusters, how sure they are, and what is refused."""

import json
import re

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.metrics import silhouette_score

from skrank.__main__ import main
from skrank.datasets import make_mallows_mixture, make_rankings
from skrank.kernels import PartialRankingKernel


@pytest.fixture
def run(tmp_path, capsys):
    """Write a CSV and run the command on it: exit code, output and errors."""

    def run(X, *options):
        path = tmp_path / "votes.csv"
        names = ",".join("abcdefgh"[: np.shape(X)[1]])
        rows = [",".join("" if np.isnan(v) else f"{v:g}" for v in row) for row in X]
        path.write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")
        code = main(["cluster", str(path), *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def groups(n_groups, n_samples=150, phi=0.15):
    centers = np.array([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 5, 0, 4, 1, 3]])[:n_groups]
    X, y = make_mallows_mixture(n_samples, 6, n_groups, centers=centers, phi=phi, random_state=0)
    return X.astype(float), y


@pytest.mark.parametrize("n_groups", [2, 3])
def test_there_are_as_many_clusters_as_groups(run, n_groups):
    X, y = groups(n_groups)
    code, text, error = run(X)
    assert (code, error) == (0, "")
    assert f"{n_groups} clusters, found with the kendall kernel and ward linkage." in text
    assert "They are stable: random halves" in " ".join(text.split())
    shares = [float(share) for share in re.findall(r"^\d +(\d+\.\d) % .* stable$", text, re.MULTILINE)]
    np.testing.assert_allclose(shares, np.sort(np.bincount(y))[::-1] / 1.5, atol=0.06)
    assert "> b >" in text
    assert max(map(len, text.splitlines())) <= 104


def test_figures_are_those_of_a_tree_cut_by_hand(run):
    X, _ = groups(3)
    figures = json.loads(run(X, "-k", "3", "--json")[1])
    distances = PartialRankingKernel("kendall", normalize=True, output="distance").fit_transform(X)
    tree = hierarchy.linkage(squareform(np.sqrt(distances), checks=False), "ward")
    labels = hierarchy.fcluster(tree, 3, "maxclust")
    np.testing.assert_allclose(figures["silhouette"], silhouette_score(distances, labels, metric="precomputed"))
    sizes = sorted(np.bincount(labels)[1:], reverse=True)
    assert [cluster["n_rankings"] for cluster in figures["clusters"]] == sizes
    assert [cluster["share"] for cluster in figures["clusters"]] == [size / 150 for size in sizes]
    for cluster in figures["clusters"]:  # of clear groups, that of a share
        error = np.sqrt(cluster["share"] * (1 - cluster["share"]) / 150)
        assert 0.6 * error < cluster["standard_error"] < 1.6 * error
        assert cluster["n_found"] == figures["n_halves"]
    assert {cluster["consensus"][0] for cluster in figures["clusters"]} == {"a", "f", "c"}
    assert figures["tried"][0]["n_clusters"] == 3
    assert (figures["sampled"], figures["left_out"]) == (False, 0)


def test_margins_are_of_the_cluster(run):
    X = np.repeat([[0, 1, 2.0], [0, 2, 1], [2, 1, 0]], [60, 30, 80], axis=0)
    figures = json.loads(run(X, "-k", "2", "--json")[1])
    first, second = figures["clusters"]
    assert first["consensus"] == ["a", "b", "c"]
    np.testing.assert_allclose(first["order_margin"], [1, 1 / 3])
    assert first["order_agreement"][0] == 1
    assert first["order_agreement"][1] > 0.9
    assert second["consensus"] == ["c", "b", "a"]


def test_few_rankings_of_few_items_look_stable_and_are_not_called_so(run):
    X = np.argsort(np.random.default_rng(0).random((16, 5)), axis=1).astype(float)
    figures = json.loads(run(X, "--json")[1])
    assert max(one["least_stability"] for one in figures["tried"]) > 0.75
    assert figures["pvalue"] > 0.05
    assert not figures["stable"]
    text = " ".join(run(X)[1].split())
    assert "rankings that scatter around a single consensus often look the same (p = " in text
    assert not re.search(r"halves? +stable|\d stable", text)


def test_halves_too_small_are_not_measured(run):
    text = run(np.array([[0.0, 1, 2], [1, 0, 2], [2, 1, 0]]), "-k", "3")[1]
    assert "not measured" in text
    assert "nan" not in text


def test_a_cloud_gets_a_warning(run):
    text = " ".join(run(make_rankings(200, 8, phi=0.95, random_state=0))[1].split())
    assert "No number of clusters from 2 to 8 is stable: random halves yield different ones." in text
    assert "do not rely on it" in text


def test_weights_and_order_do_not_matter_and_samples_are_said(run, tmp_path, capsys):
    X, _ = groups(2)
    assert run(X)[1] == run(X[::-1])[1]
    text = " ".join(run(X, "--sample", "60", "-k", "2")[1].split())
    assert "A random sample of 60 of the 150 rankings was clustered." in text
    assert re.search(r"\d\d\.\d % \+- \d\.\d", text)


def test_rankings_that_say_nothing_are_left_out(run):
    X = np.vstack([groups(2)[0], np.zeros((50, 6))])
    text = " ".join(run(X, "-k", "2")[1].split())
    assert "25.0 % of the rankings order no two items and were left out." in text


@pytest.mark.parametrize("options", [("--kernel", "mallows"), ("--linkage", "average"), ("--kernel", "hamming")])
def test_kernels_and_linkages(run, options):
    code, text, _ = run(groups(2)[0], "-k", "2", *options)
    assert code == 0
    assert options[1] in text


def test_too_few_rankings(run):
    code, _, error = run(np.array([[0.0, 1], [0, 1]]))
    assert code == 2
    assert "1 distinct rankings order two items or more: there is nothing to cluster" in error
    code, _, error = run(np.array([[0.0, 1], [1, 0]]), "-k", "3")
    assert (code, error.count("\n")) == (2, 1)
    assert "2 distinct rankings order two items or more, too few for 3 clusters" in error


@pytest.mark.parametrize("X", [[[0.0, 1], [1, 0]], [[0.0, 1, 2], [1, 0, 2], [2, 1, 0]]])
@pytest.mark.parametrize("k", ["1", "2"])
def test_few_rankings_can_be_cut(run, X, k):
    code, text, error = run(np.array(X), "-k", k)
    assert (code, error) == (0, "")
    assert "nan" not in text
