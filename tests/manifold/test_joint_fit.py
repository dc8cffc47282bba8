"""The joint fit: its optimum, its prior, and the moves that no gradient finds."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist

from skrank.datasets import make_triplets
from skrank.manifold._gradient_descent import descend_by_gradient
from skrank.manifold._joint_fit import JointLoss, StudentPrior, maximize_likelihood, relocate_items
from skrank.manifold._quasi_newton import minimize_loss
from skrank.manifold._settings import Settings
from skrank.manifold._triplet_fit import TripletData, TripletSettings, fit_triplets
from skrank.manifold._triplet_loss import TripletLoss
from skrank.metrics import procrustes_error


def test_the_prior_is_a_density_of_the_t_distribution():
    from scipy.stats import multivariate_t

    prior, X = StudentPrior(np.array([0.5, 3.0])), np.random.default_rng(0).standard_normal((20, 2))
    value, gradient = prior.value_and_gradient(X)
    density = multivariate_t([0, 0], np.diag(1 / prior.precision), df=4)
    at_zero = density.logpdf([0, 0])
    assert value == pytest.approx(-(density.logpdf(X) - at_zero).sum())
    numeric = approx_fprime(X.ravel(), lambda x: prior.value_and_gradient(x.reshape(X.shape))[0], 1e-7)
    np.testing.assert_allclose(gradient.ravel(), numeric, atol=1e-5)


def test_precisions_are_those_of_the_cloud():
    # without noise the fixed point is the maximum likelihood of the t distribution
    from scipy.stats import multivariate_t

    X = multivariate_t([0, 0], np.diag([4.0, 0.25]), df=4, seed=0).rvs(20_000)
    prior = StudentPrior.of_spread(X)
    for _ in range(10):
        prior, determined = prior.updated(X, np.zeros_like(X))
    np.testing.assert_allclose(1 / prior.precision, [4, 0.25], rtol=0.05)
    np.testing.assert_array_equal(determined, 1)


def test_it_finds_the_optimum_of_the_likelihood():
    triplets, X = make_triplets(40, 8000, noise="logistic", scale=1.0, random_state=0)
    loss = TripletLoss(triplets, 40, dtype=np.float64)
    fit = maximize_likelihood([loss], X + 0.3, Settings(2), has_prior=False, tol=1e-4)
    best = fit_triplets(TripletData(triplets, 40), TripletSettings(2, tol=1e-4), random_state=0)
    assert fit.converged
    assert loss.evaluate(fit.points).value == pytest.approx(best.info["loss"], abs=1e-3)
    np.testing.assert_allclose(cdist(fit.points, fit.points), cdist(best.points, best.points), atol=0.02)


def test_the_gradient_alone_leads_to_the_same_optimum():
    triplets, X = make_triplets(40, 8000, noise="logistic", scale=1.0, random_state=0)
    loss = JointLoss([TripletLoss(triplets, 40, dtype=np.float64)])
    start = 1.3 * X + 0.3 * np.random.default_rng(0).standard_normal(X.shape)
    best, _, _ = minimize_loss(loss, start, 300, 1e-4)
    found, info = descend_by_gradient(loss, start, 100, 1e-3)
    assert info["converged"]
    assert info["n_iter"] < 40
    assert loss.evaluate(found.astype(float)).value == pytest.approx(loss.evaluate(best).value, abs=1e-2)
    counted = []
    _, info = descend_by_gradient(loss, start, 3, 1e-3, lambda n_iter, _: counted.append(n_iter))
    assert counted == [1, 2, 3]
    assert not info["converged"]


def test_the_prior_keeps_noise_off_an_axis_that_the_responses_do_not_tell():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3)) * [1, 1, 0.1]
    triplets, _ = make_triplets(n_triplets=10_000, coordinates=X, noise="logistic", random_state=0)
    loss = TripletLoss(triplets, 100, dtype=np.float64)
    errors = [
        procrustes_error(X, maximize_likelihood([loss], X, Settings(2), has_prior=has_prior).points)
        for has_prior in (False, True)
    ]
    assert errors[1] < 0.85 * errors[0]


def test_misplaced_items_are_moved_to_their_places():
    triplets, X = make_triplets(60, 30_000, noise="logistic", scale=1.0, random_state=0)
    loss = JointLoss([TripletLoss(triplets, 60, dtype=np.float64)])
    X = X - X.mean(axis=0)
    X = X @ np.linalg.svd(X)[2].T
    wrong = X.copy()
    far = np.argsort(-np.abs(X[:, 1]))[:5]
    wrong[far, 1] *= -1
    found, n_moved = relocate_items(loss, wrong, np.zeros(1), np.random.RandomState(0), thorough=False)
    assert n_moved >= 5
    assert loss.evaluate(found).value < loss.evaluate(wrong).value
    np.testing.assert_allclose(found[far], X[far])
    # with other places tried as well, the loss falls no less
    other, _ = relocate_items(loss, wrong, np.zeros(1), np.random.RandomState(0))
    assert loss.evaluate(other).value < loss.evaluate(wrong).value
