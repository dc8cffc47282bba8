"""Independent pairs: uniform, reproducible, and passes against brute force."""

import numpy as np
from scipy.stats import chisquare

from skrank.manifold import _designs
from skrank.manifold._designs import IndependentDesign


def test_passes_equal_sums_over_the_pairs(monkeypatch):
    monkeypatch.setattr(_designs, "_PAIRS_AT_A_TIME", 16)
    rng = np.random.default_rng(0)
    design = IndependentDesign.draw(11, 70, np.random.RandomState(3))
    left, right = (np.concatenate(side) for side in zip(*design.pairs(4), strict=True))
    assert len(left) == 70 == design.n_comparisons
    assert np.all(left != right)
    scores = rng.standard_normal(11)
    items = np.insert(scores, 5, -10)[:, None]  # the landmark, whose nearest item has the lowest score
    responses = design.ask(lambda anchors, left, right: (left < right)[:, 0], items, 5, 4, True)
    wins, degree = responses.wins, responses.degree
    expected = np.zeros((3, 11))
    for i, j in zip(left, right, strict=True):
        expected[0, i if scores[i] > scores[j] else j] += 1
        expected[1, [i, j]] += 1
        expected[2, [i, j]] += np.tanh(scores[i] - scores[j]) * np.array([1, -1])
    np.testing.assert_array_equal(wins, expected[0])
    np.testing.assert_array_equal(degree, expected[1])
    np.testing.assert_allclose(design.sum_tanh(scores, 4), expected[2], atol=1e-12)
    assert design.mean_degree == degree.mean()


def test_the_pairs_are_uniform_and_differ_between_landmarks():
    # chi-squared tests at level 1e-4: this fails for a uniform generator with that probability, and the seed is fixed
    design = IndependentDesign.draw(6, 20000, np.random.RandomState(0))
    tables = []
    for landmark in range(2):
        table = np.zeros((6, 6))
        for left, right in design.pairs(landmark):
            np.add.at(table, (left, right), 1)
        tables.append(table)
        assert chisquare(table[~np.eye(6, dtype=bool)]).pvalue > 1e-4
    assert not np.array_equal(*tables)
