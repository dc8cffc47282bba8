import numpy as np
import pytest

from skrank._commands._differences import holm, item_differences, label_pvalue, net_wins
from skrank._rankings import check_rankings
from skrank.datasets import make_rankings
from skrank.kernels import MallowsKernel
from skrank.stats import mmd_test_from_kernel


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.7]).tolist() == [1, 1]


def test_the_label_statistic_of_two_classes_is_that_of_the_two_sample_test():
    X = make_rankings(60, 5, random_state=0)
    labels = np.arange(60) % 2
    gram = MallowsKernel(nu=0.2)(X)
    expected = mmd_test_from_kernel(gram, labels, n_permutations=4999, random_state=0).pvalue
    assert label_pvalue(gram, labels, 4999, np.random.default_rng(0)) == pytest.approx(expected, abs=0.03)


def test_labels_have_their_level_and_power():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        gram = MallowsKernel(nu=0.2)(make_rankings(40, 5, random_state=rng.integers(2**31)))
        found.append(label_pvalue(gram, rng.choice(["x", "y", "z"], 40), 99, rng))
    assert 0.01 <= np.mean(np.array(found) <= 0.05) <= 0.10  # 5 % with a standard error of 1.5 %
    X = make_rankings(300, 5, phi=0.8, random_state=0)
    assert label_pvalue(MallowsKernel(nu=0.2)(X), X[:, 0] < X[:, 1], 199, rng) == 0.005


def test_items_of_small_groups_have_their_level():
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        X = make_rankings(65, 6, random_state=rng.integers(2**31))
        wrong += item_differences(X[:5], X[5:], np.ones(5), np.ones(60), 99, rng).pvalue.min() <= 0.05
    assert 1 <= wrong <= 20  # any of six items: 10 expected


def test_counts_are_repeats():
    X, Y = make_rankings(20, 4, random_state=0), make_rankings(30, 4, random_state=1)
    counts = np.random.default_rng(0).integers(0, 4, 20)
    one = item_differences(X, Y, counts, np.ones(30), 99, np.random.default_rng(0))
    other = item_differences(
        np.repeat(X, counts, axis=0), Y, np.ones(counts.sum()), np.ones(30), 99, np.random.default_rng(0)
    )
    for found, expected in zip(one, other, strict=True):
        np.testing.assert_allclose(found, expected)
    wins = net_wins(check_rankings(X))
    np.testing.assert_allclose(wins, 3 - 2 * X)
    np.testing.assert_allclose(one.means[0], counts @ wins / counts.sum())
