"""Comparisons from landmarks: what is asked, and the loss, gradients and information against those of triplets."""

import numpy as np
import pytest

from skrank.manifold import EuclideanOracle, _responses
from skrank.manifold._landmark_loss import LandmarkLoss
from skrank.manifold._responses import ask_landmark
from skrank.manifold._triplet_loss import TripletLoss

N_ITEMS, LANDMARKS, SHIFTS = 30, (3, 7, 11), (1, 4, 9)
OTHERS = np.setdiff1d(np.arange(N_ITEMS), LANDMARKS)
NO_LAPSE, LAPSE = np.zeros(1), np.array([0.1])


@pytest.fixture(params=[7, 1 << 15])
def problem(request, monkeypatch):
    """The responses about three landmarks, the first of a cyclic design, as passes and as triplets."""
    monkeypatch.setattr(_responses, "BLOCK_SIZE", request.param)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ITEMS, 2))
    oracle = EuclideanOracle(noise="logistic", scale=1.0).bind(X)
    responses, triplets = [], []
    for landmark in LANDMARKS:
        order = rng.permutation(np.delete(np.arange(N_ITEMS), landmark))
        one = ask_landmark(oracle, X, landmark, order, SHIFTS, is_cyclic=landmark == 3, keeps_responses=True)
        responses.append(one)
        for shift in SHIFTS:
            t = np.arange(len(order) if landmark == 3 else len(order) - shift)
            left, right = order[t], order[(t + shift) % len(order)]
            anchors = np.full(len(t), landmark)
            nearer = oracle(X[anchors], X[left], X[right])
            triplets.append(np.column_stack([anchors, np.where(nearer, left, right), np.where(nearer, right, left)]))
    triplets = np.concatenate(triplets)
    return rng.standard_normal((N_ITEMS, 2)), responses, triplets


def test_wins_and_degrees_are_those_of_the_triplets(problem):
    _, responses, triplets = problem
    for one in responses:
        own = triplets[triplets[:, 0] == one.landmark]
        assert one.n_comparisons == len(own)
        near, far = (np.bincount(own[:, column], minlength=N_ITEMS)[one.order] for column in (1, 2))
        np.testing.assert_array_equal(one.wins, far)
        np.testing.assert_array_equal(one.degree, near + far)
        np.testing.assert_array_equal(one.is_one_sided, (near == 0) | (far == 0))


@pytest.mark.parametrize("lapse", [NO_LAPSE, LAPSE])
def test_loss_and_gradients_are_those_of_the_triplets(problem, lapse):
    X, responses, triplets = problem
    ours = LandmarkLoss(responses, N_ITEMS).evaluate(X, lapse)
    theirs = TripletLoss(triplets, N_ITEMS, dtype=np.float64).evaluate(X, lapse)
    assert ours.value == pytest.approx(theirs.value, rel=1e-5)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, atol=1e-4)
    np.testing.assert_allclose(ours.lapse_gradient, theirs.lapse_gradient, rtol=1e-4)


def test_the_triplets_of_the_responses_are_those_asked(problem):
    _, responses, triplets = problem
    ours = LandmarkLoss(responses, N_ITEMS).triplets()
    assert sorted(map(tuple, ours.tolist())) == sorted(map(tuple, triplets.tolist()))


def test_the_gradient_alone_is_that_of_the_loss(problem):
    X, responses, _ = problem
    loss = LandmarkLoss(responses, N_ITEMS)
    np.testing.assert_array_equal(loss.gradient(X), loss.evaluate(X).gradient)


@pytest.mark.parametrize("lapse", [NO_LAPSE, LAPSE])
def test_information_is_that_of_the_triplets(problem, lapse):
    X, responses, triplets = problem
    loss, reference = LandmarkLoss(responses, N_ITEMS), TripletLoss(triplets, N_ITEMS, dtype=np.float64)
    blocks, expected = loss.curvature_blocks(X, lapse), reference.curvature_blocks(X, lapse)
    np.testing.assert_allclose(blocks[OTHERS], expected[OTHERS], rtol=0.1, atol=0.2)  # a floor of 1e-3 is added
    np.testing.assert_allclose(loss.lapse_information(X, LAPSE), reference.lapse_information(X, LAPSE), rtol=1e-4)


def test_information_of_a_landmark_is_the_curvature_of_the_expected_loss(problem):
    # of its own comparisons alone: what it takes part in as an item is left out by asking one landmark only
    X, responses, _ = problem
    one = responses[1]
    loss = LandmarkLoss([one], N_ITEMS)
    expected = np.zeros((2, 2))
    for left, right in one.blocks():
        left, right = X[one.order[left]], X[one.order[right]]
        anchor = X[one.landmark]
        margin = ((right - anchor) ** 2).sum(axis=1) - ((left - anchor) ** 2).sum(axis=1)
        p = 1 / (1 + np.exp(-margin))
        expected += 4 * (left - right).T @ ((p * (1 - p))[:, None] * (left - right))
    np.testing.assert_allclose(loss.curvature_blocks(X)[one.landmark], expected, rtol=1e-3)


@pytest.mark.parametrize("lapse", [NO_LAPSE, LAPSE])
def test_changes_are_those_of_single_moves(problem, lapse):
    X, responses, triplets = problem
    moved = X * [-1, 1]
    for loss, items in (
        (LandmarkLoss(responses, N_ITEMS), np.arange(N_ITEMS)),
        (TripletLoss(triplets, N_ITEMS, dtype=np.float64), np.arange(N_ITEMS)),
    ):
        before, changes = loss.evaluate(X, lapse).value, loss.changes(X, moved, lapse)
        for item in items:
            trial = X.copy()
            trial[item] = moved[item]
            assert changes[item] == pytest.approx(loss.evaluate(trial, lapse).value - before, abs=2e-3)


def test_jobs_change_nothing(problem):
    X, responses, _ = problem
    one, two = (LandmarkLoss(responses, N_ITEMS, n_jobs).evaluate(X) for n_jobs in (None, 2))
    assert one.value == two.value
    np.testing.assert_array_equal(one.gradient, two.gradient)


def test_chi_squared_is_one_in_the_model_and_more_outside():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    oracle = EuclideanOracle(noise="logistic", scale=1.0).bind(X)
    shifts = rng.choice(149, 25, replace=False) + 1
    responses = [
        ask_landmark(oracle, X, landmark, np.delete(np.arange(300), landmark), shifts, is_cyclic=True)
        for landmark in range(10)
    ]
    loss = LandmarkLoss(responses, 300)
    # 2990 terms of mean 1 and standard deviation near 1.4, hardly dependent: 0.13 is five standard errors
    assert loss.chi_squared(X) == pytest.approx(1, abs=0.13)
    assert loss.chi_squared(X[::-1]) > 3
    assert _responses.BLOCK_SIZE > 300
