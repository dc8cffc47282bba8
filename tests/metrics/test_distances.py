"""Distances between rankings, against their definitions."""

import itertools
import re
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from scipy.stats import kendalltau

from skrank import kernels
from skrank._rankings import densify
from skrank.metrics import _pair_products, pairwise_ranking_distances
from skrank.metrics._distances import METRICS, ON_PARTIAL_RANKINGS

NAN = np.nan


def n_cycles(permutation):
    seen, count = set(), 0
    for start in range(len(permutation)):
        count += start not in seen
        while start not in seen:
            seen.add(start)
            start = permutation[start]
    return count


def by_definition(s, t, metric, p=2):
    difference = np.abs(s - t)
    if metric in ("kendall", "kemeny"):
        return sum((s[i] - s[j]) * (t[i] - t[j]) < 0 for i, j in itertools.combinations(range(len(s)), 2))
    if metric == "cayley":
        return len(s) - n_cycles([int(s[list(t).index(place)]) for place in range(len(s))])
    return {
        "spearman_footrule": difference.sum(),
        "spearman": (difference**2).sum(),
        "hamming": (difference > 0).sum(),
        "lp": (difference**p).sum() ** (1 / p),
        "chebyshev": difference.max(),
    }[metric]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5])
def test_full_rankings_by_definition(metric, n_items):
    X = np.array(list(itertools.permutations(range(n_items))))
    Y = X[::7]
    for p in [1, 1.5, 3] if metric == "lp" else [2]:
        expected = [[by_definition(s, t, metric, p) for t in Y] for s in X]
        distances = pairwise_ranking_distances(X + 1, Y * 10.0, metric, p=p)
        np.testing.assert_allclose(distances, expected, rtol=1e-14)
        square = pairwise_ranking_distances(X, metric=metric, p=p)
        assert (square == square.T).all()
        assert (np.diag(square) == 0).all()
        np.testing.assert_allclose(square, pairwise_ranking_distances(X, X, metric, p=p), rtol=1e-14)


@pytest.mark.parametrize("metric", METRICS)
def test_six_items_and_many_items_by_definition(metric):
    rng = np.random.default_rng(1)
    for n_items in (6, 40):
        X, Y = (rng.permuted(np.tile(np.arange(n_items), (size, 1)), axis=1) for size in (12, 5))
        expected = [[by_definition(s, t, metric) for t in Y] for s in X]
        np.testing.assert_allclose(pairwise_ranking_distances(X, Y, metric), expected, rtol=1e-14)


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5])
def test_kendall_is_the_expected_discordance_over_ties_and_gaps(n_items, consistent_rankings):
    rng = np.random.default_rng(n_items)
    X, Y = rng.integers(0, 3, (2, 12, n_items)).astype(float)
    X[rng.random(X.shape) < 0.3] = NAN
    Y[rng.random(Y.shape) < 0.2] = NAN
    for others in (X, Y):
        expected = [
            [pairwise_ranking_distances(consistent_rankings(x), consistent_rankings(y)).mean() for y in others]
            for x in X
        ]
        np.testing.assert_allclose(pairwise_ranking_distances(X, others), expected, atol=1e-12)
    np.testing.assert_allclose(pairwise_ranking_distances(X), pairwise_ranking_distances(X, X), atol=1e-12)


def kemeny_by_definition(s, t):
    """Half the sum over pairs of the difference of signs; 0 is the sign of a tie, and beside NaN."""
    signs = np.sign(np.nan_to_num(s[:, None] - s)), np.sign(np.nan_to_num(t[:, None] - t))
    return np.abs(signs[0] - signs[1])[np.triu_indices(len(s), 1)].sum() / 2


@pytest.mark.parametrize("n_items", [1, 2, 3, 5, 12])
def test_kemeny_by_definition(n_items):
    rng = np.random.default_rng(n_items)
    X, Y = rng.integers(0, 4, (2, 15, n_items)).astype(float)
    X[rng.random(X.shape) < 0.3] = NAN
    for others in (X, Y):
        expected = [[kemeny_by_definition(x, y) for y in others] for x in X]
        assert (pairwise_ranking_distances(X, others, "kemeny") == expected).all()
    square = pairwise_ranking_distances(X, metric="kemeny")
    assert (square == pairwise_ranking_distances(X, X, metric="kemeny")).all()
    # A metric: it obeys the triangle inequality, through all third rankings.
    assert (square[:, None] + square[None] >= square[..., None] - 1e-12).all()


def test_kendall_agrees_with_scipy():
    rng = np.random.default_rng(2)
    X, Y = rng.random((2, 6, 15))
    tau = [[kendalltau(x, y).statistic for y in Y] for x in X]
    np.testing.assert_allclose(1 - 4 * pairwise_ranking_distances(X, Y) / (15 * 14), tau, atol=1e-12)


def test_any_tile_and_block_gives_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    X, Y = rng.permuted(np.tile(np.arange(30), (2, 70, 1)), axis=2)
    gaps = np.where(X > 20, NAN, X)
    cases = [(X, None), (X, Y), (Y, X[:3]), (X[:1], Y), (gaps, None), (gaps, X), (gaps, None, "kemeny")]
    expected = [pairwise_ranking_distances(*case) for case in cases]
    monkeypatch.setattr(_pair_products, "TILE_ROWS", 16)
    monkeypatch.setattr(_pair_products, "TILE_COLUMNS", 24)
    for megabytes in (0.03, 0.1, 100):
        with sklearn.config_context(working_memory=megabytes):
            for case, distances in zip(cases, expected, strict=True):
                np.testing.assert_allclose(pairwise_ranking_distances(*case), distances, rtol=1e-13)


@pytest.mark.parametrize(("n_samples", "n_items"), [(300, 100), (60, 400)])
def test_memory_is_bounded_by_working_memory(n_samples, n_items):
    rng = np.random.default_rng(4)
    X = densify(rng.random((n_samples, n_items)))
    n_pairs = n_items * (n_items - 1) // 2
    # The two lists of items of every pair are needed, the signs of every ranking (more than 4 bytes a pair) are not.
    allowed = 2 * 8 * n_pairs + 8 * n_samples**2
    with sklearn.config_context(working_memory=2):
        tracemalloc.start()
        pairwise_ranking_distances(X)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert 4 * n_samples * n_pairs > 2 * 2**20
    assert peak < allowed + 2 * 2**21 + 8 * n_pairs


@pytest.mark.parametrize("metric", METRICS)
def test_workers_give_the_same(metric):
    rng = np.random.default_rng(5)
    X, Y = rng.permuted(np.tile(np.arange(7), (2, 30, 1)), axis=2)
    for arguments in ((X,), (X, Y), (X[:1], Y)):
        expected = pairwise_ranking_distances(*arguments, metric=metric)
        assert (pairwise_ranking_distances(*arguments, metric=metric, n_jobs=2) == expected).all()
    with parallel_config("loky"), sklearn.config_context(working_memory=0.01):
        assert (pairwise_ranking_distances(X, Y, metric, n_jobs=2) == pairwise_ranking_distances(X, Y, metric)).all()


def test_input_forms():
    X = [[1, 2, 3], [3, 1, 2]]
    expected = [[0.0, 2.0], [2.0, 0.0]]
    for form in (np.array(X), np.array(X, np.float32), pd.DataFrame(X), pl.DataFrame(X, orient="row")):
        assert pairwise_ranking_distances(form).tolist() == expected
    assert pairwise_ranking_distances([[NAN, NAN, NAN]], X).tolist() == [[1.5, 1.5]]
    assert pairwise_ranking_distances([[1, 1, 1]]).tolist() == [[1.5]]
    assert pairwise_ranking_distances([[5]], metric="cayley").tolist() == [[0.0]]


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric not in ON_PARTIAL_RANKINGS])
def test_other_metrics_refuse_ties_and_gaps(metric):
    with pytest.raises(ValueError, match=f"Row 1 of X ties items, where metric='{metric}' is not defined") as error:
        pairwise_ranking_distances([[1, 2], [1, 1]], metric=metric)
    with pytest.raises(ValueError, match="Row 0 of Y has missing items"):
        pairwise_ranking_distances([[1, 2]], [[1, NAN]], metric=metric)
    remedy = re.search(r"skrank\.kernels\.(PartialRankingKernel\(.*\))\.$", str(error.value))[1]
    distances = eval(remedy, {name: getattr(kernels, name) for name in kernels.__all__}).fit_transform([[1, 2], [1, 1]])
    assert distances[0, 1] > 0


@pytest.mark.parametrize("metric", ["mallows", "diffusion", "semimetric_spearman", len])
def test_a_kernel_is_not_a_distance(metric):
    with pytest.raises(
        ValueError, match=r"a distance is needed.*PartialRankingKernel\(kernel=..., output='distance'\)"
    ):
        pairwise_ranking_distances([[1, 2]], metric=metric)


def test_bad_arguments():
    with pytest.raises(ValueError, match="metric='euclidean' is unknown.*kendall, kemeny, spearman_footrule"):
        pairwise_ranking_distances([[1, 2]], metric="euclidean")
    with pytest.raises(ValueError, match="p of metric 'lp' must be a finite number of at least 1, got 0.5"):
        pairwise_ranking_distances([[1, 2]], metric="lp", p=0.5)
    with pytest.raises(ValueError, match="X ranks 2 items but Y ranks 3"):
        pairwise_ranking_distances([[1, 2]], [[1, 2, 3]])
    frame = pd.DataFrame({"egg": [1], "tuna": [2]})
    with pytest.raises(ValueError, match=r"same items in the same order, got \['egg', 'tuna'\] and \['tuna', 'egg'\]"):
        pairwise_ranking_distances(frame, frame[["tuna", "egg"]])
