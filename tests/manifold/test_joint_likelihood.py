"""The joint likelihood against finite differences and brute-force optimisation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from skrank.manifold._designs import CirculantDesign
from skrank.manifold._joint_likelihood import goodness_of_fit, landmark_gradient, maximize_joint_likelihood


class Problem:
    """Answers of the model about random points, their likelihood and its gradient, pair by pair."""

    def __init__(self, n_items, n_components, n_landmarks, n_shifts, seed):
        rng = np.random.default_rng(seed)
        self.points = rng.standard_normal((n_components, n_items)) / np.sqrt(n_components / 2)
        self.landmarks = rng.choice(n_items, n_landmarks, replace=False)
        self.design = CirculantDesign.draw(n_items - 1, n_shifts, np.random.RandomState(seed))
        t = np.arange(n_items - 1)
        self.left = np.concatenate([t for _ in self.design.shifts])
        self.right = np.concatenate([(t + s) % (n_items - 1) for s in self.design.shifts])
        self.farther, self.nets = [], []
        for landmark in self.landmarks:
            z = self.differences(self.points, landmark)
            farther = rng.random(len(z)) < expit(z)
            wins = np.bincount(self.left, farther, n_items - 1) + np.bincount(self.right, ~farther, n_items - 1)
            self.farther.append(farther)
            self.nets.append((wins - n_shifts).astype(np.float32))

    def differences(self, points, landmark):
        distances = np.delete(((points - points[:, [landmark]]) ** 2).sum(axis=0), landmark)
        return distances[self.left] - distances[self.right]

    def loss(self, points):
        total = 0.0
        for landmark, farther in zip(self.landmarks, self.farther, strict=True):
            z = self.differences(points, landmark)
            total += np.logaddexp(0, np.where(farther, -z, z)).sum()
        return total

    def gradients(self, points):
        for number, landmark in enumerate(self.landmarks):
            yield landmark_gradient(points, landmark, number, self.nets[number], self.design)

    def gradient(self, points):
        total = np.zeros(points.shape)
        for landmark, (gradient, _) in zip(self.landmarks, self.gradients(points), strict=True):
            pull = 2 * gradient * (points - points[:, [landmark]])
            total += pull
            total[:, landmark] -= pull.sum(axis=1)
        return total


def test_gradients_are_those_of_the_likelihood():
    problem = Problem(20, 3, 7, 5, 0)
    points = problem.points + 0.3 * np.random.default_rng(1).standard_normal(problem.points.shape)
    total = problem.gradient(points)
    for landmark, (gradient, curvature) in zip(problem.landmarks, problem.gradients(points), strict=True):
        assert gradient[landmark] == curvature[landmark] == 0
    for index in np.ndindex(*points.shape):
        step = np.zeros_like(points)
        step[index] = 1e-5
        slope = (problem.loss(points + step) - problem.loss(points - step)) / 2e-5
        assert total[index] == pytest.approx(slope, abs=1e-4)


@pytest.mark.parametrize(("n_components", "n_landmarks"), [(2, 8), (4, 12)])
def test_it_finds_the_maximum_of_the_likelihood(n_components, n_landmarks):
    problem = Problem(60, n_components, n_landmarks, 25, 1)
    rng = np.random.default_rng(0)
    start = problem.points + 0.1 * rng.standard_normal(problem.points.shape)
    found, _, _, n_iter, _ = maximize_joint_likelihood(
        start, problem.landmarks, problem.gradients, max_iter=100, rtol=-np.inf
    )
    assert n_iter <= 100
    for landmark_free in (start, problem.points):
        assert problem.loss(found) < problem.loss(landmark_free)
    best = minimize(
        lambda p: problem.loss(p.reshape(start.shape)),
        found.ravel(),
        jac=lambda p: problem.gradient(p.reshape(start.shape)).ravel(),
    )
    assert problem.loss(found) - best.fun < 0.05  # nats, out of thousands


def test_the_default_stop_is_near_the_maximum():
    problem = Problem(200, 2, 12, 30, 2)
    start = problem.points + 0.1 * np.random.default_rng(0).standard_normal(problem.points.shape)
    found, _, _, n_iter, converged = maximize_joint_likelihood(start, problem.landmarks, problem.gradients)
    best, *_ = maximize_joint_likelihood(start, problem.landmarks, problem.gradients, max_iter=100, rtol=-np.inf)
    assert converged
    assert n_iter <= 8
    # two nats is the loss of one standard error in four of the 400 coordinates
    assert problem.loss(found) - problem.loss(best) < 2


def test_expected_error_and_chi_squared_are_calibrated():
    # chi-squared per degree of freedom is 1 +- 0.05 and the variance is that of the estimate within 20 %, over 10 draws
    ratios, residuals = [], []
    for seed in range(10):
        problem = Problem(300, 2, 20, 20, seed)
        found, chi2, variance, *_ = maximize_joint_likelihood(
            problem.points, problem.landmarks, problem.gradients, max_iter=30
        )
        a, b = (p - p.mean(axis=1, keepdims=True) for p in (problem.points, found))
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        error = 1 - np.linalg.svd(a @ b.T, compute_uv=False).sum() ** 2
        residuals.append(chi2 * 20 / 18)
        ratios.append(error / variance)
    assert 0.95 < np.mean(residuals) < 1.05
    assert 0.8 < np.mean(ratios) < 1.25


def test_goodness_of_fit_is_worse_for_wrong_coordinates():
    problem = Problem(100, 2, 10, 20, 0)
    right = goodness_of_fit(problem.points.astype("f4"), problem.landmarks, problem.gradients)[0]
    wrong = goodness_of_fit(problem.points[::-1].astype("f4") ** 2, problem.landmarks, problem.gradients)[0]
    assert right < 1.3 < wrong
