import numpy as np
import pytest

from skrank._commands._differences import holm, item_differences, label_test, net_wins, weighted_item_differences
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
    assert label_test(gram, labels, 4999, np.random.default_rng(0)).pvalue == pytest.approx(expected, abs=0.03)


def test_labels_have_their_level_and_power():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        gram = MallowsKernel(nu=0.2)(make_rankings(40, 5, random_state=rng.integers(2**31)))
        found.append(label_test(gram, rng.choice(["x", "y", "z"], 40), 99, rng).pvalue)
    assert 0.01 <= np.mean(np.array(found) <= 0.05) <= 0.10  # 5 % with a standard error of 1.5 %
    X = make_rankings(300, 5, phi=0.8, random_state=0)
    assert label_test(MallowsKernel(nu=0.2)(X), X[:, 0] < X[:, 1], 199, rng).pvalue == 0.005


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


def test_the_weighted_statistic_is_the_discrepancy_of_the_weighted_samples():
    # Sums over pairs of different people, by brute force.
    rng = np.random.default_rng(0)
    gram = MallowsKernel(nu=0.2)(make_rankings(12, 4, random_state=0))
    labels, weights = np.arange(12) % 3 == 0, rng.lognormal(size=12)
    found = label_test(gram, labels, 9, rng, weights).statistic

    def mean(rows, columns):
        pairs = [(i, j) for i in rows for j in columns if i != j]
        products = np.array([weights[i] * weights[j] for i, j in pairs])
        return products @ [gram[i, j] for i, j in pairs] / products.sum()

    x, y = np.flatnonzero(labels), np.flatnonzero(~labels)
    assert found == pytest.approx(mean(x, x) + mean(y, y) - 2 * mean(x, y))
    same = mmd_test_from_kernel(gram, labels, n_permutations=9, random_state=0).statistic
    assert label_test(gram, labels, 9, rng, np.full(12, 2.5)).statistic == pytest.approx(same)


@pytest.mark.parametrize("by_label", [False, True])
def test_tests_with_survey_weights_have_their_level(by_label):
    rng = np.random.default_rng(0)
    wrong = np.zeros(2)
    for _ in range(200):
        X = make_rankings(60, 5, phi=0.7, random_state=rng.integers(2**31))
        labels = rng.random(60) < 0.5
        weights = np.where(labels, 3.0, 1.0) if by_label else rng.lognormal(0, 0.7, 60)
        wrong[0] += label_test(MallowsKernel(nu=0.2)(X), labels, 99, rng, weights).pvalue <= 0.05
        wrong[1] += weighted_item_differences(X, labels, weights, 99, rng).pvalue.min() <= 0.05
    assert (wrong <= 20).all()  # 10 expected; fewer where weights depend on the label
    assert by_label or (wrong >= 2).all()


def test_weighted_items_are_weighted_means():
    X = make_rankings(80, 4, center=range(4), phi=0.2, random_state=0)
    labels, weights = np.arange(80) < 40, np.random.default_rng(0).lognormal(size=80)
    X[40:] = 3 - X[40:]
    found = weighted_item_differences(X, labels, weights, 199, np.random.default_rng(0))
    for group, members in enumerate((labels, ~labels)):
        expected = np.average(3 - 2 * X[members], axis=0, weights=weights[members])
        np.testing.assert_allclose(found.means[group], expected)
    assert found.pvalue[0] == found.pvalue[3] == 0.005
    # Equal weights: the standard error of random divisions.
    equal = weighted_item_differences(X, labels, np.ones(80), 4999, np.random.default_rng(0))
    exact = item_differences(X[:40], X[40:], np.ones(40), np.ones(40), 9, np.random.default_rng(0))
    np.testing.assert_allclose(equal.standard_error, exact.standard_error, rtol=0.05)
