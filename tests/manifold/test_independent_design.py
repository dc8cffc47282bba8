"""Independent pairs: uniform, reproducible, and passes against brute force."""

import tracemalloc

import numpy as np
import pytest
from scipy.stats import chisquare

from skrank.manifold import EuclideanOracle, _designs
from skrank.manifold._designs import IndependentDesign
from skrank.manifold._landmark_loss import LandmarkLoss
from skrank.manifold._triplet_loss import TripletLoss


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


def test_the_loss_is_that_of_the_triplets_asked(monkeypatch):
    monkeypatch.setattr(_designs, "_PAIRS_AT_A_TIME", 64)
    rng = np.random.default_rng(1)
    items, asked = rng.standard_normal((30, 2)), []
    noisy = EuclideanOracle(noise="logistic", scale=1.0)
    index = {row.tobytes(): number for number, row in enumerate(items)}

    def oracle(*rows):
        nearer = noisy(*rows)
        i, j, k = (np.array([index[row.tobytes()] for row in side]) for side in rows)
        asked.append(np.column_stack([i, np.where(nearer, j, k), np.where(nearer, k, j)]))
        return nearer

    design = IndependentDesign.draw(29, 200, np.random.RandomState(3))
    responses = [design.ask(oracle, items, landmark, number, False) for number, landmark in enumerate((5, 17))]
    ours = LandmarkLoss(responses, 30)
    theirs = TripletLoss(np.concatenate(asked), 30, dtype=np.float64)
    X = rng.standard_normal((30, 2))
    assert len(ours) == len(theirs) == 400
    assert ours.evaluate(X).value == pytest.approx(theirs.evaluate(X).value, rel=1e-5)
    np.testing.assert_allclose(ours.evaluate(X).gradient, theirs.evaluate(X).gradient, atol=1e-4)
    others = np.setdiff1d(np.arange(30), (5, 17))
    np.testing.assert_allclose(
        ours.curvature_blocks(X)[others], theirs.curvature_blocks(X)[others], rtol=0.01, atol=0.1
    )
    lapse = np.zeros(1)
    np.testing.assert_allclose(ours.changes(X, -X, lapse)[others], theirs.changes(X, -X, lapse)[others], atol=2e-3)


def test_the_responses_take_no_memory_for_each_pair():
    items = np.random.default_rng(0).standard_normal((200, 2))
    peaks = []
    for n_comparisons in (10**5, 10**6):
        design = IndependentDesign.draw(199, n_comparisons, np.random.RandomState(0))
        tracemalloc.start()
        design.ask(EuclideanOracle(), items, 0, 0, False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
