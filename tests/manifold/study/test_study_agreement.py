"""Krippendorff's alpha against published values and brute force, and intervals against simulation."""

import itertools

import numpy as np
import pytest

from skrank.manifold._study._agreement import agreement, krippendorff_alpha, share_interval

# K. Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), section C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def test_the_published_example():
    counts = [[values.count(category) for category in range(1, 6)] for values in zip(*OBSERVERS, strict=True)]
    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)


def test_alpha_is_the_ratio_of_disagreements_of_pairs():
    rng = np.random.default_rng(0)
    units = [rng.integers(2, size=size).tolist() for size in rng.integers(1, 5, size=30)]
    counts = np.array([[unit.count(0), unit.count(1)] for unit in units])
    units = [unit for unit in units if len(unit) > 1]
    observed = sum(sum(a != b for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    values = sum(units, [])
    expected = sum(a != b for a, b in itertools.permutations(values, 2)) / (len(values) - 1)
    assert krippendorff_alpha(counts) == pytest.approx(1 - observed / expected)


def test_extremes():
    assert krippendorff_alpha([[2, 0], [0, 3], [2, 0]]) == 1
    assert krippendorff_alpha([[2, 0], [3, 0]]) == 1
    assert np.isnan(krippendorff_alpha([[1, 0], [0, 1]]))
    none = agreement(np.empty((0, 2)))
    assert none.n_queries == 0
    assert np.isnan([none.alpha, none.low, none.high]).all()


def test_the_interval_covers():
    # Two raters who err in a share e of the answers agree with 1 - 2 e (1 - e): alpha is 1 - 4 e (1 - e).
    rng = np.random.default_rng(1)
    truth, covered = 1 - 4 * 0.1 * 0.9, 0
    for seed in range(200):
        nearer = rng.random(150) < 0.5
        answers = np.array([nearer ^ (rng.random(150) < 0.1) for _ in range(2)])
        counts = np.column_stack([answers.sum(axis=0), 2 - answers.sum(axis=0)])
        found = agreement(counts, n_resamples=500, random_state=seed)
        assert found.n_queries == 150
        covered += found.low <= truth <= found.high
    assert 178 <= covered <= 200  # 95 % of 200, less five standard errors and the bias of a percentile interval


def test_wilson_interval():
    # Wilson (1927) as tabulated by R. G. Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 1 of 29.
    assert share_interval(81, 263) == pytest.approx((0.3080, 0.2553, 0.3662), abs=5e-5)
    assert share_interval(1, 29) == pytest.approx((0.0345, 0.0061, 0.1718), abs=5e-5)
    assert np.isnan(share_interval(0, 0)).all()
