"""The two-sample test: its statistic, its level, its power."""

import itertools
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.sparse import csr_array
from scipy.stats import kstest
from sklearn.gaussian_process.kernels import WhiteKernel

from skrank.datasets import make_rankings
from skrank.kernels import HammingKernel, KendallKernel, MallowsKernel, MarginalizedKernel, PartialRankingKernel
from skrank.stats import mallows, mmd_test, mmd_test_from_kernel


def statistic_by_definition(gram, labels):
    """Means over pairs of different rows, one pair at a time."""

    def mean(a, b):
        pairs = itertools.product(np.flatnonzero(labels == a), np.flatnonzero(labels == b))
        return np.mean([gram[i, j] for i, j in pairs if i != j])

    return mean(0, 0) + mean(1, 1) - 2 * mean(0, 1)


def pooled(X, Y):
    return np.vstack([X, Y]), np.repeat([0, 1], [len(X), len(Y)])


def top_one(rng, n_samples, n_items=5):
    """Lists of one item, so that most rankings are repeated."""
    return make_rankings(n_samples, n_items, top_k=1, random_state=int(rng.integers(2**31)))


# ---------------------------------------------------------------- statistic
@pytest.mark.parametrize("kernel", [MallowsKernel(nu=0.3), KendallKernel(), HammingKernel()])
@pytest.mark.parametrize("top_k", [None, 1])
def test_statistic_equals_its_definition(kernel, top_k):
    X = make_rankings(7, 4, top_k=top_k, random_state=0)
    Y = make_rankings(5, 4, top_k=top_k, phi=0.3, random_state=1)
    result = mmd_test(X, Y, kernel, n_permutations=9, random_state=0)
    rows, labels = pooled(X, Y)
    assert result.statistic == pytest.approx(statistic_by_definition(kernel(rows), labels), abs=1e-12)
    assert result.null_distribution.shape == (9,)
    assert result.kernel == kernel


def test_null_values_are_the_statistics_of_relabeled_rows():
    X, Y = make_rankings(4, 3, random_state=2), make_rankings(3, 3, random_state=3)
    kernel = MallowsKernel(nu=0.5)
    gram = kernel(np.vstack([X, Y]))
    every = [
        statistic_by_definition(gram, np.where(np.isin(np.arange(7), first), 0, 1))
        for first in itertools.combinations(range(7), 4)
    ]
    result = mmd_test(X, Y, kernel, n_permutations=2000, random_state=4)
    nearest = np.abs(result.null_distribution[:, None] - every).min(axis=1)
    assert nearest.max() < 1e-12
    # The mean over all divisions is exactly zero: the estimate is unbiased.
    assert np.mean(every) == pytest.approx(0, abs=1e-12)
    exact = np.mean(np.array(every) >= result.statistic - 1e-9)
    assert abs(result.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 2000) + 1 / 2000


def test_pvalue_counts_ties():
    X = np.tile([0, 1, 2], (4, 1))
    result = mmd_test(X, X[:3], MallowsKernel(nu=1.0), n_permutations=19)
    assert result.statistic == pytest.approx(0, abs=1e-15)
    assert result.pvalue == 1
    shuffled = mmd_test(make_rankings(6, 3, random_state=5), make_rankings(6, 3, random_state=6), n_permutations=99)
    below = np.count_nonzero(shuffled.null_distribution < shuffled.statistic - 1e-9)
    assert shuffled.pvalue == pytest.approx((1 + 99 - below) / 100)


def test_samples_may_change_places_and_rows_their_order():
    rng = np.random.default_rng(7)
    X, Y = top_one(rng, 12), make_rankings(9, 5, random_state=8)
    result = mmd_test(X, Y, "kendall", random_state=0)
    assert mmd_test(Y, X, "kendall", random_state=0).statistic == pytest.approx(result.statistic, abs=1e-14)
    shuffled = mmd_test(rng.permutation(X), rng.permutation(Y), "kendall", random_state=0)
    assert shuffled.statistic == pytest.approx(result.statistic, abs=1e-14)
    assert shuffled.pvalue == result.pvalue


# ---------------------------------------------------------------- the diagonal
def test_the_diagonal_of_a_given_matrix_is_not_used():
    rng = np.random.default_rng(9)
    rows = make_rankings(20, 4, random_state=10)
    labels = rng.permutation(np.repeat(["east", "west"], [8, 12]))
    kernel = MallowsKernel(nu=0.2)
    gram = kernel(rows)
    result = mmd_test_from_kernel(gram, labels, random_state=0)
    expected = statistic_by_definition(gram, (labels == "west").astype(int))
    assert result.statistic == pytest.approx(expected, abs=1e-12)
    assert result.kernel is None
    for value in (0, 100, -3, np.nan):
        changed = gram.copy()
        np.fill_diagonal(changed, value)
        again = mmd_test_from_kernel(changed, labels, random_state=0)
        assert again.statistic == result.statistic
        assert again.pvalue == result.pvalue


def test_noise_on_the_diagonal_of_a_kernel_changes_nothing():
    rng = np.random.default_rng(11)
    X, Y = top_one(rng, 15), make_rankings(15, 5, random_state=12)
    plain = mmd_test(X, Y, MallowsKernel(nu=0.2), random_state=0)
    noisy = mmd_test(X, Y, MallowsKernel(nu=0.2) + WhiteKernel(5.0), random_state=0)
    assert noisy.statistic == pytest.approx(plain.statistic, abs=1e-12)
    assert noisy.pvalue == plain.pvalue


@pytest.mark.parametrize("method", ["monte_carlo", "antithetic", "herding"])
def test_unbiased_with_a_sampled_kernel_on_repeated_rankings(method):
    rng = np.random.default_rng(13)
    X, Y = top_one(rng, 40), np.vstack([top_one(rng, 25), np.tile([0.0, 1, 1, 1, 1], (15, 1))])
    inner = MallowsKernel(nu=0.3)
    exact = mmd_test(X, Y, inner, n_permutations=1).statistic
    labels = np.repeat([0, 1], 40)
    statistics, shared = [], []
    for seed in range(60):
        kernel = MarginalizedKernel(inner, method=method, n_draws=4, random_state=seed)
        statistics.append(mmd_test(X, Y, kernel, n_permutations=1, random_state=0).statistic)
        shared.append(mmd_test_from_kernel(kernel(np.vstack([X, Y])), labels, n_permutations=1).statistic)
    error = np.std(statistics, ddof=1) / np.sqrt(60)
    assert abs(np.mean(statistics) - exact) < 4 * error
    # What equal rankings with the same samples would make of it.
    assert np.mean(shared) - exact > 4 * np.std(shared, ddof=1) / np.sqrt(60)


@pytest.mark.parametrize("kernel", ["sum", "product", "power"])
def test_combinations_of_kernels_on_repeated_rankings(kernel):
    rng = np.random.default_rng(14)
    X, Y = top_one(rng, 12), top_one(rng, 9)
    kernel = {
        "sum": MallowsKernel(nu=0.2) + KendallKernel(),
        "product": MallowsKernel(nu=0.2) * KendallKernel(),
        "power": MallowsKernel(nu=0.2) ** 2,
    }[kernel]
    rows, labels = pooled(X, Y)
    result = mmd_test(X, Y, kernel, n_permutations=1)
    assert result.statistic == pytest.approx(statistic_by_definition(kernel(rows), labels), abs=1e-12)


# ---------------------------------------------------------------- level and power
@pytest.mark.parametrize(("options", "kernel"), [({}, "mallows"), ({"top_k": 2}, "mallows"), ({}, "spearman")])
def test_level_under_the_null(options, kernel):
    """p-values are multiples of 1/20 that are uniform: the test is exact at any size."""
    pvalues = []
    for seed in range(200):
        X = make_rankings(12, 5, phi=0.8, center=range(5), random_state=2 * seed, **options)
        Y = make_rankings(9, 5, phi=0.8, center=range(5), random_state=2 * seed + 1, **options)
        pvalues.append(mmd_test(X, Y, kernel, n_permutations=19, random_state=seed).pvalue)
    rejected = np.mean(np.array(pvalues) <= 0.05)
    # Binomial: four standard errors; ties make it conservative, never liberal.
    assert rejected < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)
    if not options:
        uniform = np.array(pvalues) - np.random.default_rng(0).random(200) / 20
        assert kstest(uniform, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("options", [{}, {"top_k": 3}, {"missing_rate": 0.3}])
def test_power_against_a_mallows_model(options):
    for seed in range(5):
        X = make_rankings(100, 6, random_state=seed, **options)
        Y = make_rankings(100, 6, phi=0.5, random_state=seed + 100, **options)
        assert mmd_test(X, Y, random_state=seed).pvalue == 0.001


def test_mallows_sees_what_pairwise_preferences_do_not_show():
    """A center and its reverse in equal parts, against uniform rankings: every pair of items is even in both."""
    X = mallows(range(6), 0.2).rvs(200, random_state=0)
    X[::2] = 5 - X[::2]
    assert mmd_test(X, make_rankings(200, 6, random_state=1), MallowsKernel(nu=0.3), random_state=0).pvalue == 0.001


# ---------------------------------------------------------------- kernels, workers, arguments
def test_transformers_names_and_objects():
    X, Y = make_rankings(25, 5, top_k=2, random_state=15), make_rankings(20, 5, top_k=2, phi=0.5, random_state=16)
    named = mmd_test(X, Y, "mallows", random_state=0)
    assert isinstance(named.kernel, MallowsKernel)
    assert named.kernel.nu == PartialRankingKernel("mallows").fit(np.vstack([X, Y])).nu_
    same = mmd_test(X, Y, named.kernel, random_state=0)
    assert same.statistic == named.statistic
    sampled = mmd_test(X, Y, PartialRankingKernel(method="antithetic", n_draws=200), random_state=0)
    assert isinstance(sampled.kernel, MarginalizedKernel)
    assert sampled.statistic == pytest.approx(named.statistic, abs=0.02)
    distinct = np.unique(np.vstack([X, Y]), axis=0)
    normalized = PartialRankingKernel(named.kernel, normalize=True)
    gram = normalized.fit_transform(distinct)
    labels = np.arange(len(distinct)) % 2
    result = mmd_test(distinct[labels == 0], distinct[labels == 1], normalized, random_state=0)
    assert result.statistic == pytest.approx(mmd_test_from_kernel(gram, labels).statistic, abs=1e-12)


def test_missing_items_by_another_number():
    X = make_rankings(20, 5, missing_rate=0.3, random_state=17)
    Y = make_rankings(20, 5, missing_rate=0.3, random_state=18)
    expected = mmd_test(X, Y, KendallKernel(), random_state=0)
    marked = [np.where(np.isnan(rows), -1, rows) for rows in (X, Y)]
    assert mmd_test(*marked, KendallKernel(missing_values=-1), random_state=0).statistic == expected.statistic


@pytest.mark.parametrize("backend", ["threading", "dask"])
def test_the_same_result_with_any_workers(backend):
    X, Y = make_rankings(40, 6, missing_rate=0.2, random_state=19), make_rankings(30, 6, random_state=20)
    alone = mmd_test(X, Y, n_permutations=600, random_state=1)
    client = nullcontext()
    if backend == "dask":
        distributed = pytest.importorskip("distributed")
        client = distributed.Client(processes=False, dashboard_address=None)
    with client, parallel_config(backend=backend):
        parallel = mmd_test(X, Y, n_permutations=600, random_state=1, n_jobs=2)
    assert parallel.statistic == pytest.approx(alone.statistic, abs=1e-14)
    assert parallel.null_distribution == pytest.approx(alone.null_distribution, abs=1e-14)
    assert parallel.pvalue == alone.pvalue


def test_the_seed_decides_the_permutations():
    X, Y = make_rankings(9, 6, random_state=24), make_rankings(8, 6, random_state=25)
    first, again, other = (mmd_test(X, Y, n_permutations=50, random_state=seed).null_distribution for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_bad_arguments():
    X, Y = make_rankings(5, 4, random_state=21), make_rankings(6, 4, random_state=22)
    with pytest.raises(ValueError, match="Y has one ranking"):
        mmd_test(X, Y[:1])
    with pytest.raises(ValueError, match="X ranks 4 items but Y ranks 3"):
        mmd_test(X, Y[:, :3])
    with pytest.raises(ValueError, match="same items in the same order"):
        mmd_test(pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Y, columns=list("abdc")))
    gap = Y.copy()
    gap[2, 1] = np.nan
    with pytest.raises(ValueError, match="Row 2 of Y has missing items"):
        mmd_test(X, gap, MallowsKernel())
    with pytest.raises(ValueError, match="Row 2 of Y has missing items"):
        mmd_test(X, gap, KendallKernel() + MallowsKernel() ** 2)
    with pytest.raises(ValueError, match="'kernel' parameter.*'kendall'"):
        mmd_test(X, Y, "mallow")
    with pytest.raises(ValueError, match="output='kernel'"):
        mmd_test(X, Y, PartialRankingKernel(output="distance"))
    with pytest.raises(ValueError, match="kernel"):
        mmd_test(X, Y, 0.5)


def test_bad_matrices():
    gram = KendallKernel()(make_rankings(6, 4, random_state=23))
    labels = [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"shapes \(n, n\) and \(n,\); got \(6, 6\) and \(5,\)"):
        mmd_test_from_kernel(gram, labels[:5])
    with pytest.raises(ValueError, match=r"two samples of at least two rows each, got \{0: 5, 1: 1\}"):
        mmd_test_from_kernel(gram, [0, 0, 0, 0, 0, 1])
    with pytest.raises(ValueError, match=r"got \{0: 2, 1: 2, 2: 2\}"):
        mmd_test_from_kernel(gram, [0, 0, 1, 1, 2, 2])
    crooked = gram.copy()
    crooked[0, 1] += 0.1
    with pytest.raises(ValueError, match="symmetric"):
        mmd_test_from_kernel(crooked, labels)
    crooked[0, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        mmd_test_from_kernel(crooked, labels)


@pytest.mark.parametrize(
    ("kernel", "unranked"),
    [
        ("mallows", "last"),  # with missing items it is sampled, and sparse rows have samples of their own
        ("kendall", "last"),
        ("kendall", "missing"),
        (PartialRankingKernel("hamming", method="exact"), "last"),
    ],
)
def test_sparse_samples_are_tested_as_dense_ones(kernel, unranked):
    rng = np.random.default_rng(0)
    ranks = rng.random((60, 8)).argsort(axis=1)
    ranks[:30, 0] = -1
    listed = ranks < 3
    dense = np.where(listed, ranks, 9 if unranked == "last" else np.nan)
    lists = csr_array((ranks[listed], np.nonzero(listed)), shape=ranks.shape)
    options = {"kernel": kernel, "random_state": 0, "n_permutations": 99}
    sparse = mmd_test(lists[:30], lists[30:], unranked=unranked, **options)
    expected = mmd_test(dense[:30], dense[30:], **options)
    assert sparse.statistic == pytest.approx(expected.statistic, abs=1e-12)
    assert sparse.pvalue == pytest.approx(expected.pvalue, abs=0.1)
    with pytest.raises(ValueError, match="Pass both"):
        mmd_test(lists, dense, unranked=unranked)
    with pytest.raises(TypeError, match="unranked='last'"):
        mmd_test(lists, lists)


def test_samples_of_a_wide_catalog():
    rng = np.random.default_rng(0)

    def lists(low):
        items = low + rng.random((40, 300)).argsort(axis=1)[:, :5]
        return csr_array((np.tile(np.arange(5), 40), items.ravel(), np.arange(0, 201, 5)), shape=(40, 100_000))

    assert mmd_test(lists(0), lists(200), unranked="last", random_state=0).pvalue == 0.001
